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
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixListener;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::dispatch::{ReadOutcome, execute_read, handle_request, is_quick};
use super::handshake::{
    AcceptedConnection, ConnectionPurpose, DaemonConnection, MAX_TERMINAL_CLIENTS,
    authenticate_connection, serve_terminal_client,
};
use crate::host::KernelHost;
use crate::wire::{self, FrameReader, KernelFrame};
use crate::{ActionError, files};

/// How long a new kernel waits for the first connection of its daemon.
const FIRST_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long terminal clients get to read that the terminal has ended.
const TERMINAL_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Handshakes that may be in progress at one time.
const MAX_PENDING_HANDSHAKES: usize = 16;

/// Responses that may be queued for sending.
const RESPONSE_QUEUE_LEN: usize = 256;

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

/// A response that is queued for the daemon.
enum OutgoingResponse {
    Response(RpcResponse),
    /// The content of a file; encoded into the send buffer, without a copy as JSON value.
    FileContent(u64, files::ReadFileResult),
}

impl From<RpcResponse> for OutgoingResponse {
    fn from(response: RpcResponse) -> Self {
        Self::Response(response)
    }
}

async fn serve_daemon(host: Arc<KernelHost>, daemon: DaemonConnection) {
    let DaemonConnection { read, write } = daemon;
    let (outbox, responses) = mpsc::channel(RESPONSE_QUEUE_LEN);
    let (attach, attached) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    let writer = DaemonWriter { write, buffer: Vec::new() };
    tasks.spawn(run_sender(Arc::clone(&host), writer, responses, attached));
    tasks.spawn(receive_requests(host, read, outbox, attach));
    // The connection ends when either direction ends.
    tasks.join_next().await;
}

async fn receive_requests(
    host: Arc<KernelHost>,
    mut read: FrameReader<OwnedReadHalf>,
    outbox: mpsc::Sender<OutgoingResponse>,
    attach: mpsc::Sender<ReportNumber>,
) {
    loop {
        let request = match read.next().await {
            Ok(Some(KernelFrame::Request(request))) => request,
            Ok(Some(KernelFrame::Response(_) | KernelFrame::Report(_)) | None) => return,
            Err(error) => {
                tracing::warn!(%error, "cannot read a request of the daemon; closing the connection");
                return;
            }
        };
        let RpcRequest { id, ask, .. } = request;
        match ask {
            Method::Acknowledge { up_to } => {
                host.spool.acknowledge(up_to);
                if outbox.send(build_response(id, Ok(Value::Null)).into()).await.is_err() {
                    return;
                }
            }
            // Applied before the next request is read, which may be to execute.
            Method::Secrets { values } => {
                let result = host.shared_redactor.set_secrets(values).map(|()| Value::Null);
                if outbox.send(build_response(id, result).into()).await.is_err() {
                    return;
                }
            }
            Method::Attach { after } => {
                let started = attach.try_send(after).is_ok();
                let result = if started { Ok(Value::Null) } else { Err(already_attached_error()) };
                if outbox.send(build_response(id, result).into()).await.is_err() {
                    return;
                }
            }
            Method::Execute { action, params, terms, .. } if is_quick(&action) => {
                let reply = match execute_read(&host, &action, params, terms.as_ref()) {
                    Ok(ReadOutcome::Plain(content)) => OutgoingResponse::FileContent(id, content),
                    Ok(ReadOutcome::Redacted(result)) => build_response(id, Ok(result)).into(),
                    Err(error) => build_response(id, Err(error)).into(),
                };
                if outbox.send(reply).await.is_err() {
                    return;
                }
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
                let (host, outbox) = (Arc::clone(&host), outbox.clone());
                // Detached: an action continues when the connection breaks.
                drop(tokio::spawn(async move {
                    let result = handle_request(&host, ask).await;
                    // A daemon that reconnects asks for the outcomes.
                    drop(outbox.send(build_response(id, result).into()).await);
                }));
            }
        }
    }
}

fn already_attached_error() -> ActionError {
    ActionError::new(Code::Conflict, "reports are being sent on this connection already")
}

/// Sends responses as they come, and reports after the one the daemon has.
async fn run_sender(
    host: Arc<KernelHost>,
    mut writer: DaemonWriter,
    mut responses: mpsc::Receiver<OutgoingResponse>,
    mut attached: mpsc::Receiver<ReportNumber>,
) {
    let mut newest = host.spool.subscribe_newest();
    let mut cursor: Option<ReportNumber> = None;
    let mut batch = Vec::new();
    loop {
        let behind = cursor.is_some_and(|cursor| *newest.borrow_and_update() > cursor);
        let sent = tokio::select! {
            biased;
            n_received = responses.recv_many(&mut batch, RESPONSE_QUEUE_LEN) => match n_received {
                0 => return,
                _ => writer.send_responses(batch.drain(..)).await,
            },
            Some(after) = attached.recv() => { cursor = Some(after); Ok(()) }
            () = std::future::ready(()), if behind => {
                writer.send_reports(&host, &mut cursor).await
            }
            changed = newest.changed(), if !behind => {
                if changed.is_err() { return }
                Ok(())
            }
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "the daemon disconnected");
            return;
        }
    }
}

/// The sending half of the control connection.
struct DaemonWriter {
    write: OwnedWriteHalf,
    buffer: Vec<u8>,
}

impl DaemonWriter {
    /// Sends responses, as many per write as fit into [`BATCH_BYTES`].
    async fn send_responses(
        &mut self,
        responses: impl Iterator<Item = OutgoingResponse>,
    ) -> io::Result<()> {
        self.buffer.clear();
        for response in responses {
            match response {
                OutgoingResponse::FileContent(id, content) => {
                    wire::append_result(id, &content, &mut self.buffer)?;
                }
                OutgoingResponse::Response(response) => {
                    wire::append_frame(&KernelFrame::Response(response), &mut self.buffer)?;
                }
            }
            if self.buffer.len() >= BATCH_BYTES {
                self.write.write_all(&self.buffer).await?;
                self.buffer.clear();
            }
        }
        self.write.write_all(&self.buffer).await
    }

    async fn send_reports(
        &mut self,
        host: &KernelHost,
        cursor: &mut Option<ReportNumber>,
    ) -> io::Result<()> {
        let (bytes, last) =
            host.spool.read_after(cursor.unwrap_or(0), BATCH_BYTES, &mut self.buffer)?;
        self.write.write_all(bytes).await?;
        *cursor = Some(last);
        Ok(())
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
