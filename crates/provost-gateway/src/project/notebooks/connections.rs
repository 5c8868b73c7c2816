//! The connections of `GET /api/sync`: what is told to them beside the log.
//!
//! Presence is lossy: a connection that reads too slowly misses some of it. Orders to a runtime
//! are not: there is room for them before what they follow from is recorded.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use provost_proto::notebook::NotebookPresence;
use provost_proto::{Actor, ExecutionId, NotebookId, Principal, RuntimeSessionId};
use serde_json::Value;
use tokio::sync::mpsc;

/// How much presence waits for one connection.
const MAX_WAITING_PRESENCE: usize = 64;

/// How many orders wait for one connection.
const MAX_WAITING_ORDERS: usize = 64;

/// What a connection is told, and no other one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeOrder {
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
}

/// A connection. Dropping it tells the others that it is gone.
#[derive(Debug)]
pub struct SyncConnection {
    /// Identifies it.
    pub id: u64,
    registry: Arc<Connections>,
}

/// What a connection receives beside the log.
#[derive(Debug)]
pub struct SyncInbox {
    /// What others do.
    pub presence: mpsc::Receiver<(NotebookId, NotebookPresence)>,
    /// Orders.
    pub orders: mpsc::Receiver<RuntimeOrder>,
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Connections {
    next: AtomicU64,
    open: Mutex<HashMap<u64, ConnectionEntry>>,
}

#[derive(Debug)]
struct ConnectionEntry {
    principal: Principal,
    actor: Actor,
    presence: mpsc::Sender<(NotebookId, NotebookPresence)>,
    orders: mpsc::Sender<RuntimeOrder>,
    /// What it does in the notebooks that it follows.
    notebooks: HashMap<NotebookId, Value>,
}

impl ConnectionEntry {
    fn describe(&self, connection: u64, data: Value) -> NotebookPresence {
        let (principal, actor) = (self.principal.clone(), self.actor.clone());
        NotebookPresence { connection, principal, actor, data }
    }
}

impl Connections {
    /// Adds a connection.
    pub(super) fn open(
        self: &Arc<Self>,
        principal: Principal,
        actor: Actor,
    ) -> (SyncConnection, SyncInbox) {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (presence, presence_inbox) = mpsc::channel(MAX_WAITING_PRESENCE);
        let (orders, orders_inbox) = mpsc::channel(MAX_WAITING_ORDERS);
        let notebooks = HashMap::new();
        let entry = ConnectionEntry { principal, actor, presence, orders, notebooks };
        self.open.lock().insert(id, entry);
        let connection = SyncConnection { id, registry: Arc::clone(self) };
        (connection, SyncInbox { presence: presence_inbox, orders: orders_inbox })
    }

    /// Room for an order to a connection, so that it cannot be lost; `None` if it is gone or too
    /// far behind.
    pub(super) fn reserve_order(&self, connection: u64) -> Option<mpsc::OwnedPermit<RuntimeOrder>> {
        let orders = self.open.lock().get(&connection)?.orders.clone();
        orders.try_reserve_owned().ok()
    }

    /// Tells the others in a notebook what a connection does.
    fn spread(&self, from: u64, notebook: NotebookId, data: &Value) {
        let open = self.open.lock();
        let Some(entry) = open.get(&from) else { return };
        let presence = entry.describe(from, data.clone());
        for (id, other) in open.iter() {
            if *id != from && other.notebooks.contains_key(&notebook) {
                // It is lossy: who reads too slowly misses it.
                drop(other.presence.try_send((notebook, presence.clone())));
            }
        }
    }
}

impl SyncConnection {
    /// The connection follows a notebook: it is told what the others do there.
    pub fn enter(&self, notebook: NotebookId) {
        let mut open = self.registry.open.lock();
        if let Some(own) = open.get_mut(&self.id) {
            own.notebooks.entry(notebook).or_default();
        }
        let Some(own) = open.get(&self.id) else { return };
        for (id, other) in open.iter().filter(|(id, _)| **id != self.id) {
            if let Some(data) = other.notebooks.get(&notebook).filter(|data| !data.is_null()) {
                drop(own.presence.try_send((notebook, other.describe(*id, data.clone()))));
            }
        }
    }

    /// The connection does not follow a notebook any more.
    pub fn leave(&self, notebook: NotebookId) {
        self.registry.spread(self.id, notebook, &Value::Null);
        if let Some(own) = self.registry.open.lock().get_mut(&self.id) {
            own.notebooks.remove(&notebook);
        }
    }

    /// Tells the others what this connection does; nothing if it does not follow the notebook.
    pub fn set_presence(&self, notebook: NotebookId, data: &Value) {
        {
            let mut open = self.registry.open.lock();
            let own = open.get_mut(&self.id).and_then(|own| own.notebooks.get_mut(&notebook));
            let Some(own) = own else { return };
            own.clone_from(data);
        }
        self.registry.spread(self.id, notebook, data);
    }
}

impl Drop for SyncConnection {
    fn drop(&mut self) {
        let notebooks: Vec<NotebookId> = {
            let open = self.registry.open.lock();
            open.get(&self.id)
                .map(|own| own.notebooks.keys().copied().collect())
                .unwrap_or_default()
        };
        for notebook in notebooks {
            self.registry.spread(self.id, notebook, &Value::Null);
        }
        self.registry.open.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn open(registry: &Arc<Connections>, name: &str) -> (SyncConnection, SyncInbox) {
        registry.open(name.to_owned(), Actor::Ui)
    }

    #[test]
    fn presence_reaches_the_others_of_the_notebook_and_ends_with_the_connection() {
        let registry = Arc::new(Connections::default());
        let notebook = NotebookId::new(uuid::Uuid::from_u128(1));
        let (ann, mut ann_inbox) = open(&registry, "ann");
        let (bob, mut bob_inbox) = open(&registry, "bob");
        let (_eve, mut eve_inbox) = open(&registry, "eve");
        ann.enter(notebook);
        ann.set_presence(notebook, &json!({ "cell": 1 }));
        bob.enter(notebook);
        let (of, seen) = bob_inbox.presence.try_recv().unwrap();
        assert_eq!((of, &*seen.principal, seen.data), (notebook, "ann", json!({ "cell": 1 })));
        bob.set_presence(notebook, &json!({ "cell": 2 }));
        assert_eq!(ann_inbox.presence.try_recv().unwrap().1.data, json!({ "cell": 2 }));
        drop(bob);
        let gone = ann_inbox.presence.try_recv().unwrap().1;
        assert_eq!((&*gone.principal, gone.data), ("bob", Value::Null));
        assert!(eve_inbox.presence.try_recv().is_err(), "she does not follow it");
    }

    #[test]
    fn presence_is_dropped_and_orders_are_refused_for_a_connection_that_does_not_read() {
        let registry = Arc::new(Connections::default());
        let notebook = NotebookId::new(uuid::Uuid::from_u128(1));
        let (ann, _ann_inbox) = open(&registry, "ann");
        let (bob, mut bob_inbox) = open(&registry, "bob");
        ann.enter(notebook);
        bob.enter(notebook);
        for n in 0..1000 {
            ann.set_presence(notebook, &json!(n));
        }
        let mut received = 0;
        while bob_inbox.presence.try_recv().is_ok() {
            received += 1;
        }
        assert_eq!(received, MAX_WAITING_PRESENCE);
        let order = || RuntimeOrder::Input {
            execution: ExecutionId::new(uuid::Uuid::from_u128(2)),
            text: String::new(),
        };
        for _ in 0..MAX_WAITING_ORDERS {
            registry.reserve_order(bob.id).unwrap().send(order());
        }
        assert!(registry.reserve_order(bob.id).is_none());
        assert!(registry.reserve_order(99).is_none());
    }
}
