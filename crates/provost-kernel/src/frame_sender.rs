//! Sends frames from whichever task has one, without a task in between.
//!
//! The caller writes its frame itself while the socket takes it: a hand-over to a sending task
//! costs a wake-up per frame, which is most of what a small request costs. What the socket does
//! not take waits in a bounded backlog, in order, and one task sends it when it can be written.

use std::io;
use std::sync::Arc;

use bytes::{Buf as _, BytesMut};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::socket_writer::SocketWriter;

/// Senders wait while the backlog holds this many bytes.
const MAX_BACKLOG_BYTES: usize = 1024 * 1024;

/// The sending half of a connection. Clones share one socket.
#[derive(Debug, Clone)]
pub(crate) struct FrameSender(Arc<SharedFrameSender>);

#[derive(Debug)]
struct SharedFrameSender {
    socket: SocketWriter,
    state: Mutex<FrameSenderState>,
    /// The backlog is no longer empty, or the connection was closed.
    pending: Notify,
    /// The backlog has room again, or the connection was closed.
    room: Notify,
}

#[derive(Debug, Default)]
struct FrameSenderState {
    backlog: BytesMut,
    closed: bool,
}

/// What became of frames that were offered.
enum OfferOutcome {
    Accepted,
    BacklogFull,
}

impl FrameSender {
    pub(crate) fn new(socket: SocketWriter) -> Self {
        Self(Arc::new(SharedFrameSender {
            socket,
            state: Mutex::default(),
            pending: Notify::new(),
            room: Notify::new(),
        }))
    }

    /// Sends whole frames, in the order of the calls. Waits only while the backlog is full.
    pub(crate) async fn send(&self, frames: &[u8]) -> io::Result<()> {
        loop {
            if let OfferOutcome::Accepted = self.offer(frames)? {
                return Ok(());
            }
            let room = self.0.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            // It may have become free before we listened.
            if let OfferOutcome::Accepted = self.offer(frames)? {
                return Ok(());
            }
            room.await;
        }
    }

    /// Waits until the socket has taken all frames.
    pub(crate) async fn flushed(&self) -> io::Result<()> {
        loop {
            let room = self.0.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if !self.has_backlog()? {
                return Ok(());
            }
            room.await;
        }
    }

    /// Sends the backlog, until the connection is closed.
    pub(crate) async fn run_backlog(&self) -> io::Result<()> {
        loop {
            self.0.pending.notified().await;
            while self.has_backlog()? {
                self.0.socket.writable().await?;
                self.send_backlog()?;
            }
        }
    }

    /// Whether frames are still accepted.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.state.lock().closed
    }

    /// Accepts no more frames, shuts down the write direction of the socket, and ends the
    /// task that sends the backlog.
    pub(crate) fn close(&self) {
        self.close_locked(&mut self.0.state.lock());
    }

    fn close_locked(&self, state: &mut FrameSenderState) {
        state.closed = true;
        self.0.socket.shut_down();
        self.0.pending.notify_one();
        self.0.room.notify_waiters();
    }

    /// Sends as much as the socket takes now; returns how many bytes. An error closes the
    /// connection.
    fn send_now(&self, state: &mut FrameSenderState, bytes: &[u8]) -> io::Result<usize> {
        let mut n_sent = 0;
        while n_sent < bytes.len() {
            match self.0.socket.try_send(&bytes[n_sent..]) {
                Ok(n) => n_sent += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.close_locked(state);
                    return Err(error);
                }
            }
        }
        Ok(n_sent)
    }

    fn offer(&self, mut frames: &[u8]) -> io::Result<OfferOutcome> {
        let mut state = self.0.state.lock();
        if state.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if state.backlog.len() >= MAX_BACKLOG_BYTES {
            return Ok(OfferOutcome::BacklogFull);
        }
        let is_first = state.backlog.is_empty();
        if is_first {
            frames = &frames[self.send_now(&mut state, frames)?..];
        }
        state.backlog.extend_from_slice(frames);
        if is_first && !frames.is_empty() {
            self.0.pending.notify_one();
        }
        Ok(OfferOutcome::Accepted)
    }

    fn has_backlog(&self) -> io::Result<bool> {
        let state = self.0.state.lock();
        if state.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(!state.backlog.is_empty())
    }

    /// Sends as much of the backlog as the socket takes.
    fn send_backlog(&self) -> io::Result<()> {
        let mut state = self.0.state.lock();
        let mut backlog = std::mem::take(&mut state.backlog);
        let n_sent = self.send_now(&mut state, &backlog)?;
        backlog.advance(n_sent);
        state.backlog = backlog;
        if state.backlog.is_empty() {
            // An idle connection holds no memory.
            state.backlog = BytesMut::new();
        }
        let has_room = state.backlog.len() < MAX_BACKLOG_BYTES;
        drop(state);
        if has_room {
            self.0.room.notify_waiters();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::UnixStream;

    use super::*;
    use crate::socket_writer::split_socket;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn frames_of_many_senders_arrive_whole_and_in_each_senders_order() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let (_incoming, socket) = split_socket(near).unwrap();
        let sender = FrameSender::new(socket);
        let backlog = sender.clone();
        let flush = tokio::spawn(async move { backlog.run_backlog().await });
        // Frames of 10 000 bytes, far more than socket and backlog hold together.
        let (n_senders, n_frames) = (4_u8, 200_u8);
        let senders: Vec<_> = (0..n_senders)
            .map(|who| {
                let sender = sender.clone();
                tokio::spawn(async move {
                    for number in 0..n_frames {
                        let mut frame = vec![who; 10_000];
                        frame[0] = number;
                        sender.send(&frame).await.unwrap();
                    }
                })
            })
            .collect();
        let mut next = vec![0_u8; usize::from(n_senders)];
        let mut frame = vec![0; 10_000];
        for _ in 0..u32::from(n_senders) * u32::from(n_frames) {
            far.read_exact(&mut frame).await.unwrap();
            let who = frame[1];
            assert!(frame[1..].iter().all(|byte| *byte == who), "a frame was cut");
            assert_eq!(frame[0], next[usize::from(who)]);
            next[usize::from(who)] += 1;
        }
        for sender in senders {
            sender.await.unwrap();
        }
        sender.close();
        assert!(flush.await.unwrap().is_err());
    }

    #[tokio::test]
    async fn a_sender_that_waits_for_room_learns_that_the_connection_was_closed() {
        let (near, _far) = UnixStream::pair().unwrap();
        let (_incoming, socket) = split_socket(near).unwrap();
        let sender = FrameSender::new(socket);
        let blocked = sender.clone();
        let sending = tokio::spawn(async move {
            // Nobody reads and nobody sends the backlog, so this must wait.
            let frame = vec![0; 65_536];
            loop {
                blocked.send(&frame).await?;
            }
            #[expect(unreachable_code, reason = "names the type of the error")]
            Ok::<(), io::Error>(())
        });
        while sender.0.state.lock().backlog.len() < MAX_BACKLOG_BYTES {
            tokio::task::yield_now().await;
        }
        sender.close();
        let error = sending.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        assert!(sender.is_closed());
    }
}
