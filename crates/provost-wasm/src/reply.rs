//! What the page must do and show.

use provost_notebook::client_store::{RejectedBatch, StoreJournal};
use provost_proto::notebook::{
    CellKind, ClientSyncMessage, NotebookCommand, NotebookDocument, NotebookView, RuntimeEndReason,
};
use provost_proto::{CellId, Code, ExecutionId, Hash, IdempotencyKey, RuntimeSessionId};
use serde::Serialize;
use uuid::Uuid;

/// What came of a request.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientReply<'a> {
    /// Whether `documents` are all there are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_everything: bool,
    /// The documents that may have changed.
    pub documents: Vec<ChangedDocument<'a>>,
    /// Keys of what was confirmed.
    pub confirmed: Vec<IdempotencyKey>,
    /// What does not hold any more.
    pub rejected: Vec<RejectedCommands>,
    /// Messages to send at once.
    pub messages: Vec<ClientSyncMessage>,
    /// Messages to send once the journal is stored.
    pub journaled: Vec<ClientSyncMessage>,
    /// What to store for another client, if it changed; `null` removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<Option<StoreJournal>>,
    /// What runtimes must do.
    pub orders: Vec<AgentOrder>,
    /// Bytes of outputs that wait to be sent.
    pub backlog: usize,
    /// Whether the store has all events up to now.
    pub is_live: bool,
    /// How many commands are not confirmed.
    pub pending: usize,
    /// A position, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// The hash of the state, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<Hash>,
    /// Why the request was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RequestError>,
}

/// A document, or none where there is none any more.
#[derive(Debug, Serialize)]
pub struct ChangedDocument<'a> {
    /// Its view.
    pub view: NotebookView,
    /// Its key in the view.
    pub key: Uuid,
    /// The document.
    pub document: Option<&'a NotebookDocument>,
}

/// Why a request was refused.
#[derive(Debug, Serialize)]
pub struct RequestError {
    /// The code.
    pub code: Code,
    /// The message for people.
    pub error: String,
}

/// Commands that do not hold any more.
#[derive(Debug, Serialize)]
pub struct RejectedCommands {
    /// Their key.
    pub id: IdempotencyKey,
    /// The index of the refused command.
    pub index: usize,
    /// Why.
    #[serde(flatten)]
    pub why: RequestError,
    /// The commands.
    pub commands: Vec<NotebookCommand>,
}

impl From<RejectedBatch> for RejectedCommands {
    fn from(RejectedBatch { id, index, refusal, commands }: RejectedBatch) -> Self {
        let why = RequestError { code: refusal.code, error: refusal.error };
        Self { id, index, why, commands }
    }
}

/// What a runtime must do.
#[derive(Debug, Serialize)]
pub struct AgentOrder {
    /// Its session.
    pub session: RuntimeSessionId,
    /// What to do.
    pub order: AgentOrderKind,
}

/// What to do.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AgentOrderKind {
    /// Run the handler. Its start is in the log.
    Execute {
        /// The execution.
        execution: ExecutionId,
        /// The cell.
        cell: CellId,
        /// The kind of the cell.
        kind: CellKind,
        /// The number of the execution.
        count: u32,
        /// The source.
        source: String,
        /// Whether an earlier page started it.
        is_resumed: bool,
    },
    /// Abort the handler.
    Interrupt {
        /// The execution.
        execution: ExecutionId,
    },
    /// The session is over.
    Stopped {
        /// Why.
        reason: RuntimeEndReason,
        /// Why, as text for people.
        why: Option<String>,
    },
}
