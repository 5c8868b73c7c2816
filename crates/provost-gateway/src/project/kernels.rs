//! The kernels of the open projects: started on demand, found again after a restart of the
//! daemon, and their reports written to the log.
//!
//! A report is acknowledged after it is in the log, and its number is part of the event. So
//! after a crash of the daemon the log itself says where to continue, and no report is lost
//! or written twice.

mod command_waiters;
pub(crate) mod faults;
mod monitor;
mod orphaned_actions;
mod reattach;
mod report_progress;
mod restart_backoff;

use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use provost_core::fold::{ViewDocument, ViewKind};
use provost_kernel::{
    CachedReader, KernelClient, KernelDir, KernelError, ReportReceiver, run_homes,
};
use provost_proto::kernel::{ErrorInfo, ReportNumber};
use provost_proto::{ActionId, Actor, Code, Fact, Project, ProjectId, ProjectStatus, UnixMicros};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::timeout;
use uuid::Uuid;

use crate::event_log::EventLog;
use crate::{GatewayConfig, GatewayError};
use command_waiters::CommandWaiter;
pub(crate) use command_waiters::{FinishedCommand, FinishedCommandReceiver};
use faults::{fault_from_kernel_error, kernel_lost_fault};
use restart_backoff::KernelRestartBackoff;

/// How long a kernel may take to respond.
const KERNEL_RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The state of a project's kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelState {
    /// No kernel runs; it is started on demand.
    NotRunning,
    /// The kernel responds.
    Connected {
        /// The process id of the kernel.
        pid: u32,
        /// The round trip of the last heartbeat.
        heartbeat: Duration,
    },
    /// The kernel runs, but does not respond in time.
    Unresponsive {
        /// The process id of the kernel.
        pid: u32,
    },
}

/// The kernels of all projects.
#[derive(Debug)]
pub struct KernelPool {
    log: Arc<EventLog>,
    config: Arc<GatewayConfig>,
    connected: Mutex<HashMap<ProjectId, ConnectedKernel>>,
    command_waiters: Mutex<HashMap<ActionId, CommandWaiter>>,
    /// One kernel is started at a time.
    start_lock: Semaphore,
    restart_backoffs: Mutex<HashMap<ProjectId, KernelRestartBackoff>>,
    /// Boot ids of the kernels that were told to stop.
    stopping: Mutex<HashSet<Uuid>>,
}

#[derive(Debug)]
struct ConnectedKernel {
    kernel: KernelClient,
    /// The round trip of the last heartbeat; `None` if the kernel does not respond.
    heartbeat: Option<Duration>,
    /// The last report that is in the log.
    logged_reports: watch::Sender<ReportNumber>,
    /// Closed when the kernel is gone and the log says so.
    report_loop: mpsc::Sender<Infallible>,
}

impl KernelPool {
    pub(crate) fn new(log: Arc<EventLog>, config: Arc<GatewayConfig>) -> Self {
        Self {
            log,
            config,
            connected: Mutex::default(),
            command_waiters: Mutex::default(),
            start_lock: Semaphore::new(1),
            restart_backoffs: Mutex::default(),
            stopping: Mutex::default(),
        }
    }

    /// The kernel of a project, if it is connected.
    pub(crate) fn connected(&self, project: ProjectId) -> Option<KernelClient> {
        let connected = self.connected.lock();
        connected.get(&project).map(|connected| connected.kernel.clone())
    }

    pub(crate) fn kernel_dir(&self, project: ProjectId) -> KernelDir {
        KernelDir::new(&self.config.data.join("kernels").join(project.uuid().simple().to_string()))
    }

    /// Remembers when a project was closed: the home of its runs is removed some time later.
    pub(crate) async fn mark_home_closed(&self, project: ProjectId) {
        let (data, name) = (self.config.data.clone(), project.uuid().simple().to_string());
        let now = to_system_time(self.log.now());
        let marked =
            tokio::task::spawn_blocking(move || run_homes::mark_closed(&data, &name, now)).await;
        if let Ok(Err(error)) = marked {
            tracing::warn!(%error, %project, "cannot mark the home of a closed project");
        }
    }

    /// Removes, in the background, the homes of runs of projects that were closed long ago.
    pub(crate) async fn remove_unused_homes(&self, projects: &[Project]) {
        let is_open = |project: &&Project| project.status == ProjectStatus::Open;
        let open = projects.iter().filter(is_open);
        let open: HashSet<_> = open.map(|project| project.id.uuid().simple().to_string()).collect();
        let (data, now) = (self.config.data.clone(), to_system_time(self.log.now()));
        let retire = move || run_homes::retire_unused(&data, |name| open.contains(name), now);
        match tokio::task::spawn_blocking(retire).await {
            Ok(Ok(retired)) if retired.is_empty() => {}
            // A home can hold large caches.
            Ok(Ok(retired)) => drop(tokio::task::spawn_blocking(move || {
                if let Err(error) = run_homes::remove_homes(&retired) {
                    tracing::warn!(%error, "cannot remove a home of a closed project");
                }
            })),
            Ok(Err(error)) => tracing::warn!(%error, "cannot retire homes of closed projects"),
            Err(error) => tracing::error!(%error, "retiring homes of closed projects panicked"),
        }
    }

    /// The state of a project's kernel.
    pub fn kernel_state(&self, project: ProjectId) -> KernelState {
        let connected = self.connected.lock();
        match connected.get(&project) {
            None => KernelState::NotRunning,
            Some(ConnectedKernel { kernel, heartbeat, .. }) => {
                let pid = kernel.welcome().pid;
                heartbeat.map_or(KernelState::Unresponsive { pid }, |heartbeat| {
                    KernelState::Connected { pid, heartbeat }
                })
            }
        }
    }

    /// The kernel of a project; starts it if none runs.
    pub(crate) async fn ensure_kernel(
        self: &Arc<Self>,
        project: &Project,
    ) -> Result<KernelClient, ErrorInfo> {
        match self.connected(project.id) {
            Some(kernel) => Ok(kernel),
            None => Box::pin(self.start_kernel(project)).await,
        }
    }

    async fn start_kernel(self: &Arc<Self>, project: &Project) -> Result<KernelClient, ErrorInfo> {
        let _start_permit = self
            .start_lock
            .acquire()
            .await
            .map_err(|_| kernel_lost_fault("the daemon is stopping"))?;
        if let Some(kernel) = self.connected(project.id) {
            return Ok(kernel);
        }
        if !self.is_open(project.id).await.map_err(|error| kernel_lost_fault(&error.to_string()))? {
            let message = GatewayError::ProjectClosed.to_string();
            return Err(ErrorInfo { code: Code::Conflict, message, details: None });
        }
        if let Some(delay) = self.with_backoff(project.id, |backoff| backoff.remaining_delay()) {
            let seconds = delay.as_secs() + 1;
            return Err(kernel_lost_fault(&format!(
                "the project's kernel does not stay up; it is started again in {seconds} s"
            )));
        }
        let (dir, args) = (self.kernel_dir(project.id), self.kernel_args(project));
        let (program, settings) = (&self.config.program, self.config.daemon_settings());
        match KernelClient::start(&dir, program, &args, settings).await {
            Ok((kernel, reports)) => {
                let kernel = kernel.with_cached_reader(self.cached_reader(project));
                self.record_start(project.id, &kernel)
                    .await
                    .map_err(|error| kernel_lost_fault(&error.to_string()))?;
                self.attach_kernel(project.id, kernel.clone(), reports, 0)
                    .await
                    .map_err(|error| kernel_lost_fault(&error.to_string()))?;
                self.with_backoff(project.id, KernelRestartBackoff::record_start);
                Ok(kernel)
            }
            Err(error) => {
                self.with_backoff(project.id, KernelRestartBackoff::record_failure);
                Err(fault_from_kernel_error(&error))
            }
        }
    }

    /// Whether a project is open according to the log: it may have been closed since it was asked
    /// for.
    async fn is_open(&self, project: ProjectId) -> Result<bool, GatewayError> {
        let found = self.log.store().get_document(ViewKind::Projects, project.uuid()).await?;
        Ok(matches!(found, Some(ViewDocument::Project(it)) if it.status == ProjectStatus::Open))
    }

    /// Reads files of a project in this process if they are in memory.
    fn cached_reader(&self, project: &Project) -> CachedReader {
        CachedReader::new((&*project.path).into(), self.log.shared_redactor())
    }

    async fn record_start(
        &self,
        project: ProjectId,
        kernel: &KernelClient,
    ) -> Result<(), GatewayError> {
        let welcome = kernel.welcome();
        let fact = Fact::KernelStarted {
            project,
            boot: welcome.boot,
            pid: welcome.pid,
            version: welcome.version.clone(),
        };
        self.log.record_project_events(project, Actor::Kernel, vec![fact]).await
    }

    fn kernel_args(&self, project: &Project) -> Vec<OsString> {
        let home = self.config.home.clone().unwrap_or_else(|| "/".into());
        vec![
            "kernel".into(),
            "--place".into(),
            self.kernel_dir(project.id).path().into(),
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

    /// Starts to follow the reports of a kernel after the given one, and its heartbeat.
    async fn attach_kernel(
        self: &Arc<Self>,
        project: ProjectId,
        kernel: KernelClient,
        reports: ReportReceiver,
        after: ReportNumber,
    ) -> Result<(), KernelError> {
        kernel.subscribe_reports(after).await?;
        let (report_loop, ended) = mpsc::channel(1);
        let connected = ConnectedKernel {
            kernel: kernel.clone(),
            heartbeat: Some(Duration::ZERO),
            logged_reports: watch::Sender::new(after),
            report_loop,
        };
        self.connected.lock().insert(project, connected);
        let following = Arc::clone(self).run_report_loop(project, kernel.clone(), reports);
        tokio::spawn(async move {
            following.await;
            drop(ended);
        });
        tokio::spawn(Arc::clone(self).run_heartbeat(project, kernel));
        Ok(())
    }

    /// Kills a kernel that does not respond, and everything in it.
    pub(crate) async fn kill_kernel(&self, project: ProjectId) {
        let Some((kernel, report_loop)) = self.mark_stopping(project) else { return };
        kill_and_wait(&kernel, &report_loop).await;
    }

    /// Stops the kernel of a project, and everything in it. Waits for its end, because the
    /// next kernel of the project uses the same folder.
    pub async fn stop_kernel(&self, project: ProjectId) {
        let Some((kernel, report_loop)) = self.mark_stopping(project) else { return };
        match kernel.shut_down().await {
            Ok(()) if has_ended(&kernel, &report_loop).await => return,
            Ok(()) => tracing::warn!("a kernel is still there after it was stopped; killing it"),
            Err(error) => {
                tracing::warn!(%error, "a kernel did not stop when it was told to; killing it");
            }
        }
        kill_and_wait(&kernel, &report_loop).await;
    }

    /// Stops the kernel of a project that the log says is closed, also one that is being started.
    /// No other one is started before the project is opened again.
    pub(crate) async fn stop_closed_kernel(&self, project: ProjectId) {
        // Whoever holds it may have read that the project is open.
        drop(self.start_lock.acquire().await);
        self.stop_kernel(project).await;
    }

    /// Stops all kernels.
    pub async fn stop_kernels(&self) {
        let projects: Vec<_> = {
            let connected = self.connected.lock();
            connected.keys().copied().collect()
        };
        for project in projects {
            self.stop_kernel(project).await;
        }
    }

    /// Notes that the end of a kernel is intended. Returns the kernel and the channel that
    /// closes when it is gone.
    fn mark_stopping(
        &self,
        project: ProjectId,
    ) -> Option<(KernelClient, mpsc::Sender<Infallible>)> {
        let connected = self.connected.lock();
        let known = connected.get(&project)?;
        let (kernel, report_loop) = (known.kernel.clone(), known.report_loop.clone());
        self.stopping.lock().insert(kernel.welcome().boot);
        Some((kernel, report_loop))
    }

    /// The number of the last report in the log, as it grows; ends with the kernel.
    fn subscribe_logged_reports(
        &self,
        project: ProjectId,
    ) -> Option<watch::Receiver<ReportNumber>> {
        let connected = self.connected.lock();
        connected.get(&project).map(|known| known.logged_reports.subscribe())
    }

    fn with_backoff<T>(
        &self,
        project: ProjectId,
        change: impl FnOnce(&mut KernelRestartBackoff) -> T,
    ) -> T {
        let mut backoffs = self.restart_backoffs.lock();
        change(backoffs.entry(project).or_default())
    }
}

/// The time of the log as that of files.
fn to_system_time(at: UnixMicros) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(at)
}

/// Whether a kernel's last report is handled and its process has exited, in time.
async fn has_ended(kernel: &KernelClient, report_loop: &mpsc::Sender<Infallible>) -> bool {
    let ended = async { tokio::join!(report_loop.closed(), kernel.wait_for_exit()) };
    timeout(KERNEL_RESPONSE_TIMEOUT, ended).await.is_ok()
}

async fn kill_and_wait(kernel: &KernelClient, report_loop: &mpsc::Sender<Infallible>) {
    kernel.kill();
    if !has_ended(kernel, report_loop).await {
        tracing::warn!("a kernel is still there after it was killed");
    }
}
