//! Commands for executions: requested → assigned → running → finished, each once.

use provost_proto::notebook::{
    CellKind, CellRevision, Execution, ExecutionAssigned, ExecutionCancelled, ExecutionFinished,
    ExecutionInputAnswered, ExecutionInputAsked, ExecutionOutcome, ExecutionRequested,
    ExecutionStarted, ExecutionStatus, InputRequest, NotebookFact, NotebookView,
    RuntimeCapabilities, RuntimeSessionStatus,
};
use provost_proto::{CellId, Code, ExecutionId, limits};

use super::context::{
    CommandContext, CommandRights, DecidedFacts, ExecutionClaim, FencedSession, Refusal, refuse,
};
use super::guards;
use crate::document_key::NotebookDocumentKey;
use crate::state::NotebookState;

/// What is said of an execution in its status.
const fn status_text(status: ExecutionStatus) -> &'static str {
    match status {
        ExecutionStatus::Queued => "waits for a runtime",
        ExecutionStatus::Assigned => "was claimed by a runtime",
        ExecutionStatus::Running => "is running",
        ExecutionStatus::Finished => "has ended",
    }
}

fn wrong_status(execution: &Execution) -> Refusal {
    refuse(Code::ExecutionState, format!("the execution {}", status_text(execution.status)))
}

pub(super) fn check_running(execution: &Execution) -> Result<(), Refusal> {
    if execution.status == ExecutionStatus::Running { Ok(()) } else { Err(wrong_status(execution)) }
}

/// Whether a runtime can execute cells of a kind.
pub(crate) const fn can_execute(capabilities: RuntimeCapabilities, kind: CellKind) -> bool {
    match kind {
        CellKind::Code => capabilities.can_execute_code,
        CellKind::Sql => capabilities.can_execute_sql,
        CellKind::Ai => capabilities.can_execute_ai,
        CellKind::Markdown | CellKind::Raw => false,
    }
}

pub(super) fn request(
    state: &NotebookState,
    id: ExecutionId,
    cell: CellId,
    revision: CellRevision,
) -> DecidedFacts {
    guards::require_unused_id(
        state,
        NotebookDocumentKey::new(NotebookView::Executions, id.uuid()),
    )?;
    let cell = guards::require_cell_at_revision(state, cell, revision)?;
    if let CellKind::Markdown | CellKind::Raw = cell.kind {
        return Err(refuse(Code::InvalidRequest, "cells of this kind are not executed"));
    }
    let last = cell.execution.and_then(|last| state.execution(last));
    if let Some(last) = last.filter(|last| last.status != ExecutionStatus::Finished) {
        let status = status_text(last.status);
        let error = format!("the last execution of the cell {status}: cancel it, or wait");
        return Err(refuse(Code::ExecutionState, error));
    }
    let notebook = guards::require_notebook(state)?;
    let slot = match &cell.slot {
        Some(name) => state.slot(name),
        None => notebook.slots.iter().find(|slot| slot.kinds.contains(&cell.kind)),
    };
    let slot = slot.ok_or_else(|| {
        refuse(Code::NoRuntime, "no slot of the notebook executes this cell: choose one for it")
    })?;
    Ok(vec![NotebookFact::ExecutionRequested(ExecutionRequested {
        notebook: notebook.id,
        execution: id,
        cell: cell.id,
        cell_kind: cell.kind,
        slot: slot.name.clone(),
        count: notebook.executions.saturating_add(1),
        revision: cell.revision,
        source: cell.source.clone(),
    })])
}

pub(super) fn cancel(state: &NotebookState, id: ExecutionId, why: Option<&str>) -> DecidedFacts {
    guards::check_reason(why)?;
    let execution = guards::require_execution(state, id)?;
    if execution.status == ExecutionStatus::Finished {
        return Err(wrong_status(execution));
    }
    Ok(cancellation(execution, why).into_iter().collect())
}

/// Ends what waits, and asks the runtime to end what it claimed; once.
pub(super) fn cancellation(execution: &Execution, why: Option<&str>) -> Option<NotebookFact> {
    let (notebook, id, why) = (execution.notebook, execution.id, why.map(str::to_owned));
    match execution.status {
        ExecutionStatus::Queued => Some(NotebookFact::ExecutionFinished(ExecutionFinished {
            notebook,
            execution: id,
            session: None,
            outcome: ExecutionOutcome::Cancelled,
            why,
        })),
        ExecutionStatus::Assigned | ExecutionStatus::Running if !execution.cancelling => {
            let cancelled = ExecutionCancelled { notebook, execution: id, why };
            Some(NotebookFact::ExecutionCancelled(cancelled))
        }
        ExecutionStatus::Assigned | ExecutionStatus::Running | ExecutionStatus::Finished => None,
    }
}

/// Ends an execution whatever its runtime does.
pub(super) fn abandon(execution: &Execution, why: &str) -> NotebookFact {
    NotebookFact::ExecutionFinished(ExecutionFinished {
        notebook: execution.notebook,
        execution: execution.id,
        session: execution.session,
        outcome: ExecutionOutcome::Cancelled,
        why: Some(why.to_owned()),
    })
}

pub(super) fn answer_input(state: &NotebookState, id: ExecutionId, text: &str) -> DecidedFacts {
    guards::check_text_length("the input", text, limits::MAX_NOTEBOOK_INPUT_BYTES)?;
    let execution = guards::require_execution(state, id)?;
    check_running(execution)?;
    let Some(input) = &execution.input else {
        return Err(refuse(Code::ExecutionState, "the program does not ask for input any more"));
    };
    Ok(vec![NotebookFact::ExecutionInputAnswered(ExecutionInputAnswered {
        notebook: state.id(),
        execution: id,
        text: (!input.secret).then(|| text.to_owned()),
    })])
}

pub(super) fn claim(
    state: &NotebookState,
    context: &CommandContext<'_>,
    id: ExecutionId,
    by: FencedSession,
) -> DecidedFacts {
    let session = guards::require_active_session(state, context, by)?;
    let execution = guards::require_execution(state, id)?;
    if execution.status != ExecutionStatus::Queued {
        return Err(wrong_status(execution));
    }
    if execution.slot != session.slot {
        let error = format!("the execution waits in the slot `{}`", execution.slot);
        return Err(refuse(Code::ExecutionState, error));
    }
    if session.execution.is_some() {
        let error = "the runtime session has not finished what it claimed before";
        return Err(refuse(Code::ExecutionState, error));
    }
    if !can_execute(session.capabilities, execution.kind) {
        return Err(refuse(Code::NoRuntime, "the runtime cannot execute cells of this kind"));
    }
    match session.status {
        RuntimeSessionStatus::Starting
        | RuntimeSessionStatus::Ready
        | RuntimeSessionStatus::Busy => {}
        RuntimeSessionStatus::Restarting
        | RuntimeSessionStatus::Unresponsive
        | RuntimeSessionStatus::Ended => {
            return Err(refuse(Code::ExecutionState, "the runtime is not ready"));
        }
    }
    // In the order of the requests, however many runtimes and connections there are.
    if let Some(first) = next_execution(state, &session.slot, session.capabilities)
        && first.id != id
    {
        return Err(refuse(Code::ExecutionState, "another execution was requested earlier"));
    }
    Ok(vec![NotebookFact::ExecutionAssigned(ExecutionAssigned {
        notebook: state.id(),
        execution: id,
        session: session.id,
        fence: session.fence,
    })])
}

/// What a runtime in a slot claims next.
pub(crate) fn next_execution<'a>(
    state: &'a NotebookState,
    slot: &str,
    capabilities: RuntimeCapabilities,
) -> Option<&'a Execution> {
    state.unfinished().find(|waiting| {
        waiting.status == ExecutionStatus::Queued
            && waiting.slot == slot
            && can_execute(capabilities, waiting.kind)
    })
}

pub(super) fn start(
    state: &NotebookState,
    context: &CommandContext<'_>,
    claim: ExecutionClaim,
) -> DecidedFacts {
    let (execution, session) = guards::require_claimed_execution(state, context, claim)?;
    if execution.status != ExecutionStatus::Assigned {
        return Err(wrong_status(execution));
    }
    if execution.cancelling {
        return Err(refuse(Code::ExecutionState, "the execution was cancelled: finish it so"));
    }
    Ok(vec![NotebookFact::ExecutionStarted(ExecutionStarted {
        notebook: state.id(),
        execution: execution.id,
        session: session.id,
        fence: session.fence,
    })])
}

pub(super) fn ask_input(
    state: &NotebookState,
    context: &CommandContext<'_>,
    claim: ExecutionClaim,
    input: &InputRequest,
) -> DecidedFacts {
    guards::check_text_length("the prompt", &input.prompt, limits::MAX_NOTEBOOK_INPUT_BYTES)?;
    let (execution, _) = guards::require_claimed_execution(state, context, claim)?;
    check_running(execution)?;
    if execution.input.is_some() {
        return Err(refuse(Code::ExecutionState, "the execution already asks for input"));
    }
    Ok(vec![NotebookFact::ExecutionInputAsked(ExecutionInputAsked {
        notebook: state.id(),
        execution: execution.id,
        input: input.clone(),
    })])
}

pub(super) fn finish(
    state: &NotebookState,
    context: &CommandContext<'_>,
    claim: ExecutionClaim,
    outcome: ExecutionOutcome,
    why: Option<&str>,
) -> DecidedFacts {
    guards::check_reason(why)?;
    let (execution, session) = guards::require_claimed_execution(state, context, claim)?;
    let can_end = match (execution.status, outcome) {
        (_, ExecutionOutcome::Lost) if context.rights != CommandRights::Daemon => {
            return Err(refuse(
                Code::InvalidRequest,
                "only the daemon finds out that an execution was lost",
            ));
        }
        (ExecutionStatus::Running, _) => true,
        // It never ran.
        (ExecutionStatus::Assigned, outcome) => outcome != ExecutionOutcome::Ok,
        (ExecutionStatus::Queued | ExecutionStatus::Finished, _) => false,
    };
    if !can_end {
        return Err(wrong_status(execution));
    }
    Ok(vec![NotebookFact::ExecutionFinished(ExecutionFinished {
        notebook: state.id(),
        execution: execution.id,
        session: Some(session.id),
        outcome,
        why: why.map(str::to_owned),
    })])
}
