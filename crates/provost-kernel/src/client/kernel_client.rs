//! The daemon's handle to a kernel.
//!
//! A task owns the socket: it sends questions, gives answers to whoever asked,
//! and passes reports on. When the socket closes, the kernel is lost: every
//! question that waits fails, and the reports end.

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
    ActionOutcome, ErrorInfo, HelloResponse, JsonRpcVersion, KernelReport, MIN_PROTOCOL_REDACTION,
    Method, PROTOCOL_VERSION, ReportNumber, RpcRequest, RpcResponse, VisibilityRule,
};
use provost_proto::runtime::{RuntimeLogPage, RuntimeSnapshot};
use provost_proto::{ActionId, RawJson};
use provost_sandbox::launch;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use crate::kernel_dir::KernelDir;
use crate::wire::{self, FrameReader, KernelFrame};

/// Questions that may wait to be sent.
const REQUEST_QUEUE_LEN: usize = 256;

/// Reports that may wait for the log. When they do, the kernel waits too.
const REPORT_QUEUE_LEN: usize = 64;

/// How long a kernel may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// How often to look whether it has.
const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// How long an action may take that is answered directly: a search has 20 s, a
/// process that is stopped 30 s.
const ACTION_TIMEOUT: Duration = Duration::from_secs(90);

/// How long a build may take.
const BUILD_TIMEOUT: Duration = Duration::from_hours(1);

/// How long a kernel may take to stop everything.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(8);

/// How long it may take to answer anything else.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How often it is asked whether it is there, while something of it is waited for.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// How long a kernel may take to say who it is.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a kernel did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum KernelError {
    /// The kernel could not be started.
    #[error("the project's kernel did not start: {0}")]
    StartFailed(String),
    /// Nobody answers.
    #[error("the project's kernel is gone")]
    Lost,
    /// It is there, but does not answer in time.
    #[error(
        "the project's kernel does not answer; wait until it does, or end it and all that runs \
         in it with `provost stop`"
    )]
    Unresponsive,
    /// It speaks a protocol that this daemon does not know yet.
    #[error(
        "the project's kernel speaks protocol {kernel}, and this daemon only {PROTOCOL_VERSION}; \
         start the newer Provost, or stop the kernel, process {pid}"
    )]
    ProtocolTooNew {
        /// Its protocol.
        kernel: u32,
        /// Its process id.
        pid: u32,
    },
    /// It does not redact secrets.
    #[error(
        "the project's kernel, process {pid}, is from an older Provost (protocol {kernel}) and \
         does not redact secrets, so nothing is run in it; stop it, and a new one is started"
    )]
    ProtocolTooOld {
        /// Its protocol.
        kernel: u32,
        /// Its process id.
        pid: u32,
    },
    /// The action failed, as the kernel says.
    #[error("{}", .0.message)]
    Fault(ErrorInfo),
}

/// A kernel that answers.
#[derive(Debug, Clone)]
pub struct KernelClient {
    inbox: mpsc::Sender<Vec<u8>>,
    open: Arc<PendingRequests>,
    welcome: HelloResponse,
}

/// What happens in a kernel, in order; ends when the kernel is lost.
#[derive(Debug)]
pub struct ReportReceiver(mpsc::Receiver<KernelReport>);

impl ReportReceiver {
    /// The next report.
    pub async fn next(&mut self) -> Option<KernelReport> {
        self.0.recv().await
    }

    /// The next report, if it is there already.
    pub fn try_next(&mut self) -> Option<KernelReport> {
        self.0.try_recv().ok()
    }
}

impl KernelClient {
    /// Starts a kernel and connects to it.
    pub async fn start(
        place: &KernelDir,
        program: &Path,
        args: &[std::ffi::OsString],
        secrets: &Secrets,
    ) -> Result<(Self, ReportReceiver), KernelError> {
        let failed = |error: io::Error| KernelError::StartFailed(error.to_string());
        place.prepare().map_err(failed)?;
        launch::spawn_detached(program, args, &place.log_path(), &[]).map_err(failed)?;
        let connecting = async {
            loop {
                match Self::connect_existing(place, secrets).await {
                    Err(KernelError::Lost | KernelError::Unresponsive) => {
                        sleep(CONNECT_RETRY_INTERVAL).await
                    }
                    found => return found,
                }
            }
        };
        timeout(START_TIMEOUT, connecting).await.unwrap_or_else(|_| {
            let said = std::fs::read_to_string(place.log_path()).unwrap_or_default();
            let last = said.lines().last().unwrap_or("it said nothing").to_owned();
            Err(KernelError::StartFailed(last))
        })
    }

    /// Connects to the kernel that is there already, and tells it what it must
    /// not let out; `Lost` if none is there.
    pub async fn connect_existing(
        place: &KernelDir,
        secrets: &Secrets,
    ) -> Result<(Self, ReportReceiver), KernelError> {
        let (kernel, reports) = Self::open_connection(place).await?;
        let HelloResponse { protocol, pid, .. } = kernel.welcome;
        if protocol > PROTOCOL_VERSION {
            return Err(KernelError::ProtocolTooNew { kernel: protocol, pid });
        }
        if protocol >= MIN_PROTOCOL_REDACTION {
            let values = secrets.known().to_vec();
            kernel.call::<Value>(Method::Secrets { values }).await?;
        }
        Ok((kernel, reports))
    }

    async fn open_connection(place: &KernelDir) -> Result<(Self, ReportReceiver), KernelError> {
        let (read, write, welcome) = perform_handshake(place).await?;
        let (inbox, questions) = mpsc::channel(REQUEST_QUEUE_LEN);
        let (up, reports) = mpsc::channel(REPORT_QUEUE_LEN);
        let open = Arc::new(PendingRequests::default());
        tokio::spawn(run_connection(read, write, questions, up, Arc::clone(&open)));
        Ok((Self { inbox, open, welcome }, ReportReceiver(reports)))
    }

    /// What it said of itself.
    pub fn welcome(&self) -> &HelloResponse {
        &self.welcome
    }

    /// Whether it still answers, as far as is known.
    pub fn is_connected(&self) -> bool {
        !self.inbox.is_closed()
    }

    /// Carries out what was permitted, once. Not in a kernel that would let
    /// secrets out: what runs there already is seen to its end, and no more.
    pub async fn execute(&self, permit: Permit) -> Result<RawJson, KernelError> {
        self.execute_with_visibility(permit, Vec::new()).await
    }

    /// The same for someone whose sight is limited. What a kernel answers that
    /// knows nothing of limits is not passed on.
    pub async fn execute_with_visibility(
        &self,
        permit: Permit,
        limits: Vec<VisibilityRule>,
    ) -> Result<RawJson, KernelError> {
        let HelloResponse { protocol, pid, .. } = self.welcome;
        if protocol < MIN_PROTOCOL_REDACTION {
            return Err(KernelError::ProtocolTooOld { kernel: protocol, pid });
        }
        let (id, action, terms) = permit.consume();
        let (name, params) = (action.name().to_owned(), action.params());
        let limited = !limits.is_empty();
        if !self.welcome.supports_runtime() && (limited || terms.is_some()) {
            // It came before there were terms, and would not keep to them.
            return Err(KernelError::ProtocolTooOld { kernel: protocol, pid });
        }
        let ask = Method::Execute { id, action: name, params, limits, terms };
        let answer = self.call_raw(ask).await?;
        if limited && answer.to_value().get("leftOut").is_none() {
            return Err(KernelError::ProtocolTooOld { kernel: protocol, pid });
        }
        Ok(answer)
    }

    /// Stops an action; tells whether there was one to stop.
    pub async fn cancel(&self, id: ActionId) -> Result<bool, KernelError> {
        let answer: Value = self.call(Method::Cancel { id }).await?;
        Ok(answer["found"] == true)
    }

    /// Its heartbeat.
    pub async fn ping(&self) -> Result<(), KernelError> {
        self.call(Method::Ping {}).await
    }

    /// Asks for the reports after this one.
    pub async fn subscribe_reports(&self, after: ReportNumber) -> Result<(), KernelError> {
        self.call(Method::Attach { after }).await
    }

    /// Tells it that the reports up to this one are in the log. Does not wait
    /// for the answer, which may stand behind reports that wait for the caller.
    pub async fn acknowledge(&self, up_to: ReportNumber) -> Result<(), KernelError> {
        let frame = self.open.encode_request(Method::Acknowledge { up_to }, None)?;
        self.inbox.send(frame).await.map_err(|_| KernelError::Lost)
    }

    /// What became of these actions, as far as it remembers.
    pub async fn fetch_outcomes(
        &self,
        ids: Vec<ActionId>,
    ) -> Result<Vec<(ActionId, ActionOutcome)>, KernelError> {
        self.call(Method::Outcomes { ids }).await
    }

    /// How its runtime stands now.
    pub async fn fetch_runtime(&self) -> Result<RuntimeSnapshot, KernelError> {
        self.call(Method::Runtime {}).await
    }

    /// A piece of what builds and dev servers printed.
    pub async fn fetch_logs(&self, after: u64, limit: u64) -> Result<RuntimeLogPage, KernelError> {
        self.call(Method::Logs { after, limit }).await
    }

    /// Stops every child, then the kernel.
    pub async fn shut_down(&self) -> Result<(), KernelError> {
        self.call(Method::Shutdown {}).await
    }

    /// Ends the kernel by force. Its commands end with it.
    pub fn kill(&self) {
        let pid = i32::try_from(self.welcome.pid).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid
            && let Err(error) = rustix::process::kill_process(pid, rustix::process::Signal::KILL)
        {
            tracing::debug!(%error, "the kernel was gone before it was killed");
        }
    }

    async fn call<T: DeserializeOwned>(&self, ask: Method) -> Result<T, KernelError> {
        self.call_raw(ask).await?.parse().map_err(|_| KernelError::Lost)
    }

    async fn call_raw(&self, ask: Method) -> Result<RawJson, KernelError> {
        let patience = match &ask {
            Method::Execute { action, .. } if may_wait_for_build(action) => BUILD_TIMEOUT,
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
        let answer = self.await_response(self.send_request(ask).await?, patience).await?;
        response_result(answer)
    }

    async fn send_request(
        &self,
        ask: Method,
    ) -> Result<oneshot::Receiver<RpcResponse>, KernelError> {
        let (reply, answer) = oneshot::channel();
        let frame = self.open.encode_request(ask, Some(reply))?;
        self.inbox.send(frame).await.map_err(|_| KernelError::Lost)?;
        Ok(answer)
    }

    /// An answer, for as long as there is patience; one that may take long, as long as the
    /// kernel says that it is there.
    async fn await_response(
        &self,
        mut answer: oneshot::Receiver<RpcResponse>,
        patience: Duration,
    ) -> Result<RpcResponse, KernelError> {
        let mut left = patience;
        let lost = |_| KernelError::Lost;
        loop {
            let part = if patience > RESPONSE_TIMEOUT { left.min(PING_INTERVAL) } else { left };
            if let Ok(answer) = timeout(part, &mut answer).await {
                return answer.map_err(lost);
            }
            left -= part;
            if left.is_zero() {
                return Err(KernelError::Unresponsive);
            }
            let began = Instant::now();
            let there =
                timeout(RESPONSE_TIMEOUT.min(left), self.send_request(Method::Ping {}).await?);
            tokio::select! {
                answer = &mut answer => return answer.map_err(lost),
                there = there => drop(there.map_err(|_| KernelError::Unresponsive)?),
            }
            left = left.saturating_sub(began.elapsed());
        }
    }
}

/// What an answer says.
pub(crate) fn response_result(answer: RpcResponse) -> Result<RawJson, KernelError> {
    if let Some(error) = answer.error {
        let internal = || ErrorInfo {
            code: provost_proto::Code::Internal,
            message: error.message.clone(),
            details: None,
        };
        return Err(KernelError::Fault(error.data.clone().unwrap_or_else(internal)));
    }
    match answer.result {
        Some(result) => Ok(result),
        None => RawJson::new(&Value::Null).map_err(|_| KernelError::Lost),
    }
}

/// Connects to a kernel, and has it say who it is.
pub(crate) async fn perform_handshake(
    place: &KernelDir,
) -> Result<(FrameReader<OwnedReadHalf>, OwnedWriteHalf, HelloResponse), KernelError> {
    let none = |_: io::Error| KernelError::Lost;
    let stream = place.connect().await.map_err(none)?;
    let own = rustix::process::geteuid().as_raw();
    if stream.peer_cred().map_err(none)?.uid() != own {
        tracing::warn!("the socket of a kernel belongs to another user");
        return Err(KernelError::Lost);
    }
    let secret = place.read_secret().map_err(none)?;
    let hello = request_frame(0, Method::Hello { secret, protocol: PROTOCOL_VERSION });
    let (read, mut write) = stream.into_split();
    let mut read = FrameReader::new(read);
    wire::write(&mut write, &hello).await.map_err(none)?;
    let answer =
        timeout(HANDSHAKE_TIMEOUT, read.next()).await.map_err(|_| KernelError::Unresponsive)?;
    let Ok(Some(KernelFrame::Response(RpcResponse { result: Some(welcome), .. }))) = answer else {
        return Err(KernelError::Lost);
    };
    Ok((read, write, welcome.parse().map_err(|_| KernelError::Lost)?))
}

/// The questions that wait for their answers.
#[derive(Debug, Default)]
struct PendingRequests {
    next: AtomicU64,
    /// None once the kernel is lost: then nobody may begin to wait.
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
    /// The frame of a question, whose answer goes to `reply`.
    fn encode_request(
        &self,
        ask: Method,
        reply: Option<oneshot::Sender<RpcResponse>>,
    ) -> Result<Vec<u8>, KernelError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let frame = wire::frame_to_bytes(&request_frame(id, ask)).map_err(|error| {
            let message = format!("this cannot be asked of the kernel: {error}");
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

    fn complete_request(&self, answer: RpcResponse) {
        let mut waiting = self.waiting.lock();
        let reply = waiting.0.as_mut().and_then(|waiting| waiting.remove(&answer.id));
        drop(waiting);
        if let Some(reply) = reply {
            // Whoever no longer waits does not need it.
            drop(reply.send(answer));
        }
    }

    /// The kernel is lost: whoever waits learns it.
    fn close(&self) {
        drop(self.waiting.lock().0.take());
    }
}

/// Whether an action may have to wait for a build.
fn may_wait_for_build(action: &str) -> bool {
    matches!(action, "runtime.run" | "runtime.restart" | "runtime.build")
}

pub(crate) fn request_frame(id: u64, ask: Method) -> KernelFrame {
    KernelFrame::Request(RpcRequest { jsonrpc: JsonRpcVersion::V2, id, ask })
}

/// Owns the socket until it closes.
async fn run_connection(
    read: FrameReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
    questions: mpsc::Receiver<Vec<u8>>,
    reports: mpsc::Sender<KernelReport>,
    open: Arc<PendingRequests>,
) {
    // Neither is cut off in the midst of a frame but by the end of the other.
    tokio::select! {
        () = receive_frames(read, &reports, &open) => {}
        () = send_requests(write, questions) => {}
    }
    open.close();
}

async fn receive_frames(
    mut read: FrameReader<OwnedReadHalf>,
    reports: &mpsc::Sender<KernelReport>,
    open: &PendingRequests,
) {
    while let Ok(Some(frame)) = read.next().await {
        match frame {
            KernelFrame::Report(report) => {
                if reports.send(report).await.is_err() {
                    return;
                }
            }
            KernelFrame::Response(answer) => open.complete_request(answer),
            KernelFrame::Request(_) => return,
        }
    }
}

/// Sends the questions that wait together.
async fn send_requests(mut write: OwnedWriteHalf, mut questions: mpsc::Receiver<Vec<u8>>) {
    let mut frames = Vec::new();
    while questions.recv_many(&mut frames, REQUEST_QUEUE_LEN).await > 0 {
        let together =
            if let [frame] = &mut frames[..] { std::mem::take(frame) } else { frames.concat() };
        frames.clear();
        if write.write_all(&together).await.is_err() {
            return;
        }
    }
}
