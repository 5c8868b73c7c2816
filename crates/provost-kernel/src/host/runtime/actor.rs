//! The actor that runs the state machine. Requests are handled one at a time, so of
//! two concurrent starts, one starts something and the other learns that it runs.
//!
//! Inputs come from requests, process trees and timers; effects are performed in
//! the order in which the state machine returns them.

mod spawn;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use provost_core::policy::PathVisibility;
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

/// A request to the actor.
#[derive(Debug)]
pub(super) struct RuntimeRequest {
    pub(super) operation: RuntimeOperation,
    pub(super) reply: oneshot::Sender<RuntimeReply>,
}

/// What an action runs, and what it must not write.
#[derive(Debug, Clone)]
pub(super) struct PreparedRun {
    pub(super) plan: Arc<RuntimePlan>,
    /// The paths that rules deny its requester to write.
    pub(super) write_denials: Option<Arc<PathVisibility>>,
}

/// The requested operation.
#[derive(Debug, Clone)]
pub(super) enum RuntimeOperation {
    Run(ActionId, PreparedRun),
    Restart(ActionId, PreparedRun, Millis),
    Build(ActionId, PreparedRun),
    Stop(Millis),
    Shutdown,
}

/// What the actor works with.
#[derive(Debug)]
pub(super) struct RuntimeActorContext {
    pub(super) commands: Arc<CommandRunner>,
    pub(super) shared_redactor: Arc<SharedRedactor>,
    pub(super) reporter: Arc<RuntimeReporter>,
    pub(super) log: Arc<RuntimeLog>,
    /// Our own program, which serves static files.
    pub(super) own_program: PathBuf,
    /// Whether a process is alive or about to start.
    pub(super) busy: Arc<AtomicBool>,
}

#[derive(Debug)]
pub(super) struct RuntimeActor {
    context: RuntimeActorContext,
    machine: Machine,
    epoch: Instant,
    sandbox: Option<Sandbox>,
    /// The run of each action that waits.
    prepared: HashMap<ActionId, PreparedRun>,
    /// The current run.
    current: Option<PreparedRun>,
    trees: HashMap<RuntimeProcessKind, ProcessTreeHandle>,
    last_runs: [LastTreeRun; 2],
    preview: Option<AbortHandle>,
    timers: HashMap<RuntimeTimer, Instant>,
    grace: Option<Millis>,
    waiting: Vec<(AwaitedState, Option<ActionId>, oneshot::Sender<RuntimeReply>)>,
    exits: (mpsc::Sender<TreeExit>, mpsc::Receiver<TreeExit>),
    closed: bool,
}

/// Where to send the reply to an input.
type ReplyTarget = Option<(Option<ActionId>, oneshot::Sender<RuntimeReply>)>;

fn kind_index(which: RuntimeProcessKind) -> usize {
    match which {
        RuntimeProcessKind::Build => 0,
        RuntimeProcessKind::Dev => 1,
    }
}

impl RuntimeActor {
    pub(super) fn new(context: RuntimeActorContext) -> Self {
        Self {
            context,
            machine: Machine::default(),
            epoch: Instant::now(),
            sandbox: None,
            prepared: HashMap::new(),
            current: None,
            trees: HashMap::new(),
            last_runs: [LastTreeRun::default(), LastTreeRun::default()],
            preview: None,
            timers: HashMap::new(),
            grace: None,
            waiting: Vec::new(),
            exits: mpsc::channel(4),
            closed: false,
        }
    }

    /// Runs until all handles are dropped.
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<RuntimeRequest>) {
        loop {
            let timer =
                self.timers.iter().min_by_key(|(_, at)| **at).map(|(timer, at)| (*timer, *at));
            let far = Instant::now() + Duration::from_secs(1 << 30);
            tokio::select! {
                request = inbox.recv() => match request {
                    Some(request) => self.handle_request(request).await,
                    None => return,
                },
                Some(ended) = self.exits.1.recv() => self.handle_tree_exit(ended).await,
                () = sleep_until(timer.map_or(far, |(_, at)| at)) => {
                    if let Some((timer, _)) = timer {
                        self.timers.remove(&timer);
                        self.apply_input(RuntimeInput::TimerExpired(timer), None).await;
                    }
                }
            }
            self.context.busy.store(!self.machine.is_idle(), Ordering::Relaxed);
        }
    }

    async fn handle_request(&mut self, RuntimeRequest { operation, reply }: RuntimeRequest) {
        if self.closed
            && !matches!(operation, RuntimeOperation::Shutdown | RuntimeOperation::Stop(_))
        {
            let _ = reply.send(RuntimeReply::Stopping);
            return;
        }
        let (input, action) = match operation {
            RuntimeOperation::Run(action, run) => {
                let shape = run.plan.dev_server_options();
                self.prepared.insert(action, run);
                (RuntimeInput::Run { action, shape }, Some(action))
            }
            RuntimeOperation::Restart(action, run, grace) => {
                let shape = run.plan.dev_server_options();
                self.prepared.insert(action, run);
                self.grace = Some(grace);
                (RuntimeInput::Restart { action, shape }, Some(action))
            }
            RuntimeOperation::Build(action, run) => {
                self.prepared.insert(action, run);
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

    /// A tree has ended: keeps its last output, and passes the exit to the state machine.
    async fn handle_tree_exit(&mut self, TreeExit { which, exit }: TreeExit) {
        if let Some(tree) = self.trees.remove(&which) {
            let last_run = &mut self.last_runs[kind_index(which)];
            last_run.lines = tree.output_tail.last_lines();
            last_run.text = tree.output_tail.tail_text();
        }
        if which == RuntimeProcessKind::Dev
            && let Some(watch) = self.preview.take()
        {
            watch.abort();
        }
        self.apply_input(RuntimeInput::Exited { which, exit }, None).await;
        self.apply_input(RuntimeInput::TreeGone { which }, None).await;
    }

    /// Passes an input to the state machine, and performs the effects until none is left.
    async fn apply_input(&mut self, input: RuntimeInput, reply_target: ReplyTarget) {
        let mut inputs = VecDeque::from([(input, reply_target)]);
        while let Some((input, mut reply_target)) = inputs.pop_front() {
            let now = u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX);
            let (machine, effects) = std::mem::take(&mut self.machine).step(now, input);
            self.machine = machine;
            // A reader between two effects must not see us as idle.
            if !self.machine.is_idle() {
                self.context.busy.store(true, Ordering::Relaxed);
            }
            for effect in effects {
                if let Some(next) = self.perform_effect(effect, &mut reply_target).await {
                    inputs.push_back((next, None));
                }
            }
        }
    }

    async fn perform_effect(
        &mut self,
        effect: RuntimeEffect,
        reply_target: &mut ReplyTarget,
    ) -> Option<RuntimeInput> {
        match effect {
            RuntimeEffect::Spawn { which, action } => {
                return Some(self.spawn_tree(which, action).await);
            }
            RuntimeEffect::Terminate(which) => self.send_control(which, TreeControl::Terminate),
            RuntimeEffect::Kill(which) => self.send_control(which, TreeControl::Kill),
            RuntimeEffect::Report(transition) => self.report_change(transition).await,
            RuntimeEffect::StartTimer(timer, wait) => {
                let grace = matches!(timer, RuntimeTimer::Grace(_)).then_some(self.grace).flatten();
                let wait = Duration::from_millis(grace.unwrap_or(wait));
                self.timers.insert(timer, Instant::now() + wait);
            }
            RuntimeEffect::StopTimer(timer) => drop(self.timers.remove(&timer)),
            RuntimeEffect::Wait(awaited) => {
                if let Some((action, reply)) = reply_target.take() {
                    self.waiting.push((awaited, action, reply));
                }
            }
            RuntimeEffect::Answer(reply) => {
                if let Some((action, to)) = reply_target.take() {
                    self.send_reply(action, to, reply);
                }
            }
            RuntimeEffect::AnswerAll(awaited, reply) => {
                let (ready, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
                    .into_iter()
                    .partition(|(state, ..)| *state == awaited);
                self.waiting = rest;
                for (_, action, to) in ready {
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
            self.prepared.remove(&action);
        }
        // The caller may have stopped waiting.
        let _ = to.send(reply);
    }

    fn send_control(&self, which: RuntimeProcessKind, control: TreeControl) {
        if let Some(tree) = self.trees.get(&which) {
            tree.send_control(control);
        }
    }

    async fn report_change(&mut self, transition: RuntimeTransition) {
        if let RuntimeTransition::Starting { action, .. } = transition
            && let Some(run) = self.prepared.get(&action)
        {
            self.current = Some(run.clone());
        }
        let plan = self.current.as_ref().map(|run| &*run.plan);
        let command = plan.map(|plan| self.describe_command(plan, RuntimeProcessKind::Dev));
        let builder = RuntimeChangeBuilder {
            plan,
            command: command.unwrap_or_default(),
            build: &self.last_runs[0],
            dev: &self.last_runs[1],
            at: self.context.reporter.current_time(),
        };
        let (action, change) = builder.build_change(transition);
        if let Err(error) = self.context.reporter.report_change(action, change).await {
            tracing::error!(%error, "cannot report a runtime change");
        }
    }
}
