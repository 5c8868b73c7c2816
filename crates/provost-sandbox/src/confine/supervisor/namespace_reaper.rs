//! What is done after a run, beside whoever waits for its end.
//!
//! The last of a mount namespace unmounts all that is in it and waits for the
//! kernel to forget it: longer than a short command takes. If that is the warden,
//! everybody waits for it; so a run's parent is the last, in a thread of its own.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Namespaces that may wait to be let go; beyond it, it is done at once.
const MAX_QUEUED_NAMESPACES: usize = 16;

/// The thread needs next to none.
const REAPER_STACK_SIZE: usize = 64 * 1024;

/// Where namespaces go that are no longer needed; `None` if there is no thread.
static REAPER_QUEUE: OnceLock<Option<SyncSender<OwnedFd>>> = OnceLock::new();

/// The mount namespace of a run, which lasts at least as long as this.
#[derive(Debug, Default)]
pub(in crate::confine) struct MountNamespaceHandle(Option<OwnedFd>);

impl MountNamespaceHandle {
    /// Of a process that was made with these flags. Where we may not hold it, it goes
    /// with the process, which is slower and else the same.
    pub(in crate::confine) fn open_for_process(pid: u32, flags: i32) -> Self {
        let own = flags & libc::CLONE_NEWNS != 0;
        let open = || File::open(format!("/proc/{pid}/ns/mnt")).ok().map(OwnedFd::from);
        Self(own.then(open).flatten())
    }
}

impl Drop for MountNamespaceHandle {
    fn drop(&mut self) {
        if let Some(namespace) = self.0.take()
            && let Some(left) = REAPER_QUEUE.get_or_init(start_reaper)
        {
            // What does not fit is closed here.
            drop(left.try_send(namespace));
        }
    }
}

fn start_reaper() -> Option<SyncSender<OwnedFd>> {
    let (left, namespaces) = sync_channel(MAX_QUEUED_NAMESPACES);
    let work = move || namespaces.into_iter().for_each(drop);
    let thread = thread::Builder::new().name("namespaces".to_owned()).stack_size(REAPER_STACK_SIZE);
    thread.spawn(work).is_ok().then_some(left)
}
