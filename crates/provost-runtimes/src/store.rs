//! What a driver needs of the store of a notebook.

mod local;
mod remote;

use std::future::Future;

use futures::future::BoxFuture;
use provost_notebook::NotebookState;
use provost_proto::notebook::{Fence, NotebookCommand};
use provost_proto::{Code, ExecutionId, Hash, IdempotencyKey, Principal, RuntimeSessionId};

pub use local::LocalStore;
pub use remote::{RemoteStore, RemoteTarget, TargetLocator};

/// What happened at a store.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreEvent {
    /// It has everything up to now, and takes commands.
    Connected {
        /// Whom the runtime acts for, as the daemon authenticated it.
        principal: Principal,
    },
    /// It lost its connection, and tries to get another one.
    Disconnected {
        /// Why, as text for people.
        why: String,
    },
    /// Its state has changed.
    Changed,
    /// Commands were applied.
    Accepted(IdempotencyKey),
    /// Commands were refused.
    Refused {
        /// Their key.
        id: IdempotencyKey,
        /// The index of the command that was refused.
        index: usize,
        /// The code.
        code: Code,
        /// Why.
        error: String,
    },
    /// A lease was renewed.
    LeaseRenewed {
        /// The session.
        session: RuntimeSessionId,
        /// How long it is valid.
        valid_ms: u32,
    },
    /// A session is not active any more.
    Fenced {
        /// The session.
        session: RuntimeSessionId,
        /// Why, as text for people.
        why: String,
    },
    /// Input of a person.
    Input {
        /// The execution.
        execution: ExecutionId,
        /// The input.
        text: String,
    },
    /// It will never be connected again.
    Closed {
        /// Why, as text for people.
        why: String,
    },
}

/// The store of one notebook, as one runtime uses it.
pub trait NotebookStore: Send + 'static {
    /// What is confirmed.
    fn state(&self) -> &NotebookState;

    /// The next thing that happens. Dropping the future loses nothing.
    fn next_event(&mut self) -> impl Future<Output = StoreEvent> + Send;

    /// Sends commands. They are lost with the connection, and then sent again by the agent.
    fn send_commands(
        &mut self,
        id: IdempotencyKey,
        commands: Vec<NotebookCommand>,
    ) -> impl Future<Output = ()> + Send;

    /// Renews a lease.
    fn renew_lease(
        &mut self,
        session: RuntimeSessionId,
        fence: Fence,
    ) -> impl Future<Output = ()> + Send;
}

/// Why bytes were not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot store an artifact: {0}")]
pub struct ArtifactFailure(pub String);

/// Stores bytes for a notebook.
pub trait ArtifactUploader: std::fmt::Debug + Send + Sync + 'static {
    /// Stores bytes; returns their hash.
    fn upload(&self, mime: String, bytes: Vec<u8>) -> BoxFuture<'_, Result<Hash, ArtifactFailure>>;
}
