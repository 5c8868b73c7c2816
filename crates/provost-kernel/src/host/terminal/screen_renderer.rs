//! The thread that draws the screen, and answers what only it knows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::output_ring::to_offset;
use super::pty_input::PtyInput;
use super::screen::{ScreenEffects, TerminalScreen, incomplete_suffix};
use super::shared_pty_state::{
    PtySizeChange, PtyState, ScreenRequest, ScreenSnapshot, SharedPtyState,
};

/// Bytes drawn between two looks at what is asked.
const DRAW_CHUNK_BYTES: usize = 128 * 1024;

/// With so much to draw, more is soon to come; drawn together it takes less.
const COALESCE_MIN_BYTES: u64 = 64 * 1024;

/// How long to wait for it …
const COALESCE_DELAY: Duration = Duration::from_millis(40);

/// … and how much of it.
const COALESCE_MAX_BYTES: u64 = 2 * 1024 * 1024;

/// From here on one looks whether all must be drawn.
const SKIM_MIN_BYTES: u64 = 512 * 1024;

/// How long a program may keep its drawing back before it is shown as it is.
const SYNC_UPDATE_TIMEOUT: Duration = Duration::from_millis(150);

/// How far back a sequence that is not whole may begin.
const SEQUENCE_LOOKBACK_BYTES: usize = 64 * 1024;

/// Draws until the terminal is closed.
pub(super) fn run_screen_renderer(line: &Arc<SharedPtyState>, input: &Arc<PtyInput>) {
    let (start, size) = {
        let state = line.lock_state();
        (state.drawn, state.size)
    };
    let screen = TerminalScreen::new(size);
    let mut drawing = ScreenRenderer {
        line,
        input,
        screen,
        position: start,
        known_size: 0,
        buffer: Vec::new(),
        skim_from: start,
    };
    while drawing.run_step() {}
}

struct ScreenRenderer<'a> {
    line: &'a Arc<SharedPtyState>,
    input: &'a Arc<PtyInput>,
    screen: TerminalScreen,
    position: u64,
    known_size: u64,
    buffer: Vec<u8>,
    /// From here on it is worth to look again whether something can be left out.
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
    /// Does the next thing; tells whether there is more to come.
    fn run_step(&mut self) -> bool {
        let work = self.next_work();
        let done = catch_unwind(AssertUnwindSafe(|| self.perform_work(work)));
        done.unwrap_or_else(|_| {
            tracing::error!("the screen could not be drawn and begins anew");
            self.screen = TerminalScreen::new(self.line.lock_state().size);
            self.position = self.line.lock_state().ring.end();
            self.line.mark_drawn(self.position);
            true
        })
    }

    fn next_work(&mut self) -> RenderWork {
        let line = self.line;
        let mut state = line.lock_state();
        let mut rested = false;
        loop {
            if state.closed {
                return RenderWork::Stop;
            }
            if let Some(wishes) = take_ready_requests(&mut state, self.position) {
                return RenderWork::Requests(wishes);
            }
            let size = state.next_size(self.known_size);
            if let Some(size) = size.filter(|size| size.offset <= self.position) {
                return RenderWork::Resize(size);
            }
            let until = size.map_or(u64::MAX, |size| size.offset - self.position);
            let ahead = state.ring.end().saturating_sub(self.position);
            if (COALESCE_MIN_BYTES..COALESCE_MAX_BYTES).contains(&ahead)
                && !std::mem::replace(&mut rested, true)
            {
                state.enough = self.position + COALESCE_MAX_BYTES;
                state = line.wait_for_work(state, COALESCE_DELAY);
                state.enough = 0;
                continue;
            }
            let flood = ahead.min(until) >= SKIM_MIN_BYTES && self.position >= self.skim_from;
            let flood = flood && self.is_at_sequence_end(&state);
            let most =
                if flood { 2 * COALESCE_MAX_BYTES } else { to_offset(DRAW_CHUNK_BYTES) }.min(until);
            let most = usize::try_from(most).unwrap_or(DRAW_CHUNK_BYTES);
            self.buffer.clear();
            match state.ring.read(self.position, most, &mut self.buffer) {
                Some(0) => {}
                Some(_) if flood => return RenderWork::Flood,
                Some(_) => return RenderWork::Bytes,
                // The reader waits for us, so this is only so after a fault.
                None => {
                    self.position = state.ring.oldest();
                    continue;
                }
            }
            if !self.screen.is_in_sync_update() {
                state = line.wait_for_work(state, Duration::from_hours(1));
                continue;
            }
            let end = state.ring.end();
            state = line.wait_for_work(state, SYNC_UPDATE_TIMEOUT);
            if state.ring.end() == end {
                return RenderWork::EndSyncUpdate;
            }
        }
    }

    fn perform_work(&mut self, work: RenderWork) -> bool {
        match work {
            RenderWork::Stop => return false,
            RenderWork::Bytes => {
                let said = self.screen.draw(&self.buffer);
                self.position += to_offset(self.buffer.len());
                self.line.mark_drawn(self.position);
                self.apply_effects(said);
            }
            RenderWork::Flood => match self.screen.skim(&self.buffer) {
                Ok(said) => {
                    self.position += to_offset(self.buffer.len());
                    self.line.mark_drawn(self.position);
                    self.apply_effects(said);
                }
                Err(drawn) => {
                    self.skim_from = self.position + to_offset(drawn.max(DRAW_CHUNK_BYTES))
                }
            },
            RenderWork::EndSyncUpdate => {
                let said = self.screen.finish_sync_update();
                self.apply_effects(said);
            }
            RenderWork::Resize(resized) => {
                let said = self.screen.finish_sync_update();
                self.apply_effects(said);
                self.screen.resize(resized.size);
                self.known_size = resized.number;
            }
            RenderWork::Requests(wishes) => {
                let said = self.screen.finish_sync_update();
                self.apply_effects(said);
                self.answer_requests(wishes);
            }
        }
        true
    }

    fn apply_effects(&self, said: ScreenEffects) {
        let ScreenEffects { answers, title, bell } = said;
        if !answers.is_empty() && self.input.push(&answers).is_err() {
            tracing::debug!("a program asks its terminal and does not read the answers");
        }
        if title.is_some() || bell {
            self.line.update_state(|state| {
                if let Some(title) = title {
                    state.title = title.into();
                    state.n_titles += 1;
                }
                state.n_bells += u64::from(bell);
            });
        }
    }

    /// One snapshot serves all that wait for one.
    fn answer_requests(&mut self, wishes: Vec<ScreenRequest>) {
        let mut shared: Option<ScreenSnapshot> = None;
        for wish in wishes {
            match wish {
                ScreenRequest::Snapshot(reply) => {
                    let snapshot = shared.take().unwrap_or_else(|| self.take_snapshot());
                    shared = Some(snapshot.clone());
                    // Whoever hung up meanwhile does not need it.
                    drop(reply.send(snapshot));
                }
                ScreenRequest::Text { above, reply, .. } => {
                    drop(reply.send(self.screen.read_text(above)))
                }
            }
        }
    }

    /// What was drawn last.
    fn recent_bytes(&self, state: &PtyState) -> Vec<u8> {
        let mut before = Vec::new();
        let from = self
            .position
            .saturating_sub(to_offset(SEQUENCE_LOOKBACK_BYTES))
            .max(state.ring.oldest());
        let length = usize::try_from(self.position.saturating_sub(from)).unwrap_or(0);
        // Nothing is missing if nothing is kept: it begins here.
        state.ring.read(from, length, &mut before);
        before
    }

    /// Whether nothing has begun that is not finished yet.
    fn is_at_sequence_end(&self, state: &PtyState) -> bool {
        incomplete_suffix(&self.recent_bytes(state)).is_empty()
    }

    fn take_snapshot(&mut self) -> ScreenSnapshot {
        let mut bytes = self.screen.encode_snapshot();
        let before = self.recent_bytes(&self.line.lock_state());
        bytes.extend_from_slice(incomplete_suffix(&before));
        ScreenSnapshot {
            offset: self.position,
            size: self.screen.size(),
            n_sizes: self.known_size,
            bytes: bytes.into(),
        }
    }
}

/// Takes the wishes that can be granted by now.
fn take_ready_requests(state: &mut PtyState, position: u64) -> Option<Vec<ScreenRequest>> {
    if state.wishes.is_empty() {
        return None;
    }
    let (ready, rest) =
        std::mem::take(&mut state.wishes).into_iter().partition(|wish| match wish {
            ScreenRequest::Snapshot(_) => true,
            ScreenRequest::Text { at, .. } => *at <= position,
        });
    let ready: Vec<ScreenRequest> = ready;
    state.wishes = rest;
    (!ready.is_empty()).then_some(ready)
}
