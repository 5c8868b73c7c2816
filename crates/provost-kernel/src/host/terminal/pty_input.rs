//! Our end of the PTY, for input and resizes.
//!
//! Input is written at once if the program accepts it. The rest is queued, up to a
//! limit, and more is rejected: input is never dropped silently.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use provost_proto::limits::MAX_TERMINAL_PENDING_BYTES;
use provost_sandbox::pty::{PtyController, PtySize};
use tokio::net::unix::pipe;
use tokio::sync::Notify;

/// Why input was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputRejected {
    /// The queue is full, because the program does not read.
    Full,
    /// The shell has ended.
    Ended,
}

#[derive(Debug)]
pub(super) struct PtyInput {
    pending: Mutex<PendingInput>,
    has_pending: Notify,
}

#[derive(Debug)]
struct PendingInput {
    /// `None` when the shell has ended.
    controller: Option<Arc<PtyController>>,
    bytes: VecDeque<u8>,
}

impl PtyInput {
    pub(super) fn new(controller: Arc<PtyController>) -> Self {
        let pending = PendingInput { controller: Some(controller), bytes: VecDeque::new() };
        Self { pending: Mutex::new(pending), has_pending: Notify::new() }
    }

    fn lock_pending(&self) -> MutexGuard<'_, PendingInput> {
        self.pending.lock()
    }

    /// Queues all of the input, or rejects it.
    pub(super) fn push(&self, mut input: &[u8]) -> Result<(), InputRejected> {
        let mut pending = self.lock_pending();
        let PendingInput { controller, bytes } = &mut *pending;
        let Some(controller) = controller else { return Err(InputRejected::Ended) };
        if bytes.len() + input.len() > MAX_TERMINAL_PENDING_BYTES {
            return Err(InputRejected::Full);
        }
        if bytes.is_empty()
            && let Ok(n_written) = controller.write(input)
        {
            input = &input[n_written..];
        }
        if !input.is_empty() {
            bytes.extend(input);
            self.has_pending.notify_one();
        }
        Ok(())
    }

    /// Changes the size of the terminal.
    pub(super) fn resize(&self, size: PtySize) -> io::Result<()> {
        let controller = self.lock_pending().controller.clone();
        controller.map_or(Ok(()), |controller| controller.resize(size))
    }

    /// Releases the PTY, when the shell has ended.
    pub(super) fn close(&self) {
        let mut pending = self.lock_pending();
        pending.controller = None;
        pending.bytes = VecDeque::new();
    }

    /// Writes queued input whenever the program accepts it.
    pub(super) async fn run_flush_loop(&self) -> io::Result<()> {
        loop {
            self.has_pending.notified().await;
            let Some(controller) = self.lock_pending().controller.clone() else { return Ok(()) };
            // Polled like a pipe, but only while input is queued: a PTY becomes writable
            // whenever its program has read something.
            let end = controller.as_fd().try_clone_to_owned()?;
            let end = pipe::Sender::from_owned_fd_unchecked(end)?;
            drop(controller);
            while !self.lock_pending().bytes.is_empty() {
                end.writable().await?;
                let mut pending = self.lock_pending();
                match end.try_write(pending.bytes.as_slices().0) {
                    Ok(n_written) => drop(pending.bytes.drain(..n_written)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
}
