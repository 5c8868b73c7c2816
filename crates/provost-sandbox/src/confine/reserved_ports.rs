//! The ports of Provost, on which no confined run may listen.

use std::collections::BTreeSet;

use parking_lot::RwLock;

/// The ports of the daemon and of its previews.
///
/// Shared by all sandboxes of a process, because a daemon that is started later may have
/// others: a change holds for runs that have already begun.
#[derive(Debug, Default)]
pub struct ReservedPorts(RwLock<BTreeSet<u16>>);

impl ReservedPorts {
    /// Replaces the ports.
    pub fn set(&self, ports: impl IntoIterator<Item = u16>) {
        *self.0.write() = ports.into_iter().collect();
    }

    pub(super) fn contains(&self, port: u16) -> bool {
        self.0.read().contains(&port)
    }
}
