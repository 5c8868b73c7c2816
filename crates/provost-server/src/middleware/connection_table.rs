//! The open connections, and which of them is closed when there are too many.
//!
//! Who a client is shows only in its first request, so a new connection is never left waiting
//! while there is one to close: first those that have shown no token and have no request in
//! progress, which includes those that send a head slowly or never, the longest idle first; then
//! idle ones of clients that are known, which connect again. The last places go to operators
//! only. A request of a known client, such as a stream, is never cut off.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use provost_proto::Code;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::api_error::ApiError;

/// Most open connections of all ports together. One that was upgraded is not counted.
const MAX_CONNECTIONS: usize = 1024;

/// How many of them only operators get, such as the command line of the daemon's owner.
const RESERVED_CONNECTIONS: usize = 64;

/// Who is at the other end of a connection, by the requests so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClientTrust {
    /// No request had a valid token.
    Unknown,
    /// An agent, a viewer, or a browser with the cookie of a preview.
    Known,
    /// A person who may decide.
    Operator,
}

/// All open connections.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTable {
    open: Mutex<BTreeMap<u64, Arc<Connection>>>,
    /// Numbers connections and the moments at which they become idle, in order.
    ticks: AtomicU64,
    removed: Notify,
}

/// One open connection.
#[derive(Debug)]
pub(crate) struct Connection {
    id: u64,
    table: Arc<ConnectionTable>,
    /// Whether it has one of the places for operators.
    is_reserved: bool,
    trust: AtomicU8,
    /// The tick at which it became idle, or [`BUSY`].
    idle_since: AtomicU64,
    shed: CancellationToken,
}

/// In place of a tick: a request is in progress.
const BUSY: u64 = u64::MAX;

/// Removes its connection from the table when it ends.
#[derive(Debug)]
pub(crate) struct ConnectionGuard(Arc<Connection>);

/// Marks a connection as busy until the response was sent.
#[derive(Debug)]
struct RequestGuard(Arc<Connection>);

/// A response body during which its connection counts as busy.
#[derive(Debug)]
pub(crate) struct TrackedBody {
    body: Body,
    _request: RequestGuard,
}

impl ConnectionTable {
    /// Adds a connection; closes another one if there is no place, and waits if all are in use.
    pub(crate) async fn admit(self: &Arc<Self>) -> ConnectionGuard {
        loop {
            let removed = self.removed.notified();
            if let Some(admitted) = self.try_admit() {
                return admitted;
            }
            removed.await;
        }
    }

    fn try_admit(self: &Arc<Self>) -> Option<ConnectionGuard> {
        let mut open = self.open.lock();
        let mut is_reserved = false;
        if open.len() >= MAX_CONNECTIONS - RESERVED_CONNECTIONS && !shed_one(&mut open, is_idle) {
            is_reserved = true;
            if open.len() >= MAX_CONNECTIONS && !shed_one(&mut open, is_unknown) {
                return None;
            }
        }
        let id = self.next_tick();
        let connection = Arc::new(Connection {
            id,
            table: Arc::clone(self),
            is_reserved,
            trust: AtomicU8::new(ClientTrust::Unknown as u8),
            idle_since: AtomicU64::new(id),
            shed: CancellationToken::new(),
        });
        open.insert(id, Arc::clone(&connection));
        Some(ConnectionGuard(connection))
    }

    /// Closes the connection that is idle for longest, if any: file descriptors have run out.
    pub(crate) fn shed_idle(&self) {
        shed_one(&mut self.open.lock(), is_idle);
    }

    /// Waits until no connection is open.
    pub(crate) async fn wait_until_empty(&self) {
        loop {
            let removed = self.removed.notified();
            if self.open.lock().is_empty() {
                return;
            }
            removed.await;
        }
    }

    fn next_tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::Relaxed)
    }
}

fn is_idle(connection: &Connection) -> bool {
    connection.idle_since.load(Ordering::Relaxed) != BUSY
}

fn is_unknown(connection: &Connection) -> bool {
    connection.trust() == ClientTrust::Unknown
}

/// Closes the least trusted connection of these, the longest idle one first.
fn shed_one(
    open: &mut BTreeMap<u64, Arc<Connection>>,
    may_shed: impl Fn(&Connection) -> bool,
) -> bool {
    let candidates = open.values().filter(|connection| may_shed(connection));
    let order = |connection: &&Arc<Connection>| {
        (connection.trust(), connection.idle_since.load(Ordering::Relaxed), connection.id)
    };
    let Some(id) = candidates.min_by_key(order).map(|connection| connection.id) else {
        return false;
    };
    if let Some(connection) = open.remove(&id) {
        connection.shed.cancel();
    }
    true
}

impl Connection {
    fn trust(&self) -> ClientTrust {
        match self.trust.load(Ordering::Relaxed) {
            0 => ClientTrust::Unknown,
            1 => ClientTrust::Known,
            _ => ClientTrust::Operator,
        }
    }

    /// Records that a request had a valid token. An error if the connection has a place that
    /// others need more.
    pub(crate) fn identify(&self, trust: ClientTrust) -> Result<(), ApiError> {
        if self.is_reserved && trust != ClientTrust::Operator {
            let message = "too many connections; try again when others have ended";
            return Err(ApiError::new(Code::Unavailable, message));
        }
        self.trust.fetch_max(trust as u8, Ordering::Relaxed);
        Ok(())
    }
}

impl ConnectionGuard {
    /// The connection, for its requests.
    pub(crate) fn connection(&self) -> Arc<Connection> {
        Arc::clone(&self.0)
    }

    /// Waits until another connection needs the place.
    pub(crate) async fn wait_until_shed(&self) {
        self.0.shed.cancelled().await;
    }

    /// Whether a request had a valid token.
    pub(crate) fn is_known(&self) -> bool {
        self.0.trust() != ClientTrust::Unknown
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let table = &self.0.table;
        table.open.lock().remove(&self.0.id);
        table.removed.notify_waiters();
    }
}

/// Runs one request of a connection, which is busy until the response was sent or dropped.
pub(crate) async fn track_request<E>(
    connection: Arc<Connection>,
    response: impl Future<Output = Result<axum::response::Response, E>>,
) -> Result<hyper::Response<TrackedBody>, E> {
    connection.idle_since.store(BUSY, Ordering::Relaxed);
    let request = RequestGuard(connection);
    Ok(response.await?.map(|body| TrackedBody { body, _request: request }))
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.idle_since.store(self.0.table.next_tick(), Ordering::Relaxed);
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNRESERVED: usize = MAX_CONNECTIONS - RESERVED_CONNECTIONS;

    fn admit_many(table: &Arc<ConnectionTable>, n_connections: usize) -> Vec<ConnectionGuard> {
        (0..n_connections).map(|_| table.try_admit().unwrap()).collect()
    }

    fn begin(guard: &ConnectionGuard) -> RequestGuard {
        guard.0.idle_since.store(BUSY, Ordering::Relaxed);
        RequestGuard(guard.connection())
    }

    fn is_shed(guard: &ConnectionGuard) -> bool {
        guard.0.shed.is_cancelled()
    }

    #[test]
    fn the_longest_idle_unknown_connection_is_shed_first() {
        let table = Arc::new(ConnectionTable::default());
        let open = admit_many(&table, UNRESERVED);
        open[0].0.identify(ClientTrust::Known).unwrap();
        // It was idle for longest, until this request.
        drop(begin(&open[1]));
        let _request = begin(&open[2]);
        let _new = admit_many(&table, 2);
        let shed: Vec<_> = (0..open.len()).filter(|n| is_shed(&open[*n])).collect();
        assert_eq!(shed, [3, 4]);
    }

    #[test]
    fn known_clients_lose_idle_connections_only_and_agents_before_people() {
        let table = Arc::new(ConnectionTable::default());
        let open = admit_many(&table, UNRESERVED);
        let requests: Vec<_> = open.iter().skip(2).map(begin).collect();
        for guard in &open {
            guard.0.identify(ClientTrust::Known).unwrap();
        }
        open[0].0.identify(ClientTrust::Operator).unwrap();
        let person = table.try_admit().unwrap();
        person.0.identify(ClientTrust::Operator).unwrap();
        assert!(is_shed(&open[1]) && !is_shed(&open[0]));
        let _request = begin(&person);
        let _next = table.try_admit().unwrap();
        assert!(is_shed(&open[0]));
        assert!(!open.iter().skip(2).any(is_shed), "{} requests go on", requests.len());
    }

    #[test]
    fn the_last_places_are_for_operators() {
        let table = Arc::new(ConnectionTable::default());
        let open = admit_many(&table, UNRESERVED);
        let mut requests: Vec<_> = open.iter().map(begin).collect();
        for guard in &open {
            guard.0.identify(ClientTrust::Known).unwrap();
        }
        let reserved: Vec<_> = (0..RESERVED_CONNECTIONS)
            .map(|_| {
                let guard = table.try_admit().unwrap();
                requests.push(begin(&guard));
                guard
            })
            .collect();
        assert!(reserved[0].0.identify(ClientTrust::Known).is_err());
        // Every place has a request in progress, but these clients are unknown.
        let person = table.try_admit().unwrap();
        assert!(is_shed(&reserved[0]));
        person.0.identify(ClientTrust::Operator).unwrap();
        let _request = begin(&person);
        for guard in &reserved[1..] {
            guard.0.identify(ClientTrust::Operator).unwrap();
        }
        assert!(table.try_admit().is_none(), "no request of a known client is cut off");
        drop(person);
        assert!(table.try_admit().is_some());
    }
}
