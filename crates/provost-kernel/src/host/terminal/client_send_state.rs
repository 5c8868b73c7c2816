//! How far a client is, and what comes next for it.
//!
//! It is sent what was printed from where it is, at once. One that does not
//! acknowledge is sent no more than a window; when it does again it gets the
//! missing bytes if they are few, else what the terminal looks like by then. So
//! it costs one buffer however slow it is.

use std::io;

use bytes::{Buf as _, Bytes};
use provost_proto::limits::{TERMINAL_RESYNC_BYTES, TERMINAL_WINDOW_BYTES};
use provost_proto::terminal::{DATA_HEADER_BYTES, TerminalOutputFrame, encode_data_header};
use provost_sandbox::confine::SandboxExit;
use provost_sandbox::pty::PtySize;
use tokio::sync::watch;

use super::attached_client::ClientFeedback;
use super::output_ring::to_offset;
use super::shared_pty_state::{PtyExit, PtySizeChange, PtyState, ScreenSnapshot, SharedPtyState};
use crate::socket_writer::SocketWriter;

/// Bytes sent at once.
const OUTPUT_CHUNK_BYTES: usize = 64 * 1024;

/// How often a client is shown what the terminal looks like without having
/// acknowledged anything in between. One that reads and says nothing gets no more.
const MAX_UNACKNOWLEDGED_SNAPSHOTS: u8 = 4;

/// What is to be done for a client now that all is sent that could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendStep {
    /// Nothing, until there is more.
    Idle,
    /// Its connection takes no more for now.
    Blocked,
    /// It needs to be shown what the terminal looks like.
    NeedsSnapshot,
    /// It knows that it is over.
    Finished,
}

#[derive(Debug)]
pub(super) struct ClientSendState {
    heard: watch::Receiver<ClientFeedback>,
    /// What was to be done when it was looked at last.
    step: SendStep,
    /// The next byte to be sent; none if it needs a snapshot first.
    cursor: Option<u64>,
    /// The size where it goes on, until it is told.
    welcome: Option<PtySizeChange>,
    /// Where it began, or was put by the last snapshot.
    base: u64,
    /// Whether its window was full.
    lagging: bool,
    /// How many snapshots it was sent since it acknowledged something.
    n_unheard: u8,
    /// What it had acknowledged by then.
    heard_last: u64,
    /// What it knows: changes of the size, titles, bells.
    n_sizes: u64,
    n_titles: u64,
    n_bells: u64,
    /// What is on its way: this, as far as it is not sent yet, and then the rest.
    buffer: Vec<u8>,
    n_sent: usize,
    rest: Bytes,
    /// Whether nothing follows it.
    is_last: bool,
}

/// What comes next.
enum NextMessage {
    /// This, which is on its way now.
    Queued,
    Step(SendStep),
}

impl ClientSendState {
    /// For a client that has seen all up to `after`, if that is still kept.
    pub(super) fn new(
        line: &SharedPtyState,
        heard: watch::Receiver<ClientFeedback>,
        after: Option<u64>,
    ) -> Self {
        let state = line.lock_state();
        let kept = state.ring.oldest()..=state.ring.end();
        let cursor = after.filter(|after| kept.contains(after));
        let size = cursor.map(|at| state.size_before(at));
        Self {
            heard,
            step: SendStep::Blocked,
            cursor,
            // It is told the size anew, and then goes on as if it had never been away.
            welcome: size,
            base: cursor.unwrap_or(0),
            lagging: false,
            n_unheard: 0,
            heard_last: 0,
            n_sizes: size.map_or(0, |size| size.number),
            n_titles: 0,
            n_bells: state.n_bells,
            buffer: Vec::new(),
            n_sent: 0,
            rest: Bytes::new(),
            is_last: false,
        }
    }

    /// What was to be done when it was looked at last.
    pub(super) fn step(&self) -> SendStep {
        self.step
    }

    /// Sends all that can be sent without waiting.
    pub(super) fn send_available(
        &mut self,
        line: &SharedPtyState,
        write: &SocketWriter,
    ) -> io::Result<SendStep> {
        self.step = loop {
            if !self.flush(write)? {
                break SendStep::Blocked;
            }
            if self.is_last {
                break SendStep::Finished;
            }
            match self.queue_next(line)? {
                NextMessage::Queued => {}
                NextMessage::Step(step) => break step,
            }
        };
        Ok(self.step)
    }

    /// Sends what is on its way; tells whether all of it is gone.
    fn flush(&mut self, write: &SocketWriter) -> io::Result<bool> {
        loop {
            let first = self.buffer.get(self.n_sent..).unwrap_or_default();
            let piece = if first.is_empty() { &self.rest[..] } else { first };
            if piece.is_empty() {
                self.buffer.clear();
                self.n_sent = 0;
                return Ok(true);
            }
            match write.try_send(piece) {
                Ok(n_sent) if first.is_empty() => self.rest.advance(n_sent),
                Ok(n_sent) => self.n_sent += n_sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn queue_message(&mut self, what: &TerminalOutputFrame) -> io::Result<()> {
        let (head, rest) = what.encode().map_err(io::Error::other)?;
        // Not replaced by it, because it has room for more.
        self.buffer.clear();
        self.buffer.extend_from_slice(&head);
        self.rest = rest;
        Ok(())
    }

    fn queue_resize(
        &mut self,
        offset: u64,
        PtySize { cols, rows }: PtySize,
    ) -> io::Result<NextMessage> {
        self.queue_message(&TerminalOutputFrame::Resize { offset, cols, rows })?;
        Ok(NextMessage::Queued)
    }

    /// The last word.
    fn queue_final_message(&mut self, what: &TerminalOutputFrame) -> io::Result<NextMessage> {
        self.is_last = true;
        self.queue_message(what)?;
        Ok(NextMessage::Queued)
    }

    /// What the terminal looks like, in place of what was printed before.
    pub(super) fn queue_snapshot(&mut self, snapshot: ScreenSnapshot) -> io::Result<()> {
        let ScreenSnapshot { offset, size: PtySize { cols, rows }, n_sizes, bytes } = snapshot;
        (self.cursor, self.base) = (Some(offset), offset);
        (self.n_unheard, self.lagging) = (self.n_unheard + 1, false);
        self.n_sizes = n_sizes;
        self.queue_message(&TerminalOutputFrame::Snapshot { offset, cols, rows, bytes })
    }

    fn queue_next(&mut self, line: &SharedPtyState) -> io::Result<NextMessage> {
        let state = line.lock_state();
        let (acknowledged, fault) = {
            let heard = self.heard.borrow();
            (heard.acknowledged, heard.fault.clone())
        };
        if let Some(fault) = fault {
            return self.queue_final_message(&TerminalOutputFrame::Error(fault));
        }
        if acknowledged > self.heard_last {
            (self.heard_last, self.n_unheard) = (acknowledged, 0);
        }
        let anew = if self.n_unheard < MAX_UNACKNOWLEDGED_SNAPSHOTS {
            SendStep::NeedsSnapshot
        } else {
            SendStep::Idle
        };
        let Some(cursor) = self.cursor else { return Ok(NextMessage::Step(anew)) };
        if let Some(PtySizeChange { size, .. }) = self.welcome.take() {
            return self.queue_resize(cursor, size);
        }
        let unacknowledged = cursor - acknowledged.clamp(self.base.min(cursor), cursor);
        let stalled = self.lagging && unacknowledged > TERMINAL_WINDOW_BYTES / 2;
        if cursor < state.ring.oldest() {
            return Ok(NextMessage::Step(if stalled { SendStep::Idle } else { anew }));
        }
        let size = state.next_size(self.n_sizes);
        if let Some(PtySizeChange { number, offset, size }) =
            size.filter(|size| size.offset <= cursor)
        {
            self.n_sizes = number;
            return self.queue_resize(offset, size);
        }
        if let Some(what) = next_title_or_bell(&state, &mut self.n_titles, &mut self.n_bells) {
            self.queue_message(&what)?;
            return Ok(NextMessage::Queued);
        }
        let behind = state.ring.end() - cursor;
        if stalled {
            return Ok(NextMessage::Step(SendStep::Idle));
        }
        if std::mem::take(&mut self.lagging) && behind > TERMINAL_RESYNC_BYTES {
            return Ok(NextMessage::Step(anew));
        }
        if behind == 0 {
            return match state.ended {
                Some(PtyExit(exit)) => self.queue_final_message(&exit_message(exit)),
                None => Ok(NextMessage::Step(SendStep::Idle)),
            };
        }
        let room = TERMINAL_WINDOW_BYTES.saturating_sub(unacknowledged);
        if room == 0 {
            self.lagging = true;
            return Ok(NextMessage::Step(SendStep::Idle));
        }
        let until = size.map_or(room, |size| room.min(size.offset - cursor));
        self.queue_output(&state, cursor, until)
    }

    /// Sends what was printed from here on, up to so many bytes.
    fn queue_output(
        &mut self,
        state: &PtyState,
        cursor: u64,
        most: u64,
    ) -> io::Result<NextMessage> {
        let most = usize::try_from(most).unwrap_or(OUTPUT_CHUNK_BYTES).min(OUTPUT_CHUNK_BYTES);
        self.buffer.resize(DATA_HEADER_BYTES, 0);
        let n_read = state.ring.read(cursor, most, &mut self.buffer).unwrap_or(0);
        let head = encode_data_header(cursor, n_read).map_err(io::Error::other)?;
        self.buffer[..DATA_HEADER_BYTES].copy_from_slice(&head);
        self.cursor = Some(cursor + to_offset(n_read));
        Ok(NextMessage::Queued)
    }
}

/// What is told beside what was printed.
fn next_title_or_bell(
    state: &PtyState,
    n_titles: &mut u64,
    n_bells: &mut u64,
) -> Option<TerminalOutputFrame> {
    if *n_titles < state.n_titles {
        *n_titles = state.n_titles;
        return Some(TerminalOutputFrame::Title(state.title.to_string()));
    }
    if *n_bells < state.n_bells {
        *n_bells = state.n_bells;
        return Some(TerminalOutputFrame::Bell);
    }
    None
}

fn exit_message(exit: Option<SandboxExit>) -> TerminalOutputFrame {
    let (exit_code, signal) = super::split_exit(exit);
    TerminalOutputFrame::Exit { exit_code, signal }
}
