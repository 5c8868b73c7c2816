//! The daemon's handle to a kernel.
//!
//! A task owns the socket: it sends questions, gives answers to whoever asked,
//! and passes reports on. When the socket closes, the kernel is lost: every
//! question that waits fails, and the reports end.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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

use crate::place::Place;
use crate::wire::{self, Frame, Frames};

/// Questions that may wait to be sent.
const INBOX: usize = 256;

/// Reports that may wait for the log. When they do, the kernel waits too.
const REPORTS: usize = 64;

/// How long a kernel may take to start.
const START: Duration = Duration::from_secs(10);

/// How often to look whether it has.
const LOOK: Duration = Duration::from_millis(5);

/// How long an action may take that is answered directly: a search has 20 s, a
/// process that is stopped 30 s.
const ACTION: Duration = Duration::from_secs(90);

/// How long a build may take.
const BUILD: Duration = Duration::from_hours(1);

/// How long a kernel may take to stop everything.
const SHUTDOWN: Duration = Duration::from_secs(8);

/// How long it may take to answer anything else.
const ANSWER: Duration = Duration::from_secs(10);

/// How often it is asked whether it is there, while something of it is waited for.
const THERE: Duration = Duration::from_secs(5);

/// How long a kernel may take to say who it is.
const HELLO: Duration = Duration::from_secs(5);

/// Why a kernel did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum KernelError {
    /// The kernel could not be started.
    #[error("the project's kernel did not start: {0}")]
    Start(String),
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
    Newer {
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
    Older {
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
pub struct Kernel {
    inbox: mpsc::Sender<Vec<u8>>,
    open: Arc<Open>,
    welcome: HelloResponse,
}

/// What happens in a kernel, in order; ends when the kernel is lost.
#[derive(Debug)]
pub struct Reports(mpsc::Receiver<KernelReport>);

impl Reports {
    /// The next report.
    pub async fn next(&mut self) -> Option<KernelReport> {
        self.0.recv().await
    }

    /// The next report, if it is there already.
    pub fn now(&mut self) -> Option<KernelReport> {
        self.0.try_recv().ok()
    }
}

impl Kernel {
    /// Starts a kernel and connects to it.
    pub async fn start(
        place: &Place,
        program: &Path,
        args: &[std::ffi::OsString],
        secrets: &Secrets,
    ) -> Result<(Self, Reports), KernelError> {
        let failed = |error: io::Error| KernelError::Start(error.to_string());
        place.prepare().map_err(failed)?;
        launch::spawn_detached(program, args, &place.log(), &[]).map_err(failed)?;
        let connecting = async {
            loop {
                match Self::find(place, secrets).await {
                    Err(KernelError::Lost | KernelError::Unresponsive) => sleep(LOOK).await,
                    found => return found,
                }
            }
        };
        timeout(START, connecting).await.unwrap_or_else(|_| {
            let said = std::fs::read_to_string(place.log()).unwrap_or_default();
            let last = said.lines().last().unwrap_or("it said nothing").to_owned();
            Err(KernelError::Start(last))
        })
    }

    /// Connects to the kernel that is there already, and tells it what it must
    /// not let out; `Lost` if none is there.
    pub async fn find(place: &Place, secrets: &Secrets) -> Result<(Self, Reports), KernelError> {
        let (kernel, reports) = Self::greet(place).await?;
        let HelloResponse { protocol, pid, .. } = kernel.welcome;
        if protocol > PROTOCOL_VERSION {
            return Err(KernelError::Newer { kernel: protocol, pid });
        }
        if protocol >= MIN_PROTOCOL_REDACTION {
            let values = secrets.known().to_vec();
            kernel.ask::<Value>(Method::Secrets { values }).await?;
        }
        Ok((kernel, reports))
    }

    async fn greet(place: &Place) -> Result<(Self, Reports), KernelError> {
        let (read, write, welcome) = hello(place).await?;
        let (inbox, questions) = mpsc::channel(INBOX);
        let (up, reports) = mpsc::channel(REPORTS);
        let open = Arc::new(Open::default());
        tokio::spawn(talk(read, write, questions, up, Arc::clone(&open)));
        Ok((Self { inbox, open, welcome }, Reports(reports)))
    }

    /// What it said of itself.
    pub fn welcome(&self) -> &HelloResponse {
        &self.welcome
    }

    /// Whether it still answers, as far as is known.
    pub fn is_there(&self) -> bool {
        !self.inbox.is_closed()
    }

    /// Carries out what was permitted, once. Not in a kernel that would let
    /// secrets out: what runs there already is seen to its end, and no more.
    pub async fn execute(&self, permit: Permit) -> Result<RawJson, KernelError> {
        self.execute_within(permit, Vec::new()).await
    }

    /// The same for someone whose sight is limited. What a kernel answers that
    /// knows nothing of limits is not passed on.
    pub async fn execute_within(
        &self,
        permit: Permit,
        limits: Vec<VisibilityRule>,
    ) -> Result<RawJson, KernelError> {
        let HelloResponse { protocol, pid, .. } = self.welcome;
        if protocol < MIN_PROTOCOL_REDACTION {
            return Err(KernelError::Older { kernel: protocol, pid });
        }
        let (id, action, terms) = permit.consume();
        let (name, params) = (action.name().to_owned(), action.params());
        let limited = !limits.is_empty();
        if !self.welcome.supports_runtime() && (limited || terms.is_some()) {
            // It came before there were terms, and would not keep to them.
            return Err(KernelError::Older { kernel: protocol, pid });
        }
        let ask = Method::Execute { id, action: name, params, limits, terms };
        let answer = self.answer(ask).await?;
        if limited && answer.to_value().get("leftOut").is_none() {
            return Err(KernelError::Older { kernel: protocol, pid });
        }
        Ok(answer)
    }

    /// Stops an action; tells whether there was one to stop.
    pub async fn cancel(&self, id: ActionId) -> Result<bool, KernelError> {
        let answer: Value = self.ask(Method::Cancel { id }).await?;
        Ok(answer["found"] == true)
    }

    /// Its heartbeat.
    pub async fn ping(&self) -> Result<(), KernelError> {
        self.ask(Method::Ping {}).await
    }

    /// Asks for the reports after this one.
    pub async fn attach(&self, after: ReportNumber) -> Result<(), KernelError> {
        self.ask(Method::Attach { after }).await
    }

    /// Tells it that the reports up to this one are in the log. Does not wait
    /// for the answer, which may stand behind reports that wait for the caller.
    pub async fn acknowledge(&self, up_to: ReportNumber) -> Result<(), KernelError> {
        let frame = self.open.question(Method::Acknowledge { up_to }, None)?;
        self.inbox.send(frame).await.map_err(|_| KernelError::Lost)
    }

    /// What became of these actions, as far as it remembers.
    pub async fn outcomes(
        &self,
        ids: Vec<ActionId>,
    ) -> Result<Vec<(ActionId, ActionOutcome)>, KernelError> {
        self.ask(Method::Outcomes { ids }).await
    }

    /// How its runtime stands now.
    pub async fn runtime(&self) -> Result<RuntimeSnapshot, KernelError> {
        self.ask(Method::Runtime {}).await
    }

    /// A piece of what builds and dev servers printed.
    pub async fn logs(&self, after: u64, limit: u64) -> Result<RuntimeLogPage, KernelError> {
        self.ask(Method::Logs { after, limit }).await
    }

    /// Stops every child, then the kernel.
    pub async fn shut_down(&self) -> Result<(), KernelError> {
        self.ask(Method::Shutdown {}).await
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

    async fn ask<T: DeserializeOwned>(&self, ask: Method) -> Result<T, KernelError> {
        self.answer(ask).await?.parse().map_err(|_| KernelError::Lost)
    }

    async fn answer(&self, ask: Method) -> Result<RawJson, KernelError> {
        let patience = match &ask {
            Method::Execute { action, .. } if builds(action) => BUILD,
            Method::Execute { .. } => ACTION,
            Method::Shutdown {} => SHUTDOWN,
            Method::Hello { .. }
            | Method::Secrets { .. }
            | Method::Ping {}
            | Method::Attach { .. }
            | Method::Acknowledge { .. }
            | Method::Cancel { .. }
            | Method::Outcomes { .. }
            | Method::Terminal { .. }
            | Method::Logs { .. }
            | Method::Runtime {} => ANSWER,
        };
        let answer = self.while_there(self.sent(ask).await?, patience).await?;
        result(answer)
    }

    async fn sent(&self, ask: Method) -> Result<oneshot::Receiver<RpcResponse>, KernelError> {
        let (reply, answer) = oneshot::channel();
        let frame = self.open.question(ask, Some(reply))?;
        self.inbox.send(frame).await.map_err(|_| KernelError::Lost)?;
        Ok(answer)
    }

    /// An answer, for as long as there is patience; one that may take long, as long as the
    /// kernel says that it is there.
    async fn while_there(
        &self,
        mut answer: oneshot::Receiver<RpcResponse>,
        patience: Duration,
    ) -> Result<RpcResponse, KernelError> {
        let mut left = patience;
        let lost = |_| KernelError::Lost;
        loop {
            let part = if patience > ANSWER { left.min(THERE) } else { left };
            if let Ok(answer) = timeout(part, &mut answer).await {
                return answer.map_err(lost);
            }
            left -= part;
            if left.is_zero() {
                return Err(KernelError::Unresponsive);
            }
            let began = Instant::now();
            let there = timeout(ANSWER.min(left), self.sent(Method::Ping {}).await?);
            tokio::select! {
                answer = &mut answer => return answer.map_err(lost),
                there = there => drop(there.map_err(|_| KernelError::Unresponsive)?),
            }
            left = left.saturating_sub(began.elapsed());
        }
    }
}

/// What an answer says.
pub(crate) fn result(answer: RpcResponse) -> Result<RawJson, KernelError> {
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
pub(crate) async fn hello(
    place: &Place,
) -> Result<(Frames<OwnedReadHalf>, OwnedWriteHalf, HelloResponse), KernelError> {
    let none = |_: io::Error| KernelError::Lost;
    let stream = place.connect().await.map_err(none)?;
    let own = rustix::process::geteuid().as_raw();
    if stream.peer_cred().map_err(none)?.uid() != own {
        tracing::warn!("the socket of a kernel belongs to another user");
        return Err(KernelError::Lost);
    }
    let secret = place.secret().map_err(none)?;
    let hello = question(0, Method::Hello { secret, protocol: PROTOCOL_VERSION });
    let (read, mut write) = stream.into_split();
    let mut read = Frames::new(read);
    wire::write(&mut write, &hello).await.map_err(none)?;
    let answer = timeout(HELLO, read.next()).await.map_err(|_| KernelError::Unresponsive)?;
    let Ok(Some(Frame::Answer(RpcResponse { result: Some(welcome), .. }))) = answer else {
        return Err(KernelError::Lost);
    };
    Ok((read, write, welcome.parse().map_err(|_| KernelError::Lost)?))
}

/// The questions that wait for their answers.
#[derive(Debug, Default)]
struct Open {
    next: AtomicU64,
    /// None once the kernel is lost: then nobody may begin to wait.
    waiting: Mutex<Waiting>,
}

#[derive(Debug)]
struct Waiting(Option<HashMap<u64, oneshot::Sender<RpcResponse>>>);

impl Default for Waiting {
    fn default() -> Self {
        Self(Some(HashMap::new()))
    }
}

impl Open {
    /// The frame of a question, whose answer goes to `reply`.
    fn question(
        &self,
        ask: Method,
        reply: Option<oneshot::Sender<RpcResponse>>,
    ) -> Result<Vec<u8>, KernelError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let frame = wire::bytes(&question(id, ask)).map_err(|error| {
            let message = format!("this cannot be asked of the kernel: {error}");
            let code = provost_proto::Code::TooLarge;
            KernelError::Fault(ErrorInfo { code, message, details: None })
        })?;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = waiting.0.as_mut().ok_or(KernelError::Lost)?;
        if let Some(reply) = reply {
            waiting.insert(id, reply);
        }
        Ok(frame)
    }

    fn answer(&self, answer: RpcResponse) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = waiting.0.as_mut().and_then(|waiting| waiting.remove(&answer.id));
        drop(waiting);
        if let Some(reply) = reply {
            // Whoever no longer waits does not need it.
            drop(reply.send(answer));
        }
    }

    /// The kernel is lost: whoever waits learns it.
    fn close(&self) {
        drop(self.waiting.lock().unwrap_or_else(PoisonError::into_inner).0.take());
    }
}

/// Whether an action may have to wait for a build.
fn builds(action: &str) -> bool {
    matches!(action, "runtime.run" | "runtime.restart" | "runtime.build")
}

pub(crate) fn question(id: u64, ask: Method) -> Frame {
    Frame::Question(RpcRequest { jsonrpc: JsonRpcVersion::V2, id, ask })
}

/// Owns the socket until it closes.
async fn talk(
    read: Frames<OwnedReadHalf>,
    write: OwnedWriteHalf,
    questions: mpsc::Receiver<Vec<u8>>,
    reports: mpsc::Sender<KernelReport>,
    open: Arc<Open>,
) {
    // Neither is cut off in the midst of a frame but by the end of the other.
    tokio::select! {
        () = listen(read, &reports, &open) => {}
        () = tell(write, questions) => {}
    }
    open.close();
}

async fn listen(
    mut read: Frames<OwnedReadHalf>,
    reports: &mpsc::Sender<KernelReport>,
    open: &Open,
) {
    while let Ok(Some(frame)) = read.next().await {
        match frame {
            Frame::Report(report) => {
                if reports.send(report).await.is_err() {
                    return;
                }
            }
            Frame::Answer(answer) => open.answer(answer),
            Frame::Question(_) => return,
        }
    }
}

/// Sends the questions that wait together.
async fn tell(mut write: OwnedWriteHalf, mut questions: mpsc::Receiver<Vec<u8>>) {
    let mut frames = Vec::new();
    while questions.recv_many(&mut frames, INBOX).await > 0 {
        let together =
            if let [frame] = &mut frames[..] { std::mem::take(frame) } else { frames.concat() };
        frames.clear();
        if write.write_all(&together).await.is_err() {
            return;
        }
    }
}
