//! Who comes through the kernel's socket, and what for.

use std::sync::Arc;
use std::time::Duration;

use provost_proto::Code;
use provost_proto::kernel::{Method, RpcRequest};
use serde_json::json;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use super::Host;
use super::connection::answer;
use crate::ActionError;
use crate::wire::{self, Frame, Frames};

/// How long a stranger may take to say who it is.
const HELLO: Duration = Duration::from_secs(5);

/// How many may look at the terminal at one time.
pub(super) const LOOKERS: usize = 64;

/// Who was let in.
pub(super) struct Daemon {
    pub(super) read: Frames<OwnedReadHalf>,
    pub(super) write: OwnedWriteHalf,
    pub(super) protocol: u32,
}

/// Who was let in, and what for.
pub(super) struct Visitor {
    pub(super) daemon: Daemon,
    pub(super) purpose: Purpose,
}

pub(super) enum Purpose {
    /// To say what is to be done.
    Control,
    /// To look at the terminal.
    Terminal(Wish),
}

/// A client of the terminal, as it says itself.
pub(super) struct Wish {
    question: u64,
    after: Option<u64>,
    cols: u16,
    rows: u16,
}

/// Lets in who is the same user and knows the secret.
pub(super) async fn greet(host: &Host, stream: UnixStream) -> Option<Visitor> {
    let own = rustix::process::geteuid().as_raw();
    let peer = stream.peer_cred().ok().map(|peer| peer.uid());
    if peer != Some(own) {
        tracing::warn!(?peer, "another user tried to connect");
        return None;
    }
    let (read, mut write) = stream.into_split();
    let mut read = Frames::new(read);
    let Ok(Ok(Some(Frame::Question(question)))) = timeout(HELLO, read.next()).await else {
        return None;
    };
    let Method::Hello { secret, protocol } = &question.ask else { return None };
    if !same(secret.as_bytes(), host.secret.as_bytes()) {
        tracing::warn!("someone tried to connect with a wrong secret");
        return None;
    }
    let welcome = serde_json::to_value(host.welcome()).unwrap_or_default();
    let answer = Frame::Answer(answer(question.id, Ok(welcome)));
    wire::write(&mut write, &answer).await.ok()?;
    let protocol = *protocol;
    // What is asked first tells what the connection is for.
    let purpose = match timeout(HELLO, read.peek()).await {
        Ok(Ok(Some(Frame::Question(RpcRequest { id, ask, .. })))) => match ask {
            Method::Terminal { after, cols, rows } => {
                let (after, cols, rows) = (*after, *cols, *rows);
                Purpose::Terminal(Wish { question: *id, after, cols, rows })
            }
            Method::Hello { .. }
            | Method::Secrets { .. }
            | Method::Ping {}
            | Method::Attach { .. }
            | Method::Acknowledge { .. }
            | Method::Execute { .. }
            | Method::Cancel { .. }
            | Method::Outcomes { .. }
            | Method::Logs { .. }
            | Method::Runtime {}
            | Method::Shutdown {} => Purpose::Control,
        },
        Ok(Ok(Some(Frame::Answer(_) | Frame::Report(_)) | None) | Err(_)) => return None,
        Err(_) => Purpose::Control,
    };
    Some(Visitor { daemon: Daemon { read, write, protocol }, purpose })
}

/// Shows the terminal, until it or who looks at it is gone.
pub(super) async fn show(host: Arc<Host>, daemon: Daemon, wish: Wish, room: bool) {
    let Daemon { read, mut write, .. } = daemon;
    let Wish { question, after, cols, rows } = wish;
    let full = || {
        let why = format!("{LOOKERS} look at this terminal already; close one");
        ActionError::new(Code::Unavailable, why)
    };
    let attached = if room { host.terminal.attach(after, cols, rows) } else { Err(full()) };
    let (result, client) = match attached {
        Ok((attached, client)) => (Ok(json!(attached)), Some(client)),
        Err(error) => (Err(error), None),
    };
    if wire::write(&mut write, &Frame::Answer(answer(question, result))).await.is_ok()
        && let Some(client) = client
    {
        client.serve(read.into_rest(), write).await;
    }
}

/// Compares in a time that does not tell where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}
