//! What all who deal with one terminal share: its output, its size, its end.
//!
//! One lock, held for as long as it takes to copy a piece. Two threads never
//! wait for a client: the one that reads the terminal ([`super::reader`]) and
//! the one that draws the screen ([`super::drawing`]). The reader waits for the
//! other if that falls too far behind, and so the program that prints does.

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

/// How far the screen may be behind what was printed.
const MAX_SCREEN_LAG_BYTES: usize = TERMINAL_RING_BYTES / 2;

/// So much may wait a moment to be drawn.
const LAZY_DRAW_BYTES: u64 = 16 * 1024;

/// How many changes of the size are kept for those that are behind.
const MAX_SIZE_CHANGES: usize = 256;

/// What the terminal looks like, as bytes.
#[derive(Debug, Clone)]
pub(super) struct ScreenSnapshot {
    /// How many bytes of output are in it.
    pub(super) offset: u64,
    pub(super) size: PtySize,
    /// The last change of the size that is in it.
    pub(super) n_sizes: u64,
    pub(super) bytes: Bytes,
}

/// Something that only the thread that draws can tell.
#[derive(Debug)]
pub(super) enum ScreenRequest {
    /// The screen as bytes, as far as it has come.
    Snapshot(oneshot::Sender<ScreenSnapshot>),
    /// The screen as text, with all that was printed before this byte.
    Text { at: u64, above: usize, reply: oneshot::Sender<ScreenText> },
}

/// From this byte on the terminal has this size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PtySizeChange {
    /// Counts changes, so that each is told once.
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) size: PtySize,
}

/// How the terminal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PtyExit(pub(super) Option<SandboxExit>);

#[derive(Debug)]
pub(super) struct PtyState {
    pub(super) ring: OutputRing,
    /// How far the screen has been drawn.
    pub(super) drawn: u64,
    /// Up to where must be printed before the thread that draws is woken.
    pub(super) enough: u64,
    /// The size it has now.
    pub(super) size: PtySize,
    /// The size before the first change that is kept.
    first_size: PtySize,
    sizes: VecDeque<PtySizeChange>,
    pub(super) title: Arc<str>,
    pub(super) n_titles: u64,
    pub(super) n_bells: u64,
    pub(super) wishes: Vec<ScreenRequest>,
    /// Whether nothing will be printed any more.
    pub(super) silent: bool,
    pub(super) ended: Option<PtyExit>,
    /// Whether the threads shall end.
    pub(super) closed: bool,
}

/// One terminal's state, and how to wait for it.
#[derive(Debug)]
pub(super) struct SharedPtyState {
    state: Mutex<PtyState>,
    /// There is something to draw or to answer.
    work: Condvar,
    /// The screen has come further.
    room: Condvar,
    /// Counts what happened but was not printed, for those that wait without a thread.
    news: watch::Sender<u64>,
    /// To whom what is printed goes.
    outlets: Mutex<Vec<Weak<ClientSender>>>,
}

impl SharedPtyState {
    /// A terminal of this size whose first byte has this place.
    pub(super) fn new(start: u64, size: PtySize) -> Self {
        let state = PtyState {
            ring: OutputRing::new(start),
            drawn: start,
            enough: start,
            size,
            first_size: size,
            sizes: VecDeque::new(),
            title: "".into(),
            n_titles: 0,
            n_bells: 0,
            wishes: Vec::new(),
            silent: false,
            ended: None,
            closed: false,
        };
        let (news, _) = watch::channel(0);
        let (work, room) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::new(state), work, room, news, outlets: Mutex::default() }
    }

    pub(super) fn lock_state(&self) -> MutexGuard<'_, PtyState> {
        self.state.lock()
    }

    /// Changes something that others wait for.
    pub(super) fn update_state(&self, change: impl FnOnce(&mut PtyState)) {
        change(&mut self.lock_state());
        self.work.notify_one();
        self.room.notify_all();
        self.news.send_modify(|n| *n += 1);
    }

    pub(super) fn subscribe_changes(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// From now on, what is printed is offered to this one, for as long as it is there.
    pub(super) fn add_client_sender(&self, outlet: &Arc<ClientSender>) {
        let mut outlets = self.outlets.lock();
        outlets.push(Arc::downgrade(outlet));
    }

    /// Offers what was printed to all who look on.
    pub(super) fn offer_output(&self) {
        let mut outlets = self.outlets.lock();
        outlets.retain(|outlet| {
            outlet.upgrade().inspect(|outlet| outlet.try_send_output(self)).is_some()
        });
    }

    /// Adds what was printed. Little is not drawn at once, so that those who look on
    /// get it first: tells whether the screen must be told of it, soon.
    pub(super) fn append_output(&self, bytes: &[u8]) -> bool {
        let mut state = self.lock_state();
        state.ring.push(bytes);
        if state.ring.end() - state.drawn < LAZY_DRAW_BYTES {
            return true;
        }
        if state.ring.end() >= state.enough {
            self.work.notify_one();
        }
        false
    }

    /// Whether the screen is so far behind that it must be waited for.
    pub(super) fn is_screen_lagging(&self) -> bool {
        is_ahead(&self.lock_state())
    }

    /// Waits while the screen is too far behind.
    pub(super) fn wait_for_screen(&self) {
        let mut state = self.lock_state();
        while is_ahead(&state) {
            self.room.wait(&mut state);
        }
    }

    /// Has the little that was printed drawn.
    pub(super) fn wake_renderer(&self) {
        let state = self.lock_state();
        if state.ring.end() >= state.enough {
            self.work.notify_one();
        }
    }

    /// Waits for the thread's next piece of work.
    pub(super) fn wait_for_work<'a>(
        &self,
        mut state: MutexGuard<'a, PtyState>,
        patience: std::time::Duration,
    ) -> MutexGuard<'a, PtyState> {
        self.work.wait_for(&mut state, patience);
        state
    }

    /// The screen has come so far.
    pub(super) fn mark_drawn(&self, up_to: u64) {
        self.lock_state().drawn = up_to;
        self.room.notify_all();
    }

    /// Asks the thread that draws.
    fn request_screen(&self, wish: ScreenRequest) {
        let mut state = self.lock_state();
        // Nobody would answer.
        if !state.closed {
            state.wishes.push(wish);
            self.work.notify_one();
        }
    }

    /// Ends the threads, and the hopes of whoever waits for them.
    pub(super) fn close(&self) {
        self.update_state(|state| {
            state.closed = true;
            state.wishes.clear();
        });
    }

    /// The screen as bytes; none if the terminal is closed meanwhile.
    pub(super) async fn request_snapshot(&self) -> Option<ScreenSnapshot> {
        let (reply, answer) = oneshot::channel();
        self.request_screen(ScreenRequest::Snapshot(reply));
        answer.await.ok()
    }

    /// The screen as text, with all that was printed until now.
    pub(super) async fn request_text(&self, above: usize) -> Option<ScreenText> {
        let (reply, answer) = oneshot::channel();
        let at = self.lock_state().ring.end();
        self.request_screen(ScreenRequest::Text { at, above, reply });
        answer.await.ok()
    }
}

fn is_ahead(state: &PtyState) -> bool {
    state.ring.end() - state.drawn > to_offset(MAX_SCREEN_LAG_BYTES) && !state.closed
}

impl PtyState {
    /// From now on it has this size.
    pub(super) fn record_resize(&mut self, size: PtySize) {
        self.size = size;
        let number = self.sizes.back().map_or(0, |last| last.number) + 1;
        let resized = PtySizeChange { number, offset: self.ring.end(), size };
        // Nobody can see what lay between two changes without a byte between them,
        // unless someone has been told of the first; then they are told of both.
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

    /// The next change of the size that is not known to whoever knows all up to
    /// this number.
    pub(super) fn next_size(&self, known: u64) -> Option<PtySizeChange> {
        self.sizes.iter().find(|resized| resized.number > known).copied()
    }

    /// The size at this byte, before a change that happens there.
    pub(super) fn size_before(&self, offset: u64) -> PtySizeChange {
        let before = self.sizes.iter().take_while(|resized| resized.offset < offset).last();
        let first = self.sizes.front().map_or(0, |oldest| oldest.number - 1);
        before.copied().unwrap_or(PtySizeChange { number: first, offset, size: self.first_size })
    }
}
