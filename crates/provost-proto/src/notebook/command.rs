//! What clients ask of a notebook.

use serde_json::{Map, Value};

use super::{
    CellKind, CellPosition, CellRevision, ExecutionOutcome, Fence, InputRequest, MimeBundle,
    NotebookSlot, OutputContent, RuntimeCapabilities, RuntimeEndReason, RuntimeLocation,
    RuntimeSessionStatus,
};
use crate::session::{body, wire};
use crate::{CellId, ExecutionId, Hash, OutputId, RuntimeSessionId, StreamVersion};

body! {
    /// A cell to create.
    pub struct CellContent {
        /// Its id, chosen by the client.
        pub cell: CellId,
        /// Its kind.
        pub kind: CellKind,
        /// Where it is among the others.
        pub position: CellPosition,
        /// Its source.
        pub source: String,
        /// Its metadata, as in an `.ipynb` file.
        #[serde(default)]
        #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub metadata: Map<String, Value>,
    }
}

wire! {
    /// A command for a notebook.
    #[serde(tag = "name", content = "args")]
    pub enum NotebookCommand {
        /// Changes the title.
        RenameNotebook {
            /// The new title.
            title: String,
        },
        /// Sets a value of the metadata, or removes it with `null`.
        SetNotebookMetadata {
            /// The name of the value.
            key: String,
            /// The value.
            #[cfg_attr(feature = "ts", ts(type = "unknown"))]
            #[cfg_attr(feature = "openapi", schema(value_type = Object))]
            value: Value,
        },
        /// Declares the slots anew; no session may be active.
        SetSlots {
            /// The slots.
            slots: Vec<NotebookSlot>,
        },
        /// Binds the notebook to a file of its project, or to none.
        BindFile {
            /// The path in the project.
            path: Option<String>,
        },
        /// Records that notebook and file hold the same. Only the daemon sends it.
        RecordSave {
            /// The path in the project.
            path: String,
            /// The hash of the file.
            hash: Hash,
            /// The version of the notebook that the file holds.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            saved: StreamVersion,
        },
        /// Deletes the notebook.
        DeleteNotebook,
        /// Creates a cell.
        CreateCell(CellContent),
        /// Changes parts of a cell's source.
        EditCell {
            /// The cell.
            cell: CellId,
            /// The revision that the change applies to.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            base: CellRevision,
            /// The change, as a change set of CodeMirror.
            #[cfg_attr(feature = "ts", ts(type = "unknown"))]
            #[cfg_attr(feature = "openapi", schema(value_type = Object))]
            changes: Value,
        },
        /// Replaces a cell's source.
        ReplaceCell {
            /// The cell.
            cell: CellId,
            /// The revision that is replaced.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            base: CellRevision,
            /// The new source.
            source: String,
        },
        /// Moves a cell.
        MoveCell {
            /// The cell.
            cell: CellId,
            /// Where to.
            position: CellPosition,
        },
        /// Changes the kind of a cell.
        SetCellKind {
            /// The cell.
            cell: CellId,
            /// The new kind.
            kind: CellKind,
        },
        /// Sets a value of a cell's metadata, or removes it with `null`.
        SetCellMetadata {
            /// The cell.
            cell: CellId,
            /// The name of the value.
            key: String,
            /// The value.
            #[cfg_attr(feature = "ts", ts(type = "unknown"))]
            #[cfg_attr(feature = "openapi", schema(value_type = Object))]
            value: Value,
        },
        /// Chooses the slot that executes a cell, or leaves it to the kind of the cell.
        SetCellSlot {
            /// The cell.
            cell: CellId,
            /// The slot.
            slot: Option<String>,
        },
        /// Deletes a cell.
        DeleteCell {
            /// The cell.
            cell: CellId,
        },
        /// Restores a deleted cell.
        RestoreCell {
            /// The cell.
            cell: CellId,
        },
        /// Clears the outputs of a cell.
        ClearCellOutputs {
            /// The cell.
            cell: CellId,
        },
        /// Requests the execution of a cell.
        RequestExecution {
            /// The id of the execution, chosen by the client.
            execution: ExecutionId,
            /// The cell.
            cell: CellId,
            /// The revision that the client shows: another one is refused.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            revision: CellRevision,
        },
        /// Cancels an execution: one that is queued never runs, one that runs is interrupted.
        CancelExecution {
            /// The execution.
            execution: ExecutionId,
            /// Why, as text for people.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "ts", ts(optional))]
            why: Option<String>,
        },
        /// Answers a program that asked for input.
        AnswerInput {
            /// The execution.
            execution: ExecutionId,
            /// The input.
            text: String,
        },
        /// Starts a runtime session in a slot, and displaces the one that is active there.
        StartSession {
            /// The id of the session, chosen by the runtime.
            session: RuntimeSessionId,
            /// The slot; the notebook's first if absent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "ts", ts(optional))]
            slot: Option<String>,
            /// The runtime.
            runtime_id: String,
            /// Its type, such as `python`.
            runtime_type: String,
            /// Where it runs.
            place: RuntimeLocation,
            /// What it can execute.
            capabilities: RuntimeCapabilities,
        },
        /// Reports the status of a session. `Ended` is not one that can be reported.
        SetSessionStatus {
            /// The session.
            session: RuntimeSessionId,
            /// Its fence.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            fence: Fence,
            /// The status.
            status: RuntimeSessionStatus,
        },
        /// Ends a session.
        EndSession {
            /// The session.
            session: RuntimeSessionId,
            /// Its fence.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            fence: Fence,
            /// Why.
            reason: RuntimeEndReason,
            /// Why, as text for people.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "ts", ts(optional))]
            why: Option<String>,
        },
        /// Claims a queued execution of the session's slot.
        ClaimExecution {
            /// The execution.
            execution: ExecutionId,
            /// The session.
            session: RuntimeSessionId,
            /// Its fence.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            fence: Fence,
        },
        /// Records that a claimed execution has started.
        StartExecution {
            /// The execution.
            execution: ExecutionId,
            /// The fence of the session.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            fence: Fence,
        },
        /// Asks the person for input.
        AskInput {
            /// The execution.
            execution: ExecutionId,
            /// The fence of the session.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            fence: Fence,
            /// What it asks for.
            input: InputRequest,
        },
        /// Adds an output.
        AddOutput {
            /// The execution.
            execution: ExecutionId,
            /// The fence of the session.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            fence: Fence,
            /// The id of the output, chosen by the runtime.
            output: OutputId,
            /// The output.
            content: OutputContent,
        },
        /// Appends text to the last output of an execution.
        AppendOutput {
            /// The execution.
            execution: ExecutionId,
            /// The fence of the session.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            fence: Fence,
            /// The output.
            output: OutputId,
            /// The text.
            text: String,
        },
        /// Replaces all outputs with a display name.
        ReplaceDisplay {
            /// The session.
            session: RuntimeSessionId,
            /// Its fence.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            fence: Fence,
            /// The name.
            display: String,
            /// The new representations.
            data: MimeBundle,
            /// Metadata by MIME type.
            #[serde(default)]
            #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
            #[cfg_attr(feature = "openapi", schema(value_type = Object))]
            metadata: Map<String, Value>,
        },
        /// Clears the outputs of an execution.
        ClearOutputs {
            /// The execution.
            execution: ExecutionId,
            /// The fence of the session.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            fence: Fence,
            /// Whether they stay until the next output.
            wait: bool,
        },
        /// Records that an execution has ended.
        FinishExecution {
            /// The execution.
            execution: ExecutionId,
            /// The fence of the session.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            fence: Fence,
            /// How it ended. `Lost` is not one that can be reported.
            outcome: ExecutionOutcome,
            /// Why it failed, as text for people.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "ts", ts(optional))]
            why: Option<String>,
        },
    }
}
