//! A runtime whose process was started again: each phase of the session that it left, and each
//! thing that may have happened to that since.

use provost_notebook::CommandRights;
use provost_notebook::agent::{AgentEffect, AgentEvent, PriorSession, RuntimeAgent};
use provost_proto::notebook::{
    ExecutionOutcome, ExecutionStatus, NotebookCommand, RuntimeEndReason, RuntimeSessionStatus,
    StreamName,
};
use provost_proto::{Code, ExecutionId};

use crate::agent::{TestPlatform, options};
use crate::world::{
    ANN, BOB, World, append, cancel, claim, end_session, id, print, shown_text, start,
    start_session,
};

/// What the session was doing when its process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PhaseAtExit {
    Idle,
    Queued,
    Assigned,
    Running,
    Output,
    Cancelling,
}

const PHASES_AT_EXIT: [PhaseAtExit; 6] = [
    PhaseAtExit::Idle,
    PhaseAtExit::Queued,
    PhaseAtExit::Assigned,
    PhaseAtExit::Running,
    PhaseAtExit::Output,
    PhaseAtExit::Cancelling,
];

/// What happened before the process was there again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventAfterExit {
    Nothing,
    Displaced,
    Ended,
    Expired,
}

const EVENTS_AFTER_EXIT: [EventAfterExit; 4] = [
    EventAfterExit::Nothing,
    EventAfterExit::Displaced,
    EventAfterExit::Ended,
    EventAfterExit::Expired,
];

const SESSION: u128 = 40;

fn own_session(session: u128) -> NotebookCommand {
    let NotebookCommand::StartSession { slot, runtime_type, place, capabilities, .. } =
        start_session(session)
    else {
        panic!("another command");
    };
    let (session, runtime_id) = (id(session), "echo-1".to_owned());
    NotebookCommand::StartSession { session, slot, runtime_id, runtime_type, place, capabilities }
}

fn world_left_in(left: PhaseAtExit) -> (World, u64) {
    let mut world = World::with_cell();
    world.apply(own_session(SESSION));
    let fence = world.state.session(id(SESSION)).unwrap().fence;
    let (session, status) = (id(SESSION), RuntimeSessionStatus::Ready);
    world.apply(NotebookCommand::SetSessionStatus { session, fence, status });
    if left >= PhaseAtExit::Queued {
        world.request(20, 10);
    }
    if left >= PhaseAtExit::Assigned {
        world.apply(claim(20, SESSION, fence));
    }
    if left >= PhaseAtExit::Running {
        world.apply(start(20, fence));
    }
    if left >= PhaseAtExit::Output {
        world.apply(print(20, fence, 70, "half a "));
        world.apply(append(20, fence, 70, "line"));
    }
    if left >= PhaseAtExit::Cancelling {
        world.apply(cancel(20));
    }
    (world, fence)
}

fn prior_of(principal: &str) -> PriorSession {
    PriorSession { session: id(SESSION), principal: principal.to_owned() }
}

/// The process that is there again, connected.
fn restarted(world: World, is_expired: bool, prior: PriorSession) -> TestPlatform {
    let agent = RuntimeAgent::with_prior_session(options(50), Some(prior));
    let mut platform = TestPlatform::with_agent(world, agent);
    platform.expired = is_expired.then(|| id(SESSION));
    platform.step(AgentEvent::StatusChanged(RuntimeSessionStatus::Ready));
    platform.is_connected = true;
    platform.step(AgentEvent::Connected);
    platform
}

#[test]
fn a_session_is_adopted_if_it_is_still_active_and_displaced_by_a_new_one_if_not() {
    for left in PHASES_AT_EXIT {
        for since in EVENTS_AFTER_EXIT {
            let (mut world, fence) = world_left_in(left);
            match since {
                EventAfterExit::Nothing | EventAfterExit::Expired => {}
                EventAfterExit::Displaced => drop(world.apply(start_session(60))),
                EventAfterExit::Ended => drop(world.apply(end_session(SESSION, fence))),
            }
            let platform = restarted(world, since == EventAfterExit::Expired, prior_of(ANN));
            let state = &platform.world.state;
            assert!(platform.agent.is_active(), "{left:?} {since:?}");
            let expected = if since == EventAfterExit::Nothing { SESSION } else { 50 };
            assert_eq!(platform.agent.session(), id(expected), "{left:?} {since:?}");
            let session = state.session(id(expected)).unwrap();
            assert_eq!(state.active_session(&session.slot).map(|it| it.id), Some(id(expected)));
            if since == EventAfterExit::Nothing {
                assert_eq!(session.fence, fence, "the fence is unchanged");
            } else {
                assert!(session.fence > fence, "{left:?} {since:?}");
                assert_eq!(state.session(id(SESSION)).unwrap().status, RuntimeSessionStatus::Ended);
            }
            assert_executed(&platform, left, since);
        }
    }
}

/// What had started goes on under the same session; under a new one it is lost, and what had not
/// started is executed.
#[track_caller]
fn assert_executed(platform: &TestPlatform, left: PhaseAtExit, since: EventAfterExit) {
    let executed: Vec<_> =
        platform.executed.iter().map(|request| (request.execution, request.is_resumed)).collect();
    let execution: ExecutionId = id(20);
    let is_lost = since != EventAfterExit::Nothing;
    let expected = match left {
        PhaseAtExit::Idle => vec![],
        PhaseAtExit::Queued | PhaseAtExit::Assigned => vec![(execution, false)],
        PhaseAtExit::Running | PhaseAtExit::Output | PhaseAtExit::Cancelling if is_lost => vec![],
        PhaseAtExit::Running | PhaseAtExit::Output | PhaseAtExit::Cancelling => {
            vec![(execution, true)]
        }
    };
    assert_eq!(executed, expected, "{left:?} {since:?}");
    let outcome = match left {
        PhaseAtExit::Running | PhaseAtExit::Output if is_lost => Some(ExecutionOutcome::Lost),
        PhaseAtExit::Cancelling if is_lost => Some(ExecutionOutcome::Cancelled),
        PhaseAtExit::Idle
        | PhaseAtExit::Queued
        | PhaseAtExit::Assigned
        | PhaseAtExit::Running
        | PhaseAtExit::Output
        | PhaseAtExit::Cancelling => None,
    };
    if left != PhaseAtExit::Idle {
        assert_eq!(platform.outcome(20), outcome, "{left:?} {since:?}");
    }
    let is_interrupted = left == PhaseAtExit::Cancelling && !is_lost;
    assert_eq!(platform.interrupted.len(), usize::from(is_interrupted), "{left:?} {since:?}");
}

#[test]
fn an_adopted_execution_goes_on_where_its_output_ended() {
    let (world, _) = world_left_in(PhaseAtExit::Output);
    let mut platform = restarted(world, false, prior_of(ANN));
    platform.print(20, StreamName::Stdout, ", and the rest");
    platform.finish(20, ExecutionOutcome::Ok);
    assert_eq!(shown_text(&platform.world.state, 20), "half a line, and the rest");
    let outputs = platform.world.state.outputs(id(20)).len();
    assert_eq!((outputs, platform.outcome(20)), (1, Some(ExecutionOutcome::Ok)));
    platform.world.request(21, 10);
    platform.step(AgentEvent::StateChanged);
    assert_eq!(platform.executed(), [id(20), id(21)]);
}

#[test]
fn what_was_cancelled_between_claim_and_start_never_runs() {
    let (mut world, _) = world_left_in(PhaseAtExit::Assigned);
    world.apply(cancel(20));
    let platform = restarted(world, false, prior_of(ANN));
    assert!(platform.executed.is_empty());
    assert_eq!(platform.outcome(20), Some(ExecutionOutcome::Cancelled));
}

#[test]
fn a_session_of_another_principal_or_runtime_is_displaced() {
    for (principal, runtime_id) in [(BOB, "echo-1"), (ANN, "echo-2")] {
        let (world, _) = world_left_in(PhaseAtExit::Running);
        let mut options = options(50);
        options.runtime_id = runtime_id.to_owned();
        let agent = RuntimeAgent::with_prior_session(options, Some(prior_of(principal)));
        let mut platform = TestPlatform::with_agent(world, agent);
        platform.is_connected = true;
        platform.step(AgentEvent::Connected);
        assert_eq!(platform.agent.session(), id(50));
        assert_eq!(platform.outcome(20), Some(ExecutionOutcome::Lost));
    }
}

#[test]
fn an_adopted_session_is_displaced_in_every_phase() {
    for left in PHASES_AT_EXIT {
        let (world, _) = world_left_in(left);
        let mut platform = restarted(world, false, prior_of(ANN));
        assert!(platform.agent.is_active());
        platform.world.send(BOB, CommandRights::Runtime, &[start_session(60)]).unwrap();
        platform.print(20, StreamName::Stdout, " late");
        platform.step(AgentEvent::StateChanged);
        assert_eq!(
            platform.stopped.as_ref().map(|(reason, _)| *reason),
            Some(RuntimeEndReason::Displaced)
        );
        assert!(!shown_text(&platform.world.state, 20).contains("late"), "{left:?}");
    }
}

#[test]
fn it_asks_again_when_the_connection_is_lost_while_it_asks_and_can_be_stopped() {
    let (world, fence) = world_left_in(PhaseAtExit::Running);
    let agent = RuntimeAgent::with_prior_session(options(50), Some(prior_of(ANN)));
    let mut asking = TestPlatform::with_agent(world.clone(), agent);
    // The question is not answered: the connection is lost with it.
    drop(asking.agent.step(&world.state, 0, AgentEvent::Connected));
    assert!(!asking.agent.is_active());
    asking.step(AgentEvent::Disconnected);
    asking.is_connected = true;
    asking.step(AgentEvent::Connected);
    assert!(asking.agent.is_active());
    assert_eq!(asking.executed(), [id(20)]);
    assert_eq!(asking.world.state.session(id(SESSION)).unwrap().fence, fence);

    let agent = RuntimeAgent::with_prior_session(options(50), Some(prior_of(ANN)));
    let mut stopped = TestPlatform::with_agent(world.clone(), agent);
    drop(stopped.agent.step(&world.state, 0, AgentEvent::Connected));
    stopped.is_connected = true;
    stopped.step(AgentEvent::Shutdown { reason: RuntimeEndReason::Shutdown, why: None });
    let session = stopped.world.state.session(id(SESSION)).unwrap();
    assert_eq!(session.end_reason, Some(RuntimeEndReason::Shutdown));
    assert_eq!(stopped.outcome(20), Some(ExecutionOutcome::Lost));
    let status = stopped.world.state.execution(id(20)).unwrap().status;
    assert_eq!(status, ExecutionStatus::Finished);
}

#[test]
fn a_person_at_the_runtime_interrupts_what_it_executes() {
    let (world, _) = world_left_in(PhaseAtExit::Running);
    let mut platform = restarted(world, false, prior_of(ANN));
    platform.step(AgentEvent::Interrupt);
    platform.step(AgentEvent::Interrupt);
    assert_eq!(platform.interrupted, [id(20)]);
    platform.finish(20, ExecutionOutcome::Error);
    assert_eq!(platform.outcome(20), Some(ExecutionOutcome::Cancelled));
    platform.step(AgentEvent::Interrupt);
    assert!(platform.agent.is_active(), "there was nothing to interrupt");
}

#[test]
fn a_claim_that_is_refused_for_another_reason_is_not_repeated_at_once() {
    let (world, _) = world_left_in(PhaseAtExit::Queued);
    let mut agent = RuntimeAgent::with_prior_session(options(50), Some(prior_of(ANN)));
    drop(agent.step(&world.state, 0, AgentEvent::StatusChanged(RuntimeSessionStatus::Ready)));
    drop(agent.step(&world.state, 0, AgentEvent::Connected));
    let claimed = agent.step(&world.state, 0, AgentEvent::LeaseRenewed { valid_ms: 30_000 });
    let sent = |effects: &[AgentEffect]| {
        effects.iter().find_map(|effect| {
            if let AgentEffect::Send { id, .. } = effect { Some(id.clone()) } else { None }
        })
    };
    // It reports first that it is ready, which the daemon accepts.
    let id = sent(&claimed).unwrap();
    let id = sent(&agent.step(&world.state, 0, AgentEvent::Accepted(id))).unwrap();
    let (code, error) = (Code::Conflict, "the project is closed".to_owned());
    let refused = AgentEvent::Refused { id, index: 0, code, error };
    assert_eq!(sent(&agent.step(&world.state, 0, refused)), None);
    assert_eq!(sent(&agent.step(&world.state, 999, AgentEvent::Tick)), None);
    assert!(sent(&agent.step(&world.state, 1000, AgentEvent::Tick)).is_some());
}
