//! The documents of notebooks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CellPosition, CellRevision, Fence, OutputPart, StreamName};
use crate::session::{body, wire};
use crate::{
    CellId, ExecutionId, Hash, NotebookId, OutputId, Principal, ProjectId, RuntimeSessionId,
    UnixMicros,
};

wire! {
    /// The kind of a cell.
    #[derive(Copy, Eq)]
    pub enum CellKind {
        /// A program.
        Code,
        /// Markdown.
        Markdown,
        /// Text that is kept as it is.
        Raw,
        /// A query.
        Sql,
        /// A request to a model.
        Ai,
    }

    /// The status of an execution.
    #[derive(Copy, Eq)]
    pub enum ExecutionStatus {
        /// It waits for a runtime.
        Queued,
        /// A runtime has claimed it.
        Assigned,
        /// It is running.
        Running,
        /// It has ended.
        Finished,
    }

    /// How an execution ended.
    #[derive(Copy, Eq)]
    pub enum ExecutionOutcome {
        /// Without an error.
        Ok,
        /// With an error.
        Error,
        /// Somebody cancelled it.
        Cancelled,
        /// Its runtime is gone.
        Lost,
    }

    /// Where a runtime runs.
    #[derive(Copy, Eq)]
    pub enum RuntimeLocation {
        /// On the machine of the daemon.
        Native,
        /// In a browser.
        Browser,
        /// On another machine.
        Remote,
    }

    /// The status of a runtime session.
    #[derive(Copy, Eq)]
    pub enum RuntimeSessionStatus {
        /// It is not ready yet.
        Starting,
        /// It waits for work.
        Ready,
        /// It executes something.
        Busy,
        /// Its language process is being restarted.
        Restarting,
        /// Its language process does not answer.
        Unresponsive,
        /// It has ended.
        Ended,
    }

    /// Why a runtime session ended.
    #[derive(Copy, Eq)]
    pub enum RuntimeEndReason {
        /// It was stopped.
        Shutdown,
        /// It was replaced by a new one of the same runtime.
        Restart,
        /// It failed.
        Error,
        /// It did not renew its lease.
        Timeout,
        /// Another one took its slot.
        Displaced,
    }
}

body! {
    /// What a runtime can execute.
    #[derive(Copy, Eq, Default)]
    pub struct RuntimeCapabilities {
        /// Programs.
        pub can_execute_code: bool,
        /// Queries.
        pub can_execute_sql: bool,
        /// Requests to models.
        pub can_execute_ai: bool,
    }

    /// A place for one active runtime session.
    #[derive(Eq)]
    pub struct NotebookSlot {
        /// Its name.
        pub name: String,
        /// The kinds of cells that are executed there.
        pub kinds: Vec<CellKind>,
        /// The active session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub session: Option<RuntimeSessionId>,
        /// The fence of the last session that started here; 0 before the first.
        #[serde(default)]
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub fence: Fence,
    }

    /// The file that a notebook is saved to and read from.
    #[derive(Eq)]
    pub struct NotebookFile {
        /// Its path in the project.
        pub path: String,
        /// The hash of its bytes when it was last read or written.
        pub hash: Option<Hash>,
        /// The version of the notebook that these bytes hold.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub version: u64,
    }

    /// A notebook, without its cells.
    pub struct Notebook {
        /// Its id.
        pub id: NotebookId,
        /// The project.
        pub project: ProjectId,
        /// Its title.
        pub title: String,
        /// The language of its code cells.
        pub language: String,
        /// Where its cells are executed; one slot unless others were declared.
        pub slots: Vec<NotebookSlot>,
        /// Its metadata, as in an `.ipynb` file.
        #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub metadata: Map<String, Value>,
        /// The file that it is bound to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub file: Option<NotebookFile>,
        /// How many executions were requested.
        pub executions: u32,
        /// When it was created.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub created_at: UnixMicros,
        /// On whose authority it was created.
        pub created_by: Principal,
        /// When it was deleted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional, type = "number"))]
        pub deleted_at: Option<UnixMicros>,
    }

    /// A cell.
    pub struct Cell {
        /// Its id.
        pub id: CellId,
        /// The notebook.
        pub notebook: NotebookId,
        /// Its kind.
        pub kind: CellKind,
        /// Where it is among the others.
        pub position: CellPosition,
        /// Its source.
        pub source: String,
        /// How often the source was changed.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub revision: CellRevision,
        /// Its metadata, as in an `.ipynb` file.
        #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub metadata: Map<String, Value>,
        /// The slot that executes it; by its kind if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub slot: Option<String>,
        /// Its last execution, unless its outputs were cleared since.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub execution: Option<ExecutionId>,
        /// When it was created.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub created_at: UnixMicros,
        /// On whose authority it was created.
        pub created_by: Principal,
        /// When it was deleted; it can be restored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional, type = "number"))]
        pub deleted_at: Option<UnixMicros>,
    }

    /// What a running program asks the person for.
    #[derive(Eq)]
    pub struct InputRequest {
        /// The text to show.
        pub prompt: String,
        /// Whether the input is secret. It is not in the log then.
        pub secret: bool,
    }

    /// One execution of a cell.
    pub struct Execution {
        /// Its id.
        pub id: ExecutionId,
        /// The notebook.
        pub notebook: NotebookId,
        /// The cell.
        pub cell: CellId,
        /// The kind of the cell.
        pub kind: CellKind,
        /// The slot that executes it.
        pub slot: String,
        /// Its number in the notebook, from 1.
        pub count: u32,
        /// The revision of the cell that is executed.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub revision: CellRevision,
        /// The source of that revision.
        pub source: String,
        /// Its status.
        pub status: ExecutionStatus,
        /// How it ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub outcome: Option<ExecutionOutcome>,
        /// Why it failed or was cancelled, as text for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub why: Option<String>,
        /// On whose authority it was requested.
        pub requested_by: Principal,
        /// When it was requested.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub requested_at: UnixMicros,
        /// When it was started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional, type = "number"))]
        pub started_at: Option<UnixMicros>,
        /// When it ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional, type = "number"))]
        pub finished_at: Option<UnixMicros>,
        /// The runtime session that claimed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub session: Option<RuntimeSessionId>,
        /// The fence of that session.
        #[serde(default)]
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub fence: Fence,
        /// Whether somebody asked to cancel it while it runs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        pub cancelling: bool,
        /// What it waits for from a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub input: Option<InputRequest>,
        /// How many outputs it has had.
        #[serde(default)]
        pub outputs: u32,
        /// The first output that was not cleared.
        #[serde(default)]
        pub first_output: u32,
        /// Whether the next output clears the ones before it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        pub clear_pending: bool,
        /// The page of the last output. What was cleared is overwritten: pages behind this one,
        /// and parts before the first output, are not shown.
        #[serde(default)]
        pub last_page: u32,
        /// How many parts the last page has.
        #[serde(default)]
        pub last_page_parts: u32,
        /// How many bytes of content were written to the last page.
        #[serde(default)]
        pub last_page_bytes: u32,
        /// The last output, if text can be appended to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub appendable: Option<AppendableOutput>,
    }

    /// An output that text can be appended to.
    #[derive(Copy, Eq)]
    pub struct AppendableOutput {
        /// The output.
        pub output: OutputId,
        /// The stream that it shows; absent for Markdown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub stream: Option<StreamName>,
    }

    /// Some consecutive outputs of an execution.
    pub struct OutputPage {
        /// The execution.
        pub execution: ExecutionId,
        /// The notebook.
        pub notebook: NotebookId,
        /// The number of the page, from 0.
        pub page: u32,
        /// The outputs, the oldest first.
        pub parts: Vec<OutputPart>,
    }

    /// Where an output is.
    #[derive(Copy, Eq)]
    pub struct OutputLocation {
        /// The execution.
        pub execution: ExecutionId,
        /// The page.
        pub page: u32,
        /// The output.
        pub output: OutputId,
        /// Its number in the execution.
        pub ordinal: u32,
    }

    /// The outputs of a notebook with one display name.
    #[derive(Eq)]
    pub struct DisplayLocations {
        /// The notebook.
        pub notebook: NotebookId,
        /// The name.
        pub display: String,
        /// Where the latest of them are, the oldest first.
        pub places: Vec<OutputLocation>,
    }

    /// A session of a runtime in a slot of a notebook.
    #[derive(Eq)]
    pub struct RuntimeSession {
        /// Its id.
        pub id: RuntimeSessionId,
        /// The notebook.
        pub notebook: NotebookId,
        /// The slot.
        pub slot: String,
        /// Its fence.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub fence: Fence,
        /// The runtime, the same over all of its sessions.
        pub runtime_id: String,
        /// Its type, such as `python`.
        pub runtime_type: String,
        /// Where it runs.
        pub place: RuntimeLocation,
        /// What it can execute.
        pub capabilities: RuntimeCapabilities,
        /// The authenticated principal that it acts for.
        pub client_id: Principal,
        /// Its status.
        pub status: RuntimeSessionStatus,
        /// What it claimed and has not finished.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub execution: Option<ExecutionId>,
        /// When it was started.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub started_at: UnixMicros,
        /// When it ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional, type = "number"))]
        pub ended_at: Option<UnixMicros>,
        /// Why it ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub end_reason: Option<RuntimeEndReason>,
        /// Why it ended, as text for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub why: Option<String>,
    }

    /// Data of a notebook that is stored under its hash.
    #[derive(Eq)]
    pub struct Artifact {
        /// The hash of its bytes.
        pub hash: Hash,
        /// The notebook.
        pub notebook: NotebookId,
        /// Its MIME type.
        pub mime: String,
        /// Its size in bytes.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub size: u64,
        /// Its name, if it is a file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub name: Option<String>,
    }
}

/// The views of a notebook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum NotebookView {
    /// The notebooks, by id.
    Notebooks,
    /// The cells, by id.
    Cells,
    /// The executions, by id.
    Executions,
    /// Outputs, by execution and page.
    OutputPages,
    /// The outputs with a display name, by notebook and name.
    Displays,
    /// The sessions of runtimes, by id.
    RuntimeSessions,
    /// The artifacts, by notebook and hash.
    Artifacts,
}

/// One document of a notebook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "view", content = "document", rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum NotebookDocument {
    /// Of [`NotebookView::Notebooks`].
    Notebooks(Box<Notebook>),
    /// Of [`NotebookView::Cells`].
    Cells(Box<Cell>),
    /// Of [`NotebookView::Executions`].
    Executions(Box<Execution>),
    /// Of [`NotebookView::OutputPages`].
    OutputPages(Box<OutputPage>),
    /// Of [`NotebookView::Displays`].
    Displays(Box<DisplayLocations>),
    /// Of [`NotebookView::RuntimeSessions`].
    RuntimeSessions(Box<RuntimeSession>),
    /// Of [`NotebookView::Artifacts`].
    Artifacts(Box<Artifact>),
}
