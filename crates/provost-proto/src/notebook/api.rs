//! The bodies of the HTTP routes of notebooks.

use serde_json::Value;

use super::{
    Cell, Execution, Notebook, NotebookCommand, NotebookSlot, OutputPage, RuntimeCapabilities,
    RuntimeSession,
};
use crate::session::body;
use crate::{RuntimeSessionId, StreamVersion};

body! {
    /// `POST /api/projects/{p}/notebooks`.
    #[serde(deny_unknown_fields)]
    pub struct CreateNotebookRequest {
        /// The title.
        pub title: String,
        /// The language of the code cells; `python` if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub language: Option<String>,
        /// The slots; one for all kinds if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub slots: Option<Vec<NotebookSlot>>,
    }

    /// `POST /api/projects/{p}/notebooks/import`.
    #[serde(deny_unknown_fields)]
    pub struct ImportNotebookRequest {
        /// The title; that of the file if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub title: Option<String>,
        /// The content of an `.ipynb` file.
        #[cfg_attr(feature = "ts", ts(type = "unknown"))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub content: Value,
    }

    /// The answer to an import.
    pub struct ImportedNotebook {
        /// The notebook.
        pub notebook: Notebook,
        /// What was repaired in the file, as text for people.
        pub repaired: Vec<String>,
    }

    /// The answer to the creation of a notebook.
    pub struct CreatedNotebook {
        /// The notebook.
        pub notebook: Notebook,
    }

    /// `GET /api/projects/{p}/notebooks`.
    pub struct NotebookList {
        /// The notebooks that were not deleted, the newest first.
        pub notebooks: Vec<Notebook>,
    }

    /// `GET /api/notebooks/{n}`: all that is shown of a notebook.
    pub struct NotebookDetail {
        /// The notebook.
        pub notebook: Notebook,
        /// Its version.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub version: StreamVersion,
        /// Its cells, in order.
        pub cells: Vec<Cell>,
        /// The last execution of each cell, and those that have not ended.
        pub executions: Vec<Execution>,
        /// Their outputs.
        pub outputs: Vec<OutputPage>,
        /// The active runtime sessions, and the last one of each slot.
        pub sessions: Vec<RuntimeSession>,
    }

    /// `POST /api/notebooks/{n}/commands`. The header `Idempotency-Key` is the id that
    /// `/api/sync` has for the same commands.
    #[serde(deny_unknown_fields)]
    pub struct NotebookCommandsRequest {
        /// The commands, which are applied together or not at all.
        pub commands: Vec<NotebookCommand>,
    }

    /// The answer to commands that were applied.
    #[derive(Copy, Eq)]
    pub struct AppliedNotebookCommands {
        /// The version of their last event; of the notebook if there was nothing to change.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub version: StreamVersion,
    }

    /// `POST /api/notebooks/{n}/runtimes`: a runtime that the daemon runs itself.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct StartRuntimeRequest {
        /// The type, such as `shell`.
        #[serde(rename = "type")]
        pub runtime_type: String,
        /// The slot; the notebook's first if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub slot: Option<String>,
        /// The role in which cells request actions; what the person may do if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub role: Option<String>,
    }

    /// A runtime that the daemon runs itself.
    #[derive(Eq)]
    pub struct LocalRuntime {
        /// Its id in the notebook.
        pub runtime_id: String,
        /// Its type.
        #[serde(rename = "type")]
        pub runtime_type: String,
        /// The role in which its cells request actions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub role: Option<String>,
        /// Its slot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub slot: Option<String>,
        /// Its session, once that is active.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub session: Option<RuntimeSessionId>,
    }

    /// A type of runtimes that the daemon can run.
    #[derive(Eq)]
    pub struct RuntimeType {
        /// Its name.
        #[serde(rename = "type")]
        pub runtime_type: String,
        /// What it is, as text for people.
        pub description: String,
        /// What it can execute.
        pub capabilities: RuntimeCapabilities,
        /// Why it cannot be started, with what to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub obstacle: Option<String>,
    }

    /// `GET /api/notebooks/{n}/runtimes`.
    #[derive(Eq)]
    pub struct LocalRuntimeList {
        /// Those that run in the notebook.
        pub runtimes: Vec<LocalRuntime>,
        /// The types that there are.
        pub types: Vec<RuntimeType>,
    }

    /// `POST /api/sync/ticket`: a ticket for one connection to `/api/sync`.
    #[derive(Eq)]
    pub struct SyncTicket {
        /// The ticket, valid once and for 30 seconds.
        pub ticket: String,
    }
}
