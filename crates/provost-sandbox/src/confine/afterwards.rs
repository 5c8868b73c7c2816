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
const WAITING: usize = 16;

/// The thread needs next to none.
const STACK: usize = 64 * 1024;

/// Where namespaces go that are no longer needed; `None` if there is no thread.
static LEFT: OnceLock<Option<SyncSender<OwnedFd>>> = OnceLock::new();

/// The mount namespace of a run, which lasts at least as long as this.
#[derive(Debug, Default)]
pub(super) struct Namespace(Option<OwnedFd>);

impl Namespace {
    /// Of a process that was made with these flags. Where we may not hold it, it goes
    /// with the process, which is slower and else the same.
    pub(super) fn of(pid: u32, flags: i32) -> Self {
        let own = flags & libc::CLONE_NEWNS != 0;
        let open = || File::open(format!("/proc/{pid}/ns/mnt")).ok().map(OwnedFd::from);
        Self(own.then(open).flatten())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Some(namespace) = self.0.take()
            && let Some(left) = LEFT.get_or_init(start)
        {
            // What does not fit is closed here.
            drop(left.try_send(namespace));
        }
    }
}

fn start() -> Option<SyncSender<OwnedFd>> {
    let (left, namespaces) = sync_channel(WAITING);
    let work = move || namespaces.into_iter().for_each(drop);
    let thread = thread::Builder::new().name("namespaces".to_owned()).stack_size(STACK);
    thread.spawn(work).is_ok().then_some(left)
}
