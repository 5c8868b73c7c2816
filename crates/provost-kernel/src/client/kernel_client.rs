//! The daemon's client of a kernel: one method for each request.
//!
//! When the socket closes, the kernel is lost: every pending request fails, and the reports end.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use provost_core::permit::Permit;
use provost_core::redact::Secrets;
use provost_proto::kernel::{ActionOutcome, HelloResponse, Method, ReportNumber, VisibilityRule};
use provost_proto::runtime::{RuntimeLogPage, RuntimeSnapshot};
use provost_proto::{ActionId, RawJson};
use provost_sandbox::launch;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::cached_reader::CachedReader;
pub use super::kernel_connection::ReportReceiver;
use super::kernel_connection::{KernelConnection, RESPONSE_TIMEOUT};
pub(crate) use super::kernel_connection::{perform_handshake, response_result};
pub use super::kernel_error::KernelError;
use super::kernel_process::KernelProcess;
pub(crate) use super::pending_requests::request_frame;
use crate::kernel_dir::KernelDir;

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
    connection: Arc<KernelConnection>,
    welcome: HelloResponse,
    process: Arc<KernelProcess>,
    cached_reader: Option<Arc<CachedReader>>,
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
        let (connection, welcome, reports) = KernelConnection::open(dir).await?;
        // It has just answered; if it is gone all the same, so is the connection.
        let process = KernelProcess::open(welcome.pid).map_err(|_| KernelError::Lost)?;
        let (connection, process) = (Arc::new(connection), Arc::new(process));
        Ok((Self { connection, welcome, process, cached_reader: None }, reports))
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
        self.connection.is_open()
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
        let (id, action, preconditions) = permit.consume();
        let (action, params) = (action.name().to_owned(), action.params());
        let ExecuteLimits { visibility_rules, readable } = limits;
        let method =
            Method::Execute { id, action, params, visibility_rules, preconditions, readable };
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
        self.connection.send_notification(Method::Acknowledge { up_to }).await
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
        response_result(self.connection.call(method, time_limit).await?)
    }
}

/// Whether an action may have to wait for a build.
fn may_wait_for_build(action: &str) -> bool {
    matches!(action, "runtime.run" | "runtime.restart" | "runtime.build")
}
