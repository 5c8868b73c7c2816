//! Executing actions: once, however many requests there are, and not after a cancellation.

use std::sync::Arc;
use std::time::Duration;

use provost_gateway::GatewayError;
use provost_proto::{ActionId, ActionStatus, Code, Hash};
use provost_store::{Clock, Idempotency};
use tokio::task::JoinSet;

use crate::fixture::{LONG, ServicesFixture, fault_code};

/// Appends a line to a file: the number of its lines is how often it ran.
const COUNTED: &str = "echo ran >> runs";

pub(crate) async fn a_request_that_is_repeated_runs_once() {
    let test = Arc::new(ServicesFixture::open().await);
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let test = Arc::clone(&test);
        callers.spawn(async move {
            let command = Idempotency { key: "key-1".to_owned(), request: Hash::ZERO };
            test.submit(&test.person, COUNTED, None, Some(command), LONG).await
        });
    }
    let results = callers.join_all().await;
    let n_ok = results.iter().filter(|result| result.is_ok()).count();
    let n_repeated = results.iter().filter(|it| fault_code(it) == Some(Code::Conflict)).count();
    assert_eq!((n_ok, n_repeated), (1, 7), "{results:?}");
    assert_eq!(test.count_lines("runs"), 1);
    assert_eq!(test.events("ACTION_ALLOWED").await.len(), 1);
    Arc::into_inner(test).unwrap().end().await;
}

pub(crate) async fn of_many_answers_one_runs_the_action() {
    let test = Arc::new(ServicesFixture::open().await);
    let agent = test.create_agent().await;
    let approval = Arc::new(test.request_approval(&agent, COUNTED).await);
    assert_eq!(test.count_lines("runs"), 0, "it waits");
    let mut people = JoinSet::new();
    for _ in 0..8 {
        let (test, approval) = (Arc::clone(&test), Arc::clone(&approval));
        people.spawn(async move { test.allow(&approval).await });
    }
    let answers = people.join_all().await;
    let n_late =
        answers.iter().filter(|answer| fault_code(answer) == Some(Code::ApprovalResolved)).count();
    assert_eq!((answers.iter().filter(|it| it.is_ok()).count(), n_late), (1, 7), "{answers:?}");
    let action = test.wait_for_end(approval.action).await;
    assert_eq!(action.outcome.unwrap().exit_code, Some(0));
    assert_eq!(test.count_lines("runs"), 1);
    assert_eq!(test.events("ACTION_ALLOWED").await.len(), 1);
    Arc::into_inner(test).unwrap().end().await;
}

/// Every state that an action can be in.
pub(crate) async fn what_is_cancelled_depends_on_the_state() {
    let test = ServicesFixture::open().await;
    let agent = test.create_agent().await;
    let actions = &test.gateway.actions;
    let cancel =
        async |id: ActionId| actions.cancel_action(&test.person, &id.uuid().to_string()).await;

    // Unknown.
    let unknown = cancel(Clock::system().new_id()).await;
    assert!(matches!(unknown, Err(GatewayError::ActionNotFound(_))), "{unknown:?}");

    // Waiting: it never runs.
    let waiting = test.request_approval(&agent, COUNTED).await;
    assert!(cancel(waiting.action).await.unwrap());
    assert_eq!(fault_code(&test.allow(&waiting).await), Some(Code::ApprovalResolved));
    assert_eq!(test.get_action(waiting.action).await.status, ActionStatus::Denied);
    assert!(!cancel(waiting.action).await.unwrap(), "there is nothing left to cancel");

    // Running: it and what it started end.
    let line = "sleep 60 & sleep 60; echo ran >> runs";
    let running = test.run(&test.person, line, Duration::ZERO).await.unwrap().action_id;
    test.wait_for("ACTION_STARTED", running).await;
    assert!(cancel(running).await.unwrap());
    let ended = test.wait_for_end(running).await;
    let fault = ended.outcome.and_then(|outcome| outcome.fault).map(|fault| fault.code);
    assert_eq!((ended.status, fault), (ActionStatus::Finished, Some(Code::Cancelled)));

    // Finished.
    assert!(!cancel(running).await.unwrap());
    assert_eq!(test.count_lines("runs"), 0);
    test.end().await;
}

/// A cancellation counts from the moment at which the log says that the action is allowed, also
/// while its kernel is being started.
pub(crate) async fn an_action_that_is_cancelled_while_it_starts_ends() {
    let test = Arc::new(ServicesFixture::open().await);
    let id: ActionId = Clock::system().new_id();
    let submitted = {
        let test = Arc::clone(&test);
        let line = "sleep 60; echo ran >> runs";
        tokio::spawn(async move { test.submit(&test.person, line, Some(id), None, LONG).await })
    };
    let name = id.uuid().to_string();
    let cancelled = async {
        loop {
            match test.gateway.actions.cancel_action(&test.person, &name).await {
                Ok(true) => break,
                // It is not in the log yet.
                Err(GatewayError::ActionNotFound(_)) => tokio::task::yield_now().await,
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(LONG, cancelled).await.unwrap();
    let result = submitted.await.unwrap();
    assert_eq!(fault_code(&result), Some(Code::Cancelled), "{result:?}");
    let ended = test.get_action(id).await;
    let fault = ended.outcome.and_then(|outcome| outcome.fault).map(|fault| fault.code);
    assert_eq!((ended.status, fault), (ActionStatus::Finished, Some(Code::Cancelled)));
    assert_eq!((test.count_lines("runs"), test.events("ACTION_FINISHED").await.len()), (0, 1));
    Arc::into_inner(test).unwrap().end().await;
}
