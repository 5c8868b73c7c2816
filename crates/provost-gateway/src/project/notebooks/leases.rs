//! The leases of runtime sessions. They are in memory only: renewing one writes nothing.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use provost_proto::{NotebookId, RuntimeSessionId, limits};
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a lease is valid.
pub(super) const LEASE_VALID: Duration = Duration::from_millis(limits::LEASE_VALID_MS);

/// The longest sleep between two checks.
const MAX_SLEEP: Duration = Duration::from_mins(10);

/// The lease of one session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lease {
    /// The notebook.
    pub(super) notebook: NotebookId,
    /// When it expires.
    expires_at: Instant,
    /// The connection of the runtime, if it has one.
    pub(super) connection: Option<u64>,
}

/// The leases of the active sessions.
#[derive(Debug, Default)]
pub(super) struct Leases {
    by_session: Mutex<HashMap<RuntimeSessionId, Lease>>,
    changed: Notify,
}

impl Leases {
    /// Gives a session a fresh lease.
    pub(super) fn grant(
        &self,
        notebook: NotebookId,
        session: RuntimeSessionId,
        connection: Option<u64>,
    ) {
        self.grant_for(notebook, session, connection, LEASE_VALID);
    }

    /// Gives a session a lease of this length.
    pub(super) fn grant_for(
        &self,
        notebook: NotebookId,
        session: RuntimeSessionId,
        connection: Option<u64>,
        valid: Duration,
    ) {
        let lease = Lease { notebook, expires_at: Instant::now() + valid, connection };
        self.by_session.lock().insert(session, lease);
        self.changed.notify_one();
    }

    /// The session has ended.
    pub(super) fn remove(&self, session: RuntimeSessionId) -> Option<Lease> {
        self.by_session.lock().remove(&session)
    }

    /// Whether a session has a lease.
    pub(super) fn is_granted(&self, session: RuntimeSessionId) -> bool {
        self.by_session.lock().contains_key(&session)
    }

    /// The connection of the runtime of a session.
    pub(super) fn connection(&self, session: RuntimeSessionId) -> Option<u64> {
        self.by_session.lock().get(&session)?.connection
    }

    /// Removes the leases that have expired.
    fn take_expired(&self) -> Vec<(RuntimeSessionId, Lease)> {
        let now = Instant::now();
        self.by_session.lock().extract_if(|_, lease| lease.expires_at <= now).collect()
    }

    fn next_expiry(&self) -> Instant {
        let first = self.by_session.lock().values().map(|lease| lease.expires_at).min();
        let latest = Instant::now() + MAX_SLEEP;
        first.map_or(latest, |first| first.min(latest))
    }

    /// Waits until leases expire, and removes them.
    pub(super) async fn next_expired(&self) -> Vec<(RuntimeSessionId, Lease)> {
        loop {
            let expired = self.take_expired();
            if !expired.is_empty() {
                return expired;
            }
            tokio::select! {
                () = tokio::time::sleep_until(self.next_expiry()) => {}
                () = self.changed.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lease_expires_unless_it_is_renewed() {
        let leases = Leases::default();
        let id = |n| uuid::Uuid::from_u128(n);
        let (notebook, renewed, silent) = (id(1).into(), id(2).into(), id(3).into());
        let short = Duration::from_millis(1);
        leases.grant_for(notebook, renewed, None, short);
        leases.grant_for(notebook, silent, Some(7), short);
        assert_eq!(leases.connection(silent), Some(7));
        leases.grant(notebook, renewed, None);
        let expired = leases.next_expired().await;
        assert_eq!(expired.iter().map(|(session, _)| *session).collect::<Vec<_>>(), [silent]);
        assert_eq!(leases.connection(silent), None);
        assert!(leases.is_granted(renewed));
        leases.grant_for(notebook, renewed, None, short);
        assert_eq!(leases.next_expired().await[0].0, renewed);
    }
}
