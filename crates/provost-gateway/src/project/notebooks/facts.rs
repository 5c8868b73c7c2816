//! What decided facts mean beside their documents: leases, and what they must survive.

use provost_proto::RuntimeSessionId;
use provost_proto::notebook::{NotebookFact, RuntimeEndReason};
use provost_store::Durability;

/// What happened to a session.
#[derive(Debug)]
pub(super) enum SessionChange {
    Started(RuntimeSessionId),
    Ended { session: RuntimeSessionId, why: String },
}

/// What a fact means for the lease of a session.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other facts change no session's place")]
pub(super) fn session_change(fact: &NotebookFact) -> Option<SessionChange> {
    match fact {
        NotebookFact::RuntimeSessionStarted(started) => {
            Some(SessionChange::Started(started.session))
        }
        NotebookFact::RuntimeSessionEnded(ended) => {
            let why = ended.why.clone().unwrap_or_else(|| match ended.reason {
                RuntimeEndReason::Displaced => "another runtime took its place".to_owned(),
                RuntimeEndReason::Timeout => "it did not renew its lease".to_owned(),
                RuntimeEndReason::Shutdown
                | RuntimeEndReason::Restart
                | RuntimeEndReason::Error => "it has ended".to_owned(),
            });
            Some(SessionChange::Ended { session: ended.session, why })
        }
        _ => None,
    }
}

/// What a person made of the notebook as a whole is on disk before it is confirmed; edits and
/// output survive the death of any process.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others are too many to wait for the disk")]
pub(super) fn durability(fact: &NotebookFact) -> Durability {
    match fact {
        NotebookFact::NotebookCreated(_)
        | NotebookFact::NotebookDeleted(_)
        | NotebookFact::NotebookBound(_) => Durability::Synced,
        _ => Durability::Buffered,
    }
}
