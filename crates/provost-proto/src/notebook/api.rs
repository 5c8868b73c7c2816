//! The bodies of the HTTP routes of notebooks.

use serde_json::Value;

use super::{Cell, Execution, Notebook, NotebookCommand, NotebookSlot, OutputPage, RuntimeSession};
use crate::StreamVersion;
use crate::session::body;

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

    /// `POST /api/sync/ticket`: a ticket for one connection to `/api/sync`.
    #[derive(Eq)]
    pub struct SyncTicket {
        /// The ticket, valid once and for 30 seconds.
        pub ticket: String,
    }
}
