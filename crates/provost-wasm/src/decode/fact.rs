//! Facts, by their kinds.

use provost_proto::notebook::{
    ArtifactAdded, CellCreated, CellDeleted, CellEdited, CellKindSet, CellMetadataSet, CellMoved,
    CellOutputsCleared, CellReplaced, CellRestored, CellSlotSet, ExecutionAssigned,
    ExecutionCancelled, ExecutionFinished, ExecutionInputAnswered, ExecutionInputAsked,
    ExecutionRequested, ExecutionReturned, ExecutionStarted, NotebookBound, NotebookCreated,
    NotebookDeleted, NotebookFact, NotebookMetadataSet, NotebookRenamed, NotebookSaved,
    NotebookSlotsSet, OutputAdded, OutputAppended, OutputReplaced, OutputsCleared,
    RuntimeSessionEnded, RuntimeSessionStarted, RuntimeSessionStatusSet,
};
use serde_json::{Error, Value};

use super::fields::{JsonFields, mismatch};

macro_rules! facts {
    ($($kind:literal $name:ident { $($field:ident)* })+) => {
        /// Reads the body of a fact.
        pub(super) fn read_fact(kind: &str, body: Value) -> Result<NotebookFact, Error> {
            let mut fields = JsonFields::new(body)?;
            let notebook = fields.read("notebook")?;
            Ok(match kind {
                $($kind => NotebookFact::$name($name {
                    notebook,
                    $($field: fields.read(stringify!($field))?,)*
                }),)+
                _ => return Err(mismatch("a known fact: reload the page")),
            })
        }
    };
}

facts! {
    "NOTEBOOK_CREATED" NotebookCreated { project title language slots metadata }
    "NOTEBOOK_RENAMED" NotebookRenamed { title }
    "NOTEBOOK_METADATA_SET" NotebookMetadataSet { key value }
    "NOTEBOOK_SLOTS_SET" NotebookSlotsSet { slots }
    "NOTEBOOK_BOUND" NotebookBound { path }
    "NOTEBOOK_SAVED" NotebookSaved { path hash saved }
    "NOTEBOOK_DELETED" NotebookDeleted {}
    "CELL_CREATED" CellCreated { cell cell_kind position source metadata }
    "CELL_EDITED" CellEdited { cell revision changes }
    "CELL_REPLACED" CellReplaced { cell revision source }
    "CELL_MOVED" CellMoved { cell position }
    "CELL_KIND_SET" CellKindSet { cell cell_kind }
    "CELL_METADATA_SET" CellMetadataSet { cell key value }
    "CELL_SLOT_SET" CellSlotSet { cell slot }
    "CELL_DELETED" CellDeleted { cell }
    "CELL_RESTORED" CellRestored { cell }
    "CELL_OUTPUTS_CLEARED" CellOutputsCleared { cell }
    "EXECUTION_REQUESTED" ExecutionRequested {
        execution cell cell_kind slot count revision source
    }
    "EXECUTION_ASSIGNED" ExecutionAssigned { execution session fence }
    "EXECUTION_RETURNED" ExecutionReturned { execution }
    "EXECUTION_STARTED" ExecutionStarted { execution session fence }
    "EXECUTION_INPUT_ASKED" ExecutionInputAsked { execution input }
    "EXECUTION_INPUT_ANSWERED" ExecutionInputAnswered { execution text }
    "EXECUTION_CANCELLED" ExecutionCancelled { execution why }
    "EXECUTION_FINISHED" ExecutionFinished { execution session outcome why }
    "OUTPUT_ADDED" OutputAdded { execution output ordinal page first content }
    "OUTPUT_APPENDED" OutputAppended { execution output ordinal page content }
    "OUTPUT_REPLACED" OutputReplaced { execution page output data metadata }
    "OUTPUTS_CLEARED" OutputsCleared { execution wait }
    "RUNTIME_SESSION_STARTED" RuntimeSessionStarted {
        session slot fence runtime_id runtime_type place capabilities
    }
    "RUNTIME_SESSION_STATUS" RuntimeSessionStatusSet { session status }
    "RUNTIME_SESSION_ENDED" RuntimeSessionEnded { session slot reason why }
    "ARTIFACT_ADDED" ArtifactAdded { artifact mime size name }
}
