//! Who comes through the kernel's socket, and what for.

use std::sync::Arc;
use std::time::Duration;

use provost_proto::Code;
use provost_proto::kernel::{Method, RpcRequest};
use serde_json::json;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use super::connection::build_response;
use crate::ActionError;
use crate::host::KernelHost;
use crate::wire::{self, FrameReader, KernelFrame};

/// How long a stranger may take to say who it is.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// How many may look at the terminal at one time.
pub(in crate::host) const MAX_TERMINAL_CLIENTS: usize = 64;

/// Who was let in.
pub(in crate::host) struct DaemonConnection {
    pub(in crate::host) read: FrameReader<OwnedReadHalf>,
    pub(in crate::host) write: OwnedWriteHalf,
    pub(in crate::host) protocol: u32,
}

/// Who was let in, and what for.
pub(in crate::host) struct AcceptedConnection {
    pub(in crate::host) daemon: DaemonConnection,
    pub(in crate::host) purpose: ConnectionPurpose,
}

pub(in crate::host) enum ConnectionPurpose {
    /// To say what is to be done.
    Control,
    /// To look at the terminal.
    Terminal(TerminalAttachRequest),
}

/// A client of the terminal, as it says itself.
pub(in crate::host) struct TerminalAttachRequest {
    question: u64,
    after: Option<u64>,
    cols: u16,
    rows: u16,
}

/// Lets in who is the same user and knows the secret.
pub(in crate::host) async fn authenticate_connection(
    host: &KernelHost,
    stream: UnixStream,
) -> Option<AcceptedConnection> {
    let own = rustix::process::geteuid().as_raw();
    let peer = stream.peer_cred().ok().map(|peer| peer.uid());
    if peer != Some(own) {
        tracing::warn!(?peer, "another user tried to connect");
        return None;
    }
    let (read, mut write) = stream.into_split();
    let mut read = FrameReader::new(read);
    let Ok(Ok(Some(KernelFrame::Request(question)))) =
        timeout(HANDSHAKE_TIMEOUT, read.next()).await
    else {
        return None;
    };
    let Method::Hello { secret, protocol } = &question.ask else { return None };
    if !constant_time_eq(secret.as_bytes(), host.secret.as_bytes()) {
        tracing::warn!("someone tried to connect with a wrong secret");
        return None;
    }
    let welcome = serde_json::to_value(host.welcome()).unwrap_or_default();
    let answer = KernelFrame::Response(build_response(question.id, Ok(welcome)));
    wire::write(&mut write, &answer).await.ok()?;
    let protocol = *protocol;
    // What is asked first tells what the connection is for.
    let purpose = match timeout(HANDSHAKE_TIMEOUT, read.peek()).await {
        Ok(Ok(Some(KernelFrame::Request(RpcRequest { id, ask, .. })))) => match ask {
            Method::Terminal { after, cols, rows } => {
                let (after, cols, rows) = (*after, *cols, *rows);
                ConnectionPurpose::Terminal(TerminalAttachRequest {
                    question: *id,
                    after,
                    cols,
                    rows,
                })
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
            | Method::Shutdown {} => ConnectionPurpose::Control,
        },
        Ok(Ok(Some(KernelFrame::Response(_) | KernelFrame::Report(_)) | None) | Err(_)) => {
            return None;
        }
        Err(_) => ConnectionPurpose::Control,
    };
    Some(AcceptedConnection { daemon: DaemonConnection { read, write, protocol }, purpose })
}

/// Shows the terminal, until it or who looks at it is gone.
pub(in crate::host) async fn serve_terminal_client(
    host: Arc<KernelHost>,
    daemon: DaemonConnection,
    wish: TerminalAttachRequest,
    room: bool,
) {
    let DaemonConnection { read, mut write, .. } = daemon;
    let TerminalAttachRequest { question, after, cols, rows } = wish;
    let full = || {
        let why = format!("{MAX_TERMINAL_CLIENTS} look at this terminal already; close one");
        ActionError::new(Code::Unavailable, why)
    };
    let attached = if room { host.terminal.attach(after, cols, rows) } else { Err(full()) };
    let (result, client) = match attached {
        Ok((attached, client)) => (Ok(json!(attached)), Some(client)),
        Err(error) => (Err(error), None),
    };
    if wire::write(&mut write, &KernelFrame::Response(build_response(question, result)))
        .await
        .is_ok()
        && let Some(client) = client
    {
        client.serve_client(read.into_rest(), write).await;
    }
}

/// Compares in a time that does not tell where they differ.
fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}
