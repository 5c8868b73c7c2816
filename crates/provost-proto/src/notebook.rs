//! Notebooks: their facts, documents, commands and the messages of `GET /api/sync`.
//!
//! A notebook belongs to a project. Everything that happens in it is a fact in the stream
//! `notebook/<id>`. A notebook is many small documents, so that the cost of an event grows neither
//! with the notebook nor with its output: cells, executions and pages of output change alone.

mod api;
mod command;
mod document;
mod fact;
mod output;
mod sync;

pub use api::{
    AppliedNotebookCommands, CreateNotebookRequest, CreatedNotebook, ImportNotebookRequest,
    ImportedNotebook, LocalRuntime, LocalRuntimeList, NotebookCommandsRequest, NotebookDetail,
    NotebookList, RuntimeType, StartRuntimeRequest, SyncTicket,
};
pub use command::{CellContent, NotebookCommand};
pub use document::{
    AppendableOutput, Artifact, Cell, CellKind, DisplayLocations, Execution, ExecutionOutcome,
    ExecutionStatus, InputRequest, Notebook, NotebookDocument, NotebookFile, NotebookSlot,
    NotebookView, OutputLocation, OutputPage, RuntimeCapabilities, RuntimeEndReason,
    RuntimeLocation, RuntimeSession, RuntimeSessionStatus,
};
pub use fact::{
    ArtifactAdded, CellCreated, CellDeleted, CellEdited, CellKindSet, CellMetadataSet, CellMoved,
    CellOutputsCleared, CellReplaced, CellRestored, CellSlotSet, ExecutionAssigned,
    ExecutionCancelled, ExecutionFinished, ExecutionInputAnswered, ExecutionInputAsked,
    ExecutionRequested, ExecutionReturned, ExecutionStarted, NotebookBound, NotebookCreated,
    NotebookDeleted, NotebookFact, NotebookMetadataSet, NotebookRenamed, NotebookSaved,
    NotebookSlotsSet, OutputAdded, OutputAppended, OutputReplaced, OutputsCleared,
    RuntimeSessionEnded, RuntimeSessionStarted, RuntimeSessionStatusSet,
};
pub use output::{MimeBundle, MimeData, OutputContent, OutputPart, StreamName};
pub use sync::{
    ClientSyncMessage, NotebookEvent, NotebookPresence, ResumePoint, ResyncReason,
    ServerSyncMessage, SyncErrorInfo,
};

/// The version of the messages of `GET /api/sync`.
pub const SYNC_PROTOCOL: u32 = 1;

/// The number of a claim on a slot of a notebook. It rises with every runtime session that starts
/// there; what a session with a lower one writes is refused.
pub type Fence = u64;

/// The number of changes of a cell's source.
pub type CellRevision = u64;

/// Where a cell is among the others: a fractional index, compared as text; equal ones are ordered
/// by the id of the cell.
pub type CellPosition = String;
