//! The thread that draws the screen, and answers requests for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::output_ring::to_offset;
use super::pty_input::PtyInput;
use super::screen::{ScreenEffects, TerminalScreen, incomplete_suffix};
use super::shared_pty_state::{
    PtySizeChange, PtyState, ScreenRequest, ScreenSnapshot, SharedPtyState,
};

/// Bytes drawn between two checks for requests.
const DRAW_CHUNK_BYTES: usize = 128 * 1024;

/// With this much to draw, more will follow soon, and drawing it together is faster.
const COALESCE_MIN_BYTES: u64 = 64 * 1024;

/// How long to wait for it …
const COALESCE_DELAY: Duration = Duration::from_millis(40);

/// … and up to how many bytes.
const COALESCE_MAX_BYTES: u64 = 2 * 1024 * 1024;

/// From this many bytes on it is worth skipping output that scrolls away.
const SKIM_MIN_BYTES: u64 = 512 * 1024;

/// How long a synchronized update may last before it is drawn as it is.
const SYNC_UPDATE_TIMEOUT: Duration = Duration::from_millis(150);

/// How far back an incomplete escape sequence may begin, in bytes.
const SEQUENCE_LOOKBACK_BYTES: usize = 64 * 1024;

/// Draws until the terminal is closed.
pub(super) fn run_screen_renderer(shared: &Arc<SharedPtyState>, input: &Arc<PtyInput>) {
    let (start, size) = {
        let state = shared.lock_state();
        (state.drawn, state.size)
    };
    let screen = TerminalScreen::new(size);
    let mut renderer = ScreenRenderer {
        shared,
        input,
        screen,
        position: start,
        known_size: 0,
        buffer: Vec::new(),
        skim_from: start,
    };
    while renderer.run_step() {}
}

struct ScreenRenderer<'a> {
    shared: &'a Arc<SharedPtyState>,
    input: &'a Arc<PtyInput>,
    screen: TerminalScreen,
    position: u64,
    known_size: u64,
    buffer: Vec<u8>,
    /// The offset from which on skimming may be tried again.
    skim_from: u64,
}

enum RenderWork {
    Bytes,
    Flood,
    Resize(PtySizeChange),
    Requests(Vec<ScreenRequest>),
    EndSyncUpdate,
    Stop,
}

impl ScreenRenderer<'_> {
    /// Performs the next piece of work; returns whether the thread continues.
    fn run_step(&mut self) -> bool {
        let work = self.next_work();
        let done = catch_unwind(AssertUnwindSafe(|| self.perform_work(work)));
        done.unwrap_or_else(|_| {
            tracing::error!("drawing the screen panicked; starting with an empty one");
            self.screen = TerminalScreen::new(self.shared.lock_state().size);
            self.position = self.shared.lock_state().ring.end();
            self.shared.mark_drawn(self.position);
            true
        })
    }

    fn next_work(&mut self) -> RenderWork {
        let shared = self.shared;
        let mut state = shared.lock_state();
        let mut has_waited = false;
        loop {
            if state.closed {
                return RenderWork::Stop;
            }
            if let Some(requests) = take_ready_requests(&mut state, self.position) {
                return RenderWork::Requests(requests);
            }
            let size = state.next_size(self.known_size);
            if let Some(size) = size.filter(|size| size.offset <= self.position) {
                return RenderWork::Resize(size);
            }
            let until = size.map_or(u64::MAX, |size| size.offset - self.position);
            let ahead = state.ring.end().saturating_sub(self.position);
            if (COALESCE_MIN_BYTES..COALESCE_MAX_BYTES).contains(&ahead)
                && !std::mem::replace(&mut has_waited, true)
            {
                state.wake_at = self.position + COALESCE_MAX_BYTES;
                state = shared.wait_for_work(state, COALESCE_DELAY);
                state.wake_at = 0;
                continue;
            }
            let flood = ahead.min(until) >= SKIM_MIN_BYTES && self.position >= self.skim_from;
            let flood = flood && self.is_at_sequence_end(&state);
            let limit =
                if flood { 2 * COALESCE_MAX_BYTES } else { to_offset(DRAW_CHUNK_BYTES) }.min(until);
            let limit = usize::try_from(limit).unwrap_or(DRAW_CHUNK_BYTES);
            self.buffer.clear();
            match state.ring.read(self.position, limit, &mut self.buffer) {
                Some(0) => {}
                Some(_) if flood => return RenderWork::Flood,
                Some(_) => return RenderWork::Bytes,
                // The reader waits for us, so this only happens after a panic.
                None => {
                    self.position = state.ring.oldest();
                    continue;
                }
            }
            if !self.screen.is_in_sync_update() {
                state = shared.wait_for_work(state, Duration::from_hours(1));
                continue;
            }
            let end = state.ring.end();
            state = shared.wait_for_work(state, SYNC_UPDATE_TIMEOUT);
            if state.ring.end() == end {
                return RenderWork::EndSyncUpdate;
            }
        }
    }

    fn perform_work(&mut self, work: RenderWork) -> bool {
        match work {
            RenderWork::Stop => return false,
            RenderWork::Bytes => {
                let effects = self.screen.draw(&self.buffer);
                self.position += to_offset(self.buffer.len());
                self.shared.mark_drawn(self.position);
                self.apply_effects(effects);
            }
            RenderWork::Flood => match self.screen.skim(&self.buffer) {
                Ok(effects) => {
                    self.position += to_offset(self.buffer.len());
                    self.shared.mark_drawn(self.position);
                    self.apply_effects(effects);
                }
                Err(drawn) => {
                    self.skim_from = self.position + to_offset(drawn.max(DRAW_CHUNK_BYTES));
                }
            },
            RenderWork::EndSyncUpdate => {
                let effects = self.screen.finish_sync_update();
                self.apply_effects(effects);
            }
            RenderWork::Resize(resized) => {
                let effects = self.screen.finish_sync_update();
                self.apply_effects(effects);
                self.screen.resize(resized.size);
                self.known_size = resized.number;
            }
            RenderWork::Requests(requests) => {
                let effects = self.screen.finish_sync_update();
                self.apply_effects(effects);
                self.answer_requests(requests);
            }
        }
        true
    }

    fn apply_effects(&self, effects: ScreenEffects) {
        let ScreenEffects { responses, title, bell } = effects;
        if !responses.is_empty() && self.input.push(&responses).is_err() {
            tracing::debug!("a program does not read the responses of its terminal");
        }
        if title.is_some() || bell {
            self.shared.update_state(|state| {
                if let Some(title) = title {
                    state.title = title.into();
                    state.n_titles += 1;
                }
                state.n_bells += u64::from(bell);
            });
        }
    }

    /// Answers requests; one snapshot serves all that want one.
    fn answer_requests(&mut self, requests: Vec<ScreenRequest>) {
        let mut shared: Option<ScreenSnapshot> = None;
        for request in requests {
            match request {
                ScreenRequest::Snapshot(reply) => {
                    let snapshot = shared.take().unwrap_or_else(|| self.take_snapshot());
                    shared = Some(snapshot.clone());
                    // The client may have disconnected.
                    drop(reply.send(snapshot));
                }
                ScreenRequest::Text { above, reply, .. } => {
                    drop(reply.send(self.screen.read_text(above)));
                }
            }
        }
    }

    /// The output that was drawn last.
    fn recent_bytes(&self, state: &PtyState) -> Vec<u8> {
        let mut before = Vec::new();
        let from = self
            .position
            .saturating_sub(to_offset(SEQUENCE_LOOKBACK_BYTES))
            .max(state.ring.oldest());
        let length = usize::try_from(self.position.saturating_sub(from)).unwrap_or(0);
        // Reads nothing if nothing is kept before the position.
        state.ring.read(from, length, &mut before);
        before
    }

    /// Whether no escape sequence is incomplete at the position.
    fn is_at_sequence_end(&self, state: &PtyState) -> bool {
        incomplete_suffix(&self.recent_bytes(state)).is_empty()
    }

    fn take_snapshot(&mut self) -> ScreenSnapshot {
        let mut bytes = self.screen.encode_snapshot();
        let before = self.recent_bytes(&self.shared.lock_state());
        bytes.extend_from_slice(incomplete_suffix(&before));
        ScreenSnapshot {
            offset: self.position,
            size: self.screen.size(),
            n_sizes: self.known_size,
            bytes: bytes.into(),
        }
    }
}

/// Takes the requests that can be answered at this position.
fn take_ready_requests(state: &mut PtyState, position: u64) -> Option<Vec<ScreenRequest>> {
    if state.requests.is_empty() {
        return None;
    }
    let (ready, rest) =
        std::mem::take(&mut state.requests).into_iter().partition(|request| match request {
            ScreenRequest::Snapshot(_) => true,
            ScreenRequest::Text { at, .. } => *at <= position,
        });
    let ready: Vec<ScreenRequest> = ready;
    state.requests = rest;
    (!ready.is_empty()).then_some(ready)
}
