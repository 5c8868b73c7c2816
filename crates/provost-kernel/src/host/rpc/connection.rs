//! Connections of the daemon: one control connection at a time, the newest, and
//! one connection for each terminal client.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use provost_proto::kernel::{
    ErrorInfo, JsonRpcVersion, Method, ReportNumber, RpcError, RpcRequest, RpcResponse,
};
use provost_proto::{Code, RawJson};
use serde_json::Value;
use tokio::net::UnixListener;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::dispatch::{ReadOutcome, execute_read, handle_request, is_quick};
use super::handshake::{
    AcceptedConnection, ConnectionPurpose, DaemonConnection, MAX_TERMINAL_CLIENTS,
    authenticate_connection, serve_terminal_client,
};
use crate::ActionError;
use crate::frame_sender::FrameSender;
use crate::host::KernelHost;
use crate::wire::{self, FrameReader, KernelFrame};

/// How long a new kernel waits for the first connection of its daemon.
const FIRST_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long terminal clients get to read that the terminal has ended.
const TERMINAL_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Handshakes that may be in progress at one time.
const MAX_PENDING_HANDSHAKES: usize = 16;

/// Target size of one write, in bytes.
const BATCH_BYTES: usize = 256 * 1024;

/// Accepts connections until the kernel shall end.
///
/// Returns the control connection that is still open: the daemon considers a kernel
/// lost when its connection closes, so the caller closes it last.
pub(in crate::host) async fn accept_connections(
    host: &Arc<KernelHost>,
    listener: &UnixListener,
    idle: Duration,
) -> JoinSet<()> {
    let mut current: JoinSet<()> = JoinSet::new();
    let mut handshakes: JoinSet<Option<AcceptedConnection>> = JoinSet::new();
    let mut terminal_clients: JoinSet<()> = JoinSet::new();
    let mut last_needed = Instant::now() + FIRST_CONNECT_TIMEOUT;
    loop {
        if !current.is_empty() || host.is_busy() {
            last_needed = last_needed.max(Instant::now());
        }
        tokio::select! {
            () = host.end.notified() => {
                // Let them read how the terminal ended.
                let all_closed = async { while terminal_clients.join_next().await.is_some() {} };
                drop(timeout(TERMINAL_CLOSE_TIMEOUT, all_closed).await);
                return current;
            }
            _ = current.join_next(), if !current.is_empty() => {
                last_needed = Instant::now();
            }
            // Also wakes up to check whether something still runs.
            () = sleep_until(last_needed + idle) => {
                let is_idle = current.is_empty() && !host.is_busy();
                if is_idle && Instant::now() >= last_needed + idle {
                    tracing::info!("no daemon reconnected and nothing runs; ending");
                    return current;
                }
            }
            Some(accepted) = handshakes.join_next(), if !handshakes.is_empty() => {
                let Ok(Some(AcceptedConnection { purpose, daemon })) = accepted else { continue };
                let host = Arc::clone(host);
                match purpose {
                    ConnectionPurpose::Terminal(request) => {
                        let has_capacity = terminal_clients.len() < MAX_TERMINAL_CLIENTS;
                        let serving = serve_terminal_client(host, daemon, request, has_capacity);
                        terminal_clients.spawn(serving);
                    }
                    ConnectionPurpose::Control => {
                        // Only one daemon is alive: the one that connected last.
                        current.abort_all();
                        current.spawn(serve_daemon(host, daemon));
                    }
                }
            }
            _ = terminal_clients.join_next(), if !terminal_clients.is_empty() => {}
            accepted = listener.accept(), if handshakes.len() < MAX_PENDING_HANDSHAKES => match accepted {
                Ok((stream, _)) => {
                    let host = Arc::clone(host);
                    // In a task: a silent peer must not block the daemon.
                    handshakes.spawn(async move { authenticate_connection(&host, stream).await });
                }
                Err(error) => tracing::warn!(%error, "cannot accept a connection"),
            },
        }
    }
}

/// Closes the connection when its tasks have ended or were aborted, even while an action
/// that continues without it holds the sender.
struct CloseOnDrop(FrameSender);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

async fn serve_daemon(host: Arc<KernelHost>, daemon: DaemonConnection) {
    let DaemonConnection { read, write } = daemon;
    let sender = FrameSender::new(write);
    let _close = CloseOnDrop(sender.clone());
    let (attach, attached) = oneshot::channel();
    // The connection ends when either direction ends.
    let ended = tokio::select! {
        ended = receive_requests(&host, read, &sender, attach) => ended,
        ended = send_reports(&host, &sender, attached) => ended,
        ended = sender.run_backlog() => ended,
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "the daemon disconnected");
    }
}

/// Handles requests. The responses to requests that arrived together are sent together.
async fn receive_requests(
    host: &Arc<KernelHost>,
    mut read: FrameReader<pipe::Receiver>,
    sender: &FrameSender,
    attach: oneshot::Sender<ReportNumber>,
) -> io::Result<()> {
    let mut attach = Some(attach);
    let mut responses = Vec::new();
    loop {
        if responses.len() >= BATCH_BYTES || !read.has_buffered_frame() {
            sender.send(&responses).await?;
            responses.clear();
            responses.shrink_to(BATCH_BYTES);
        }
        let request = match read.next().await {
            Ok(Some(KernelFrame::Request(request))) => request,
            Ok(Some(KernelFrame::Response(_) | KernelFrame::Report(_)) | None) => return Ok(()),
            Err(error) => {
                tracing::warn!(%error, "cannot read a request of the daemon; closing the connection");
                return Ok(());
            }
        };
        let RpcRequest { id, method, .. } = request;
        match method {
            Method::Acknowledge { up_to } => {
                host.spool.acknowledge(up_to);
                append_response(id, Ok(Value::Null), &mut responses)?;
            }
            // Applied before the next request is read, which may be to execute.
            Method::Secrets { values, ports } => {
                host.commands.sandboxes.reserved_ports.set(ports);
                let result = host.shared_redactor.set_secrets(values).map(|()| Value::Null);
                append_response(id, result, &mut responses)?;
            }
            Method::Attach { after } => {
                let started = attach.take().is_some_and(|attach| attach.send(after).is_ok());
                let result = if started { Ok(Value::Null) } else { Err(already_attached_error()) };
                append_response(id, result, &mut responses)?;
            }
            Method::Execute { action, params, preconditions, .. } if is_quick(&action) => {
                let read = execute_read(host, &action, params, preconditions.as_ref());
                append_read_response(id, read, &mut responses)?;
            }
            Method::Hello { .. }
            | Method::Ping {}
            | Method::Execute { .. }
            | Method::Cancel { .. }
            | Method::Outcomes { .. }
            | Method::Terminal { .. }
            | Method::Logs { .. }
            | Method::Runtime {}
            | Method::Shutdown {} => {
                let (host, sender) = (Arc::clone(host), sender.clone());
                // Detached: an action continues when the connection breaks.
                drop(tokio::spawn(async move {
                    let result = handle_request(&host, method).await;
                    let mut response = Vec::new();
                    if append_response(id, result, &mut response).is_ok() {
                        // A daemon that reconnects asks for the outcomes.
                        drop(sender.send(&response).await);
                    }
                }));
            }
        }
    }
}

fn already_attached_error() -> ActionError {
    ActionError::new(Code::Conflict, "reports are being sent on this connection already")
}

/// Appends a response to `to`; one that is too large for a frame becomes an error.
fn append_response(
    id: u64,
    result: Result<Value, ActionError>,
    to: &mut Vec<u8>,
) -> io::Result<()> {
    wire::append_frame(&KernelFrame::Response(build_response(id, result)), to)
        .or_else(|_| append_too_large(id, to))
}

fn append_read_response(
    id: u64,
    read: Result<ReadOutcome, ActionError>,
    to: &mut Vec<u8>,
) -> io::Result<()> {
    match read {
        Ok(ReadOutcome::Plain(content)) => {
            wire::append_result(id, &content, to).or_else(|_| append_too_large(id, to))
        }
        Ok(ReadOutcome::Redacted(result)) => append_response(id, Ok(result), to),
        Err(error) => append_response(id, Err(error), to),
    }
}

fn append_too_large(id: u64, to: &mut Vec<u8>) -> io::Result<()> {
    let error = ActionError::new(Code::TooLarge, "the result is too large to be sent");
    wire::append_frame(&KernelFrame::Response(build_response(id, Err(error))), to)
}

/// Sends the reports after the one the daemon has, once it subscribed to them.
async fn send_reports(
    host: &KernelHost,
    sender: &FrameSender,
    attached: oneshot::Receiver<ReportNumber>,
) -> io::Result<()> {
    let mut newest = host.spool.subscribe_newest();
    let mut buffer = Vec::new();
    let Ok(mut cursor) = attached.await else { return std::future::pending().await };
    loop {
        let Ok(newest) = newest.wait_for(|newest| *newest > cursor).await.map(|newest| *newest)
        else {
            return Ok(());
        };
        // Responses are not queued behind many reports.
        sender.flushed().await?;
        let (bytes, last) = host.spool.read_after(cursor, BATCH_BYTES, &mut buffer)?;
        sender.send(bytes).await?;
        // Reports that a daemon acknowledged before are gone.
        cursor = if bytes.is_empty() { newest } else { last };
    }
}

/// The JSON-RPC response to the request `id`.
pub(super) fn build_response(id: u64, result: Result<Value, ActionError>) -> RpcResponse {
    let (result, error) = match result {
        Ok(value) => (RawJson::new(&value).ok(), None),
        Err(ActionError { code, message, details }) => {
            let data = Some(ErrorInfo { code, message: message.clone(), details });
            (None, Some(RpcError { code: -32000, message, data }))
        }
    };
    RpcResponse { jsonrpc: JsonRpcVersion::V2, id, result, error }
}
