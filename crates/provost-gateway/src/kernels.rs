//! The kernels of the open projects: started when something needs them, found
//! again after a restart, and their reports written to the log.
//!
//! A report is acknowledged when it is in the log, and its number stands in the
//! event. So after a crash of the daemon the log itself says where to go on,
//! and no report is lost or written twice.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use provost_core::fold::{Doc, View};
use provost_kernel::{Kernel, Place, Reports};
use provost_proto::kernel::{Fault, Happened, Outcome, Output, OutputStream, Report};
use provost_proto::{
    ActionId, ActionStatus, ActionView, Actor, Fact, KernelStatus, KernelView, Project, ProjectId,
    ProjectStatus, Stream,
};
use provost_store::{Append, Durability, NewEvent};
use tokio::sync::{Semaphore, oneshot};
use uuid::Uuid;

use crate::actions::{failed, lost};
use crate::{Gateway, GatewayError};

/// Reports written in one append, at most.
const GROUP: usize = 64;

/// How long to wait before trying again to write to a log that failed.
const RETRY: Duration = Duration::from_millis(500);

/// How often a kernel is asked whether it is well.
const BEAT: Duration = Duration::from_secs(2);

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest wait before a kernel that does not stay up is started again.
const BACKOFF: Duration = Duration::from_secs(30);

/// How a project's kernel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelState {
    /// None runs; one is started when something needs it.
    None,
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
pub(crate) struct Kernels {
    connected: Mutex<HashMap<ProjectId, Connected>>,
    waiting: Mutex<HashMap<ActionId, Waiter>>,
    /// One kernel is started at a time.
    turn: Turn,
    failures: Mutex<HashMap<ProjectId, Failures>>,
    /// Those that were told to end.
    ending: Mutex<HashSet<Uuid>>,
}

/// Whose turn it is.
#[derive(Debug)]
struct Turn(Semaphore);

impl Default for Turn {
    fn default() -> Self {
        Self(Semaphore::new(1))
    }
}

#[derive(Debug)]
struct Connected {
    kernel: Kernel,
    beat: Option<Duration>,
}

/// How often a kernel did not stay up.
#[derive(Debug, Default)]
struct Failures {
    count: u32,
    last: Option<Instant>,
}

/// What a command printed, as far as it was kept.
#[derive(Debug, Default)]
pub(crate) struct Printed(Vec<(OutputStream, Vec<u8>)>);

impl Printed {
    fn add(&mut self, output: &Output) {
        if output.dropped > 0 {
            let mark = format!("\n… {} bytes were dropped here …\n", output.dropped);
            self.0.push((output.stream, mark.into_bytes()));
        }
        self.0.push((output.stream, output.data.clone()));
    }

    pub(crate) fn of(&self, stream: OutputStream) -> Vec<u8> {
        self.0.iter().filter(|(of, _)| *of == stream).flat_map(|(_, data)| data.clone()).collect()
    }
}

/// How a command ended, for whoever waits for it.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    pub(crate) output: Printed,
}

#[derive(Debug)]
struct Waiter {
    output: Printed,
    reply: oneshot::Sender<Finished>,
}

/// Someone waits for the end of a command.
#[derive(Debug)]
pub(crate) struct Waiting(oneshot::Receiver<Finished>);

impl Waiting {
    pub(crate) async fn end(self) -> Option<Finished> {
        self.0.await.ok()
    }
}

impl Kernels {
    /// The kernel of a project, if it is connected.
    pub(crate) fn connected(&self, project: ProjectId) -> Option<Kernel> {
        let connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        connected.get(&project).map(|connected| connected.kernel.clone())
    }

    fn failures<T>(&self, project: ProjectId, look: impl FnOnce(&mut Failures) -> T) -> T {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        look(failures.entry(project).or_default())
    }

    /// Asks to be told of the end of a command.
    pub(crate) fn expect(&self, id: ActionId) -> Waiting {
        let (reply, end) = oneshot::channel();
        let waiter = Waiter { output: Printed::default(), reply };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, waiter);
        Waiting(end)
    }

    /// Tells whoever waits what was written to the log.
    fn tell(&self, report: &Report) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that went away are forgotten with the next command that ends.
        match &report.what {
            Happened::Started { .. } => {}
            Happened::Output(output) => {
                if let Some(waiter) = waiting.get_mut(&report.action) {
                    waiter.output.add(output);
                }
            }
            Happened::Finished(outcome) => {
                if let Some(Waiter { output, reply }) = waiting.remove(&report.action) {
                    // The request may have been answered with "it goes on".
                    drop(reply.send(Finished { outcome: outcome.clone(), output }));
                }
            }
        }
    }

    fn forget(&self, id: ActionId, outcome: Outcome) {
        let report = Report { number: 0, action: id, what: Happened::Finished(outcome) };
        self.tell(&report);
    }
}

impl Gateway {
    fn place(&self, project: ProjectId) -> Place {
        Place::at(&self.places.data.join("kernels").join(project.uuid().simple().to_string()))
    }

    /// How a project's kernel is.
    pub fn kernel_state(&self, project: ProjectId) -> KernelState {
        let connected = self.kernels.connected.lock().unwrap_or_else(PoisonError::into_inner);
        match connected.get(&project) {
            None => KernelState::None,
            Some(Connected { kernel, beat }) => {
                let pid = kernel.welcome().pid;
                beat.map_or(KernelState::Unresponsive { pid }, |heartbeat| KernelState::Connected {
                    pid,
                    heartbeat,
                })
            }
        }
    }

    /// The kernel of a project, started if none is there.
    pub(crate) async fn kernel(self: &Arc<Self>, project: &Project) -> Result<Kernel, Fault> {
        if let Some(kernel) = self.kernels.connected(project.id) {
            return Ok(kernel);
        }
        let _turn =
            self.kernels.turn.0.acquire().await.map_err(|_| lost("the daemon is stopping"))?;
        if let Some(kernel) = self.kernels.connected(project.id) {
            return Ok(kernel);
        }
        if let Some(wait) = self.kernels.failures(project.id, |failures| failures.wait()) {
            let seconds = wait.as_secs() + 1;
            return Err(lost(&format!(
                "the project's kernel does not stay up; it is started again in {seconds} s"
            )));
        }
        let place = self.place(project.id);
        let started = Kernel::start(&place, &self.places.program, &self.kernel_args(project)).await;
        match started {
            Ok((kernel, reports)) => {
                let welcome = kernel.welcome();
                let fact = Fact::KernelStarted {
                    project: project.id,
                    boot: welcome.boot,
                    pid: welcome.pid,
                    version: welcome.version.clone(),
                };
                let failed = |error: GatewayError| lost(&error.to_string());
                self.record_in(project.id, vec![fact], Durability::Process)
                    .await
                    .map_err(failed)?;
                self.take_up(project.id, kernel.clone(), reports, 0)
                    .await
                    .map_err(|error| lost(&error))?;
                self.kernels.failures(project.id, Failures::started);
                Ok(kernel)
            }
            Err(error) => {
                self.kernels.failures(project.id, Failures::failed);
                Err(crate::actions::fault(&error))
            }
        }
    }

    fn kernel_args(&self, project: &Project) -> Vec<OsString> {
        let place = self.place(project.id);
        let home = self.places.home.clone().unwrap_or_else(|| "/".into());
        vec![
            "kernel".into(),
            "--place".into(),
            place.folder().into(),
            "--project".into(),
            project.path.clone().into(),
            "--home".into(),
            home.into(),
            "--data".into(),
            self.places.data.clone().into(),
            "--umask".into(),
            self.places.umask.to_string().into(),
            "--idle-seconds".into(),
            self.places.kernel_idle.as_secs().to_string().into(),
        ]
    }

    /// Begins to follow a kernel from behind a report.
    async fn take_up(
        self: &Arc<Self>,
        project: ProjectId,
        kernel: Kernel,
        reports: Reports,
        after: u64,
    ) -> Result<(), String> {
        kernel.attach(after).await.map_err(|error| error.to_string())?;
        let connected = Connected { kernel: kernel.clone(), beat: Some(Duration::ZERO) };
        self.kernels
            .connected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(project, connected);
        tokio::spawn(Arc::clone(self).follow(project, kernel.clone(), reports));
        tokio::spawn(Arc::clone(self).listen_to_heart(project, kernel));
        Ok(())
    }

    /// Writes a kernel's reports to the log until the kernel is lost.
    async fn follow(self: Arc<Self>, project: ProjectId, kernel: Kernel, mut reports: Reports) {
        while let Some(first) = reports.next().await {
            let mut group = vec![first];
            while group.len() < GROUP
                && let Some(next) = reports.now()
            {
                group.push(next);
            }
            let facts: Vec<_> = group.iter().map(|report| fact_of(project, report)).collect();
            // A log that cannot be written stops the kernel's reports, and so its commands.
            while let Err(error) = self.record_in(project, facts.clone(), Durability::Process).await
            {
                if matches!(error, GatewayError::Store(provost_store::StoreError::Closed)) {
                    return;
                }
                tracing::error!(%error, "a kernel's reports cannot be written; trying again");
                tokio::time::sleep(RETRY).await;
            }
            for report in &group {
                self.kernels.tell(report);
            }
            if let Some(last) = group.last()
                && kernel.acknowledge(last.number).await.is_err()
            {
                break;
            }
        }
        self.lose(project, &kernel, "its process ended").await;
    }

    async fn listen_to_heart(self: Arc<Self>, project: ProjectId, kernel: Kernel) {
        while kernel.is_there() {
            tokio::time::sleep(BEAT).await;
            let began = Instant::now();
            let beat = tokio::time::timeout(PATIENCE, kernel.ping()).await;
            let beat = beat.is_ok_and(|answer| answer.is_ok()).then(|| began.elapsed());
            if beat.is_none() && kernel.is_there() {
                tracing::warn!(%project, "the kernel does not answer");
            }
            let mut connected =
                self.kernels.connected.lock().unwrap_or_else(PoisonError::into_inner);
            match connected.get_mut(&project) {
                Some(known) if known.kernel.welcome().boot == kernel.welcome().boot => {
                    known.beat = beat;
                }
                Some(_) | None => return,
            }
        }
    }

    /// A kernel is gone, and with it what ran there.
    async fn lose(&self, project: ProjectId, kernel: &Kernel, why: &str) {
        let boot = kernel.welcome().boot;
        {
            let mut connected =
                self.kernels.connected.lock().unwrap_or_else(PoisonError::into_inner);
            if connected.get(&project).is_some_and(|known| known.kernel.welcome().boot == boot) {
                connected.remove(&project);
            }
        }
        let told = self.kernels.ending.lock().unwrap_or_else(PoisonError::into_inner).remove(&boot);
        let fact = if told {
            Fact::KernelStopped { project, boot }
        } else {
            self.kernels.failures(project, Failures::failed);
            Fact::KernelLost { project, boot, why: why.to_owned() }
        };
        if let Err(error) = self.record_in(project, vec![fact], Durability::Process).await {
            tracing::error!(%error, "the loss of a kernel could not be written");
        }
        if let Err(error) = self.settle(project, &[]).await {
            tracing::error!(%error, "the actions of a lost kernel could not be settled");
        }
    }

    /// Ends, in the log, the actions of a project that nobody carries out.
    async fn settle(&self, project: ProjectId, running: &[ActionId]) -> Result<(), GatewayError> {
        for action in self.unfinished(project).await? {
            if running.contains(&action.id) {
                continue;
            }
            let outcome = failed(lost("the project's kernel was lost while this ran"));
            self.finish(&action, outcome).await?;
        }
        Ok(())
    }

    async fn finish(&self, action: &ActionView, outcome: Outcome) -> Result<(), GatewayError> {
        let fact = Fact::ActionFinished {
            action: action.id,
            project: action.project,
            report: None,
            outcome: outcome.clone(),
        };
        self.record_in(action.project, vec![fact], Durability::Process).await?;
        self.kernels.forget(action.id, outcome);
        Ok(())
    }

    async fn unfinished(&self, project: ProjectId) -> Result<Vec<ActionView>, GatewayError> {
        let actions = self.store.docs(View::Actions).await?.into_iter();
        let actions = actions.filter_map(Doc::into_action);
        Ok(actions
            .filter(|action| action.project == project)
            .filter(|action| matches!(action.status, ActionStatus::Allowed | ActionStatus::Running))
            .collect())
    }

    async fn record_in(
        &self,
        project: ProjectId,
        facts: Vec<Fact>,
        durability: Durability,
    ) -> Result<(), GatewayError> {
        let stream = Stream::Project(project);
        let events = facts.into_iter().map(|fact| NewEvent { stream, fact, cause: None }).collect();
        let append = Append {
            principal: self.owner.principal.clone(),
            actor: Actor::Kernel,
            command: None,
            expect: Vec::new(),
            durability,
            events,
        };
        self.store.append(append).await?;
        Ok(())
    }

    /// Finds the kernels again that lived on while no daemon did.
    pub async fn reattach(self: &Arc<Self>) -> Result<(), GatewayError> {
        let kernels = self.store.docs(View::Kernels).await?.into_iter();
        let known: HashMap<ProjectId, KernelView> =
            kernels.filter_map(Doc::into_kernel).map(|kernel| (kernel.project, kernel)).collect();
        for project in self.all_projects().await? {
            let view = known.get(&project.id).filter(|view| view.status == KernelStatus::Connected);
            match view {
                Some(view) => self.reattach_to(&project, view).await?,
                None => self.settle(project.id, &[]).await?,
            }
        }
        Ok(())
    }

    async fn reattach_to(
        self: &Arc<Self>,
        project: &Project,
        view: &KernelView,
    ) -> Result<(), GatewayError> {
        let found = Kernel::find(&self.place(project.id)).await;
        let Some((kernel, reports)) = found.filter(|(k, _)| k.welcome().boot == view.boot) else {
            let why = "it was gone when the daemon came back".to_owned();
            let fact = Fact::KernelLost { project: project.id, boot: view.boot, why };
            self.record_in(project.id, vec![fact], Durability::Process).await?;
            return self.settle(project.id, &[]).await;
        };
        // Those that ended meanwhile without a report are asked for by name.
        let unfinished = self.unfinished(project.id).await?;
        let ids: Vec<_> = unfinished.iter().map(|action| action.id).collect();
        let outcomes: HashMap<_, _> =
            kernel.outcomes(ids).await.unwrap_or_default().into_iter().collect();
        let running = kernel.welcome().running.clone();
        for action in &unfinished {
            let reported = action.name == "terminal.runCommand"
                && (running.contains(&action.id) || outcomes.contains_key(&action.id));
            if reported || running.contains(&action.id) {
                continue;
            }
            let unknown =
                || failed(lost("the daemon stopped while this ran, and its end is not known"));
            let outcome = outcomes.get(&action.id).cloned().unwrap_or_else(unknown);
            self.finish(action, outcome).await?;
        }
        let reached = view.reached;
        if project.status == ProjectStatus::Closed {
            drop(kernel.shut_down().await);
        }
        if let Err(why) = self.take_up(project.id, kernel, reports, reached).await {
            tracing::warn!(why, "a kernel was lost while it was found again");
        }
        Ok(())
    }

    /// Stops the kernel of a project, and everything in it.
    pub async fn stop_kernel(&self, project: ProjectId) {
        let Some(kernel) = self.kernels.connected(project) else { return };
        self.kernels
            .ending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(kernel.welcome().boot);
        if let Err(error) = kernel.shut_down().await {
            tracing::warn!(%error, "a kernel did not stop when it was told to; it is killed");
            kernel.kill();
        }
    }

    /// Stops all kernels.
    pub async fn stop_kernels(&self) {
        let projects: Vec<_> = {
            let connected = self.kernels.connected.lock().unwrap_or_else(PoisonError::into_inner);
            connected.keys().copied().collect()
        };
        for project in projects {
            self.stop_kernel(project).await;
        }
        let began = Instant::now();
        // Their losses are written as they end; wait for that, but not for ever.
        while began.elapsed() < PATIENCE {
            let left = self.kernels.connected.lock().unwrap_or_else(PoisonError::into_inner).len();
            if left == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Failures {
    /// How long to wait before the next start.
    fn wait(&self) -> Option<Duration> {
        let pause = Duration::from_secs(1) * 2_u32.saturating_pow(self.count.saturating_sub(3));
        let since = self.last?.elapsed();
        (self.count > 2).then(|| pause.min(BACKOFF).checked_sub(since)).flatten()
    }

    fn failed(&mut self) {
        // One that stayed up for a while has not failed to.
        let quick = self.last.is_some_and(|last| last.elapsed() < BACKOFF * 2);
        self.count = if quick { self.count.saturating_add(1) } else { 1 };
        self.last = Some(Instant::now());
    }

    fn started(&mut self) {
        self.last = Some(Instant::now());
    }
}

fn fact_of(project: ProjectId, report: &Report) -> Fact {
    let (action, number) = (report.action, report.number);
    match report.what.clone() {
        Happened::Started { pid, profile, layers } => {
            Fact::ActionStarted { action, project, report: number, pid, profile, layers }
        }
        Happened::Output(output) => Fact::ActionOutput { action, project, report: number, output },
        Happened::Finished(outcome) => {
            Fact::ActionFinished { action, project, report: Some(number), outcome }
        }
    }
}
