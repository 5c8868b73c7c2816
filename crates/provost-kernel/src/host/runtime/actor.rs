//! The one that runs the state machine: single-threaded, so that of two who ask
//! at once, one starts something and the other is told so.
//!
//! Inputs come from whoever asks, from the trees, and from timers; effects are
//! done in the order in which the machine names them.

mod spawn;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use provost_core::runtime::plan::RuntimePlan;
use provost_core::runtime::state_machine::{
    AwaitedState, Millis, RuntimeEffect, RuntimeInput, RuntimeProcessKind, RuntimeReply,
    RuntimeStateMachine as Machine, RuntimeTimer, RuntimeTransition,
};
use provost_proto::ActionId;
use provost_sandbox::confine::Sandbox;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::super::redaction::SharedRedactor;
use super::process_tree::{ProcessTreeHandle, TreeControl, TreeExit};
use super::runtime_change::{LastTreeRun, RuntimeChangeBuilder};
use super::runtime_log::RuntimeLog;
use super::runtime_reporter::RuntimeReporter;
use crate::host::process::command_runner::CommandRunner;

/// Someone asks.
#[derive(Debug)]
pub(super) struct RuntimeRequest {
    pub(super) what: RuntimeOperation,
    pub(super) reply: oneshot::Sender<RuntimeReply>,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub(super) enum RuntimeOperation {
    Run(ActionId, Arc<RuntimePlan>),
    Restart(ActionId, Arc<RuntimePlan>, Millis),
    Build(ActionId, Arc<RuntimePlan>),
    Stop(Millis),
    Shutdown,
}

/// What the actor has to work with.
#[derive(Debug)]
pub(super) struct RuntimeActorContext {
    pub(super) commands: Arc<CommandRunner>,
    pub(super) redacting: Arc<SharedRedactor>,
    pub(super) now: Arc<RuntimeReporter>,
    pub(super) log: Arc<RuntimeLog>,
    /// Our own program, which serves files.
    pub(super) own: PathBuf,
    /// Whether something is alive or on its way.
    pub(super) busy: Arc<AtomicBool>,
}

#[derive(Debug)]
pub(super) struct RuntimeActor {
    means: RuntimeActorContext,
    machine: Machine,
    epoch: Instant,
    wall: Option<Sandbox>,
    /// What each that asked and waits wants to run.
    plans: HashMap<ActionId, Arc<RuntimePlan>>,
    /// What runs.
    plan: Option<Arc<RuntimePlan>>,
    trees: HashMap<RuntimeProcessKind, ProcessTreeHandle>,
    known: [LastTreeRun; 2],
    preview: Option<AbortHandle>,
    timers: HashMap<RuntimeTimer, Instant>,
    grace: Option<Millis>,
    waiting: Vec<(AwaitedState, Option<ActionId>, oneshot::Sender<RuntimeReply>)>,
    news: (mpsc::Sender<TreeExit>, mpsc::Receiver<TreeExit>),
    closed: bool,
}

/// One that asks with an input.
type ReplyTarget = Option<(Option<ActionId>, oneshot::Sender<RuntimeReply>)>;

fn kind_index(which: RuntimeProcessKind) -> usize {
    match which {
        RuntimeProcessKind::Build => 0,
        RuntimeProcessKind::Dev => 1,
    }
}

impl RuntimeActor {
    pub(super) fn new(means: RuntimeActorContext) -> Self {
        Self {
            means,
            machine: Machine::default(),
            epoch: Instant::now(),
            wall: None,
            plans: HashMap::new(),
            plan: None,
            trees: HashMap::new(),
            known: [LastTreeRun::default(), LastTreeRun::default()],
            preview: None,
            timers: HashMap::new(),
            grace: None,
            waiting: Vec::new(),
            news: mpsc::channel(4),
            closed: false,
        }
    }

    /// Works until nobody can ask any more.
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<RuntimeRequest>) {
        loop {
            let timer =
                self.timers.iter().min_by_key(|(_, at)| **at).map(|(timer, at)| (*timer, *at));
            let far = Instant::now() + Duration::from_secs(1 << 30);
            tokio::select! {
                ask = inbox.recv() => match ask {
                    Some(ask) => self.handle_request(ask).await,
                    None => return,
                },
                Some(ended) = self.news.1.recv() => self.handle_tree_exit(ended).await,
                () = sleep_until(timer.map_or(far, |(_, at)| at)) => {
                    if let Some((timer, _)) = timer {
                        self.timers.remove(&timer);
                        self.apply_input(RuntimeInput::TimerExpired(timer), None).await;
                    }
                }
            }
            self.means.busy.store(!self.machine.is_idle(), Ordering::Relaxed);
        }
    }

    async fn handle_request(&mut self, RuntimeRequest { what, reply }: RuntimeRequest) {
        if self.closed && !matches!(what, RuntimeOperation::Shutdown | RuntimeOperation::Stop(_)) {
            let _nobody_waits = reply.send(RuntimeReply::Stopping);
            return;
        }
        let (input, action) = match what {
            RuntimeOperation::Run(action, plan) => {
                let shape = plan.dev_server_options();
                self.plans.insert(action, plan);
                (RuntimeInput::Run { action, shape }, Some(action))
            }
            RuntimeOperation::Restart(action, plan, grace) => {
                let shape = plan.dev_server_options();
                self.plans.insert(action, plan);
                self.grace = Some(grace);
                (RuntimeInput::Restart { action, shape }, Some(action))
            }
            RuntimeOperation::Build(action, plan) => {
                self.plans.insert(action, plan);
                (RuntimeInput::Build { action }, Some(action))
            }
            RuntimeOperation::Stop(grace) => {
                self.grace = Some(grace);
                (RuntimeInput::Stop, None)
            }
            RuntimeOperation::Shutdown => {
                self.closed = true;
                self.grace = None;
                (RuntimeInput::Shutdown, None)
            }
        };
        self.apply_input(input, Some((action, reply))).await;
    }

    /// Nothing of a tree is left: what it said is taken down before it is reported.
    async fn handle_tree_exit(&mut self, TreeExit { which, exit }: TreeExit) {
        if let Some(tree) = self.trees.remove(&which) {
            let known = &mut self.known[kind_index(which)];
            known.lines = tree.heard.last_lines();
            known.text = tree.heard.tail_text();
        }
        if which == RuntimeProcessKind::Dev
            && let Some(watch) = self.preview.take()
        {
            watch.abort();
        }
        self.apply_input(RuntimeInput::Exited { which, exit }, None).await;
        self.apply_input(RuntimeInput::TreeGone { which }, None).await;
    }

    /// Runs the machine, and does what it says until there is nothing left to do.
    async fn apply_input(&mut self, input: RuntimeInput, asker: ReplyTarget) {
        let mut inputs = VecDeque::from([(input, asker)]);
        while let Some((input, mut asker)) = inputs.pop_front() {
            let now = u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX);
            let (machine, effects) = std::mem::take(&mut self.machine).step(now, input);
            self.machine = machine;
            // Whoever looks between two effects must not take us for idle.
            if !self.machine.is_idle() {
                self.means.busy.store(true, Ordering::Relaxed);
            }
            for effect in effects {
                if let Some(next) = self.perform_effect(effect, &mut asker).await {
                    inputs.push_back((next, None));
                }
            }
        }
    }

    async fn perform_effect(
        &mut self,
        effect: RuntimeEffect,
        asker: &mut ReplyTarget,
    ) -> Option<RuntimeInput> {
        match effect {
            RuntimeEffect::Spawn { which, action } => {
                return Some(self.spawn_tree(which, action).await);
            }
            RuntimeEffect::Terminate(which) => self.send_control(which, TreeControl::Terminate),
            RuntimeEffect::Kill(which) => self.send_control(which, TreeControl::Kill),
            RuntimeEffect::Report(said) => self.report_change(said).await,
            RuntimeEffect::StartTimer(timer, wait) => {
                let grace = matches!(timer, RuntimeTimer::Grace(_)).then_some(self.grace).flatten();
                let wait = Duration::from_millis(grace.unwrap_or(wait));
                self.timers.insert(timer, Instant::now() + wait);
            }
            RuntimeEffect::StopTimer(timer) => drop(self.timers.remove(&timer)),
            RuntimeEffect::Wait(line) => {
                if let Some((action, reply)) = asker.take() {
                    self.waiting.push((line, action, reply));
                }
            }
            RuntimeEffect::Answer(reply) => {
                if let Some((action, to)) = asker.take() {
                    self.send_reply(action, to, reply);
                }
            }
            RuntimeEffect::AnswerAll(line, reply) => {
                let (now, later): (Vec<_>, Vec<_>) =
                    std::mem::take(&mut self.waiting).into_iter().partition(|(l, ..)| *l == line);
                self.waiting = later;
                for (_, action, to) in now {
                    self.send_reply(action, to, reply);
                }
            }
        }
        None
    }

    fn send_reply(
        &mut self,
        action: Option<ActionId>,
        to: oneshot::Sender<RuntimeReply>,
        reply: RuntimeReply,
    ) {
        if let Some(action) = action {
            self.plans.remove(&action);
        }
        // Whoever no longer waits does not need it.
        let _nobody_waits = to.send(reply);
    }

    fn send_control(&self, which: RuntimeProcessKind, order: TreeControl) {
        if let Some(tree) = self.trees.get(&which) {
            tree.send_control(order);
        }
    }

    async fn report_change(&mut self, said: RuntimeTransition) {
        if let RuntimeTransition::Starting { action, .. } = said
            && let Some(plan) = self.plans.get(&action)
        {
            self.plan = Some(Arc::clone(plan));
        }
        let command =
            self.plan.as_deref().map(|plan| self.describe_command(plan, RuntimeProcessKind::Dev));
        let facts = RuntimeChangeBuilder {
            plan: self.plan.as_deref(),
            command: command.unwrap_or_default(),
            build: &self.known[0],
            dev: &self.known[1],
            at: self.means.now.current_time(),
        };
        let (action, change) = facts.build_change(said);
        if let Err(error) = self.means.now.report_change(action, change).await {
            tracing::error!(%error, "a change of the runtime could not be reported");
        }
    }
}
