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

use super::super::commands::Commands;
use super::super::redacting::Redacting;
use super::child::{Ended, Order, Tree};
use super::log::Log;
use super::now::Now;
use super::said::{Facts, Known};

/// Someone asks.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) what: What,
    pub(super) reply: oneshot::Sender<RuntimeReply>,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub(super) enum What {
    Run(ActionId, Arc<RuntimePlan>),
    Restart(ActionId, Arc<RuntimePlan>, Millis),
    Build(ActionId, Arc<RuntimePlan>),
    Stop(Millis),
    Shutdown,
}

/// What the actor has to work with.
#[derive(Debug)]
pub(super) struct Means {
    pub(super) commands: Arc<Commands>,
    pub(super) redacting: Arc<Redacting>,
    pub(super) now: Arc<Now>,
    pub(super) log: Arc<Log>,
    /// Our own program, which serves files.
    pub(super) own: PathBuf,
    /// Whether something is alive or on its way.
    pub(super) busy: Arc<AtomicBool>,
}

#[derive(Debug)]
pub(super) struct Actor {
    means: Means,
    machine: Machine,
    epoch: Instant,
    wall: Option<Sandbox>,
    /// What each that asked and waits wants to run.
    plans: HashMap<ActionId, Arc<RuntimePlan>>,
    /// What runs.
    plan: Option<Arc<RuntimePlan>>,
    trees: HashMap<RuntimeProcessKind, Tree>,
    known: [Known; 2],
    preview: Option<AbortHandle>,
    timers: HashMap<RuntimeTimer, Instant>,
    grace: Option<Millis>,
    waiting: Vec<(AwaitedState, Option<ActionId>, oneshot::Sender<RuntimeReply>)>,
    news: (mpsc::Sender<Ended>, mpsc::Receiver<Ended>),
    closed: bool,
}

/// One that asks with an input.
type Asker = Option<(Option<ActionId>, oneshot::Sender<RuntimeReply>)>;

fn index(which: RuntimeProcessKind) -> usize {
    match which {
        RuntimeProcessKind::Build => 0,
        RuntimeProcessKind::Dev => 1,
    }
}

impl Actor {
    pub(super) fn new(means: Means) -> Self {
        Self {
            means,
            machine: Machine::default(),
            epoch: Instant::now(),
            wall: None,
            plans: HashMap::new(),
            plan: None,
            trees: HashMap::new(),
            known: [Known::default(), Known::default()],
            preview: None,
            timers: HashMap::new(),
            grace: None,
            waiting: Vec::new(),
            news: mpsc::channel(4),
            closed: false,
        }
    }

    /// Works until nobody can ask any more.
    pub(super) async fn work(mut self, mut inbox: mpsc::Receiver<Ask>) {
        loop {
            let timer =
                self.timers.iter().min_by_key(|(_, at)| **at).map(|(timer, at)| (*timer, *at));
            let far = Instant::now() + Duration::from_secs(1 << 30);
            tokio::select! {
                ask = inbox.recv() => match ask {
                    Some(ask) => self.asked(ask).await,
                    None => return,
                },
                Some(ended) = self.news.1.recv() => self.ended(ended).await,
                () = sleep_until(timer.map_or(far, |(_, at)| at)) => {
                    if let Some((timer, _)) = timer {
                        self.timers.remove(&timer);
                        self.take(RuntimeInput::TimerExpired(timer), None).await;
                    }
                }
            }
            self.means.busy.store(!self.machine.is_idle(), Ordering::Relaxed);
        }
    }

    async fn asked(&mut self, Ask { what, reply }: Ask) {
        if self.closed && !matches!(what, What::Shutdown | What::Stop(_)) {
            let _nobody_waits = reply.send(RuntimeReply::Stopping);
            return;
        }
        let (input, action) = match what {
            What::Run(action, plan) => {
                let shape = plan.dev_server_options();
                self.plans.insert(action, plan);
                (RuntimeInput::Run { action, shape }, Some(action))
            }
            What::Restart(action, plan, grace) => {
                let shape = plan.dev_server_options();
                self.plans.insert(action, plan);
                self.grace = Some(grace);
                (RuntimeInput::Restart { action, shape }, Some(action))
            }
            What::Build(action, plan) => {
                self.plans.insert(action, plan);
                (RuntimeInput::Build { action }, Some(action))
            }
            What::Stop(grace) => {
                self.grace = Some(grace);
                (RuntimeInput::Stop, None)
            }
            What::Shutdown => {
                self.closed = true;
                self.grace = None;
                (RuntimeInput::Shutdown, None)
            }
        };
        self.take(input, Some((action, reply))).await;
    }

    /// Nothing of a tree is left: what it said is taken down before it is reported.
    async fn ended(&mut self, Ended { which, exit }: Ended) {
        if let Some(tree) = self.trees.remove(&which) {
            let known = &mut self.known[index(which)];
            known.lines = tree.heard.last_lines();
            known.text = tree.heard.text();
        }
        if which == RuntimeProcessKind::Dev
            && let Some(watch) = self.preview.take()
        {
            watch.abort();
        }
        self.take(RuntimeInput::Exited { which, exit }, None).await;
        self.take(RuntimeInput::TreeGone { which }, None).await;
    }

    /// Runs the machine, and does what it says until there is nothing left to do.
    async fn take(&mut self, input: RuntimeInput, asker: Asker) {
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
                if let Some(next) = self.effect(effect, &mut asker).await {
                    inputs.push_back((next, None));
                }
            }
        }
    }

    async fn effect(&mut self, effect: RuntimeEffect, asker: &mut Asker) -> Option<RuntimeInput> {
        match effect {
            RuntimeEffect::Spawn { which, action } => return Some(self.spawn(which, action).await),
            RuntimeEffect::Terminate(which) => self.tell(which, Order::Terminate),
            RuntimeEffect::Kill(which) => self.tell(which, Order::Kill),
            RuntimeEffect::Report(said) => self.report(said).await,
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
                    self.answer(action, to, reply);
                }
            }
            RuntimeEffect::AnswerAll(line, reply) => {
                let (now, later): (Vec<_>, Vec<_>) =
                    std::mem::take(&mut self.waiting).into_iter().partition(|(l, ..)| *l == line);
                self.waiting = later;
                for (_, action, to) in now {
                    self.answer(action, to, reply);
                }
            }
        }
        None
    }

    fn answer(
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

    fn tell(&self, which: RuntimeProcessKind, order: Order) {
        if let Some(tree) = self.trees.get(&which) {
            tree.tell(order);
        }
    }

    async fn report(&mut self, said: RuntimeTransition) {
        if let RuntimeTransition::Starting { action, .. } = said
            && let Some(plan) = self.plans.get(&action)
        {
            self.plan = Some(Arc::clone(plan));
        }
        let command = self.plan.as_deref().map(|plan| self.words(plan, RuntimeProcessKind::Dev));
        let facts = Facts {
            plan: self.plan.as_deref(),
            command: command.unwrap_or_default(),
            build: &self.known[0],
            dev: &self.known[1],
            at: self.means.now.time(),
        };
        let (action, change) = facts.change(said);
        if let Err(error) = self.means.now.report(action, change).await {
            tracing::error!(%error, "a change of the runtime could not be reported");
        }
    }
}
