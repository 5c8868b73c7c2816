//! Commands for runtime sessions: at most one is active in a slot, and it has the highest fence.

use provost_proto::notebook::{
    Execution, ExecutionFinished, ExecutionOutcome, ExecutionReturned, ExecutionStatus,
    NotebookCommand, NotebookFact, NotebookSlot, NotebookView, RuntimeEndReason,
    RuntimeSessionEnded, RuntimeSessionStarted, RuntimeSessionStatus, RuntimeSessionStatusSet,
};
use provost_proto::{Code, RuntimeSessionId, limits};

use super::context::{
    CommandContext, CommandRights, DecidedFacts, FencedSession, Refusal, check_owner, refuse,
};
use super::execution::abandon;
use super::guards;
use crate::document_key::NotebookDocumentKey;
use crate::state::NotebookState;

/// Starts a session, and displaces the one that is active: in one transaction, so that no moment
/// has two.
pub(super) fn start(
    state: &NotebookState,
    context: &CommandContext<'_>,
    command: &NotebookCommand,
) -> DecidedFacts {
    let NotebookCommand::StartSession {
        session,
        slot,
        runtime_id,
        runtime_type,
        place,
        capabilities,
    } = command
    else {
        return Ok(Vec::new());
    };
    guards::require_unused_id(
        state,
        NotebookDocumentKey::new(NotebookView::RuntimeSessions, session.uuid()),
    )?;
    guards::check_name("the id of the runtime", runtime_id, limits::MAX_NAME_BYTES)?;
    guards::check_name("the type of the runtime", runtime_type, limits::MAX_NAME_BYTES)?;
    let slot = find_slot(state, slot.as_deref())?;
    let mut facts = Vec::new();
    if let Some(active) = slot.session {
        let is_restart = state
            .session(active)
            .is_some_and(|old| old.runtime_id == *runtime_id && old.client_id == context.principal);
        let reason =
            if is_restart { RuntimeEndReason::Restart } else { RuntimeEndReason::Displaced };
        facts = end_session(state, active, reason, None);
    }
    facts.push(NotebookFact::RuntimeSessionStarted(RuntimeSessionStarted {
        notebook: state.id(),
        session: *session,
        slot: slot.name.clone(),
        fence: slot.fence.saturating_add(1),
        runtime_id: runtime_id.clone(),
        runtime_type: runtime_type.clone(),
        place: *place,
        capabilities: *capabilities,
    }));
    Ok(facts)
}

fn find_slot<'a>(
    state: &'a NotebookState,
    name: Option<&str>,
) -> Result<&'a NotebookSlot, Refusal> {
    let slot = match name {
        Some(name) => state.slot(name),
        None => guards::require_notebook(state)?.slots.first(),
    };
    slot.ok_or_else(|| {
        let name = name.unwrap_or_default().escape_debug();
        refuse(Code::InvalidRequest, format!("the notebook has no slot `{name}`"))
    })
}

pub(super) fn set_status(
    state: &NotebookState,
    context: &CommandContext<'_>,
    fenced: FencedSession,
    status: RuntimeSessionStatus,
) -> DecidedFacts {
    let session = guards::require_active_session(state, context, fenced)?;
    let is_known = match (session.status, status) {
        // Whether it is busy is known from what it claimed.
        (RuntimeSessionStatus::Busy, RuntimeSessionStatus::Ready)
        | (RuntimeSessionStatus::Ready, RuntimeSessionStatus::Busy) => true,
        (before, after) => before == after,
    };
    if is_known {
        return Ok(Vec::new());
    }
    match status {
        RuntimeSessionStatus::Ready
        | RuntimeSessionStatus::Busy
        | RuntimeSessionStatus::Restarting
        | RuntimeSessionStatus::Unresponsive => {}
        RuntimeSessionStatus::Starting | RuntimeSessionStatus::Ended => {
            let error = "a session starts and ends with commands of its own";
            return Err(refuse(Code::InvalidRequest, error));
        }
    }
    let (notebook, session) = (state.id(), session.id);
    let set = RuntimeSessionStatusSet { notebook, session, status };
    Ok(vec![NotebookFact::RuntimeSessionStatusSet(set)])
}

/// Ends a session. A person may end any, a runtime its own. One that has ended stays as it is.
pub(super) fn end(
    state: &NotebookState,
    context: &CommandContext<'_>,
    fenced: FencedSession,
    reason: RuntimeEndReason,
    why: Option<&str>,
) -> DecidedFacts {
    guards::check_reason(why)?;
    let session = state.session(fenced.session).ok_or_else(|| {
        refuse(Code::StaleFence, format!("the notebook has no runtime session {}", fenced.session))
    })?;
    match context.rights {
        CommandRights::Edit | CommandRights::Daemon => {}
        CommandRights::Runtime => check_owner(context, session)?,
    }
    if session.status == RuntimeSessionStatus::Ended {
        return Ok(Vec::new());
    }
    if session.fence != fenced.fence {
        return Err(refuse(Code::StaleFence, "the runtime session has another fence"));
    }
    match (reason, context.rights) {
        (RuntimeEndReason::Shutdown | RuntimeEndReason::Restart | RuntimeEndReason::Error, _)
        | (RuntimeEndReason::Timeout | RuntimeEndReason::Displaced, CommandRights::Daemon) => {
            Ok(end_session(state, fenced.session, reason, why))
        }
        (
            RuntimeEndReason::Timeout | RuntimeEndReason::Displaced,
            CommandRights::Edit | CommandRights::Runtime,
        ) => Err(refuse(Code::InvalidRequest, "only the daemon finds this reason")),
    }
}

/// The facts that end a session and what it had claimed; none if it has ended.
///
/// What was running is lost. What was claimed and has not started goes back to the queue.
pub fn end_session(
    state: &NotebookState,
    id: RuntimeSessionId,
    reason: RuntimeEndReason,
    why: Option<&str>,
) -> Vec<NotebookFact> {
    let active = state.session(id).filter(|old| old.status != RuntimeSessionStatus::Ended);
    let Some(session) = active else { return Vec::new() };
    let claimed = state.unfinished().filter(|execution| execution.session == Some(id));
    let mut facts: Vec<_> = claimed.map(|execution| release(execution, reason)).collect();
    facts.push(NotebookFact::RuntimeSessionEnded(RuntimeSessionEnded {
        notebook: state.id(),
        session: id,
        slot: session.slot.clone(),
        reason,
        why: why.map(str::to_owned),
    }));
    facts
}

fn release(execution: &Execution, reason: RuntimeEndReason) -> NotebookFact {
    let (notebook, id) = (execution.notebook, execution.id);
    if execution.cancelling {
        return abandon(execution, "it was cancelled, and its runtime ended");
    }
    if execution.status != ExecutionStatus::Running {
        return NotebookFact::ExecutionReturned(ExecutionReturned { notebook, execution: id });
    }
    let why = match reason {
        RuntimeEndReason::Shutdown => "the runtime was stopped",
        RuntimeEndReason::Restart => "the runtime was restarted",
        RuntimeEndReason::Error => "the runtime failed",
        RuntimeEndReason::Timeout => "the runtime did not answer any more",
        RuntimeEndReason::Displaced => "another runtime took over",
    };
    NotebookFact::ExecutionFinished(ExecutionFinished {
        notebook,
        execution: id,
        session: execution.session,
        outcome: ExecutionOutcome::Lost,
        why: Some(why.to_owned()),
    })
}
