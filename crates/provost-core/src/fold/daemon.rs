//! The fold of the daemon's own state.

use provost_proto::{DaemonStatus, DaemonView, Fact};

use super::{EventMetadata, ViewDocument};

pub(super) fn fold_daemon(
    doc: Option<ViewDocument>,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> Option<ViewDocument> {
    let at = metadata.at;
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact is about the daemon")]
    let daemon = match fact {
        Fact::DaemonStarted { pid, version, .. } => DaemonView {
            status: DaemonStatus::Started,
            at,
            pid: Some(*pid),
            version: Some(version.clone()),
            reason: None,
        },
        Fact::DaemonStopped { reason } => {
            let version = match doc {
                Some(ViewDocument::Daemon(daemon)) => daemon.version,
                Some(_) | None => None,
            };
            let reason = Some(reason.clone());
            DaemonView { status: DaemonStatus::Stopped, at, pid: None, version, reason }
        }
        _ => return doc,
    };
    Some(ViewDocument::Daemon(Box::new(daemon)))
}
