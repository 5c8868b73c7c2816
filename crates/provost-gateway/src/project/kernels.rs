//! The kernels of the open projects: started when something needs them, found
//! again after a restart, and their reports written to the log.
//!
//! A report is acknowledged when it is in the log, and its number stands in the
//! event. So after a crash of the daemon the log itself says where to go on,
//! and no report is lost or written twice.

mod command_waiters;
mod monitor;
mod reattach;

use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_kernel::{KernelClient, KernelDir, ReportReceiver};
use provost_proto::kernel::ErrorInfo;
use provost_proto::{ActionId, Fact, Project, ProjectId};
use provost_store::Durability;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use uuid::Uuid;

use crate::project::executor::kernel_lost_fault;
use crate::{Gateway, GatewayError};
use command_waiters::CommandWaiter;
pub(crate) use command_waiters::{FinishedCommand, FinishedCommandReceiver};

/// How long a kernel may take to answer.
const KERNEL_RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest wait before a kernel that does not stay up is started again.
const MAX_RESTART_BACKOFF: Duration = Duration::from_secs(30);

/// How a project's kernel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelState {
    /// None runs; one is started when something needs it.
    NotRunning,
    /// It answers; its last heartbeat took so long.
    Connected {
        /// Its process id.
        pid: u32,
        /// How long the last heartbeat took.
        heartbeat: Duration,
    },
    /// It is there, but does not answer in time.
    Unresponsive {
        /// Its process id.
        pid: u32,
    },
}

#[derive(Debug, Default)]
pub(crate) struct KernelRegistry {
    connected: Mutex<HashMap<ProjectId, ConnectedKernel>>,
    waiting: Mutex<HashMap<ActionId, CommandWaiter>>,
    /// One kernel is started at a time.
    turn: KernelStartLock,
    failures: Mutex<HashMap<ProjectId, KernelRestartBackoff>>,
    /// Those that were told to end.
    ending: Mutex<HashSet<Uuid>>,
}

/// Whose turn it is.
#[derive(Debug)]
struct KernelStartLock(Semaphore);

impl Default for KernelStartLock {
    fn default() -> Self {
        Self(Semaphore::new(1))
    }
}

#[derive(Debug)]
struct ConnectedKernel {
    kernel: KernelClient,
    beat: Option<Duration>,
    /// Closed when it is gone and the log says so.
    followed: mpsc::Sender<Infallible>,
}

/// How often a kernel did not stay up.
#[derive(Debug, Default)]
struct KernelRestartBackoff {
    count: u32,
    last: Option<Instant>,
}
impl KernelRegistry {
    /// The kernel of a project, if it is connected.
    pub(crate) fn connected(&self, project: ProjectId) -> Option<KernelClient> {
        let connected = self.connected.lock();
        connected.get(&project).map(|connected| connected.kernel.clone())
    }

    /// The kernel of a project, which is to end, with what is closed when it is gone.
    fn mark_ending(&self, project: ProjectId) -> Option<(KernelClient, mpsc::Sender<Infallible>)> {
        let connected = self.connected.lock();
        let known = connected.get(&project)?;
        let (kernel, followed) = (known.kernel.clone(), known.followed.clone());
        let boot = kernel.welcome().boot;
        self.ending.lock().insert(boot);
        Some((kernel, followed))
    }

    fn with_restart_backoff<T>(
        &self,
        project: ProjectId,
        look: impl FnOnce(&mut KernelRestartBackoff) -> T,
    ) -> T {
        let mut failures = self.failures.lock();
        look(failures.entry(project).or_default())
    }
}

impl Gateway {
    pub(crate) fn kernel_dir(&self, project: ProjectId) -> KernelDir {
        KernelDir::new(&self.config.data.join("kernels").join(project.uuid().simple().to_string()))
    }

    /// How a project's kernel is.
    pub fn kernel_state(&self, project: ProjectId) -> KernelState {
        let connected = self.kernels.connected.lock();
        match connected.get(&project) {
            None => KernelState::NotRunning,
            Some(ConnectedKernel { kernel, beat, .. }) => {
                let pid = kernel.welcome().pid;
                beat.map_or(KernelState::Unresponsive { pid }, |heartbeat| KernelState::Connected {
                    pid,
                    heartbeat,
                })
            }
        }
    }

    /// The kernel of a project, started if none is there.
    pub(crate) async fn ensure_kernel(
        self: &Arc<Self>,
        project: &Project,
    ) -> Result<KernelClient, ErrorInfo> {
        match self.kernels.connected(project.id) {
            Some(kernel) => Ok(kernel),
            None => Box::pin(self.start_kernel(project)).await,
        }
    }

    async fn start_kernel(self: &Arc<Self>, project: &Project) -> Result<KernelClient, ErrorInfo> {
        let _guard = self
            .kernels
            .turn
            .0
            .acquire()
            .await
            .map_err(|_| kernel_lost_fault("the daemon is stopping"))?;
        if let Some(kernel) = self.kernels.connected(project.id) {
            return Ok(kernel);
        }
        if let Some(wait) =
            self.kernels.with_restart_backoff(project.id, |failures| failures.remaining_delay())
        {
            let seconds = wait.as_secs() + 1;
            return Err(kernel_lost_fault(&format!(
                "the project's kernel does not stay up; it is started again in {seconds} s"
            )));
        }
        let place = self.kernel_dir(project.id);
        let (args, secrets) = (self.kernel_args(project), &self.config.secrets);
        let started = KernelClient::start(&place, &self.config.program, &args, secrets).await;
        match started {
            Ok((kernel, reports)) => {
                let welcome = kernel.welcome();
                let fact = Fact::KernelStarted {
                    project: project.id,
                    boot: welcome.boot,
                    pid: welcome.pid,
                    version: welcome.version.clone(),
                };
                let failed = |error: GatewayError| kernel_lost_fault(&error.to_string());
                self.record_kernel_facts(project.id, vec![fact], Durability::Buffered)
                    .await
                    .map_err(failed)?;
                self.attach_kernel(project.id, kernel.clone(), reports, 0)
                    .await
                    .map_err(|error| kernel_lost_fault(&error))?;
                self.kernels.with_restart_backoff(project.id, KernelRestartBackoff::record_start);
                Ok(kernel)
            }
            Err(error) => {
                self.kernels.with_restart_backoff(project.id, KernelRestartBackoff::record_failure);
                Err(crate::project::executor::fault_from_kernel_error(&error))
            }
        }
    }

    fn kernel_args(&self, project: &Project) -> Vec<OsString> {
        let place = self.kernel_dir(project.id);
        let home = self.config.home.clone().unwrap_or_else(|| "/".into());
        vec![
            "kernel".into(),
            "--place".into(),
            place.path().into(),
            "--project".into(),
            project.path.clone().into(),
            "--home".into(),
            home.into(),
            "--data".into(),
            self.config.data.clone().into(),
            "--umask".into(),
            self.config.umask.to_string().into(),
            "--idle-seconds".into(),
            self.config.kernel_idle.as_secs().to_string().into(),
        ]
    }

    /// Begins to follow a kernel from behind a report.
    async fn attach_kernel(
        self: &Arc<Self>,
        project: ProjectId,
        kernel: KernelClient,
        reports: ReportReceiver,
        after: u64,
    ) -> Result<(), String> {
        kernel.subscribe_reports(after).await.map_err(|error| error.to_string())?;
        let (followed, follows) = mpsc::channel(1);
        let beat = Some(Duration::ZERO);
        let connected = ConnectedKernel { kernel: kernel.clone(), beat, followed };
        self.kernels.connected.lock().insert(project, connected);
        let following = Arc::clone(self).run_report_loop(project, kernel.clone(), reports);
        tokio::spawn(async move {
            following.await;
            drop(follows);
        });
        tokio::spawn(Arc::clone(self).run_heartbeat(project, kernel));
        Ok(())
    }

    /// Ends a kernel that does not answer, and everything in it.
    pub(crate) async fn kill_kernel(&self, project: ProjectId) {
        let Some((kernel, followed)) = self.kernels.mark_ending(project) else { return };
        kernel.kill();
        if timeout(KERNEL_RESPONSE_TIMEOUT, followed.closed()).await.is_err() {
            tracing::warn!("a kernel that was killed is not gone");
        }
    }

    /// Stops the kernel of a project, and everything in it.
    pub async fn stop_kernel(&self, project: ProjectId) {
        let Some((kernel, followed)) = self.kernels.mark_ending(project) else { return };
        if let Err(error) = kernel.shut_down().await {
            tracing::warn!(%error, "a kernel did not stop when it was told to; it is killed");
            kernel.kill();
        }
        // The next one may be wanted at once, and takes the place of this one.
        if timeout(KERNEL_RESPONSE_TIMEOUT, followed.closed()).await.is_err() {
            tracing::warn!("a kernel that was stopped is not gone; it is killed");
            kernel.kill();
        }
    }

    /// Stops all kernels.
    pub async fn stop_kernels(&self) {
        let projects: Vec<_> = {
            let connected = self.kernels.connected.lock();
            connected.keys().copied().collect()
        };
        for project in projects {
            self.stop_kernel(project).await;
        }
    }
}

impl KernelRestartBackoff {
    /// How long to wait before the next start.
    fn remaining_delay(&self) -> Option<Duration> {
        let pause = Duration::from_secs(1) * 2_u32.saturating_pow(self.count.saturating_sub(3));
        let since = self.last?.elapsed();
        (self.count > 2).then(|| pause.min(MAX_RESTART_BACKOFF).checked_sub(since)).flatten()
    }

    fn record_failure(&mut self) {
        // One that stayed up for a while has not failed to.
        let quick = self.last.is_some_and(|last| last.elapsed() < MAX_RESTART_BACKOFF * 2);
        self.count = if quick { self.count.saturating_add(1) } else { 1 };
        self.last = Some(Instant::now());
    }

    fn record_start(&mut self) {
        self.last = Some(Instant::now());
    }
}
