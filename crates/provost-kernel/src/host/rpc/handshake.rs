//! Authentication of connections to the kernel's socket, and what each is for.

use std::sync::Arc;
use std::time::Duration;

use provost_proto::Code;
use provost_proto::kernel::{Method, PROTOCOL_VERSION, RpcRequest};
use serde_json::json;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::connection::build_response;
use crate::ActionError;
use crate::host::KernelHost;
use crate::socket_writer::{SocketWriter, split_socket};
use crate::wire::{self, FrameReader, KernelFrame};

/// How long a peer may take for each step of the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Terminal clients that may be attached at one time.
pub(super) const MAX_TERMINAL_CLIENTS: usize = 64;

/// An authenticated connection.
pub(super) struct DaemonConnection {
    pub(super) read: FrameReader<pipe::Receiver>,
    pub(super) write: SocketWriter,
}

/// An authenticated connection and its purpose.
pub(super) struct AcceptedConnection {
    pub(super) daemon: DaemonConnection,
    pub(super) purpose: ConnectionPurpose,
}

/// What a connection is for; its first request tells.
pub(super) enum ConnectionPurpose {
    /// JSON-RPC requests and reports.
    Control,
    /// Terminal frames.
    Terminal(TerminalAttachRequest),
}

/// The request of a terminal client: from which byte on, and its window size.
pub(super) struct TerminalAttachRequest {
    request_id: u64,
    after: Option<u64>,
    cols: u16,
    rows: u16,
}

/// Accepts a peer that runs as the same user, knows the secret and speaks this protocol.
pub(super) async fn authenticate_connection(
    host: &KernelHost,
    stream: UnixStream,
) -> Option<AcceptedConnection> {
    let own = rustix::process::geteuid().as_raw();
    let peer = stream.peer_cred().ok().map(|peer| peer.uid());
    if peer != Some(own) {
        tracing::warn!(?peer, "rejected a connection of another user");
        return None;
    }
    let (read, write) = split_socket(stream).ok()?;
    let mut read = FrameReader::new(read);
    let Ok(Ok(Some(KernelFrame::Request(request)))) = timeout(HANDSHAKE_TIMEOUT, read.next()).await
    else {
        return None;
    };
    let Method::Hello { secret, protocol } = &request.method else { return None };
    if !constant_time_eq(secret.as_bytes(), host.secret.as_bytes()) {
        tracing::warn!("rejected a connection with a wrong secret");
        return None;
    }
    let welcome = serde_json::to_value(host.welcome()).unwrap_or_default();
    let response = KernelFrame::Response(build_response(request.id, Ok(welcome)));
    write.send(&wire::frame_to_bytes(&response).ok()?).await.ok()?;
    if *protocol != PROTOCOL_VERSION {
        // It has read our version in the response.
        tracing::warn!(protocol, "rejected a daemon with another protocol version");
        return None;
    }
    let purpose = match timeout(HANDSHAKE_TIMEOUT, read.peek()).await {
        Ok(Ok(Some(KernelFrame::Request(RpcRequest { id, method, .. })))) => match method {
            Method::Terminal { after, cols, rows } => {
                let (after, cols, rows) = (*after, *cols, *rows);
                ConnectionPurpose::Terminal(TerminalAttachRequest {
                    request_id: *id,
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
    Some(AcceptedConnection { daemon: DaemonConnection { read, write }, purpose })
}

/// Serves a terminal client until it disconnects or the terminal ends.
pub(super) async fn serve_terminal_client(
    host: Arc<KernelHost>,
    daemon: DaemonConnection,
    request: TerminalAttachRequest,
    has_capacity: bool,
) {
    let DaemonConnection { read, write } = daemon;
    let TerminalAttachRequest { request_id, after, cols, rows } = request;
    let too_many_clients = || {
        let message =
            format!("{MAX_TERMINAL_CLIENTS} clients are attached to this terminal; close one");
        ActionError::new(Code::Unavailable, message)
    };
    let attached = if has_capacity {
        host.terminal.attach(after, cols, rows)
    } else {
        Err(too_many_clients())
    };
    let (result, client) = match attached {
        Ok((attached, client)) => (Ok(json!(attached)), Some(client)),
        Err(error) => (Err(error), None),
    };
    let response = KernelFrame::Response(build_response(request_id, result));
    if let Ok(response) = wire::frame_to_bytes(&response)
        && write.send(&response).await.is_ok()
        && let Some(client) = client
    {
        client.serve_client(read.into_unframed(), write).await;
    }
}

/// Compares in a time that does not depend on where the two differ.
fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}
