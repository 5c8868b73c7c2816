//! The agent against the rules themselves: what it sends is decided, and fed back.

use provost_notebook::CommandRights;
use provost_notebook::agent::{
    AgentEffect, AgentEvent, AgentOptions, AgentOutput, ExecutionRequest, RuntimeAgent,
};
use provost_proto::notebook::{
    CellKind, ExecutionOutcome, ExecutionStatus, Fence, NotebookCommand, NotebookFact,
    RuntimeEndReason, RuntimeLocation, RuntimeSessionStatus, StreamName,
};
use provost_proto::{Code, ExecutionId, RuntimeSessionId, limits};

use crate::world::{
    ALL, ANN, World, cancel, create_cell, end_session, id, shown_text, start_session,
};

/// A runtime that starts this session.
pub(crate) fn options(session: u128) -> AgentOptions {
    AgentOptions {
        session: id(session),
        runtime_id: "echo-1".to_owned(),
        runtime_type: "echo".to_owned(),
        slot: None,
        place: RuntimeLocation::Native,
        capabilities: ALL,
    }
}

/// An agent that is connected to a notebook.
pub(crate) struct TestPlatform {
    pub(crate) world: World,
    pub(crate) agent: RuntimeAgent,
    pub(crate) now: u64,
    pub(crate) executed: Vec<ExecutionRequest>,
    pub(crate) interrupted: Vec<ExecutionId>,
    pub(crate) renewals: usize,
    pub(crate) stopped: Option<(RuntimeEndReason, Option<String>)>,
    /// What was sent while there was no connection.
    unsent: Vec<(String, Vec<NotebookCommand>)>,
    pub(crate) is_connected: bool,
    /// A session whose lease has expired, which the log does not say yet.
    pub(crate) expired: Option<RuntimeSessionId>,
    /// The answers to keys, as the daemon keeps them.
    answers: Vec<String>,
    next_output: u128,
}

impl TestPlatform {
    fn new(world: World) -> Self {
        Self::with_agent(world, RuntimeAgent::new(options(50)))
    }

    pub(crate) fn with_agent(world: World, agent: RuntimeAgent) -> Self {
        Self {
            world,
            agent,
            now: 0,
            executed: Vec::new(),
            interrupted: Vec::new(),
            renewals: 0,
            stopped: None,
            unsent: Vec::new(),
            is_connected: false,
            expired: None,
            answers: Vec::new(),
            next_output: 1000,
        }
    }

    pub(crate) fn started(world: World) -> Self {
        let mut platform = Self::new(world);
        platform.step(AgentEvent::StatusChanged(RuntimeSessionStatus::Ready));
        platform.is_connected = true;
        platform.step(AgentEvent::Connected);
        assert!(platform.agent.is_active());
        platform
    }

    pub(crate) fn step(&mut self, input: AgentEvent) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            for effect in self.agent.step(&self.world.state, self.now, input) {
                match effect {
                    AgentEffect::Send { id, commands } if self.is_connected => {
                        inputs.extend(self.deliver(id, &commands));
                    }
                    AgentEffect::Send { id, commands } => self.unsent.push((id, commands)),
                    AgentEffect::Execute(request) => self.executed.push(request),
                    AgentEffect::Interrupt(execution) => self.interrupted.push(execution),
                    AgentEffect::RenewLease { session, fence } => {
                        self.renewals += 1;
                        inputs.push(self.renew_lease(session, fence));
                    }
                    AgentEffect::Stopped { reason, why } => {
                        assert!(self.stopped.is_none(), "it stops once");
                        self.stopped = Some((reason, why));
                    }
                }
            }
        }
    }

    /// As the daemon does: for the active session of the sender only.
    fn renew_lease(&self, session: RuntimeSessionId, fence: Fence) -> AgentEvent {
        let known = self.world.state.session(session);
        let is_active = known.is_some_and(|known| {
            let is_ended = known.status == RuntimeSessionStatus::Ended;
            known.fence == fence && known.client_id == ANN && !is_ended
        });
        if is_active && self.expired != Some(session) {
            AgentEvent::LeaseRenewed { valid_ms: 30_000 }
        } else {
            AgentEvent::Fenced { why: "it is not active any more".to_owned() }
        }
    }

    /// As the daemon does: once per key, and then the events come.
    fn deliver(&mut self, id: String, commands: &[NotebookCommand]) -> Vec<AgentEvent> {
        let refused = if self.answers.contains(&id) {
            None
        } else {
            self.world.send(ANN, CommandRights::Runtime, commands).err()
        };
        let answer = match refused {
            None => {
                self.answers.push(id.clone());
                AgentEvent::Accepted(id)
            }
            Some((index, refusal)) => {
                AgentEvent::Refused { id, index, code: refusal.code, error: refusal.error }
            }
        };
        vec![AgentEvent::StateChanged, answer]
    }

    pub(crate) fn print(&mut self, execution: u128, name: StreamName, text: &str) {
        self.next_output += 1;
        let (output, text) = (id(self.next_output), text.to_owned());
        self.step(AgentEvent::Output(id(execution), AgentOutput::Stream { output, name, text }));
    }

    pub(crate) fn finish(&mut self, execution: u128, outcome: ExecutionOutcome) {
        self.step(AgentEvent::Finished { execution: id(execution), outcome, why: None });
    }

    pub(crate) fn outcome(&self, execution: u128) -> Option<ExecutionOutcome> {
        self.world.state.execution(id(execution)).unwrap().outcome
    }

    pub(crate) fn executed(&self) -> Vec<ExecutionId> {
        self.executed.iter().map(|request| request.execution).collect()
    }
}

fn world_with_requests(count: u128) -> World {
    let mut world = World::new();
    for n in 0..count {
        world.apply(create_cell(10 + n, CellKind::Code, &format!("a{n}"), "print(1)"));
        world.request(20 + n, 10 + n);
    }
    world
}

#[test]
fn it_executes_what_was_requested_one_after_the_other_in_order() {
    let mut platform = TestPlatform::started(world_with_requests(3));
    for n in 20..23 {
        assert_eq!(platform.agent.current(), Some(id(n)));
        platform.print(n, StreamName::Stdout, "hello\n");
        platform.finish(n, ExecutionOutcome::Ok);
        assert_eq!(shown_text(&platform.world.state, n), "hello\n");
    }
    assert_eq!(platform.executed(), [id(20), id(21), id(22)]);
    assert_eq!(platform.agent.current(), None);
    assert_eq!(platform.executed[0].source, "print(1)");
    // What is requested later is executed when the state says so.
    let revision = 0;
    platform.world.apply(NotebookCommand::RequestExecution {
        execution: id(29),
        cell: id(10),
        revision,
    });
    platform.step(AgentEvent::StateChanged);
    assert_eq!(platform.agent.current(), Some(id(29)));
}

#[test]
fn nothing_is_claimed_before_the_language_process_is_ready() {
    let mut platform = TestPlatform::new(world_with_requests(1));
    platform.is_connected = true;
    platform.step(AgentEvent::Connected);
    assert!(platform.executed.is_empty());
    platform.step(AgentEvent::StatusChanged(RuntimeSessionStatus::Ready));
    assert_eq!(platform.executed(), [id(20)]);
    let status = platform.world.state.session(id(50)).unwrap().status;
    assert_eq!(status, RuntimeSessionStatus::Busy);
}

#[test]
fn prints_of_one_stream_are_one_output() {
    let mut platform = TestPlatform::started(world_with_requests(1));
    for (name, text) in [
        (StreamName::Stdout, "a"),
        (StreamName::Stdout, "b"),
        (StreamName::Stdout, ""),
        (StreamName::Stderr, "!"),
        (StreamName::Stdout, "c"),
    ] {
        platform.print(20, name, text);
    }
    assert_eq!(platform.world.state.outputs(id(20)).len(), 3);
    assert_eq!(shown_text(&platform.world.state, 20), "ab!c");
}

#[test]
fn a_print_storm_without_a_connection_is_joined_and_nothing_is_lost_or_doubled() {
    let mut platform = TestPlatform::started(world_with_requests(1));
    platform.print(20, StreamName::Stdout, "start\n");
    platform.is_connected = false;
    let mut expected = "start\n".to_owned();
    for n in 0..20_000 {
        let line = format!("{n}\n");
        expected.push_str(&line);
        platform.print(20, StreamName::Stdout, &line);
    }
    // One batch was sent and not answered; the rest waits.
    assert_eq!(platform.unsent.len(), 1);
    assert!(platform.agent.backlog_bytes() > 50_000);
    platform.step(AgentEvent::Disconnected);
    // The daemon had applied it, but the answer was lost.
    let (key, commands) = platform.unsent.remove(0);
    platform.deliver(key, &commands);
    platform.finish(20, ExecutionOutcome::Ok);
    platform.is_connected = true;
    platform.step(AgentEvent::Connected);
    assert_eq!(shown_text(&platform.world.state, 20), expected);
    assert_eq!(platform.outcome(20), Some(ExecutionOutcome::Ok));
    assert_eq!(platform.agent.backlog_bytes(), 0);
    let appended = platform.world.log.iter();
    let appended =
        appended.filter(|recorded| matches!(recorded.fact, NotebookFact::OutputAppended(_)));
    assert!(appended.count() < 100);
}

#[test]
fn a_cancelled_execution_is_interrupted_and_ends_as_cancelled() {
    let mut platform = TestPlatform::started(world_with_requests(2));
    platform.print(20, StreamName::Stdout, "working");
    platform.world.apply(cancel(20));
    platform.step(AgentEvent::StateChanged);
    platform.step(AgentEvent::StateChanged);
    assert_eq!(platform.interrupted, [id(20)], "it is interrupted once");
    platform.finish(20, ExecutionOutcome::Error);
    assert_eq!(platform.outcome(20), Some(ExecutionOutcome::Cancelled));
    assert_eq!(platform.agent.current(), Some(id(21)));
}

#[test]
fn what_was_cancelled_before_it_was_claimed_never_runs() {
    let mut world = world_with_requests(2);
    world.apply(cancel(20));
    let platform = TestPlatform::started(world);
    assert_eq!(platform.executed(), [id(21)]);
}

#[test]
fn a_claim_that_came_too_late_is_given_up() {
    let mut platform = TestPlatform::started(World::with_cell());
    platform.is_connected = false;
    platform.world.request(20, 10);
    platform.step(AgentEvent::StateChanged);
    let (key, commands) = platform.unsent.remove(0);
    platform.world.apply(cancel(20));
    platform.is_connected = true;
    for input in platform.deliver(key, &commands).into_iter().rev() {
        platform.step(input);
    }
    assert!(platform.executed.is_empty() && platform.agent.is_active());
    platform.world.request(21, 10);
    platform.step(AgentEvent::StateChanged);
    assert_eq!(platform.executed(), [id(21)]);
}

#[test]
fn a_displaced_agent_stops_itself_in_every_phase() {
    for phase in 0..4 {
        let mut platform = TestPlatform::started(World::with_cell());
        if phase >= 1 {
            platform.world.request(20, 10);
            platform.step(AgentEvent::StateChanged);
        }
        if phase >= 2 {
            platform.print(20, StreamName::Stdout, "half");
        }
        platform.world.apply(start_session(51));
        if phase == 3 {
            // It does not know yet, and prints on: its fence refuses that.
            platform.print(20, StreamName::Stdout, " late");
        } else {
            platform.step(AgentEvent::StateChanged);
        }
        let (reason, _) = platform.stopped.clone().unwrap();
        assert_eq!(reason, RuntimeEndReason::Displaced);
        assert!(platform.agent.is_stopped());
        assert_eq!(platform.interrupted.len(), usize::from(phase >= 1));
        platform.print(20, StreamName::Stdout, " later");
        platform.finish(20, ExecutionOutcome::Ok);
        if phase >= 1 {
            assert_eq!(platform.outcome(20), Some(ExecutionOutcome::Lost));
            assert!(!shown_text(&platform.world.state, 20).contains("late"));
        }
    }
}

#[test]
fn an_agent_that_was_stopped_by_a_person_stops() {
    let mut platform = TestPlatform::started(World::with_cell());
    let fence = platform.world.state.session(id(50)).unwrap().fence;
    platform.world.apply(end_session(50, fence));
    platform.step(AgentEvent::StateChanged);
    assert_eq!(platform.stopped, Some((RuntimeEndReason::Shutdown, None)));
}

#[test]
fn a_fenced_agent_stops() {
    let mut platform = TestPlatform::started(world_with_requests(1));
    platform.step(AgentEvent::Fenced { why: "the lease expired".to_owned() });
    assert_eq!(platform.interrupted, [id(20)]);
    let expected = (RuntimeEndReason::Displaced, Some("the lease expired".to_owned()));
    assert_eq!(platform.stopped, Some(expected));
}

#[test]
fn a_shutdown_reports_what_was_printed_and_ends_the_session_once() {
    let mut platform = TestPlatform::started(world_with_requests(2));
    platform.print(20, StreamName::Stdout, "done so far");
    let shutdown = || AgentEvent::Shutdown {
        reason: RuntimeEndReason::Shutdown,
        why: Some("SIGTERM".to_owned()),
    };
    platform.step(shutdown());
    platform.step(shutdown());
    let session = platform.world.state.session(id(50)).unwrap();
    assert_eq!(session.status, RuntimeSessionStatus::Ended);
    assert_eq!(session.end_reason, Some(RuntimeEndReason::Shutdown));
    assert_eq!(platform.stopped.as_ref().map(|(reason, _)| *reason), session.end_reason);
    assert_eq!(platform.interrupted, [id(20)]);
    assert_eq!(shown_text(&platform.world.state, 20), "done so far");
    assert_eq!(platform.outcome(20), Some(ExecutionOutcome::Lost));
    let waiting = platform.world.state.execution(id(21)).unwrap().status;
    assert_eq!(waiting, ExecutionStatus::Queued);
}

#[test]
fn the_notice_of_its_own_end_is_no_displacement() {
    let mut platform = TestPlatform::started(World::with_cell());
    platform.is_connected = false;
    let (reason, why) = (RuntimeEndReason::Shutdown, Some("SIGTERM".to_owned()));
    platform.step(AgentEvent::Shutdown { reason, why: why.clone() });
    platform.step(AgentEvent::Fenced { why: "SIGTERM".to_owned() });
    assert_eq!(platform.stopped, Some((reason, why)));
}

#[test]
fn a_shutdown_before_the_start_or_without_a_connection_stops_at_once() {
    let shutdown = || AgentEvent::Shutdown { reason: RuntimeEndReason::Shutdown, why: None };
    let mut idle = TestPlatform::new(World::with_cell());
    idle.step(shutdown());
    assert!(idle.agent.is_stopped() && idle.stopped.is_some());
    let mut offline = TestPlatform::started(World::with_cell());
    offline.is_connected = false;
    offline.step(AgentEvent::Disconnected);
    offline.step(shutdown());
    assert!(offline.agent.is_stopped());
}

#[test]
fn the_lease_is_renewed_in_time_and_at_once_after_a_lost_connection() {
    let mut platform = TestPlatform::started(World::with_cell());
    assert_eq!(platform.renewals, 1);
    for _ in 0..100 {
        platform.now += limits::LEASE_RENEWAL_MS / 10;
        platform.step(AgentEvent::Tick);
    }
    assert_eq!(platform.renewals, 11);
    platform.step(AgentEvent::Disconnected);
    platform.now += 1;
    platform.step(AgentEvent::Connected);
    assert_eq!(platform.renewals, 12);
}

#[test]
fn an_output_that_is_too_large_is_replaced_by_a_note_and_the_rest_is_kept() {
    let mut platform = TestPlatform::started(world_with_requests(1));
    let value = "x".repeat(limits::MAX_OUTPUT_BYTES + 1);
    platform.next_output += 1;
    let output = id(platform.next_output);
    let error = AgentOutput::Error { output, name: "E".to_owned(), value, traceback: Vec::new() };
    platform.step(AgentEvent::Output(id(20), error));
    platform.print(20, StreamName::Stdout, "after");
    platform.finish(20, ExecutionOutcome::Ok);
    let text = shown_text(&platform.world.state, 20);
    assert!(text.contains("is larger than") && text.ends_with("after"), "{text}");
    assert_eq!(platform.outcome(20), Some(ExecutionOutcome::Ok));
}

#[test]
fn a_start_that_is_refused_ends_the_agent_with_the_reason() {
    let mut platform = TestPlatform::new(World::with_cell());
    platform.world.apply(NotebookCommand::DeleteNotebook);
    platform.is_connected = true;
    platform.step(AgentEvent::Connected);
    let (reason, why) = platform.stopped.unwrap();
    assert_eq!(reason, RuntimeEndReason::Error);
    assert!(why.unwrap().contains("there is no notebook"));
}

#[test]
fn an_execution_that_somebody_else_ended_is_not_claimed_again() {
    let mut platform = TestPlatform::started(world_with_requests(1));
    platform.world.apply(NotebookCommand::DeleteCell { cell: id(10) });
    platform.step(AgentEvent::StateChanged);
    assert_eq!(platform.interrupted, [id(20)]);
    platform.finish(20, ExecutionOutcome::Error);
    assert_eq!(platform.outcome(20), Some(ExecutionOutcome::Cancelled));
    let code = platform.world.refusal(cancel(20));
    assert_eq!(code, Code::ExecutionState);
}
