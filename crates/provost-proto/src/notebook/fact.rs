//! The bodies of the facts of a notebook.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    CellKind, CellPosition, CellRevision, ExecutionOutcome, Fence, InputRequest, MimeBundle,
    NotebookSlot, OutputContent, RuntimeCapabilities, RuntimeEndReason, RuntimeLocation,
    RuntimeSessionStatus,
};
use crate::session::body;
use crate::{
    CellId, ExecutionId, Hash, NotebookId, OutputId, ProjectId, RuntimeSessionId, StreamVersion,
};

/// Each kind of fact with its body, its name on the wire, and its documentation: once for all
/// that lists them.
macro_rules! facts {
    ($($(#[$doc:meta])* $name:ident = $kind:literal { $($body:tt)* })+) => {
        body! {$(
            $(#[$doc])*
            pub struct $name {
                /// The notebook.
                pub notebook: NotebookId,
                $($body)*
            }
        )+}

        /// A fact of a notebook.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", content = "body")]
        #[cfg_attr(feature = "ts", derive(ts_rs::TS))]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub enum NotebookFact {
            $($(#[$doc])* #[serde(rename = $kind)] $name($name),)+
        }

        impl NotebookFact {
            /// All kinds.
            pub const KINDS: &'static [&'static str] = &[$($kind,)+];

            /// The kind, as in the envelope.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$name(_) => $kind,)+ }
            }

            /// The notebook.
            pub const fn notebook(&self) -> NotebookId {
                match self { $(Self::$name(body) => body.notebook,)+ }
            }
        }

        impl From<NotebookFact> for crate::Fact {
            fn from(fact: NotebookFact) -> Self {
                match fact { $(NotebookFact::$name(body) => Self::$name(body),)+ }
            }
        }

        impl NotebookFact {
            /// The fact, if it is one of a notebook.
            pub fn from_fact(fact: &crate::Fact) -> Option<Self> {
                match fact {
                    $(crate::Fact::$name(body) => Some(Self::$name(body.clone())),)+
                    _ => None,
                }
            }
        }
    };
}

facts! {
    /// A notebook was created.
    NotebookCreated = "NOTEBOOK_CREATED" {
        /// The project.
        pub project: ProjectId,
        /// Its title.
        pub title: String,
        /// The language of its code cells.
        pub language: String,
        /// Where its cells are executed.
        pub slots: Vec<NotebookSlot>,
        /// Its metadata, as in an `.ipynb` file.
        #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub metadata: Map<String, Value>,
    }
    /// The title of a notebook was changed.
    NotebookRenamed = "NOTEBOOK_RENAMED" {
        /// The new title.
        pub title: String,
    }
    /// A value of a notebook's metadata was set, or removed if it is `null`.
    NotebookMetadataSet = "NOTEBOOK_METADATA_SET" {
        /// The name of the value.
        pub key: String,
        /// The value.
        #[cfg_attr(feature = "ts", ts(type = "unknown"))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub value: Value,
    }
    /// The slots of a notebook were declared anew; no session is active in any.
    NotebookSlotsSet = "NOTEBOOK_SLOTS_SET" {
        /// The slots.
        pub slots: Vec<NotebookSlot>,
    }
    /// A notebook was bound to a file of its project, or to none.
    NotebookBound = "NOTEBOOK_BOUND" {
        /// The path in the project.
        pub path: Option<String>,
    }
    /// A notebook and its file hold the same.
    NotebookSaved = "NOTEBOOK_SAVED" {
        /// The path in the project.
        pub path: String,
        /// The hash of the file.
        pub hash: Hash,
        /// The version of the notebook that the file holds.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub saved: StreamVersion,
    }
    /// A notebook was deleted; its history stays readable.
    NotebookDeleted = "NOTEBOOK_DELETED" {}
    /// A cell was created.
    CellCreated = "CELL_CREATED" {
        /// Its id.
        pub cell: CellId,
        /// Its kind.
        pub cell_kind: CellKind,
        /// Where it is among the others.
        pub position: CellPosition,
        /// Its source.
        pub source: String,
        /// Its metadata, as in an `.ipynb` file.
        #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub metadata: Map<String, Value>,
    }
    /// Parts of a cell's source were changed.
    CellEdited = "CELL_EDITED" {
        /// The cell.
        pub cell: CellId,
        /// The revision that the change makes.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub revision: CellRevision,
        /// The change, as a change set of CodeMirror: lengths are UTF-16 units.
        #[cfg_attr(feature = "ts", ts(type = "unknown"))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub changes: Value,
    }
    /// A cell's source was replaced.
    CellReplaced = "CELL_REPLACED" {
        /// The cell.
        pub cell: CellId,
        /// The revision that this makes.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub revision: CellRevision,
        /// The new source.
        pub source: String,
    }
    /// A cell was moved.
    CellMoved = "CELL_MOVED" {
        /// The cell.
        pub cell: CellId,
        /// Where it is now.
        pub position: CellPosition,
    }
    /// The kind of a cell was changed.
    CellKindSet = "CELL_KIND_SET" {
        /// The cell.
        pub cell: CellId,
        /// The new kind.
        pub cell_kind: CellKind,
    }
    /// A value of a cell's metadata was set, or removed if it is `null`.
    CellMetadataSet = "CELL_METADATA_SET" {
        /// The cell.
        pub cell: CellId,
        /// The name of the value.
        pub key: String,
        /// The value.
        #[cfg_attr(feature = "ts", ts(type = "unknown"))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub value: Value,
    }
    /// The slot that executes a cell was chosen, or is by its kind again.
    CellSlotSet = "CELL_SLOT_SET" {
        /// The cell.
        pub cell: CellId,
        /// The slot.
        pub slot: Option<String>,
    }
    /// A cell was deleted; it can be restored.
    CellDeleted = "CELL_DELETED" {
        /// The cell.
        pub cell: CellId,
    }
    /// A deleted cell was restored.
    CellRestored = "CELL_RESTORED" {
        /// The cell.
        pub cell: CellId,
    }
    /// The outputs of a cell were cleared by a person.
    CellOutputsCleared = "CELL_OUTPUTS_CLEARED" {
        /// The cell.
        pub cell: CellId,
    }
    /// The execution of a cell was requested.
    ExecutionRequested = "EXECUTION_REQUESTED" {
        /// Its id.
        pub execution: ExecutionId,
        /// The cell.
        pub cell: CellId,
        /// The kind of the cell.
        pub cell_kind: CellKind,
        /// The slot that executes it.
        pub slot: String,
        /// Its number in the notebook, from 1.
        pub count: u32,
        /// The revision of the cell that is executed.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub revision: CellRevision,
        /// The source of that revision.
        pub source: String,
    }
    /// A runtime session claimed an execution.
    ExecutionAssigned = "EXECUTION_ASSIGNED" {
        /// The execution.
        pub execution: ExecutionId,
        /// The session.
        pub session: RuntimeSessionId,
        /// Its fence.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub fence: Fence,
    }
    /// A claimed execution that had not started went back to the queue.
    ExecutionReturned = "EXECUTION_RETURNED" {
        /// The execution.
        pub execution: ExecutionId,
    }
    /// An execution was started.
    ExecutionStarted = "EXECUTION_STARTED" {
        /// The execution.
        pub execution: ExecutionId,
        /// The session.
        pub session: RuntimeSessionId,
        /// Its fence.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub fence: Fence,
    }
    /// A running program asks the person for input.
    ExecutionInputAsked = "EXECUTION_INPUT_ASKED" {
        /// The execution.
        pub execution: ExecutionId,
        /// What it asks for.
        pub input: InputRequest,
    }
    /// A person answered.
    ExecutionInputAnswered = "EXECUTION_INPUT_ANSWERED" {
        /// The execution.
        pub execution: ExecutionId,
        /// The input; absent if it is secret.
        pub text: Option<String>,
    }
    /// Somebody asked to cancel an execution that is claimed or running. One that is queued is
    /// finished at once.
    ExecutionCancelled = "EXECUTION_CANCELLED" {
        /// The execution.
        pub execution: ExecutionId,
        /// Why, as text for people.
        pub why: Option<String>,
    }
    /// An execution has ended.
    ExecutionFinished = "EXECUTION_FINISHED" {
        /// The execution.
        pub execution: ExecutionId,
        /// The session that had claimed it, if one had.
        pub session: Option<RuntimeSessionId>,
        /// How it ended.
        pub outcome: ExecutionOutcome,
        /// Why it failed or was cancelled, as text for people.
        pub why: Option<String>,
    }
    /// An execution has a further output.
    OutputAdded = "OUTPUT_ADDED" {
        /// The execution.
        pub execution: ExecutionId,
        /// The id of the output.
        pub output: OutputId,
        /// Its number in the execution, from 0.
        pub ordinal: u32,
        /// The page that holds it.
        pub page: u32,
        /// The first output that is shown: those before it were cleared.
        pub first: u32,
        /// The output.
        pub content: OutputContent,
    }
    /// Text was appended to the last output of an execution.
    OutputAppended = "OUTPUT_APPENDED" {
        /// The execution.
        pub execution: ExecutionId,
        /// The output.
        pub output: OutputId,
        /// Its number in the execution.
        pub ordinal: u32,
        /// The page that holds the text; if it is a new one, the output continues there.
        pub page: u32,
        /// The content of the continued output with this text only.
        pub content: OutputContent,
    }
    /// An output with a display name was replaced.
    OutputReplaced = "OUTPUT_REPLACED" {
        /// The execution.
        pub execution: ExecutionId,
        /// The page that holds it.
        pub page: u32,
        /// The output.
        pub output: OutputId,
        /// Its new representations.
        pub data: MimeBundle,
        /// Metadata by MIME type.
        #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub metadata: Map<String, Value>,
    }
    /// The outputs of an execution were cleared: by its program, or by a person while it runs.
    OutputsCleared = "OUTPUTS_CLEARED" {
        /// The execution.
        pub execution: ExecutionId,
        /// Whether they stay until the next output.
        pub wait: bool,
    }
    /// A runtime session was started in a slot.
    RuntimeSessionStarted = "RUNTIME_SESSION_STARTED" {
        /// Its id.
        pub session: RuntimeSessionId,
        /// The slot.
        pub slot: String,
        /// Its fence.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub fence: Fence,
        /// The runtime.
        pub runtime_id: String,
        /// Its type, such as `python`.
        pub runtime_type: String,
        /// Where it runs.
        pub place: RuntimeLocation,
        /// What it can execute.
        pub capabilities: RuntimeCapabilities,
    }
    /// The status of a runtime session changed.
    RuntimeSessionStatusSet = "RUNTIME_SESSION_STATUS" {
        /// The session.
        pub session: RuntimeSessionId,
        /// The new status.
        pub status: RuntimeSessionStatus,
    }
    /// A runtime session has ended.
    RuntimeSessionEnded = "RUNTIME_SESSION_ENDED" {
        /// The session.
        pub session: RuntimeSessionId,
        /// The slot.
        pub slot: String,
        /// Why.
        pub reason: RuntimeEndReason,
        /// Why, as text for people.
        pub why: Option<String>,
    }
    /// Data was stored for a notebook.
    ArtifactAdded = "ARTIFACT_ADDED" {
        /// The hash of its bytes.
        pub artifact: Hash,
        /// Its MIME type.
        pub mime: String,
        /// Its size in bytes.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub size: u64,
        /// Its name, if it is a file.
        pub name: Option<String>,
    }
}
