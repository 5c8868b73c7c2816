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

use super::Live;
use super::input::NotTyped;
use super::outlet::Outlet;
use crate::quiet::{self, Outgoing};

/// How long a client that did something wrong may take to hear of it.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Someone who may look on.
#[derive(Debug)]
pub(in super::super) struct Client {
    pub(super) live: Arc<Live>,
    pub(super) after: Option<u64>,
    pub(super) size: PtySize,
}

impl Client {
    /// Serves until it or the terminal is gone.
    pub(in super::super) async fn serve(
        self,
        (read, rest): (OwnedReadHalf, BytesMut),
        write: OwnedWriteHalf,
    ) {
        let Self { live, after, size } = self;
        match read.reunite(write).map_err(io::Error::other).and_then(quiet::split) {
            Ok((read, write)) => serve(&live, (read, rest), write, after, size).await,
            Err(error) => tracing::warn!(%error, "a client of the terminal cannot be served"),
        }
    }
}

/// What a client has said.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) acknowledged: u64,
    /// What it did wrong.
    pub(super) fault: Option<ErrorInfo>,
}

async fn serve(
    live: &Arc<Live>,
    mut read: (pipe::Receiver, BytesMut),
    write: Outgoing,
    after: Option<u64>,
    size: PtySize,
) {
    let id = live.clients.join(size);
    let (hear, heard) = watch::channel(Heard::default());
    let ended = {
        let outlet = Outlet::new(&live.line, write, heard.clone(), after);
        live.line.join(&outlet);
        let mut sending = std::pin::pin!(outlet.run(&live.line, heard));
        tokio::select! {
            ended = &mut sending => {
                if ended.is_err() {
                    // It reads no more; what it typed before it went counts.
                    drop(timeout(LAST_WORDS, listen(live, id, &mut read, &hear)).await);
                }
                ended
            }
            fault = listen(live, id, &mut read, &hear) => match fault {
                None => Ok(()),
                Some(fault) => {
                    hear.send_modify(|heard| heard.fault = Some(fault));
                    timeout(LAST_WORDS, sending).await.unwrap_or(Ok(()))
                }
            },
        }
    };
    live.clients.leave(id);
    // What it says and nobody reads would make the system throw away what it was told last.
    drop(timeout(LAST_WORDS, tokio::io::copy(&mut read.0, &mut tokio::io::sink())).await);
    if let Err(error) = ended {
        tracing::debug!(%error, "a client of the terminal is gone");
    }
}

/// Does what the client says. Returns when it is gone, or what it did wrong.
async fn listen(
    live: &Live,
    id: u64,
    (read, buffer): &mut (pipe::Receiver, BytesMut),
    hear: &watch::Sender<Heard>,
) -> Option<ErrorInfo> {
    loop {
        loop {
            match TerminalInputFrame::decode(buffer) {
                Ok(None) => break,
                Ok(Some(said)) => {
                    if let Err(fault) = obey(live, id, said, hear) {
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

fn obey(
    live: &Live,
    id: u64,
    said: TerminalInputFrame,
    hear: &watch::Sender<Heard>,
) -> Result<(), ErrorInfo> {
    match said {
        TerminalInputFrame::Input(keys) => {
            live.clients.typed(id);
            match live.input.push(&keys) {
                // How it ended is on its way.
                Ok(()) | Err(NotTyped::Ended) => Ok(()),
                Err(NotTyped::Full) => {
                    let message = "the program does not read its input; this was not typed";
                    Err(ErrorInfo { code: Code::Conflict, message: message.into(), details: None })
                }
            }
        }
        TerminalInputFrame::Resize { cols, rows } => {
            live.clients.resized(id, fitting(cols, rows)?);
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
pub(super) fn fitting(cols: u16, rows: u16) -> Result<PtySize, ErrorInfo> {
    if (1..=MAX_TERMINAL_COLS).contains(&cols) && (1..=MAX_TERMINAL_ROWS).contains(&rows) {
        return Ok(PtySize { cols, rows });
    }
    let message = format!(
        "a terminal has 1 to {MAX_TERMINAL_COLS} columns and 1 to {MAX_TERMINAL_ROWS} rows"
    );
    Err(ErrorInfo { code: Code::InvalidRequest, message, details: None })
}
