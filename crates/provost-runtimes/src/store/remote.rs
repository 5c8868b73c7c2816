//! The store of a runtime that is a client of `GET /api/sync`.
//!
//! A task owns the connection: it connects when the store asks it to, with growing pauses between
//! attempts, and passes messages in both directions through queues of bounded length. The store
//! applies what it receives; where it is then is where the next connection goes on.

mod link;

use std::fmt;
use std::sync::Arc;

use provost_gateway::Secret;
use provost_notebook::NotebookState;
use provost_notebook::client_store::ClientStore;
use provost_proto::notebook::{ClientSyncMessage, Fence, NotebookCommand, ServerSyncMessage};
use provost_proto::{Code, IdempotencyKey, NotebookId, RuntimeSessionId, limits};
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

use super::{NotebookStore, StoreEvent};
use link::{ConnectRequest, LinkEvent, RemoteSyncLink};

/// How many messages wait in each direction.
const MAX_WAITING_MESSAGES: usize = 16;

/// A daemon and the token for it.
#[derive(Clone)]
pub struct RemoteTarget {
    /// Host and port.
    pub address: String,
    /// The token.
    pub token: Secret,
}

impl fmt::Debug for RemoteTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteTarget").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Finds the daemon, for each attempt anew: one that was started again may listen elsewhere.
pub trait TargetLocator: Send + Sync + 'static {
    /// Where it is now.
    ///
    /// # Errors
    /// If there is none, with the reason as text for people.
    fn locate(&self) -> Result<RemoteTarget, String>;
}

/// A notebook of a daemon that is reached over the network.
#[derive(Debug)]
pub struct RemoteStore {
    notebook: NotebookId,
    store: ClientStore,
    principal: String,
    outgoing: mpsc::Sender<ClientSyncMessage>,
    incoming: mpsc::Receiver<LinkEvent>,
    connect: watch::Sender<ConnectRequest>,
    /// Whether messages of a connection that was given up may still come.
    is_stale: bool,
    /// A refusal that the daemon need not be asked for.
    refused: Option<StoreEvent>,
    _link: AbortOnDropHandle<()>,
}

impl RemoteStore {
    /// The store of a notebook. It connects in the background.
    pub fn new(notebook: NotebookId, locator: Arc<dyn TargetLocator>) -> Self {
        let (outgoing, to_send) = mpsc::channel(MAX_WAITING_MESSAGES);
        let (events, incoming) = mpsc::channel(MAX_WAITING_MESSAGES);
        let (connect, requests) = watch::channel(ConnectRequest::default());
        let link = RemoteSyncLink { notebook, locator, to_send, events, requests };
        let link = AbortOnDropHandle::new(tokio::spawn(link.run()));
        Self {
            notebook,
            // Nothing is submitted through it: who it is for is known when the daemon says so.
            store: ClientStore::new(notebook, ""),
            principal: String::new(),
            outgoing,
            incoming,
            connect,
            is_stale: false,
            refused: None,
            _link: link,
        }
    }

    /// Connects anew, from where the store is.
    fn reconnect(&mut self) {
        let resume = self.store.resume_point();
        self.connect.send_modify(|request| {
            *request = ConnectRequest { number: request.number + 1, resume };
        });
    }

    fn disconnect(&mut self, why: String) -> StoreEvent {
        self.store.disconnected();
        self.is_stale = true;
        self.reconnect();
        StoreEvent::Disconnected { why }
    }

    fn take_link_event(&mut self, event: LinkEvent) -> Option<StoreEvent> {
        match event {
            LinkEvent::Welcomed { principal } => {
                (self.principal, self.is_stale) = (principal, false);
                None
            }
            LinkEvent::Unreachable { why } => Some(StoreEvent::Disconnected { why }),
            LinkEvent::Lost { why } => Some(self.disconnect(why)),
            LinkEvent::Rejected { why } => Some(StoreEvent::Closed { why }),
            LinkEvent::Message(_) if self.is_stale => None,
            LinkEvent::Message(message) => self.take_message(*message),
        }
    }

    fn take_message(&mut self, message: ServerSyncMessage) -> Option<StoreEvent> {
        Some(match message {
            ServerSyncMessage::Snapshot { at, part, last, documents, .. } => {
                drop(self.store.apply_snapshot(at, part, last, documents));
                StoreEvent::Changed
            }
            ServerSyncMessage::Events { events, .. } => match self.store.apply_events(&events) {
                Ok(_) => StoreEvent::Changed,
                Err(missing) => self.disconnect(missing.to_string()),
            },
            ServerSyncMessage::Live { .. } => {
                self.store.went_live();
                StoreEvent::Connected { principal: self.principal.clone() }
            }
            ServerSyncMessage::Accepted { id, .. } => StoreEvent::Accepted(id),
            // The daemon could not, which is no decision: it is asked again.
            ServerSyncMessage::Refused { error, .. } if error.code.status() >= 500 => {
                self.disconnect(error.error)
            }
            ServerSyncMessage::Refused { id, error, index, .. } => StoreEvent::Refused {
                id,
                index: usize::try_from(index).unwrap_or(usize::MAX),
                code: error.code,
                error: error.error,
            },
            ServerSyncMessage::LeaseRenewed { session, valid_ms } => {
                StoreEvent::LeaseRenewed { session, valid_ms }
            }
            ServerSyncMessage::Fenced { session, why } => StoreEvent::Fenced { session, why },
            ServerSyncMessage::Input { execution, text } => StoreEvent::Input { execution, text },
            ServerSyncMessage::Unsubscribed { error, .. } | ServerSyncMessage::Error { error } => {
                if error.code.status() >= 500 {
                    self.disconnect(error.error)
                } else {
                    StoreEvent::Closed { why: error.error }
                }
            }
            ServerSyncMessage::Welcome { .. }
            | ServerSyncMessage::Presence { .. }
            | ServerSyncMessage::Pong => return None,
        })
    }

    /// Sends a message, if there is room: what a dead connection does not take is sent again over
    /// the next one.
    fn send(&self, message: ClientSyncMessage) {
        if self.outgoing.try_send(message).is_err() {
            tracing::debug!("the connection takes no message now");
        }
    }
}

impl NotebookStore for RemoteStore {
    fn state(&self) -> &NotebookState {
        self.store.state()
    }

    async fn next_event(&mut self) -> StoreEvent {
        if let Some(refused) = self.refused.take() {
            return refused;
        }
        loop {
            let Some(event) = self.incoming.recv().await else {
                return StoreEvent::Closed { why: "the connection task has ended".to_owned() };
            };
            if let Some(event) = self.take_link_event(event) {
                return event;
            }
        }
    }

    async fn send_commands(&mut self, id: IdempotencyKey, commands: Vec<NotebookCommand>) {
        let too_large = find_too_large(&commands);
        if let Some(index) = too_large {
            let limit = limits::MAX_SYNC_MESSAGE_BYTES;
            let error = format!("the output is larger than {limit} bytes: store it as an artifact");
            self.refused = Some(StoreEvent::Refused { id, index, code: Code::TooLarge, error });
            return;
        }
        self.send(ClientSyncMessage::Commands { id, notebook: self.notebook, commands });
    }

    async fn renew_lease(&mut self, session: RuntimeSessionId, fence: Fence) {
        self.send(ClientSyncMessage::RenewLease { notebook: self.notebook, session, fence });
    }
}

/// The index of the largest command, if all together are too large for a message.
fn find_too_large(commands: &[NotebookCommand]) -> Option<usize> {
    /// What a message has beside its commands.
    const ENVELOPE_BYTES: usize = 512;
    let sizes: Vec<_> = commands
        .iter()
        .map(|command| serde_json::to_vec(command).map_or(usize::MAX, |text| text.len() + 1))
        .collect();
    let total = sizes.iter().fold(ENVELOPE_BYTES, |sum, size| sum.saturating_add(*size));
    let largest = sizes.iter().enumerate().max_by_key(|(_, size)| **size);
    largest.filter(|_| total > limits::MAX_SYNC_MESSAGE_BYTES).map(|(index, _)| index)
}
