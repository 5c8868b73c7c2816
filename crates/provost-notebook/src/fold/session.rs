//! The fold of runtime sessions and artifacts.

use provost_proto::notebook::{Artifact, NotebookFact, RuntimeSession, RuntimeSessionStatus};

use super::FactMetadata;

pub(super) fn new_session(
    metadata: FactMetadata<'_>,
    fact: &NotebookFact,
) -> Option<RuntimeSession> {
    let NotebookFact::RuntimeSessionStarted(started) = fact else { return None };
    Some(RuntimeSession {
        id: started.session,
        notebook: started.notebook,
        slot: started.slot.clone(),
        fence: started.fence,
        runtime_id: started.runtime_id.clone(),
        runtime_type: started.runtime_type.clone(),
        place: started.place,
        capabilities: started.capabilities,
        client_id: metadata.principal.to_owned(),
        status: RuntimeSessionStatus::Starting,
        execution: None,
        started_at: metadata.at,
        ended_at: None,
        end_reason: None,
        why: None,
    })
}

/// A session that has ended does not change any more.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other fact changes a session")]
pub(super) fn update_session(
    session: &mut RuntimeSession,
    metadata: FactMetadata<'_>,
    fact: &NotebookFact,
) {
    if session.status == RuntimeSessionStatus::Ended {
        return;
    }
    match fact {
        NotebookFact::RuntimeSessionStatusSet(set) => {
            session.status = busy_status(set.status, session.execution.is_some());
        }
        NotebookFact::ExecutionAssigned(assigned) => {
            session.execution = Some(assigned.execution);
            session.status = busy_status(session.status, true);
        }
        NotebookFact::ExecutionFinished(finished) => {
            session.execution = session.execution.filter(|claimed| *claimed != finished.execution);
            session.status = busy_status(session.status, session.execution.is_some());
        }
        NotebookFact::RuntimeSessionEnded(ended) => {
            session.status = RuntimeSessionStatus::Ended;
            session.execution = None;
            session.ended_at = Some(metadata.at);
            session.end_reason = Some(ended.reason);
            session.why.clone_from(&ended.why);
        }
        _ => {}
    }
}

/// A runtime that answers is busy exactly while it has something to execute: nobody reports it.
const fn busy_status(status: RuntimeSessionStatus, is_busy: bool) -> RuntimeSessionStatus {
    match status {
        RuntimeSessionStatus::Ready | RuntimeSessionStatus::Busy => {
            if is_busy {
                RuntimeSessionStatus::Busy
            } else {
                RuntimeSessionStatus::Ready
            }
        }
        RuntimeSessionStatus::Starting
        | RuntimeSessionStatus::Restarting
        | RuntimeSessionStatus::Unresponsive
        | RuntimeSessionStatus::Ended => status,
    }
}

pub(super) fn new_artifact(fact: &NotebookFact) -> Option<Artifact> {
    let NotebookFact::ArtifactAdded(added) = fact else { return None };
    Some(Artifact {
        hash: added.artifact,
        notebook: added.notebook,
        mime: added.mime.clone(),
        size: added.size,
        name: added.name.clone(),
    })
}
