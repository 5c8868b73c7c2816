//! The daemon's connection to a kernel.
//!
//! Callers send their requests themselves; a task reads the socket, passes responses to
//! their callers, and forwards reports. When the socket closes, the kernel is lost: every
//! pending request fails, and the reports end.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use provost_core::permit::Permit;
use provost_core::redact::Secrets;
use provost_proto::kernel::{
    ActionOutcome, ErrorInfo, HelloResponse, JsonRpcVersion, KernelReport, Method,
    PROTOCOL_VERSION, ReportNumber, RpcRequest, RpcResponse, VisibilityRule,
};
use provost_proto::runtime::{RuntimeLogPage, RuntimeSnapshot};
use provost_proto::{ActionId, RawJson};
use provost_sandbox::launch;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::cached_reader::CachedReader;
use super::kernel_process::KernelProcess;
use crate::frame_sender::FrameSender;
use crate::kernel_dir::KernelDir;
use crate::socket_writer::{SocketWriter, split_socket};
use crate::wire::{self, FrameReader, KernelFrame};

/// Reports that may be queued for the log. When it is full, the kernel waits.
const REPORT_QUEUE_LEN: usize = 64;

/// How long a kernel may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// How often to try to connect to a kernel that starts.
const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// How long an action may take whose result is the response: a search may take
/// 20 s, stopping a process 30 s.
const ACTION_TIMEOUT: Duration = Duration::from_secs(90);

/// How long a build may take.
const BUILD_TIMEOUT: Duration = Duration::from_hours(1);

/// How long a kernel may take to stop everything.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(8);

/// How long any other request may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How often the kernel is pinged while a long request is pending.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// How long a kernel may take for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a request to a kernel failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum KernelError {
    /// The kernel could not be started.
    #[error("the project's kernel did not start: {0}")]
    StartFailed(String),
    /// The connection is closed.
    #[error("the project's kernel is gone")]
    Lost,
    /// The kernel runs, but does not respond in time.
    #[error(
        "the project's kernel does not respond; wait until it does, or end it and all that runs \
         in it with `provost stop`"
    )]
    Unresponsive,
    /// The kernel was started by another version of Provost.
    #[error(
        "the project's kernel, process {pid}, speaks protocol {kernel}, and this daemon speaks \
         {PROTOCOL_VERSION}; stop that process, and the daemon starts a new kernel, or run the \
         Provost that started it"
    )]
    ProtocolMismatch {
        /// The kernel's protocol version.
        kernel: u32,
        /// The kernel's process id.
        pid: u32,
    },
    /// The kernel executed the action, and it failed.
    #[error("{}", .0.message)]
    Fault(ErrorInfo),
}

/// What limits the execution of an action, and what a command may read besides.
#[derive(Clone, Debug, Default)]
pub struct ExecuteLimits {
    /// The rules about paths that it must not show, or not write.
    pub visibility_rules: Vec<VisibilityRule>,
    /// Paths that a command can read besides what it always can.
    pub readable: Vec<String>,
}

/// A connection to a kernel.
#[derive(Debug, Clone)]
pub struct KernelClient {
    requests: Arc<RequestSender>,
    pending: Arc<PendingRequests>,
    welcome: HelloResponse,
    process: Arc<KernelProcess>,
    cached_reader: Option<Arc<CachedReader>>,
}

/// Sends requests. The connection is closed when the last client of it is dropped.
#[derive(Debug)]
struct RequestSender(FrameSender);

impl Drop for RequestSender {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The reports of a kernel, in order; ends when the kernel is lost.
#[derive(Debug)]
pub struct ReportReceiver(mpsc::Receiver<KernelReport>);

impl ReportReceiver {
    /// The next report.
    pub async fn next(&mut self) -> Option<KernelReport> {
        self.0.recv().await
    }

    /// The next report, if it has arrived already.
    pub fn try_next(&mut self) -> Option<KernelReport> {
        self.0.try_recv().ok()
    }
}

/// What a kernel must know of its daemon before it executes anything.
#[derive(Debug, Clone, Copy)]
pub struct DaemonSettings<'a> {
    /// The secrets to redact.
    pub secrets: &'a Secrets,
    /// The ports of the daemon and of its previews, on which no run may listen.
    pub ports: &'a [u16],
}

impl KernelClient {
    /// Starts a kernel and connects to it.
    pub async fn start(
        dir: &KernelDir,
        program: &Path,
        args: &[std::ffi::OsString],
        daemon: DaemonSettings<'_>,
    ) -> Result<(Self, ReportReceiver), KernelError> {
        let failed = |error: io::Error| KernelError::StartFailed(error.to_string());
        dir.prepare().map_err(failed)?;
        launch::spawn_detached(program, args, &dir.log_path(), &[]).map_err(failed)?;
        let connecting = async {
            loop {
                match Self::connect_existing(dir, daemon).await {
                    Err(KernelError::Lost | KernelError::Unresponsive) => {
                        sleep(CONNECT_RETRY_INTERVAL).await;
                    }
                    found => return found,
                }
            }
        };
        timeout(START_TIMEOUT, connecting).await.unwrap_or_else(|_| {
            let log = std::fs::read_to_string(dir.log_path()).unwrap_or_default();
            let last = log.lines().last().unwrap_or("it logged nothing").to_owned();
            Err(KernelError::StartFailed(last))
        })
    }

    /// Connects to a kernel that runs already, and sends it what it must know of the daemon;
    /// `Lost` if none runs.
    pub async fn connect_existing(
        dir: &KernelDir,
        daemon: DaemonSettings<'_>,
    ) -> Result<(Self, ReportReceiver), KernelError> {
        let (kernel, reports) = Self::open_connection(dir).await?;
        let (values, ports) = (daemon.secrets.known().to_vec(), daemon.ports.to_vec());
        kernel.call::<Value>(Method::Secrets { values, ports }).await?;
        Ok((kernel, reports))
    }

    async fn open_connection(dir: &KernelDir) -> Result<(Self, ReportReceiver), KernelError> {
        let (read, write, welcome) = perform_handshake(dir).await?;
        // It has just answered; if it is gone all the same, so is the connection.
        let process = KernelProcess::open(welcome.pid).map_err(|_| KernelError::Lost)?;
        let process = Arc::new(process);
        let sender = FrameSender::new(write);
        let requests = Arc::new(RequestSender(sender.clone()));
        let (up, reports) = mpsc::channel(REPORT_QUEUE_LEN);
        let pending = Arc::new(PendingRequests::default());
        tokio::spawn(run_connection(read, sender, up, Arc::clone(&pending)));
        let kernel = Self { requests, pending, welcome, process, cached_reader: None };
        Ok((kernel, ReportReceiver(reports)))
    }

    /// The same connection, with a reader for files that are in memory.
    #[must_use]
    pub fn with_cached_reader(self, reader: CachedReader) -> Self {
        Self { cached_reader: Some(Arc::new(reader)), ..self }
    }

    /// What the kernel reported in the handshake.
    pub fn welcome(&self) -> &HelloResponse {
        &self.welcome
    }

    /// Whether the connection is open.
    pub fn is_connected(&self) -> bool {
        !self.requests.0.is_closed()
    }

    /// Executes a permitted action, once.
    pub async fn execute(&self, permit: Permit) -> Result<RawJson, KernelError> {
        self.execute_with_limits(permit, ExecuteLimits::default()).await
    }

    /// Executes a permitted action that must not show or write some paths.
    pub async fn execute_with_limits(
        &self,
        permit: Permit,
        limits: ExecuteLimits,
    ) -> Result<RawJson, KernelError> {
        let Some(reader) = self.cached_reader.as_ref().filter(|_| self.is_connected()) else {
            return self.execute_in_kernel(permit, limits).await;
        };
        let permit = match reader.try_execute(permit) {
            Ok(result) => return Ok(result),
            Err(permit) => *permit,
        };
        let attempt = reader.begin_kernel_read(&permit);
        let result = self.execute_in_kernel(permit, limits).await;
        if result.is_ok() {
            reader.confirm_project(attempt);
        }
        result
    }

    async fn execute_in_kernel(
        &self,
        permit: Permit,
        limits: ExecuteLimits,
    ) -> Result<RawJson, KernelError> {
        let approved = permit.is_persons();
        let (id, action, preconditions) = permit.consume();
        let (action, params) = (action.name().to_owned(), action.params());
        let ExecuteLimits { visibility_rules, readable } = limits;
        let method = Method::Execute {
            id,
            action,
            params,
            visibility_rules,
            preconditions,
            approved,
            readable,
        };
        self.call_raw(method).await
    }

    /// Cancels an action; returns whether it was running.
    pub async fn cancel(&self, id: ActionId) -> Result<bool, KernelError> {
        let response: Value = self.call(Method::Cancel { id }).await?;
        Ok(response["found"] == true)
    }

    /// Checks that the kernel responds.
    pub async fn ping(&self) -> Result<(), KernelError> {
        self.call(Method::Ping {}).await
    }

    /// Subscribes to the reports after this one.
    pub async fn subscribe_reports(&self, after: ReportNumber) -> Result<(), KernelError> {
        self.call(Method::Attach { after }).await
    }

    /// Acknowledges the reports up to this one, which are in the log. Does not wait
    /// for the response, which may be queued behind reports that wait for the caller.
    pub async fn acknowledge(&self, up_to: ReportNumber) -> Result<(), KernelError> {
        let frame = self.pending.encode_request(Method::Acknowledge { up_to }, None)?;
        self.requests.0.send(&frame).await.map_err(|_| KernelError::Lost)
    }

    /// The outcomes of these actions, as far as the kernel remembers them.
    pub async fn fetch_outcomes(
        &self,
        ids: Vec<ActionId>,
    ) -> Result<Vec<(ActionId, ActionOutcome)>, KernelError> {
        self.call(Method::Outcomes { ids, wait: false }).await
    }

    /// The outcome of an action, once it has ended; `None` if the kernel does not know it.
    pub async fn wait_for_outcome(
        &self,
        id: ActionId,
    ) -> Result<Option<ActionOutcome>, KernelError> {
        let wait = Method::Outcomes { ids: vec![id], wait: true };
        let known: Vec<(ActionId, ActionOutcome)> = self.call(wait).await?;
        Ok(known.into_iter().next().map(|(_, outcome)| outcome))
    }

    /// The current state of the runtime.
    pub async fn fetch_runtime(&self) -> Result<RuntimeSnapshot, KernelError> {
        self.call(Method::Runtime {}).await
    }

    /// A page of the output of builds and dev servers.
    pub async fn fetch_logs(&self, after: u64, limit: u64) -> Result<RuntimeLogPage, KernelError> {
        self.call(Method::Logs { after, limit }).await
    }

    /// Stops every process, then the kernel.
    pub async fn shut_down(&self) -> Result<(), KernelError> {
        self.call(Method::Shutdown {}).await
    }

    /// Kills the kernel. Its commands end with it.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Waits until the kernel's process has exited.
    pub async fn wait_for_exit(&self) {
        self.process.wait_for_exit().await;
    }

    async fn call<T: DeserializeOwned>(&self, method: Method) -> Result<T, KernelError> {
        self.call_raw(method).await?.parse().map_err(|_| KernelError::Lost)
    }

    async fn call_raw(&self, method: Method) -> Result<RawJson, KernelError> {
        let time_limit = match &method {
            Method::Execute { action, .. } if may_wait_for_build(action) => BUILD_TIMEOUT,
            Method::Outcomes { wait: true, .. } => BUILD_TIMEOUT,
            Method::Execute { .. } => ACTION_TIMEOUT,
            Method::Shutdown {} => SHUTDOWN_TIMEOUT,
            Method::Hello { .. }
            | Method::Secrets { .. }
            | Method::Ping {}
            | Method::Attach { .. }
            | Method::Acknowledge { .. }
            | Method::Cancel { .. }
            | Method::Outcomes { .. }
            | Method::Terminal { .. }
            | Method::Logs { .. }
            | Method::Runtime {} => RESPONSE_TIMEOUT,
        };
        let response = self.await_response(self.send_request(method).await?, time_limit).await?;
        response_result(response)
    }

    async fn send_request(
        &self,
        method: Method,
    ) -> Result<oneshot::Receiver<RpcResponse>, KernelError> {
        let (reply, response) = oneshot::channel();
        let frame = self.pending.encode_request(method, Some(reply))?;
        self.requests.0.send(&frame).await.map_err(|_| KernelError::Lost)?;
        Ok(response)
    }

    /// Waits for a response. While a request with a long timeout is pending, the kernel
    /// is pinged, so that one that hangs is noticed.
    async fn await_response(
        &self,
        mut response: oneshot::Receiver<RpcResponse>,
        time_limit: Duration,
    ) -> Result<RpcResponse, KernelError> {
        let mut remaining = time_limit;
        let lost = |_| KernelError::Lost;
        loop {
            let slice = if time_limit > RESPONSE_TIMEOUT {
                remaining.min(PING_INTERVAL)
            } else {
                remaining
            };
            if let Ok(response) = timeout(slice, &mut response).await {
                return response.map_err(lost);
            }
            remaining -= slice;
            if remaining.is_zero() {
                return Err(KernelError::Unresponsive);
            }
            let started_at = Instant::now();
            let pong =
                timeout(RESPONSE_TIMEOUT.min(remaining), self.send_request(Method::Ping {}).await?);
            tokio::select! {
                response = &mut response => return response.map_err(lost),
                pong = pong => drop(pong.map_err(|_| KernelError::Unresponsive)?),
            }
            remaining = remaining.saturating_sub(started_at.elapsed());
        }
    }
}

/// The result or the error in a response.
pub(crate) fn response_result(response: RpcResponse) -> Result<RawJson, KernelError> {
    if let Some(error) = response.error {
        let internal = || ErrorInfo {
            code: provost_proto::Code::Internal,
            message: error.message.clone(),
            details: None,
        };
        return Err(KernelError::Fault(error.data.clone().unwrap_or_else(internal)));
    }
    match response.result {
        Some(result) => Ok(result),
        None => RawJson::new(&Value::Null).map_err(|_| KernelError::Lost),
    }
}

/// Connects to a kernel, authenticates, and checks the protocol version.
pub(crate) async fn perform_handshake(
    dir: &KernelDir,
) -> Result<(FrameReader<pipe::Receiver>, SocketWriter, HelloResponse), KernelError> {
    let lost = |_: io::Error| KernelError::Lost;
    let stream = dir.connect().await.map_err(lost)?;
    let own = rustix::process::geteuid().as_raw();
    if stream.peer_cred().map_err(lost)?.uid() != own {
        tracing::warn!("the kernel's socket belongs to another user");
        return Err(KernelError::Lost);
    }
    let secret = dir.read_secret().map_err(lost)?;
    let hello = request_frame(0, Method::Hello { secret, protocol: PROTOCOL_VERSION });
    let (read, write) = split_socket(stream).map_err(lost)?;
    let mut read = FrameReader::new(read);
    write.send(&wire::frame_to_bytes(&hello).map_err(lost)?).await.map_err(lost)?;
    let response =
        timeout(HANDSHAKE_TIMEOUT, read.next()).await.map_err(|_| KernelError::Unresponsive)?;
    let Ok(Some(KernelFrame::Response(RpcResponse { result: Some(welcome), .. }))) = response
    else {
        return Err(KernelError::Lost);
    };
    let welcome: HelloResponse = welcome.parse().map_err(|_| KernelError::Lost)?;
    if welcome.protocol != PROTOCOL_VERSION {
        return Err(KernelError::ProtocolMismatch { kernel: welcome.protocol, pid: welcome.pid });
    }
    Ok((read, write, welcome))
}

/// The requests that wait for their responses.
#[derive(Debug, Default)]
struct PendingRequests {
    next: AtomicU64,
    /// `None` once the kernel is lost: no request may wait any more.
    waiting: Mutex<ReplySenders>,
}

#[derive(Debug)]
struct ReplySenders(Option<HashMap<u64, oneshot::Sender<RpcResponse>>>);

impl Default for ReplySenders {
    fn default() -> Self {
        Self(Some(HashMap::new()))
    }
}

impl PendingRequests {
    /// Encodes a request, and registers `reply` for its response.
    fn encode_request(
        &self,
        method: Method,
        reply: Option<oneshot::Sender<RpcResponse>>,
    ) -> Result<Vec<u8>, KernelError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let frame = wire::frame_to_bytes(&request_frame(id, method)).map_err(|error| {
            let message = format!("cannot encode the request: {error}");
            let code = provost_proto::Code::TooLarge;
            KernelError::Fault(ErrorInfo { code, message, details: None })
        })?;
        let mut waiting = self.waiting.lock();
        let waiting = waiting.0.as_mut().ok_or(KernelError::Lost)?;
        if let Some(reply) = reply {
            waiting.insert(id, reply);
        }
        Ok(frame)
    }

    fn complete_request(&self, response: RpcResponse) {
        let mut waiting = self.waiting.lock();
        let reply = waiting.0.as_mut().and_then(|waiting| waiting.remove(&response.id));
        drop(waiting);
        if let Some(reply) = reply {
            // The caller may have stopped waiting.
            drop(reply.send(response));
        }
    }

    /// Fails all pending requests, because the kernel is lost.
    fn close(&self) {
        drop(self.waiting.lock().0.take());
    }
}

/// Whether an action may have to wait for a build.
fn may_wait_for_build(action: &str) -> bool {
    matches!(action, "runtime.run" | "runtime.restart" | "runtime.build")
}

pub(crate) fn request_frame(id: u64, method: Method) -> KernelFrame {
    KernelFrame::Request(RpcRequest { jsonrpc: JsonRpcVersion::V2, id, method })
}

/// Receives frames, and sends what the socket did not take at once, until it closes.
async fn run_connection(
    read: FrameReader<pipe::Receiver>,
    sender: FrameSender,
    reports: mpsc::Sender<KernelReport>,
    pending: Arc<PendingRequests>,
) {
    // Either direction is only cancelled when the other has ended.
    tokio::select! {
        () = receive_frames(read, &reports, &pending) => {}
        _error = sender.run_backlog() => {}
    }
    sender.close();
    pending.close();
}

async fn receive_frames(
    mut read: FrameReader<pipe::Receiver>,
    reports: &mpsc::Sender<KernelReport>,
    pending: &PendingRequests,
) {
    while let Ok(Some(frame)) = read.next().await {
        match frame {
            KernelFrame::Report(report) => {
                if reports.send(report).await.is_err() {
                    return;
                }
            }
            KernelFrame::Response(response) => pending.complete_request(response),
            KernelFrame::Request(_) => return,
        }
    }
}
