//! Releases mount namespaces after a run, in the background.
//!
//! The last process or descriptor of a mount namespace unmounts everything in it and
//! waits for an RCU grace period: longer than a short command takes. If that was the
//! supervisor, the caller would wait for it; so the parent holds the namespace and
//! releases it on a thread of its own. The work folders of its overlays can be removed
//! when it is gone, on the same thread.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::confine::spawn::layer_slot::LayerSlot;

/// Namespaces that may be queued; beyond that they are released at once.
const MAX_QUEUED_NAMESPACES: usize = 16;

/// The thread's stack size, in bytes.
const REAPER_STACK_SIZE: usize = 64 * 1024;

/// The queue of namespaces to release; `None` if there is no thread.
static REAPER_QUEUE: OnceLock<Option<SyncSender<ReleasedMounts>>> = OnceLock::new();

/// What is dropped when a run has ended, in this order.
struct ReleasedMounts {
    _namespace: Option<OwnedFd>,
    _slot: Option<LayerSlot>,
}

/// The mount namespace of a run, which lives at least as long as this.
#[derive(Debug, Default)]
pub(in crate::confine) struct MountNamespaceHandle(Option<OwnedFd>);

impl MountNamespaceHandle {
    /// Opens the namespace of a process with these clone flags. If that is not permitted,
    /// it ends with the process, which is only slower.
    pub(in crate::confine) fn open_for_process(pid: u32, flags: i32) -> Self {
        let own = flags & libc::CLONE_NEWNS != 0;
        let open = || File::open(format!("/proc/{pid}/ns/mnt")).ok().map(OwnedFd::from);
        Self(own.then(open).flatten())
    }
}

impl MountNamespaceHandle {
    /// Releases the namespace, and then the layers that were mounted in it.
    pub(in crate::confine) fn release(mut self, slot: Option<LayerSlot>) {
        release_mounts(self.0.take(), slot);
    }
}

impl Drop for MountNamespaceHandle {
    fn drop(&mut self) {
        release_mounts(self.0.take(), None);
    }
}

fn release_mounts(namespace: Option<OwnedFd>, slot: Option<LayerSlot>) {
    if namespace.is_none() && slot.is_none() {
        return;
    }
    let released = ReleasedMounts { _namespace: namespace, _slot: slot };
    if let Some(queue) = REAPER_QUEUE.get_or_init(start_reaper) {
        // If the queue is full, it is dropped here.
        drop(queue.try_send(released));
    }
}

fn start_reaper() -> Option<SyncSender<ReleasedMounts>> {
    let (left, namespaces) = sync_channel(MAX_QUEUED_NAMESPACES);
    let work = move || namespaces.into_iter().for_each(drop);
    let thread = thread::Builder::new().name("namespaces".to_owned()).stack_size(REAPER_STACK_SIZE);
    thread.spawn(work).is_ok().then_some(left)
}
