//! The fold of executions.

use provost_proto::notebook::{
    AppendableOutput, Execution, ExecutionStatus, NotebookFact, OutputAdded, OutputAppended,
    OutputContent,
};

use super::{FactMetadata, content_bytes};

pub(super) fn new_execution(metadata: FactMetadata<'_>, fact: &NotebookFact) -> Option<Execution> {
    let NotebookFact::ExecutionRequested(requested) = fact else { return None };
    Some(Execution {
        id: requested.execution,
        notebook: requested.notebook,
        cell: requested.cell,
        kind: requested.cell_kind,
        slot: requested.slot.clone(),
        count: requested.count,
        revision: requested.revision,
        source: requested.source.clone(),
        status: ExecutionStatus::Queued,
        outcome: None,
        why: None,
        requested_by: metadata.principal.to_owned(),
        requested_at: metadata.at,
        started_at: None,
        finished_at: None,
        session: None,
        fence: 0,
        cancelling: false,
        input: None,
        outputs: 0,
        first_output: 0,
        clear_pending: false,
        last_page: 0,
        last_page_parts: 0,
        last_page_bytes: 0,
        appendable: None,
    })
}

/// An execution that has ended does not change any more.
pub(super) fn update_execution(
    execution: &mut Execution,
    metadata: FactMetadata<'_>,
    fact: &NotebookFact,
) {
    match execution.status {
        ExecutionStatus::Queued => update_queued(execution, fact),
        ExecutionStatus::Assigned => update_assigned(execution, metadata, fact),
        ExecutionStatus::Running => update_running(execution, fact),
        ExecutionStatus::Finished => return,
    }
    if let NotebookFact::ExecutionFinished(finished) = fact {
        execution.status = ExecutionStatus::Finished;
        execution.outcome = Some(finished.outcome);
        execution.why.clone_from(&finished.why);
        execution.finished_at = Some(metadata.at);
        execution.input = None;
        execution.cancelling = false;
        execution.appendable = None;
    }
}

fn update_queued(execution: &mut Execution, fact: &NotebookFact) {
    if let NotebookFact::ExecutionAssigned(assigned) = fact {
        execution.status = ExecutionStatus::Assigned;
        execution.session = Some(assigned.session);
        execution.fence = assigned.fence;
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other fact changes a claimed execution")]
fn update_assigned(execution: &mut Execution, metadata: FactMetadata<'_>, fact: &NotebookFact) {
    match fact {
        NotebookFact::ExecutionReturned(_) => {
            execution.status = ExecutionStatus::Queued;
            execution.session = None;
            execution.fence = 0;
        }
        NotebookFact::ExecutionStarted(_) => {
            execution.status = ExecutionStatus::Running;
            execution.started_at = Some(metadata.at);
        }
        NotebookFact::ExecutionCancelled(_) => execution.cancelling = true,
        _ => {}
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other fact changes a running execution")]
fn update_running(execution: &mut Execution, fact: &NotebookFact) {
    match fact {
        NotebookFact::ExecutionCancelled(_) => execution.cancelling = true,
        NotebookFact::ExecutionInputAsked(asked) => execution.input = Some(asked.input.clone()),
        NotebookFact::ExecutionInputAnswered(_) => execution.input = None,
        NotebookFact::OutputAdded(added) => add_output(execution, added),
        NotebookFact::OutputAppended(appended) => append_output(execution, appended),
        NotebookFact::OutputsCleared(cleared) => {
            execution.appendable = None;
            execution.clear_pending = cleared.wait;
            if !cleared.wait {
                execution.first_output = execution.outputs;
                execution.last_page = 0;
                execution.last_page_parts = 0;
                execution.last_page_bytes = 0;
            }
        }
        _ => {}
    }
}

fn add_output(execution: &mut Execution, added: &OutputAdded) {
    let is_first = added.first == added.ordinal;
    if is_first || added.page != execution.last_page {
        execution.last_page_parts = 0;
        execution.last_page_bytes = 0;
    }
    execution.outputs = added.ordinal.saturating_add(1);
    execution.first_output = added.first;
    execution.clear_pending = false;
    execution.last_page = added.page;
    execution.last_page_parts = execution.last_page_parts.saturating_add(1);
    add_bytes(execution, &added.content);
    let output = added.output;
    execution.appendable = match &added.content {
        OutputContent::Stream { name, .. } => {
            Some(AppendableOutput { output, stream: Some(*name) })
        }
        OutputContent::Markdown { .. } => Some(AppendableOutput { output, stream: None }),
        OutputContent::Display { .. }
        | OutputContent::Result { .. }
        | OutputContent::Error { .. } => None,
    };
}

fn append_output(execution: &mut Execution, appended: &OutputAppended) {
    if appended.page != execution.last_page {
        execution.last_page = appended.page;
        execution.last_page_parts = 1;
        execution.last_page_bytes = 0;
    }
    add_bytes(execution, &appended.content);
}

fn add_bytes(execution: &mut Execution, content: &OutputContent) {
    let bytes = u32::try_from(content_bytes(content)).unwrap_or(u32::MAX);
    execution.last_page_bytes = execution.last_page_bytes.saturating_add(bytes);
}
