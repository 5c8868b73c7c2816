//! The state that all parts of one terminal share: its output, its size, its end.
//!
//! One lock, held only while a piece is copied. Two threads never wait for a
//! client: the one that reads the PTY ([`super::pty_reader`]) and the one that
//! draws the screen ([`super::screen_renderer`]). The reader waits for the renderer
//! if that falls too far behind, and so does the program that prints.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use provost_proto::limits::TERMINAL_RING_BYTES;
use provost_sandbox::confine::SandboxExit;
use provost_sandbox::pty::PtySize;
use tokio::sync::{oneshot, watch};

use super::client_sender::ClientSender;
use super::output_ring::{OutputRing, to_offset};
use super::screen::ScreenText;

/// How far the screen may lag behind the output, in bytes.
const MAX_SCREEN_LAG_BYTES: usize = TERMINAL_RING_BYTES / 2;

/// Less output than this is drawn with a short delay.
const LAZY_DRAW_BYTES: u64 = 16 * 1024;

/// How many size changes are kept for clients that lag.
const MAX_SIZE_CHANGES: usize = 256;

/// The screen, encoded as terminal output.
#[derive(Debug, Clone)]
pub(super) struct ScreenSnapshot {
    /// The offset up to which output is in it.
    pub(super) offset: u64,
    pub(super) size: PtySize,
    /// The number of the last size change in it.
    pub(super) n_sizes: u64,
    pub(super) bytes: Bytes,
}

/// A request to the renderer thread.
#[derive(Debug)]
pub(super) enum ScreenRequest {
    /// The screen as bytes, as of now.
    Snapshot(oneshot::Sender<ScreenSnapshot>),
    /// The screen as text, including all output before `at`.
    Text { at: u64, above: usize, reply: oneshot::Sender<ScreenText> },
}

/// From this offset on the terminal has this size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PtySizeChange {
    /// Increasing number, so that each change is sent once.
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) size: PtySize,
}

/// The exit of the shell, if it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PtyExit(pub(super) Option<SandboxExit>);

#[derive(Debug)]
pub(super) struct PtyState {
    pub(super) ring: OutputRing,
    /// The offset up to which the screen is drawn.
    pub(super) drawn: u64,
    /// The renderer is woken when the output has reached this offset.
    pub(super) wake_at: u64,
    /// The current size.
    pub(super) size: PtySize,
    /// The size before the oldest change that is kept.
    first_size: PtySize,
    sizes: VecDeque<PtySizeChange>,
    pub(super) title: Arc<str>,
    pub(super) n_titles: u64,
    pub(super) n_bells: u64,
    pub(super) requests: Vec<ScreenRequest>,
    /// Whether the PTY has reached its end.
    pub(super) eof: bool,
    pub(super) ended: Option<PtyExit>,
    /// Whether the threads shall end.
    pub(super) closed: bool,
}

/// The shared state of one terminal, and ways to wait for it.
#[derive(Debug)]
pub(super) struct SharedPtyState {
    state: Mutex<PtyState>,
    /// Signals the renderer that there is work.
    work: Condvar,
    /// Signals the reader that the screen has caught up.
    caught_up: Condvar,
    /// Counts changes other than output, for async waiters.
    changes: watch::Sender<u64>,
    /// The senders that output is offered to.
    senders: Mutex<Vec<Weak<ClientSender>>>,
}

impl SharedPtyState {
    /// A terminal of this size whose first byte has this offset.
    pub(super) fn new(start: u64, size: PtySize) -> Self {
        let state = PtyState {
            ring: OutputRing::new(start),
            drawn: start,
            wake_at: start,
            size,
            first_size: size,
            sizes: VecDeque::new(),
            title: "".into(),
            n_titles: 0,
            n_bells: 0,
            requests: Vec::new(),
            eof: false,
            ended: None,
            closed: false,
        };
        let (changes, _) = watch::channel(0);
        let (work, caught_up) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::new(state), work, caught_up, changes, senders: Mutex::default() }
    }

    pub(super) fn lock_state(&self) -> MutexGuard<'_, PtyState> {
        self.state.lock()
    }

    /// Changes the state, and wakes all waiters.
    pub(super) fn update_state(&self, change: impl FnOnce(&mut PtyState)) {
        change(&mut self.lock_state());
        self.work.notify_one();
        self.caught_up.notify_all();
        self.changes.send_modify(|n| *n += 1);
    }

    pub(super) fn subscribe_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Offers output to this sender from now on, while it exists.
    pub(super) fn add_client_sender(&self, sender: &Arc<ClientSender>) {
        let mut senders = self.senders.lock();
        senders.push(Arc::downgrade(sender));
    }

    /// Offers new output to all clients.
    pub(super) fn offer_output(&self) {
        let mut senders = self.senders.lock();
        senders.retain(|sender| {
            sender.upgrade().inspect(|sender| sender.try_send_output(self)).is_some()
        });
    }

    /// Appends output. Returns whether it is so little that the caller shall wake the
    /// renderer later, so that clients get it first.
    pub(super) fn append_output(&self, bytes: &[u8]) -> bool {
        let mut state = self.lock_state();
        state.ring.push(bytes);
        if state.ring.end() - state.drawn < LAZY_DRAW_BYTES {
            return true;
        }
        if state.ring.end() >= state.wake_at {
            self.work.notify_one();
        }
        false
    }

    /// Whether the screen lags so far behind that the reader must wait.
    pub(super) fn is_screen_lagging(&self) -> bool {
        is_lagging(&self.lock_state())
    }

    /// Waits while the screen lags too far behind.
    pub(super) fn wait_for_screen(&self) {
        let mut state = self.lock_state();
        while is_lagging(&state) {
            self.caught_up.wait(&mut state);
        }
    }

    /// Wakes the renderer for output that has waited.
    pub(super) fn wake_renderer(&self) {
        let state = self.lock_state();
        if state.ring.end() >= state.wake_at {
            self.work.notify_one();
        }
    }

    /// Waits until there is work for the renderer.
    pub(super) fn wait_for_work<'a>(
        &self,
        mut state: MutexGuard<'a, PtyState>,
        time_limit: std::time::Duration,
    ) -> MutexGuard<'a, PtyState> {
        self.work.wait_for(&mut state, time_limit);
        state
    }

    /// Records how far the screen is drawn.
    pub(super) fn mark_drawn(&self, up_to: u64) {
        self.lock_state().drawn = up_to;
        self.caught_up.notify_all();
    }

    /// Sends a request to the renderer.
    fn request_screen(&self, request: ScreenRequest) {
        let mut state = self.lock_state();
        // Nobody would answer it.
        if !state.closed {
            state.requests.push(request);
            self.work.notify_one();
        }
    }

    /// Ends the threads, and fails all pending requests.
    pub(super) fn close(&self) {
        self.update_state(|state| {
            state.closed = true;
            state.requests.clear();
        });
    }

    /// The screen as bytes; `None` if the terminal is closed meanwhile.
    pub(super) async fn request_snapshot(&self) -> Option<ScreenSnapshot> {
        let (reply, response) = oneshot::channel();
        self.request_screen(ScreenRequest::Snapshot(reply));
        response.await.ok()
    }

    /// The screen as text, including all output until now.
    pub(super) async fn request_text(&self, above: usize) -> Option<ScreenText> {
        let (reply, response) = oneshot::channel();
        let at = self.lock_state().ring.end();
        self.request_screen(ScreenRequest::Text { at, above, reply });
        response.await.ok()
    }
}

fn is_lagging(state: &PtyState) -> bool {
    state.ring.end() - state.drawn > to_offset(MAX_SCREEN_LAG_BYTES) && !state.closed
}

impl PtyState {
    /// Records a new size from the current offset on.
    pub(super) fn record_resize(&mut self, size: PtySize) {
        self.size = size;
        let number = self.sizes.back().map_or(0, |last| last.number) + 1;
        let resized = PtySizeChange { number, offset: self.ring.end(), size };
        // A change without output since the previous one replaces it. Clients that got the
        // previous one get this one too, because its number is higher.
        match self.sizes.back_mut() {
            Some(last) if last.offset == resized.offset => *last = resized,
            Some(_) | None => self.sizes.push_back(resized),
        }
        if self.sizes.len() > MAX_SIZE_CHANGES
            && let Some(oldest) = self.sizes.pop_front()
        {
            self.first_size = oldest.size;
        }
    }

    /// The next size change after this number.
    pub(super) fn next_size(&self, known: u64) -> Option<PtySizeChange> {
        self.sizes.iter().find(|resized| resized.number > known).copied()
    }

    /// The size at this offset, before a change at the same offset.
    pub(super) fn size_before(&self, offset: u64) -> PtySizeChange {
        let before = self.sizes.iter().take_while(|resized| resized.offset < offset).last();
        let first = self.sizes.front().map_or(0, |oldest| oldest.number - 1);
        before.copied().unwrap_or(PtySizeChange { number: first, offset, size: self.first_size })
    }
}
