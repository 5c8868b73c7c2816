//! The thread that draws the screen, and answers what only it knows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::input::Input;
use super::line::{Line, Resized, Snapshot, State, Wish};
use super::ring::count;
use super::screen::{Said, Screen, unfinished};

/// Bytes drawn between two looks at what is asked.
const PIECE: usize = 128 * 1024;

/// With so much to draw, more is soon to come; drawn together it takes less.
const BUSY: u64 = 64 * 1024;

/// How long to wait for it …
const REST: Duration = Duration::from_millis(40);

/// … and how much of it.
const FLOOD: u64 = 2 * 1024 * 1024;

/// From here on one looks whether all must be drawn.
const SKIM: u64 = 512 * 1024;

/// How long a program may keep its drawing back before it is shown as it is.
const PATIENCE: Duration = Duration::from_millis(150);

/// How far back a sequence that is not whole may begin.
const BACK: usize = 64 * 1024;

/// Draws until the terminal is closed.
pub(super) fn draw(line: &Arc<Line>, input: &Arc<Input>) {
    let (start, size) = {
        let state = line.state();
        (state.drawn, state.size)
    };
    let screen = Screen::new(size);
    let mut drawing = Drawing {
        line,
        input,
        screen,
        position: start,
        known_size: 0,
        buffer: Vec::new(),
        skim_from: start,
    };
    while drawing.go_on() {}
}

struct Drawing<'a> {
    line: &'a Arc<Line>,
    input: &'a Arc<Input>,
    screen: Screen,
    position: u64,
    known_size: u64,
    buffer: Vec<u8>,
    /// From here on it is worth to look again whether something can be left out.
    skim_from: u64,
}

enum Work {
    Bytes,
    Flood,
    Size(Resized),
    Wishes(Vec<Wish>),
    Settle,
    End,
}

impl Drawing<'_> {
    /// Does the next thing; tells whether there is more to come.
    fn go_on(&mut self) -> bool {
        let work = self.next();
        let done = catch_unwind(AssertUnwindSafe(|| self.work(work)));
        done.unwrap_or_else(|_| {
            tracing::error!("the screen could not be drawn and begins anew");
            self.screen = Screen::new(self.line.state().size);
            self.position = self.line.state().ring.end();
            self.line.drew(self.position);
            true
        })
    }

    fn next(&mut self) -> Work {
        let line = self.line;
        let mut state = line.state();
        let mut rested = false;
        loop {
            if state.closed {
                return Work::End;
            }
            if let Some(wishes) = ready(&mut state, self.position) {
                return Work::Wishes(wishes);
            }
            let size = state.next_size(self.known_size);
            if let Some(size) = size.filter(|size| size.offset <= self.position) {
                return Work::Size(size);
            }
            let until = size.map_or(u64::MAX, |size| size.offset - self.position);
            let ahead = state.ring.end().saturating_sub(self.position);
            if (BUSY..FLOOD).contains(&ahead) && !std::mem::replace(&mut rested, true) {
                state.enough = self.position + FLOOD;
                state = line.wait_for_work(state, REST);
                state.enough = 0;
                continue;
            }
            let flood = ahead.min(until) >= SKIM && self.position >= self.skim_from;
            let flood = flood && self.is_whole(&state);
            let most = if flood { 2 * FLOOD } else { count(PIECE) }.min(until);
            let most = usize::try_from(most).unwrap_or(PIECE);
            self.buffer.clear();
            match state.ring.read(self.position, most, &mut self.buffer) {
                Some(0) => {}
                Some(_) if flood => return Work::Flood,
                Some(_) => return Work::Bytes,
                // The reader waits for us, so this is only so after a fault.
                None => {
                    self.position = state.ring.oldest();
                    continue;
                }
            }
            if !self.screen.is_drawing() {
                state = line.wait_for_work(state, Duration::from_hours(1));
                continue;
            }
            let end = state.ring.end();
            state = line.wait_for_work(state, PATIENCE);
            if state.ring.end() == end {
                return Work::Settle;
            }
        }
    }

    fn work(&mut self, work: Work) -> bool {
        match work {
            Work::End => return false,
            Work::Bytes => {
                let said = self.screen.draw(&self.buffer);
                self.position += count(self.buffer.len());
                self.line.drew(self.position);
                self.tell(said);
            }
            Work::Flood => match self.screen.skim(&self.buffer) {
                Ok(said) => {
                    self.position += count(self.buffer.len());
                    self.line.drew(self.position);
                    self.tell(said);
                }
                Err(drawn) => self.skim_from = self.position + count(drawn.max(PIECE)),
            },
            Work::Settle => {
                let said = self.screen.settle();
                self.tell(said);
            }
            Work::Size(resized) => {
                let said = self.screen.settle();
                self.tell(said);
                self.screen.resize(resized.size);
                self.known_size = resized.number;
            }
            Work::Wishes(wishes) => {
                let said = self.screen.settle();
                self.tell(said);
                self.grant(wishes);
            }
        }
        true
    }

    fn tell(&self, said: Said) {
        let Said { answers, title, bell } = said;
        if !answers.is_empty() && self.input.push(&answers).is_err() {
            tracing::debug!("a program asks its terminal and does not read the answers");
        }
        if title.is_some() || bell {
            self.line.change(|state| {
                if let Some(title) = title {
                    state.title = title.into();
                    state.n_titles += 1;
                }
                state.n_bells += u64::from(bell);
            });
        }
    }

    /// One snapshot serves all that wait for one.
    fn grant(&mut self, wishes: Vec<Wish>) {
        let mut shared: Option<Snapshot> = None;
        for wish in wishes {
            match wish {
                Wish::Snapshot(reply) => {
                    let snapshot = shared.take().unwrap_or_else(|| self.snapshot());
                    shared = Some(snapshot.clone());
                    // Whoever hung up meanwhile does not need it.
                    drop(reply.send(snapshot));
                }
                Wish::Text { above, reply, .. } => drop(reply.send(self.screen.text(above))),
            }
        }
    }

    /// What was drawn last.
    fn before(&self, state: &State) -> Vec<u8> {
        let mut before = Vec::new();
        let from = self.position.saturating_sub(count(BACK)).max(state.ring.oldest());
        let length = usize::try_from(self.position.saturating_sub(from)).unwrap_or(0);
        // Nothing is missing if nothing is kept: it begins here.
        state.ring.read(from, length, &mut before);
        before
    }

    /// Whether nothing has begun that is not finished yet.
    fn is_whole(&self, state: &State) -> bool {
        unfinished(&self.before(state)).is_empty()
    }

    fn snapshot(&mut self) -> Snapshot {
        let mut bytes = self.screen.snapshot();
        let before = self.before(&self.line.state());
        bytes.extend_from_slice(unfinished(&before));
        Snapshot {
            offset: self.position,
            size: self.screen.size(),
            n_sizes: self.known_size,
            bytes: bytes.into(),
        }
    }
}

/// Takes the wishes that can be granted by now.
fn ready(state: &mut State, position: u64) -> Option<Vec<Wish>> {
    if state.wishes.is_empty() {
        return None;
    }
    let (ready, rest) =
        std::mem::take(&mut state.wishes).into_iter().partition(|wish| match wish {
            Wish::Snapshot(_) => true,
            Wish::Text { at, .. } => *at <= position,
        });
    let ready: Vec<Wish> = ready;
    state.wishes = rest;
    (!ready.is_empty()).then_some(ready)
}
