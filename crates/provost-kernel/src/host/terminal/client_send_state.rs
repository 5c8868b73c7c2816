//! The position of a client in the output, and what it is sent next.
//!
//! A client is sent output from its position on, at once. One that does not
//! acknowledge is sent at most one window; when it acknowledges again, it gets the
//! missing bytes if they are few, else a snapshot of the screen. So a client costs
//! one buffer, however slow it is.

use std::io;

use bytes::{Buf as _, Bytes};
use provost_proto::limits::{TERMINAL_RESYNC_BYTES, TERMINAL_WINDOW_BYTES};
use provost_proto::terminal::{
    DATA_HEADER_BYTES, EncodedFrame, TerminalOutputFrame, encode_data_header,
};
use provost_sandbox::confine::SandboxExit;
use provost_sandbox::pty::PtySize;
use tokio::sync::watch;

use super::attached_client::ClientFeedback;
use super::output_ring::to_offset;
use super::shared_pty_state::{PtyExit, PtySizeChange, PtyState, ScreenSnapshot, SharedPtyState};
use crate::socket_writer::SocketWriter;

/// The largest piece of output in one frame, in bytes.
const OUTPUT_CHUNK_BYTES: usize = 64 * 1024;

/// How many snapshots a client is sent without acknowledging anything in between.
/// A client that reads and never acknowledges gets no more.
const MAX_UNACKNOWLEDGED_SNAPSHOTS: u8 = 4;

/// What the sender waits for, after it has sent all it could.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendStep {
    /// New output.
    Idle,
    /// Space in the socket buffer.
    Blocked,
    /// A snapshot of the screen.
    NeedsSnapshot,
    /// Nothing: the client has been sent the end.
    Finished,
}

#[derive(Debug)]
pub(super) struct ClientSendState {
    feedback: watch::Receiver<ClientFeedback>,
    /// The result of the last call of `send_available`.
    step: SendStep,
    /// The offset of the next byte to send; `None` if a snapshot is needed first.
    cursor: Option<u64>,
    /// The size at the cursor, to be sent first.
    initial_size: Option<PtySizeChange>,
    /// The offset where it began, or of the last snapshot.
    base: u64,
    /// Whether its window was full.
    lagging: bool,
    /// Snapshots sent since the last acknowledgement.
    n_unacknowledged: u8,
    /// The offset acknowledged then.
    last_acknowledged: u64,
    /// The last size change, title and bell that it was sent.
    n_sizes: u64,
    n_titles: u64,
    n_bells: u64,
    /// The frame that is being sent: the unsent part of `buffer`, then `rest`.
    buffer: Vec<u8>,
    n_sent: usize,
    rest: Bytes,
    /// Whether it is the last frame.
    is_last: bool,
}

/// What comes next.
enum NextMessage {
    /// A frame was queued.
    Queued,
    Step(SendStep),
}

impl ClientSendState {
    /// For a client that has seen all output up to `after`, if that is still kept.
    pub(super) fn new(
        shared: &SharedPtyState,
        feedback: watch::Receiver<ClientFeedback>,
        after: Option<u64>,
    ) -> Self {
        let state = shared.lock_state();
        let kept = state.ring.oldest()..=state.ring.end();
        let cursor = after.filter(|after| kept.contains(after));
        let size = cursor.map(|at| state.size_before(at));
        Self {
            feedback,
            step: SendStep::Blocked,
            cursor,
            // It is sent the size first, and then continues as if it had never been away.
            initial_size: size,
            base: cursor.unwrap_or(0),
            lagging: false,
            n_unacknowledged: 0,
            last_acknowledged: 0,
            n_sizes: size.map_or(0, |size| size.number),
            n_titles: 0,
            n_bells: state.n_bells,
            buffer: Vec::new(),
            n_sent: 0,
            rest: Bytes::new(),
            is_last: false,
        }
    }

    /// The result of the last call of `send_available`.
    pub(super) fn step(&self) -> SendStep {
        self.step
    }

    /// Sends all that can be sent without blocking.
    pub(super) fn send_available(
        &mut self,
        shared: &SharedPtyState,
        write: &SocketWriter,
    ) -> io::Result<SendStep> {
        self.step = loop {
            if !self.flush(write)? {
                break SendStep::Blocked;
            }
            if self.is_last {
                break SendStep::Finished;
            }
            match self.queue_next(shared)? {
                NextMessage::Queued => {}
                NextMessage::Step(step) => break step,
            }
        };
        Ok(self.step)
    }

    /// Sends the current frame; returns whether all of it is sent.
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

    fn queue_message(&mut self, frame: &TerminalOutputFrame) -> io::Result<()> {
        let EncodedFrame { header, payload } = frame.encode().map_err(io::Error::other)?;
        // Keeps the allocation of the buffer.
        self.buffer.clear();
        self.buffer.extend_from_slice(&header);
        self.rest = payload;
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

    /// Queues the last frame.
    fn queue_final_message(&mut self, frame: &TerminalOutputFrame) -> io::Result<NextMessage> {
        self.is_last = true;
        self.queue_message(frame)?;
        Ok(NextMessage::Queued)
    }

    /// Queues a snapshot, which replaces all output before it.
    pub(super) fn queue_snapshot(&mut self, snapshot: ScreenSnapshot) -> io::Result<()> {
        let ScreenSnapshot { offset, size: PtySize { cols, rows }, n_sizes, bytes } = snapshot;
        (self.cursor, self.base) = (Some(offset), offset);
        (self.n_unacknowledged, self.lagging) = (self.n_unacknowledged + 1, false);
        self.n_sizes = n_sizes;
        self.queue_message(&TerminalOutputFrame::Snapshot { offset, cols, rows, bytes })
    }

    fn queue_next(&mut self, shared: &SharedPtyState) -> io::Result<NextMessage> {
        let state = shared.lock_state();
        let (acknowledged, fault) = {
            let feedback = self.feedback.borrow();
            (feedback.acknowledged, feedback.fault.clone())
        };
        if let Some(fault) = fault {
            return self.queue_final_message(&TerminalOutputFrame::Error(fault));
        }
        if acknowledged > self.last_acknowledged {
            (self.last_acknowledged, self.n_unacknowledged) = (acknowledged, 0);
        }
        let resync_step = if self.n_unacknowledged < MAX_UNACKNOWLEDGED_SNAPSHOTS {
            SendStep::NeedsSnapshot
        } else {
            SendStep::Idle
        };
        let Some(cursor) = self.cursor else { return Ok(NextMessage::Step(resync_step)) };
        if let Some(PtySizeChange { size, .. }) = self.initial_size.take() {
            return self.queue_resize(cursor, size);
        }
        let unacknowledged = cursor - acknowledged.clamp(self.base.min(cursor), cursor);
        let stalled = self.lagging && unacknowledged > TERMINAL_WINDOW_BYTES / 2;
        if cursor < state.ring.oldest() {
            return Ok(NextMessage::Step(if stalled { SendStep::Idle } else { resync_step }));
        }
        let size = state.next_size(self.n_sizes);
        if let Some(PtySizeChange { number, offset, size }) =
            size.filter(|size| size.offset <= cursor)
        {
            self.n_sizes = number;
            return self.queue_resize(offset, size);
        }
        if let Some(frame) = next_title_or_bell(&state, &mut self.n_titles, &mut self.n_bells) {
            self.queue_message(&frame)?;
            return Ok(NextMessage::Queued);
        }
        let behind = state.ring.end() - cursor;
        if stalled {
            return Ok(NextMessage::Step(SendStep::Idle));
        }
        if std::mem::take(&mut self.lagging) && behind > TERMINAL_RESYNC_BYTES {
            return Ok(NextMessage::Step(resync_step));
        }
        if behind == 0 {
            return match state.ended {
                Some(PtyExit(exit)) => self.queue_final_message(&exit_message(exit)),
                None => Ok(NextMessage::Step(SendStep::Idle)),
            };
        }
        let window_left = TERMINAL_WINDOW_BYTES.saturating_sub(unacknowledged);
        if window_left == 0 {
            self.lagging = true;
            return Ok(NextMessage::Step(SendStep::Idle));
        }
        let until = size.map_or(window_left, |size| window_left.min(size.offset - cursor));
        self.queue_output(&state, cursor, until)
    }

    /// Queues output from the cursor on, up to `limit` bytes.
    fn queue_output(
        &mut self,
        state: &PtyState,
        cursor: u64,
        limit: u64,
    ) -> io::Result<NextMessage> {
        let limit = usize::try_from(limit).unwrap_or(OUTPUT_CHUNK_BYTES).min(OUTPUT_CHUNK_BYTES);
        self.buffer.resize(DATA_HEADER_BYTES, 0);
        let n_read = state.ring.read(cursor, limit, &mut self.buffer).unwrap_or(0);
        let head = encode_data_header(cursor, n_read).map_err(io::Error::other)?;
        self.buffer[..DATA_HEADER_BYTES].copy_from_slice(&head);
        self.cursor = Some(cursor + to_offset(n_read));
        Ok(NextMessage::Queued)
    }
}

/// A change of the title or a bell that the client was not sent yet.
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
