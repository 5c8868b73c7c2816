//! One client: what it is sent, and what it says.
//!
//! It is sent what was printed from where it is, at once. One that does not
//! acknowledge is sent no more than a window; when it does again it gets the
//! missing bytes if they are few, else what the terminal looks like by then. So
//! it costs one buffer however slow it is, and nobody waits for it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use provost_proto::Code;
use provost_proto::kernel::Fault;
use provost_proto::limits::{TERMINAL_BEHIND, TERMINAL_COLS, TERMINAL_ROWS, TERMINAL_WINDOW};
use provost_proto::terminal::{DATA_HEAD, FromTerminal, ToTerminal, data_head};
use provost_sandbox::confine::Exit;
use provost_sandbox::pty::Size;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::time::timeout;

use super::Live;
use super::input::NotTyped;
use super::line::{Ended, Line, Resized, State};
use super::ring::count;

/// Bytes sent at once.
const PIECE: usize = 64 * 1024;

/// How often a client is shown what the terminal looks like without having
/// acknowledged anything in between. One that reads and says nothing gets no more.
const UNHEARD: u8 = 4;

/// How long a client that did something wrong may take to hear of it.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What a client has said.
#[derive(Debug, Default)]
struct Heard {
    acknowledged: u64,
    fault: Option<Fault>,
}

/// Serves a client until it or the terminal is gone.
pub(super) async fn serve(
    live: &Arc<Live>,
    mut read: (OwnedReadHalf, BytesMut),
    write: OwnedWriteHalf,
    after: Option<u64>,
    size: Size,
) {
    let id = live.clients.join(size);
    let (hear, heard) = watch::channel(Heard::default());
    let sending = Sending::new(&live.line, write, heard, after);
    let ended = {
        let mut sending = std::pin::pin!(sending.run());
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
    (read, buffer): &mut (OwnedReadHalf, BytesMut),
    hear: &watch::Sender<Heard>,
) -> Option<Fault> {
    loop {
        loop {
            match ToTerminal::decode(buffer) {
                Ok(None) => break,
                Ok(Some(said)) => {
                    if let Err(fault) = obey(live, id, said, hear) {
                        return Some(fault);
                    }
                }
                Err(error) => {
                    let message = error.to_string();
                    return Some(Fault { code: Code::InvalidRequest, message, details: None });
                }
            }
        }
        match read.read_buf(buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

fn obey(live: &Live, id: u64, said: ToTerminal, hear: &watch::Sender<Heard>) -> Result<(), Fault> {
    match said {
        ToTerminal::Input(keys) => {
            live.clients.typed(id);
            match live.input.push(&keys) {
                // How it ended is on its way.
                Ok(()) | Err(NotTyped::Ended) => Ok(()),
                Err(NotTyped::Full) => {
                    let message = "the program does not read its input; this was not typed";
                    Err(Fault { code: Code::Conflict, message: message.into(), details: None })
                }
            }
        }
        ToTerminal::Resize { cols, rows } => {
            live.clients.resized(id, fitting(cols, rows)?);
            Ok(())
        }
        ToTerminal::Ack { offset } => {
            hear.send_modify(|heard| {
                heard.acknowledged = heard.acknowledged.max(offset);
            });
            Ok(())
        }
    }
}

/// A size that a terminal can have.
pub(super) fn fitting(cols: u16, rows: u16) -> Result<Size, Fault> {
    if (1..=TERMINAL_COLS).contains(&cols) && (1..=TERMINAL_ROWS).contains(&rows) {
        return Ok(Size { cols, rows });
    }
    let message =
        format!("a terminal has 1 to {TERMINAL_COLS} columns and 1 to {TERMINAL_ROWS} rows");
    Err(Fault { code: Code::InvalidRequest, message, details: None })
}

/// What a client is sent.
struct Sending<'a> {
    line: &'a Line,
    write: OwnedWriteHalf,
    heard: watch::Receiver<Heard>,
    /// The next byte to be sent; none if it needs a snapshot first.
    cursor: Option<u64>,
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
    buffer: Vec<u8>,
}

enum Next {
    Data(u64),
    Say(FromTerminal),
    Snapshot,
    Wait,
    Last(FromTerminal),
}

impl<'a> Sending<'a> {
    fn new(
        line: &'a Line,
        write: OwnedWriteHalf,
        heard: watch::Receiver<Heard>,
        after: Option<u64>,
    ) -> Self {
        let state = line.state();
        let kept = state.ring.oldest()..=state.ring.end();
        let cursor = after.filter(|after| kept.contains(after));
        // It is told the size anew, and then goes on as if it had never been away.
        let n_sizes = cursor.map_or(0, |at| state.size_before(at).number);
        Self {
            line,
            write,
            heard,
            cursor,
            base: cursor.unwrap_or(0),
            lagging: false,
            n_unheard: 0,
            heard_last: 0,
            n_sizes,
            n_titles: 0,
            n_bells: state.n_bells,
            buffer: Vec::new(),
        }
    }

    async fn run(mut self) -> io::Result<()> {
        let mut news = self.line.news();
        if let Some(at) = self.cursor {
            let Resized { size, .. } = self.line.state().size_before(at);
            self.say(&FromTerminal::Resize { offset: at, cols: size.cols, rows: size.rows })
                .await?;
        }
        loop {
            news.mark_unchanged();
            self.heard.mark_unchanged();
            match self.next() {
                Next::Data(up_to) => {
                    self.write.write_all(&self.buffer).await?;
                    self.cursor = Some(up_to);
                }
                Next::Say(what) => self.say(&what).await?,
                Next::Snapshot => {
                    let Some(snapshot) = self.line.snapshot().await else { return Ok(()) };
                    (self.cursor, self.base) = (Some(snapshot.offset), snapshot.offset);
                    (self.n_unheard, self.lagging) = (self.n_unheard + 1, false);
                    self.n_sizes = snapshot.n_sizes;
                    let Size { cols, rows } = snapshot.size;
                    let (offset, bytes) = (snapshot.offset, snapshot.bytes);
                    self.say(&FromTerminal::Snapshot { offset, cols, rows, bytes }).await?;
                }
                Next::Last(what) => {
                    self.say(&what).await?;
                    return self.write.shutdown().await;
                }
                Next::Wait => tokio::select! {
                    changed = news.changed() => if changed.is_err() { return Ok(()) },
                    changed = self.heard.changed() => if changed.is_err() { return Ok(()) },
                },
            }
        }
    }

    async fn say(&mut self, what: &FromTerminal) -> io::Result<()> {
        let (head, payload) = what.encode().map_err(io::Error::other)?;
        self.write.write_all(&head).await?;
        self.write.write_all(&payload).await
    }

    fn next(&mut self) -> Next {
        let state = self.line.state();
        let (acknowledged, fault) = {
            let heard = self.heard.borrow();
            (heard.acknowledged, heard.fault.clone())
        };
        if let Some(fault) = fault {
            return Next::Last(FromTerminal::Error(fault));
        }
        if acknowledged > self.heard_last {
            (self.heard_last, self.n_unheard) = (acknowledged, 0);
        }
        let anew = if self.n_unheard < UNHEARD { Next::Snapshot } else { Next::Wait };
        let Some(cursor) = self.cursor else { return anew };
        let unacknowledged = cursor - acknowledged.clamp(self.base.min(cursor), cursor);
        let stalled = self.lagging && unacknowledged > TERMINAL_WINDOW / 2;
        if cursor < state.ring.oldest() {
            return if stalled { Next::Wait } else { anew };
        }
        let size = state.next_size(self.n_sizes);
        if let Some(Resized { number, offset, size }) = size.filter(|size| size.offset <= cursor) {
            self.n_sizes = number;
            return Next::Say(FromTerminal::Resize { offset, cols: size.cols, rows: size.rows });
        }
        if let Some(what) = beside(&state, &mut self.n_titles, &mut self.n_bells) {
            return Next::Say(what);
        }
        let behind = state.ring.end() - cursor;
        if stalled {
            return Next::Wait;
        }
        if std::mem::take(&mut self.lagging) && behind > TERMINAL_BEHIND {
            return anew;
        }
        if behind == 0 {
            return match state.ended {
                Some(Ended(exit)) => Next::Last(exit_of(exit)),
                None => Next::Wait,
            };
        }
        let room = TERMINAL_WINDOW.saturating_sub(unacknowledged);
        if room == 0 {
            self.lagging = true;
            return Next::Wait;
        }
        let until = size.map_or(room, |size| room.min(size.offset - cursor));
        let most = usize::try_from(until).unwrap_or(PIECE).min(PIECE);
        self.buffer.resize(DATA_HEAD, 0);
        let n_read = state.ring.read(cursor, most, &mut self.buffer).unwrap_or(0);
        drop(state);
        match data_head(cursor, n_read) {
            Ok(head) => self.buffer[..DATA_HEAD].copy_from_slice(&head),
            Err(_) => return Next::Wait,
        }
        Next::Data(cursor + count(n_read))
    }
}

/// What is told beside what was printed.
fn beside(state: &State, n_titles: &mut u64, n_bells: &mut u64) -> Option<FromTerminal> {
    if *n_titles < state.n_titles {
        *n_titles = state.n_titles;
        return Some(FromTerminal::Title(state.title.to_string()));
    }
    if *n_bells < state.n_bells {
        *n_bells = state.n_bells;
        return Some(FromTerminal::Bell);
    }
    None
}

fn exit_of(exit: Option<Exit>) -> FromTerminal {
    let (exit_code, signal) = super::parts(exit);
    FromTerminal::Exit { exit_code, signal }
}
