//! One terminal client, from attach to disconnect.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use provost_proto::Code;
use provost_proto::kernel::ErrorInfo;
use provost_proto::limits::{MAX_TERMINAL_COLS, MAX_TERMINAL_ROWS};
use provost_proto::terminal::TerminalInputFrame;
use provost_sandbox::pty::PtySize;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::timeout;

use super::PtySession;
use super::client_sender::ClientSender;
use super::pty_input::InputRejected;
use crate::socket_writer::SocketWriter;
use crate::wire::UnframedReader;

/// How long a client that sent an invalid message may take to read the error.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// An accepted client.
#[derive(Debug)]
pub(in super::super) struct AttachedClient {
    pub(super) session: Arc<PtySession>,
    pub(super) after: Option<u64>,
    pub(super) size: PtySize,
}

impl AttachedClient {
    /// Serves the client until it disconnects or the terminal ends.
    pub(in super::super) async fn serve_client(
        self,
        mut read: UnframedReader<pipe::Receiver>,
        write: SocketWriter,
    ) {
        let Self { session, after, size } = self;
        let id = session.clients.add_client(size);
        let (feedback_sender, feedback) = watch::channel(ClientFeedback::default());
        let sender = ClientSender::new(&session.shared, write, feedback.clone(), after);
        session.shared.add_client_sender(&sender);
        let inbox = ClientInbox { session: &session, id, feedback: feedback_sender };
        let ended = run_client(&inbox, &mut read, &sender, feedback).await;
        // Dropping it ends the write direction, so that the client can read to the end.
        drop(sender);
        session.clients.remove_client(id);
        // Unread input would make the system discard the last frames we sent.
        drop(timeout(CLOSE_TIMEOUT, tokio::io::copy(&mut read.from, &mut tokio::io::sink())).await);
        if let Err(error) = ended {
            tracing::debug!(%error, "a terminal client disconnected");
        }
    }
}

/// What a client has acknowledged.
#[derive(Debug, Default)]
pub(super) struct ClientFeedback {
    pub(super) acknowledged: u64,
    /// Why it is disconnected, if it sent something invalid.
    pub(super) fault: Option<ErrorInfo>,
}

/// Sends and receives until either direction ends.
async fn run_client(
    inbox: &ClientInbox<'_>,
    read: &mut UnframedReader<pipe::Receiver>,
    sender: &ClientSender,
    feedback: watch::Receiver<ClientFeedback>,
) -> io::Result<()> {
    let mut sending = std::pin::pin!(sender.run(&inbox.session.shared, feedback));
    tokio::select! {
        ended = &mut sending => {
            if ended.is_err() {
                // It reads no more, but what it typed before counts.
                drop(timeout(CLOSE_TIMEOUT, inbox.receive_frames(read)).await);
            }
            ended
        }
        fault = inbox.receive_frames(read) => match fault {
            None => Ok(()),
            Some(fault) => {
                inbox.feedback.send_modify(|feedback| feedback.fault = Some(fault));
                timeout(CLOSE_TIMEOUT, sending).await.unwrap_or(Ok(()))
            }
        },
    }
}

/// Handles what one client sends.
struct ClientInbox<'a> {
    session: &'a PtySession,
    id: u64,
    feedback: watch::Sender<ClientFeedback>,
}

impl ClientInbox<'_> {
    /// Handles the client's frames. Returns when it disconnects, or why it must be
    /// disconnected.
    async fn receive_frames(&self, read: &mut UnframedReader<pipe::Receiver>) -> Option<ErrorInfo> {
        loop {
            loop {
                match TerminalInputFrame::decode(&mut read.buffer) {
                    Ok(None) => break,
                    Ok(Some(frame)) => {
                        if let Err(fault) = self.handle_frame(frame) {
                            return Some(fault);
                        }
                    }
                    Err(error) => {
                        let message = error.to_string();
                        let code = Code::InvalidRequest;
                        return Some(ErrorInfo { code, message, details: None });
                    }
                }
            }
            match read.from.read_buf(&mut read.buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    fn handle_frame(&self, frame: TerminalInputFrame) -> Result<(), ErrorInfo> {
        let Self { session, id, .. } = self;
        match frame {
            TerminalInputFrame::Input(keys) => {
                session.clients.record_input(*id);
                match session.input.push(&keys) {
                    // The exit is being sent to it.
                    Ok(()) | Err(InputRejected::Ended) => Ok(()),
                    Err(InputRejected::Full) => {
                        let message =
                            "the program does not read its input; this was not typed".to_owned();
                        Err(ErrorInfo { code: Code::Conflict, message, details: None })
                    }
                }
            }
            TerminalInputFrame::Resize { cols, rows } => {
                session.clients.record_resize(*id, validate_size(cols, rows)?);
                Ok(())
            }
            TerminalInputFrame::Ack { offset } => {
                self.feedback.send_modify(|feedback| {
                    feedback.acknowledged = feedback.acknowledged.max(offset);
                });
                Ok(())
            }
        }
    }
}

/// Checks that a terminal can have this size.
pub(super) fn validate_size(cols: u16, rows: u16) -> Result<PtySize, ErrorInfo> {
    if (1..=MAX_TERMINAL_COLS).contains(&cols) && (1..=MAX_TERMINAL_ROWS).contains(&rows) {
        return Ok(PtySize { cols, rows });
    }
    let message = format!(
        "a terminal has 1 to {MAX_TERMINAL_COLS} columns and 1 to {MAX_TERMINAL_ROWS} rows"
    );
    Err(ErrorInfo { code: Code::InvalidRequest, message, details: None })
}
