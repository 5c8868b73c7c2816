//! One client, from its first word to its last.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use provost_proto::Code;
use provost_proto::kernel::ErrorInfo;
use provost_proto::limits::{MAX_TERMINAL_COLS, MAX_TERMINAL_ROWS};
use provost_proto::terminal::TerminalInputFrame;
use provost_sandbox::pty::PtySize;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf, pipe};
use tokio::sync::watch;
use tokio::time::timeout;

use super::PtySession;
use super::client_sender::ClientSender;
use super::pty_input::InputRejected;
use crate::socket_writer::{self, SocketWriter};

/// How long a client that did something wrong may take to hear of it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Someone who may look on.
#[derive(Debug)]
pub(in super::super) struct AttachedClient {
    pub(super) live: Arc<PtySession>,
    pub(super) after: Option<u64>,
    pub(super) size: PtySize,
}

impl AttachedClient {
    /// Serves until it or the terminal is gone.
    pub(in super::super) async fn serve_client(
        self,
        (read, rest): (OwnedReadHalf, BytesMut),
        write: OwnedWriteHalf,
    ) {
        let Self { live, after, size } = self;
        match read.reunite(write).map_err(io::Error::other).and_then(socket_writer::split_socket) {
            Ok((read, write)) => serve(&live, (read, rest), write, after, size).await,
            Err(error) => tracing::warn!(%error, "a client of the terminal cannot be served"),
        }
    }
}

/// What a client has said.
#[derive(Debug, Default)]
pub(super) struct ClientFeedback {
    pub(super) acknowledged: u64,
    /// What it did wrong.
    pub(super) fault: Option<ErrorInfo>,
}

async fn serve(
    live: &Arc<PtySession>,
    mut read: (pipe::Receiver, BytesMut),
    write: SocketWriter,
    after: Option<u64>,
    size: PtySize,
) {
    let id = live.clients.add_client(size);
    let (hear, heard) = watch::channel(ClientFeedback::default());
    let ended = {
        let outlet = ClientSender::new(&live.line, write, heard.clone(), after);
        live.line.add_client_sender(&outlet);
        let mut sending = std::pin::pin!(outlet.run(&live.line, heard));
        tokio::select! {
            ended = &mut sending => {
                if ended.is_err() {
                    // It reads no more; what it typed before it went counts.
                    drop(timeout(CLOSE_TIMEOUT, receive_messages(live, id, &mut read, &hear)).await);
                }
                ended
            }
            fault = receive_messages(live, id, &mut read, &hear) => match fault {
                None => Ok(()),
                Some(fault) => {
                    hear.send_modify(|heard| heard.fault = Some(fault));
                    timeout(CLOSE_TIMEOUT, sending).await.unwrap_or(Ok(()))
                }
            },
        }
    };
    live.clients.remove_client(id);
    // What it says and nobody reads would make the system throw away what it was told last.
    drop(timeout(CLOSE_TIMEOUT, tokio::io::copy(&mut read.0, &mut tokio::io::sink())).await);
    if let Err(error) = ended {
        tracing::debug!(%error, "a client of the terminal is gone");
    }
}

/// Does what the client says. Returns when it is gone, or what it did wrong.
async fn receive_messages(
    live: &PtySession,
    id: u64,
    (read, buffer): &mut (pipe::Receiver, BytesMut),
    hear: &watch::Sender<ClientFeedback>,
) -> Option<ErrorInfo> {
    loop {
        loop {
            match TerminalInputFrame::decode(buffer) {
                Ok(None) => break,
                Ok(Some(said)) => {
                    if let Err(fault) = handle_message(live, id, said, hear) {
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
    live: &PtySession,
    id: u64,
    said: TerminalInputFrame,
    hear: &watch::Sender<ClientFeedback>,
) -> Result<(), ErrorInfo> {
    match said {
        TerminalInputFrame::Input(keys) => {
            live.clients.record_input(id);
            match live.input.push(&keys) {
                // How it ended is on its way.
                Ok(()) | Err(InputRejected::Ended) => Ok(()),
                Err(InputRejected::Full) => {
                    let message = "the program does not read its input; this was not typed";
                    Err(ErrorInfo { code: Code::Conflict, message: message.into(), details: None })
                }
            }
        }
        TerminalInputFrame::Resize { cols, rows } => {
            live.clients.record_resize(id, validate_size(cols, rows)?);
            Ok(())
        }
        TerminalInputFrame::Ack { offset } => {
            hear.send_modify(|heard| {
                heard.acknowledged = heard.acknowledged.max(offset);
            });
            Ok(())
        }
    }
}

/// A size that a terminal can have.
pub(super) fn validate_size(cols: u16, rows: u16) -> Result<PtySize, ErrorInfo> {
    if (1..=MAX_TERMINAL_COLS).contains(&cols) && (1..=MAX_TERMINAL_ROWS).contains(&rows) {
        return Ok(PtySize { cols, rows });
    }
    let message = format!(
        "a terminal has 1 to {MAX_TERMINAL_COLS} columns and 1 to {MAX_TERMINAL_ROWS} rows"
    );
    Err(ErrorInfo { code: Code::InvalidRequest, message, details: None })
}
