//! One terminal client, from attach to disconnect.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
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
        read: (pipe::Receiver, BytesMut),
        write: SocketWriter,
    ) {
        let Self { session, after, size } = self;
        serve(&session, read, write, after, size).await;
    }
}

/// What a client has acknowledged.
#[derive(Debug, Default)]
pub(super) struct ClientFeedback {
    pub(super) acknowledged: u64,
    /// Why it is disconnected, if it sent something invalid.
    pub(super) fault: Option<ErrorInfo>,
}

async fn serve(
    session: &Arc<PtySession>,
    mut read: (pipe::Receiver, BytesMut),
    write: SocketWriter,
    after: Option<u64>,
    size: PtySize,
) {
    let id = session.clients.add_client(size);
    let (feedback_sender, feedback) = watch::channel(ClientFeedback::default());
    let ended = {
        let sender = ClientSender::new(&session.shared, write, feedback.clone(), after);
        session.shared.add_client_sender(&sender);
        let mut sending = std::pin::pin!(sender.run(&session.shared, feedback));
        tokio::select! {
            ended = &mut sending => {
                if ended.is_err() {
                    // It reads no more, but what it typed before counts.
                    drop(timeout(CLOSE_TIMEOUT, receive_messages(session, id, &mut read, &feedback_sender)).await);
                }
                ended
            }
            fault = receive_messages(session, id, &mut read, &feedback_sender) => match fault {
                None => Ok(()),
                Some(fault) => {
                    feedback_sender.send_modify(|feedback| feedback.fault = Some(fault));
                    timeout(CLOSE_TIMEOUT, sending).await.unwrap_or(Ok(()))
                }
            },
        }
    };
    session.clients.remove_client(id);
    // Unread input would make the system discard the last frames we sent.
    drop(timeout(CLOSE_TIMEOUT, tokio::io::copy(&mut read.0, &mut tokio::io::sink())).await);
    if let Err(error) = ended {
        tracing::debug!(%error, "a terminal client disconnected");
    }
}

/// Handles the client's messages. Returns when it disconnects, or why it must be
/// disconnected.
async fn receive_messages(
    session: &PtySession,
    id: u64,
    (read, buffer): &mut (pipe::Receiver, BytesMut),
    feedback_sender: &watch::Sender<ClientFeedback>,
) -> Option<ErrorInfo> {
    loop {
        loop {
            match TerminalInputFrame::decode(buffer) {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    if let Err(fault) = handle_message(session, id, frame, feedback_sender) {
                        return Some(fault);
                    }
                }
                Err(error) => {
                    let message = error.to_string();
                    return Some(ErrorInfo { code: Code::InvalidRequest, message, details: None });
                }
            }
        }
        match read.read_buf(buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

fn handle_message(
    session: &PtySession,
    id: u64,
    frame: TerminalInputFrame,
    feedback_sender: &watch::Sender<ClientFeedback>,
) -> Result<(), ErrorInfo> {
    match frame {
        TerminalInputFrame::Input(keys) => {
            session.clients.record_input(id);
            match session.input.push(&keys) {
                // The exit is being sent to it.
                Ok(()) | Err(InputRejected::Ended) => Ok(()),
                Err(InputRejected::Full) => {
                    let message = "the program does not read its input; this was not typed";
                    Err(ErrorInfo { code: Code::Conflict, message: message.into(), details: None })
                }
            }
        }
        TerminalInputFrame::Resize { cols, rows } => {
            session.clients.record_resize(id, validate_size(cols, rows)?);
            Ok(())
        }
        TerminalInputFrame::Ack { offset } => {
            feedback_sender.send_modify(|feedback| {
                feedback.acknowledged = feedback.acknowledged.max(offset);
            });
            Ok(())
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
