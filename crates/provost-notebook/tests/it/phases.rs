//! The whole space of a session and what it executes: each phase, and each thing that ends it.

use provost_notebook::CommandRights;
use provost_proto::Code;
use provost_proto::notebook::{
    ExecutionOutcome, ExecutionStatus, NotebookCommand, NotebookFact, RuntimeEndReason,
    RuntimeSessionStatus,
};

use crate::world::{
    ANN, BOB, World, append, cancel, claim, end_session, finish, id, print, shown_text, start,
    start_session,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Queued,
    Assigned,
    Running,
    Output,
    Cancelling,
}

const PHASES: [Phase; 6] =
    [Phase::Idle, Phase::Queued, Phase::Assigned, Phase::Running, Phase::Output, Phase::Cancelling];

/// A notebook in a phase, with the fence of its session.
fn world_in(phase: Phase) -> (World, u64) {
    let mut world = World::with_cell();
    let fence = world.start_session(30);
    let reached = PHASES.iter().position(|known| *known == phase).unwrap();
    if reached >= 1 {
        world.request(20, 10);
    }
    if reached >= 2 {
        world.apply(claim(20, 30, fence));
    }
    if reached >= 3 {
        world.apply(start(20, fence));
    }
    if reached >= 4 {
        world.apply(print(20, fence, 40, "half a "));
    }
    if reached >= 5 {
        world.apply(cancel(20));
    }
    (world, fence)
}

/// What a session would still write, whatever phase it was in.
fn late_writes(fence: u64) -> Vec<NotebookCommand> {
    vec![
        claim(20, 30, fence),
        start(20, fence),
        print(20, fence, 41, "late"),
        append(20, fence, 40, "late"),
        finish(20, fence, ExecutionOutcome::Ok),
        NotebookCommand::ClearOutputs { execution: id(20), fence, wait: false },
        NotebookCommand::SetSessionStatus {
            session: id(30),
            fence,
            status: RuntimeSessionStatus::Busy,
        },
    ]
}

/// What was running is lost, what was claimed waits again, and nothing late is taken.
#[track_caller]
fn assert_over(world: &mut World, phase: Phase, fence: u64, reason: RuntimeEndReason) {
    let session = world.state.session(id(30)).unwrap();
    assert_eq!(session.status, RuntimeSessionStatus::Ended);
    assert_eq!((session.end_reason, session.execution), (Some(reason), None));
    if let Some(execution) = world.state.execution(id(20)) {
        let (status, outcome) = (execution.status, execution.outcome);
        let expected = match phase {
            Phase::Idle => panic!("nothing was requested"),
            Phase::Queued | Phase::Assigned => (ExecutionStatus::Queued, None),
            Phase::Running | Phase::Output => {
                (ExecutionStatus::Finished, Some(ExecutionOutcome::Lost))
            }
            Phase::Cancelling => (ExecutionStatus::Finished, Some(ExecutionOutcome::Cancelled)),
        };
        assert_eq!((status, outcome), expected, "{phase:?}");
        let shown =
            if phase == Phase::Output || phase == Phase::Cancelling { "half a " } else { "" };
        assert_eq!(shown_text(&world.state, 20), shown);
    }
    for command in late_writes(fence) {
        let code = world.refusal(command.clone());
        let is_unknown = phase == Phase::Idle && code == Code::ExecutionNotFound;
        assert!(code == Code::StaleFence || is_unknown, "{phase:?}: {command:?} {code}");
    }
    assert_eq!(world.replay(), world.state);
}

#[test]
fn a_displaced_session_loses_what_runs_and_writes_nothing_more() {
    for phase in PHASES {
        let (mut world, fence) = world_in(phase);
        let facts = world.send(BOB, CommandRights::Runtime, &[start_session(31)]).unwrap();
        assert!(matches!(facts.last(), Some(NotebookFact::RuntimeSessionStarted(_))), "{facts:?}");
        assert_over(&mut world, phase, fence, RuntimeEndReason::Displaced);
        let active = world.state.active_session("main").unwrap();
        assert_eq!((active.id, active.fence), (id(31), fence + 1));
        // What waits is executed by the new one, once.
        if let Phase::Queued | Phase::Assigned = phase {
            let runtime = CommandRights::Runtime;
            let commands = [claim(20, 31, fence + 1), start(20, fence + 1)];
            world.send(BOB, runtime, &commands).unwrap();
            let code = world.refusal_of(BOB, runtime, finish(20, fence, ExecutionOutcome::Ok));
            assert_eq!(code, Code::StaleFence);
            let done = finish(20, fence + 1, ExecutionOutcome::Ok);
            world.send(BOB, runtime, &[done]).unwrap();
        }
    }
}

#[test]
fn a_session_that_timed_out_and_wakes_up_writes_nothing_more() {
    for phase in PHASES {
        let (mut world, fence) = world_in(phase);
        let timeout = NotebookCommand::EndSession {
            session: id(30),
            fence,
            reason: RuntimeEndReason::Timeout,
            why: None,
        };
        world.send("daemon", CommandRights::Daemon, &[timeout]).unwrap();
        assert_over(&mut world, phase, fence, RuntimeEndReason::Timeout);
        assert!(world.state.active_session("main").is_none());
    }
}

#[test]
fn a_session_that_was_stopped_writes_nothing_more() {
    for phase in PHASES {
        let (mut world, fence) = world_in(phase);
        world.apply(end_session(30, fence));
        assert_over(&mut world, phase, fence, RuntimeEndReason::Shutdown);
    }
}

#[test]
fn the_same_runtime_that_starts_again_restarts() {
    for phase in PHASES {
        let (mut world, fence) = world_in(phase);
        let NotebookCommand::StartSession { slot, runtime_type, place, capabilities, .. } =
            start_session(31)
        else {
            panic!()
        };
        world.apply(NotebookCommand::StartSession {
            session: id(31),
            slot,
            runtime_id: "runtime-30".to_owned(),
            runtime_type,
            place,
            capabilities,
        });
        assert_over(&mut world, phase, fence, RuntimeEndReason::Restart);
    }
}

#[test]
fn another_fence_is_refused_in_every_phase() {
    for phase in PHASES {
        let (mut world, fence) = world_in(phase);
        for stale in [0, fence - 1, fence + 1, u64::MAX] {
            for command in late_writes(stale) {
                let code = world.refusal(command.clone());
                let is_unknown = phase == Phase::Idle && code == Code::ExecutionNotFound;
                assert!(code == Code::StaleFence || is_unknown, "{phase:?}: {command:?} {code}");
            }
        }
    }
}

#[test]
fn cancelling_ends_what_waits_and_asks_what_runs_once() {
    for phase in PHASES {
        let (mut world, fence) = world_in(phase);
        match phase {
            Phase::Idle => assert_eq!(world.refusal(cancel(20)), Code::ExecutionNotFound),
            Phase::Queued => {
                world.apply(cancel(20));
                let outcome = world.state.execution(id(20)).unwrap().outcome;
                assert_eq!(outcome, Some(ExecutionOutcome::Cancelled));
                assert_eq!(world.refusal(claim(20, 30, fence)), Code::ExecutionState);
            }
            Phase::Assigned => {
                world.apply(cancel(20));
                assert_eq!(world.refusal(start(20, fence)), Code::ExecutionState);
                world.apply(finish(20, fence, ExecutionOutcome::Cancelled));
            }
            Phase::Running | Phase::Output | Phase::Cancelling => {
                let facts = world.apply(cancel(20));
                assert_eq!(facts.is_empty(), phase == Phase::Cancelling);
                assert!(world.state.execution(id(20)).unwrap().cancelling);
                // What it still prints is kept.
                world.apply(print(20, fence, 41, "bye"));
                world.apply(finish(20, fence, ExecutionOutcome::Cancelled));
            }
        }
        if phase != Phase::Idle {
            assert_eq!(world.refusal(cancel(20)), Code::ExecutionState);
            assert!(world.state.session(id(30)).unwrap().execution.is_none());
        }
        assert_eq!(world.replay(), world.state);
    }
}

#[test]
fn a_session_is_busy_exactly_while_it_executes() {
    for phase in PHASES {
        let (mut world, fence) = world_in(phase);
        let status = world.state.session(id(30)).unwrap().status;
        let is_busy = !matches!(phase, Phase::Idle | Phase::Queued);
        let expected =
            if is_busy { RuntimeSessionStatus::Busy } else { RuntimeSessionStatus::Ready };
        assert_eq!(status, expected, "{phase:?}");
        if is_busy {
            world.apply(finish(20, fence, ExecutionOutcome::Error));
            let status = world.state.session(id(30)).unwrap().status;
            assert_eq!(status, RuntimeSessionStatus::Ready);
        }
    }
}

#[test]
fn two_slots_have_sessions_and_fences_of_their_own() {
    let mut world = World::with_cell();
    let fence = world.start_session(30);
    let NotebookCommand::StartSession { runtime_id, runtime_type, place, capabilities, .. } =
        start_session(31)
    else {
        panic!()
    };
    let in_sql = |session| NotebookCommand::StartSession {
        session: id(session),
        slot: Some("sql".to_owned()),
        runtime_id: runtime_id.clone(),
        runtime_type: runtime_type.clone(),
        place,
        capabilities,
    };
    world.apply(in_sql(31));
    world.send(BOB, CommandRights::Runtime, &[in_sql(32)]).unwrap();
    assert_eq!(world.state.active_session("main").unwrap().fence, fence);
    let sql = world.state.active_session("sql").unwrap();
    assert_eq!((sql.id, sql.fence, sql.client_id.as_str()), (id(32), 2, BOB));
    assert_eq!(world.state.session(id(30)).unwrap().client_id, ANN);
}

#[test]
fn of_two_runtimes_that_race_for_an_execution_one_runs_it_once() {
    let mut world = World::with_cell();
    world.request(20, 10);
    let (first, second) = (world.start_session(30), world.start_session(31));
    for (session, fence, is_active) in [(30, first, false), (31, second, true), (31, second, false)]
    {
        let taken = world.send(ANN, CommandRights::Edit, &[claim(20, session, fence)]);
        assert_eq!(taken.is_ok(), is_active);
    }
    let claims = world
        .log
        .iter()
        .filter(|recorded| matches!(recorded.fact, NotebookFact::ExecutionAssigned(_)));
    assert_eq!(claims.count(), 1);
}
