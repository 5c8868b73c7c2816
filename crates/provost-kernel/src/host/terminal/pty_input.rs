//! Our end of the terminal, for those that type and resize.
//!
//! What is typed goes at once if the program takes it; what it does not take
//! waits, up to a limit, and more is refused: nothing that was typed is dropped
//! in silence.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use provost_proto::limits::MAX_TERMINAL_PENDING_BYTES;
use provost_sandbox::pty::{PtyController, PtySize};
use tokio::net::unix::pipe;
use tokio::sync::Notify;

/// Why something was not typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputRejected {
    /// The program does not read what is typed.
    Full,
    /// There is no program any more.
    Ended,
}

#[derive(Debug)]
pub(super) struct PtyInput {
    waiting: Mutex<PendingInput>,
    more: Notify,
}

#[derive(Debug)]
struct PendingInput {
    /// None when the program has ended.
    controller: Option<Arc<PtyController>>,
    bytes: VecDeque<u8>,
}

impl PtyInput {
    pub(super) fn new(controller: Arc<PtyController>) -> Self {
        let waiting = PendingInput { controller: Some(controller), bytes: VecDeque::new() };
        Self { waiting: Mutex::new(waiting), more: Notify::new() }
    }

    fn lock_pending(&self) -> MutexGuard<'_, PendingInput> {
        self.waiting.lock()
    }

    /// Types. All of it, or nothing.
    pub(super) fn push(&self, mut typed: &[u8]) -> Result<(), InputRejected> {
        let mut waiting = self.lock_pending();
        let PendingInput { controller, bytes } = &mut *waiting;
        let Some(controller) = controller else { return Err(InputRejected::Ended) };
        if bytes.len() + typed.len() > MAX_TERMINAL_PENDING_BYTES {
            return Err(InputRejected::Full);
        }
        if bytes.is_empty()
            && let Ok(n_taken) = controller.write(typed)
        {
            typed = &typed[n_taken..];
        }
        if !typed.is_empty() {
            bytes.extend(typed);
            self.more.notify_one();
        }
        Ok(())
    }

    /// Changes the size of the terminal.
    pub(super) fn resize(&self, size: PtySize) -> io::Result<()> {
        let controller = self.lock_pending().controller.clone();
        controller.map_or(Ok(()), |controller| controller.resize(size))
    }

    /// The program has ended: lets go of the terminal.
    pub(super) fn close(&self) {
        let mut waiting = self.lock_pending();
        waiting.controller = None;
        waiting.bytes = VecDeque::new();
    }

    /// Types what waits whenever the program takes it.
    pub(super) async fn run_flush_loop(&self) -> io::Result<()> {
        loop {
            self.more.notified().await;
            let Some(controller) = self.lock_pending().controller.clone() else { return Ok(()) };
            // A terminal becomes writable like a pipe does, and is polled the same way; but
            // only now, since it says so whenever its program has read a letter.
            let end = controller.as_fd().try_clone_to_owned()?;
            let end = pipe::Sender::from_owned_fd_unchecked(end)?;
            drop(controller);
            while !self.lock_pending().bytes.is_empty() {
                end.writable().await?;
                let mut waiting = self.lock_pending();
                match end.try_write(waiting.bytes.as_slices().0) {
                    Ok(n_taken) => drop(waiting.bytes.drain(..n_taken)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
}
