//! The state space is small, so the tests walk all of it.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use provost_proto::ActionId;
use provost_proto::runtime::{
    BuildStatus, CrashPhase, RunCause, RuntimeStatus, RuntimeView, StopCause,
};
use uuid::Uuid;

use super::{
    AwaitedState, BACKOFF_MAX, DevServerOptions, HEALTHY_UPTIME, RuntimeEffect, RuntimeExit,
    RuntimeInput, RuntimeProcessKind, RuntimeReply, RuntimeStateMachine, RuntimeTimer,
    RuntimeTransition,
};

fn action(n: u128) -> ActionId {
    Uuid::from_u128(n).into()
}

fn exit(code: i32) -> RuntimeExit {
    RuntimeExit { code: Some(code), signal: None }
}

const BOTH: [RuntimeProcessKind; 2] = [RuntimeProcessKind::Build, RuntimeProcessKind::Dev];

/// A correct executor of the effects, with the state that it sees.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct SimulatedExecutor {
    machine: RuntimeStateMachine,
    build: Tree,
    dev: Tree,
    /// Folded from the reports.
    reported: (RuntimeStatus, BuildStatus),
    /// A run was reported to begin and not to end.
    open: bool,
    waiting: BTreeSet<u8>,
    timers: BTreeSet<(u8, u8)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Tree {
    #[default]
    None,
    Spawning,
    Alive,
    /// Its first process has ended.
    Left,
}

fn line(line: AwaitedState) -> u8 {
    match line {
        AwaitedState::Running => 0,
        AwaitedState::Built => 1,
        AwaitedState::Stopped => 2,
    }
}

fn timer(timer: RuntimeTimer) -> (u8, u8) {
    let number = |which| u8::from(which == RuntimeProcessKind::Dev);
    match timer {
        RuntimeTimer::Grace(which) => (0, number(which)),
        RuntimeTimer::Kill(which) => (1, number(which)),
        RuntimeTimer::Backoff => (2, 0),
    }
}

fn timers() -> impl Iterator<Item = RuntimeTimer> {
    BOTH.into_iter()
        .flat_map(|which| [RuntimeTimer::Grace(which), RuntimeTimer::Kill(which)])
        .chain([RuntimeTimer::Backoff])
}

impl SimulatedExecutor {
    fn tree(&mut self, which: RuntimeProcessKind) -> &mut Tree {
        match which {
            RuntimeProcessKind::Build => &mut self.build,
            RuntimeProcessKind::Dev => &mut self.dev,
        }
    }

    fn alive(&self) -> bool {
        self.build != Tree::None || self.dev != Tree::None
    }

    /// Whether this input is possible now. Requests always are.
    fn can(&mut self, input: RuntimeInput) -> bool {
        match input {
            RuntimeInput::Run { .. }
            | RuntimeInput::Restart { .. }
            | RuntimeInput::Build { .. }
            | RuntimeInput::Stop
            | RuntimeInput::Shutdown => true,
            RuntimeInput::Spawned { which, .. } | RuntimeInput::SpawnFailed { which } => {
                *self.tree(which) == Tree::Spawning
            }
            RuntimeInput::Exited { which, .. } => *self.tree(which) == Tree::Alive,
            RuntimeInput::TreeGone { which } => {
                matches!(self.tree(which), Tree::Alive | Tree::Left)
            }
            RuntimeInput::TimerExpired(over) => self.timers.contains(&timer(over)),
        }
    }

    fn step(&self, input: RuntimeInput) -> Self {
        let (machine, effects) = self.machine.clone().step(0, input);
        let mut next = Self { machine, ..self.clone() };
        match input {
            RuntimeInput::Spawned { which, .. } => *next.tree(which) = Tree::Alive,
            RuntimeInput::SpawnFailed { which } | RuntimeInput::TreeGone { which } => {
                *next.tree(which) = Tree::None;
            }
            RuntimeInput::Exited { which, .. } => *next.tree(which) = Tree::Left,
            RuntimeInput::TimerExpired(over) => assert!(next.timers.remove(&timer(over))),
            RuntimeInput::Run { .. }
            | RuntimeInput::Restart { .. }
            | RuntimeInput::Build { .. }
            | RuntimeInput::Stop
            | RuntimeInput::Shutdown => {
                let answers = |effect: &&RuntimeEffect| {
                    matches!(effect, RuntimeEffect::Answer(_) | RuntimeEffect::Wait(_))
                };
                let n = effects.iter().filter(answers).count();
                assert_eq!(n, 1, "every requester is answered or waits: {effects:?}");
            }
        }
        for effect in effects {
            next.perform_effect(effect);
        }
        next.check();
        next
    }

    fn perform_effect(&mut self, effect: RuntimeEffect) {
        match effect {
            RuntimeEffect::Spawn { which, .. } => {
                assert_eq!(*self.tree(which), Tree::None, "a second {which:?} is started");
                *self.tree(which) = Tree::Spawning;
            }
            RuntimeEffect::Terminate(which) | RuntimeEffect::Kill(which) => {
                let tree = *self.tree(which);
                assert!(matches!(tree, Tree::Alive | Tree::Left), "nothing to end: {tree:?}");
            }
            RuntimeEffect::StartTimer(started, _) => {
                self.timers.insert(timer(started));
            }
            RuntimeEffect::StopTimer(stopped) => {
                assert!(self.timers.remove(&timer(stopped)), "{stopped:?} did not run");
            }
            RuntimeEffect::Wait(waits) => {
                self.waiting.insert(line(waits));
            }
            RuntimeEffect::AnswerAll(answered, reply) => {
                self.waiting.remove(&line(answered));
                if reply == RuntimeReply::Stopped && answered == AwaitedState::Stopped {
                    assert_eq!(self.dev, Tree::None, "stopped, and the dev server is alive");
                }
            }
            RuntimeEffect::Answer(_) => {}
            RuntimeEffect::Report(transition) => self.apply_report(transition),
        }
    }

    /// Applies a report, as the fold of the log does.
    fn apply_report(&mut self, transition: RuntimeTransition) {
        let (dev, build) = &mut self.reported;
        match transition {
            RuntimeTransition::BuildStarted { .. } => *build = BuildStatus::Running,
            RuntimeTransition::BuildSucceeded { .. } | RuntimeTransition::BuildFailed { .. } => {
                *build = BuildStatus::None;
            }
            RuntimeTransition::Starting { .. } => {
                assert!(!self.open, "a run begins in a run");
                self.open = true;
                *dev = RuntimeStatus::Starting;
            }
            RuntimeTransition::Started { .. } => {
                assert!(self.open && self.dev == Tree::Alive);
                *dev = RuntimeStatus::Running;
            }
            RuntimeTransition::Stopping { .. } => *dev = RuntimeStatus::Stopping,
            RuntimeTransition::Stopped { cause, .. } => {
                let reported = cause != StopCause::Exit;
                assert!(self.open || reported, "a run ends that was not");
                assert_eq!(self.dev, Tree::None, "stopped, and something is left");
                (self.open, *dev) = (false, RuntimeStatus::Stopped);
            }
            RuntimeTransition::Crashed { .. } => {
                assert!(self.open, "a run crashes that was not");
                assert_eq!(self.dev, Tree::None, "crashed, and something is left");
                (self.open, *dev) = (false, RuntimeStatus::Crashed);
            }
        }
    }

    fn check(&self) {
        let (dev, build) = self.reported;
        let reported = RuntimeView::combined_status(dev, build);
        assert_eq!(reported, self.machine.status(), "the log says something else: {self:#?}");
        assert_eq!(self.machine.is_idle(), !self.alive() && !self.timers.contains(&(2, 0)));
        if reported == RuntimeStatus::Stopped {
            assert!(self.dev == Tree::None && !matches!(self.build, Tree::Alive | Tree::Left));
        }
        if self.machine.is_idle() {
            assert!(self.waiting.is_empty(), "someone waits for nothing: {self:#?}");
            assert!(self.timers.is_empty() && !self.open);
        }
    }
}

fn inputs() -> Vec<RuntimeInput> {
    let mut inputs =
        vec![RuntimeInput::Stop, RuntimeInput::Shutdown, RuntimeInput::Build { action: action(3) }];
    for (build, restart) in [(false, false), (true, false), (false, true), (true, true)] {
        let shape = DevServerOptions { build, restart };
        inputs.push(RuntimeInput::Run { action: action(1), shape });
        inputs.push(RuntimeInput::Restart { action: action(2), shape });
    }
    for which in BOTH {
        inputs.push(RuntimeInput::Spawned { which, pid: 7 });
        inputs.push(RuntimeInput::SpawnFailed { which });
        inputs.push(RuntimeInput::Exited { which, exit: exit(0) });
        inputs.push(RuntimeInput::Exited { which, exit: exit(1) });
        inputs.push(RuntimeInput::TreeGone { which });
    }
    inputs.extend(timers().map(RuntimeInput::TimerExpired));
    inputs
}

/// All reachable states, with their successors.
fn all() -> HashMap<SimulatedExecutor, Vec<SimulatedExecutor>> {
    let mut seen: HashMap<SimulatedExecutor, Vec<SimulatedExecutor>> = HashMap::new();
    let mut queue = VecDeque::from([SimulatedExecutor::default()]);
    while let Some(mut executor) = queue.pop_front() {
        if seen.contains_key(&executor) {
            continue;
        }
        let possible: Vec<_> = inputs().into_iter().filter(|input| executor.can(*input)).collect();
        let next: Vec<_> = possible.into_iter().map(|input| executor.step(input)).collect();
        queue.extend(next.iter().filter(|next| !seen.contains_key(next)).cloned());
        seen.insert(executor, next);
    }
    seen
}

#[test]
fn every_state_keeps_its_promises_whatever_happens() {
    let all = all();
    assert!(all.len() > 1000, "{} states", all.len());
}

#[test]
fn what_cannot_happen_changes_nothing() {
    for mut executor in all().into_keys() {
        for input in inputs() {
            if executor.can(input) {
                continue;
            }
            let (machine, effects) = executor.machine.clone().step(0, input);
            // A timer may expire in the moment in which it is stopped.
            let stray = matches!(input, RuntimeInput::Spawned { .. });
            let harmless =
                effects.iter().all(|effect| stray && matches!(effect, RuntimeEffect::Kill(_)));
            assert!(harmless, "{executor:#?} {input:?} {effects:?}");
            assert_eq!(machine, executor.machine, "{input:?}");
        }
    }
}

/// After Stop, if processes react to signals, nothing is left and the requester is answered.
#[test]
fn every_state_comes_to_stopped_by_stop() {
    for executor in all().into_keys() {
        let mut executor = executor.step(RuntimeInput::Stop);
        for _ in 0..8 {
            for which in BOTH {
                executor = match *executor.tree(which) {
                    Tree::None => executor,
                    Tree::Spawning => executor.step(RuntimeInput::Spawned { which, pid: 7 }),
                    Tree::Alive => executor.step(RuntimeInput::Exited { which, exit: exit(0) }),
                    Tree::Left => executor.step(RuntimeInput::TreeGone { which }),
                };
            }
        }
        assert_eq!(executor.machine, RuntimeStateMachine::default());
        assert!(!executor.alive() && executor.waiting.is_empty());
    }
}

#[test]
fn two_who_press_run_start_one() {
    for (executor, _) in all() {
        if executor.dev == Tree::None || executor.machine.status() == RuntimeStatus::Stopping {
            continue;
        }
        let shape = DevServerOptions { build: false, restart: false };
        let (machine, effects) =
            executor.machine.clone().step(0, RuntimeInput::Run { action: action(9), shape });
        assert_eq!(machine, executor.machine);
        let spawns = |effect: &RuntimeEffect| matches!(effect, RuntimeEffect::Spawn { .. });
        assert!(!effects.iter().any(spawns), "{effects:?}");
    }
}

/// Runs a dev server that crashes after `ran` each time; returns the delays.
fn waits(ran: u64, times: usize) -> Vec<Option<u64>> {
    let shape = DevServerOptions { build: false, restart: true };
    let (mut now, which) = (0, RuntimeProcessKind::Dev);
    let (mut machine, _) =
        RuntimeStateMachine::default().step(now, RuntimeInput::Run { action: action(1), shape });
    let mut waits = Vec::new();
    for _ in 0..times {
        (machine, _) = machine.step(now, RuntimeInput::Spawned { which, pid: 7 });
        now += ran;
        (machine, _) = machine.step(now, RuntimeInput::Exited { which, exit: exit(1) });
        let effects;
        (machine, effects) = machine.step(now, RuntimeInput::TreeGone { which });
        let wait = effects.iter().find_map(|effect| {
            let RuntimeEffect::Report(RuntimeTransition::Crashed { restart_in, .. }) = effect
            else {
                return None;
            };
            Some(*restart_in)
        });
        waits.push(wait.unwrap());
        let Some(Some(wait)) = wait else { break };
        now += wait;
        (machine, _) = machine.step(now, RuntimeInput::TimerExpired(RuntimeTimer::Backoff));
    }
    waits
}

#[test]
fn a_crash_loop_waits_longer_each_time_and_then_ends() {
    assert_eq!(waits(0, 9), [Some(500), Some(1000), Some(2000), Some(4000), None]);
    let slow = waits(20_000, 9);
    assert_eq!(slow[..4], [Some(500), Some(1000), Some(2000), Some(4000)]);
    assert_eq!(slow[6..], [Some(BACKOFF_MAX); 3], "more than a few in a minute do not fit");
    assert_eq!(waits(HEALTHY_UPTIME, 3), [Some(500); 3], "who was well begins anew");
}

#[test]
fn what_started_says_why() {
    let shape = DevServerOptions { build: true, restart: false };
    let (machine, effects) =
        RuntimeStateMachine::default().step(0, RuntimeInput::Run { action: action(1), shape });
    let starting =
        RuntimeTransition::Starting { action: action(1), cause: RunCause::Run, restarts: 0 };
    let spawn = RuntimeEffect::Spawn { which: RuntimeProcessKind::Build, action: action(1) };
    assert_eq!(
        effects,
        [RuntimeEffect::Report(starting), spawn, RuntimeEffect::Wait(AwaitedState::Running)]
    );
    let (_, effects) =
        machine.step(0, RuntimeInput::SpawnFailed { which: RuntimeProcessKind::Build });
    let reply = RuntimeEffect::AnswerAll(
        AwaitedState::Running,
        RuntimeReply::Crashed(CrashPhase::Building),
    );
    assert!(effects.contains(&reply), "{effects:?}");
    let distinct: HashSet<_> = timers().collect();
    assert_eq!(distinct.len(), 5);
}
