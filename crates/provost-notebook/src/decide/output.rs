//! Commands for outputs. The page that holds one is chosen here, from what the execution's own
//! document says, so that no page is read.

use provost_proto::notebook::{
    AppendableOutput, Execution, MimeBundle, NotebookFact, OutputAdded, OutputAppended,
    OutputContent, OutputLocation, OutputReplaced, OutputsCleared,
};
use provost_proto::{Code, OutputId, limits};
use serde_json::{Map, Value};

use super::context::{
    CommandContext, DecidedFacts, ExecutionClaim, FencedSession, Refusal, refuse,
};
use super::execution::check_running;
use super::guards;
use crate::fold::{content_bytes, display_name};
use crate::state::NotebookState;

pub(super) fn add(
    state: &NotebookState,
    context: &CommandContext<'_>,
    claim: ExecutionClaim,
    output: OutputId,
    added: &OutputContent,
) -> DecidedFacts {
    let (execution, _) = guards::require_claimed_execution(state, context, claim)?;
    check_running(execution)?;
    if execution.outputs >= limits::MAX_EXECUTION_OUTPUTS {
        let limit = limits::MAX_EXECUTION_OUTPUTS;
        return Err(refuse(Code::TooLarge, format!("an execution has at most {limit} outputs")));
    }
    if execution.appendable.is_some_and(|last| last.output == output) {
        return Err(refuse(Code::Exists, "the last output has this id: append to it"));
    }
    let bytes = content_bytes(added);
    check_size(bytes, limits::MAX_OUTPUT_BYTES)?;
    if let Some(display) = display_name(added) {
        guards::check_name("the display name", display, limits::MAX_DISPLAY_NAME_BYTES)?;
    }
    // Printing nothing shows nothing.
    if let OutputContent::Stream { text, .. } = added
        && text.is_empty()
    {
        return Ok(Vec::new());
    }
    let ordinal = execution.outputs;
    let first = if execution.clear_pending { ordinal } else { execution.first_output };
    let page = if first == ordinal {
        0
    } else if has_room(execution, bytes) && execution.last_page_parts < limits::MAX_PAGE_OUTPUTS {
        execution.last_page
    } else {
        execution.last_page.saturating_add(1)
    };
    Ok(vec![NotebookFact::OutputAdded(OutputAdded {
        notebook: state.id(),
        execution: execution.id,
        output,
        ordinal,
        page,
        first,
        content: added.clone(),
    })])
}

fn check_size(bytes: usize, limit: usize) -> Result<(), Refusal> {
    if bytes > limit {
        let error = format!("the output is larger than {limit} bytes: store it as an artifact");
        return Err(refuse(Code::TooLarge, error));
    }
    Ok(())
}

/// Whether the last page takes more. One output has a page whatever its size.
fn has_room(execution: &Execution, bytes: usize) -> bool {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    execution.last_page_bytes.saturating_add(bytes) <= limits::MAX_PAGE_OUTPUT_BYTES
}

pub(super) fn append(
    state: &NotebookState,
    context: &CommandContext<'_>,
    claim: ExecutionClaim,
    output: OutputId,
    text: &str,
) -> DecidedFacts {
    let (execution, _) = guards::require_claimed_execution(state, context, claim)?;
    check_running(execution)?;
    let last = execution.appendable.filter(|last| last.output == output);
    let Some(AppendableOutput { stream, .. }) = last else {
        let error = "text is appended to the last output only: add a new one";
        return Err(refuse(Code::ExecutionState, error));
    };
    check_size(text.len(), limits::MAX_APPENDED_BYTES)?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let has_room = has_room(execution, text.len());
    let text = text.to_owned();
    Ok(vec![NotebookFact::OutputAppended(OutputAppended {
        notebook: state.id(),
        execution: execution.id,
        output,
        ordinal: execution.outputs.saturating_sub(1),
        page: if has_room { execution.last_page } else { execution.last_page.saturating_add(1) },
        content: match stream {
            Some(name) => OutputContent::Stream { name, text },
            None => OutputContent::Markdown { text },
        },
    })])
}

/// What the outputs with a display name become.
pub(super) struct DisplayContent<'a> {
    pub(super) display: &'a str,
    pub(super) data: &'a MimeBundle,
    pub(super) metadata: &'a Map<String, Value>,
}

/// Replaces what is shown under a display name; nothing if there is nothing, as in Jupyter.
pub(super) fn replace_display(
    state: &NotebookState,
    context: &CommandContext<'_>,
    fenced: FencedSession,
    shown: &DisplayContent<'_>,
) -> DecidedFacts {
    guards::require_active_session(state, context, fenced)?;
    let (data, metadata) = (shown.data.clone(), shown.metadata.clone());
    let output = OutputContent::Display { data, metadata, display: None };
    check_size(content_bytes(&output), limits::MAX_OUTPUT_BYTES)?;
    let places = state.display(shown.display).map_or(&[][..], |display| &display.places);
    let current = places.iter().filter(|place| is_shown(state, place));
    let replaced = current.map(|place| {
        NotebookFact::OutputReplaced(OutputReplaced {
            notebook: state.id(),
            execution: place.execution,
            page: place.page,
            output: place.output,
            data: shown.data.clone(),
            metadata: shown.metadata.clone(),
        })
    });
    Ok(replaced.collect())
}

/// Whether an output was not cleared, and its cell was not executed again.
fn is_shown(state: &NotebookState, place: &OutputLocation) -> bool {
    state.execution(place.execution).is_some_and(|execution| {
        let is_last =
            state.cell(execution.cell).is_some_and(|cell| cell.execution == Some(execution.id));
        is_last && place.ordinal >= execution.first_output
    })
}

pub(super) fn clear(
    state: &NotebookState,
    context: &CommandContext<'_>,
    claim: ExecutionClaim,
    wait: bool,
) -> DecidedFacts {
    let (execution, _) = guards::require_claimed_execution(state, context, claim)?;
    check_running(execution)?;
    let has_outputs = execution.first_output < execution.outputs;
    if !has_outputs || wait && execution.clear_pending {
        return Ok(Vec::new());
    }
    let execution = execution.id;
    Ok(vec![NotebookFact::OutputsCleared(OutputsCleared { notebook: state.id(), execution, wait })])
}
