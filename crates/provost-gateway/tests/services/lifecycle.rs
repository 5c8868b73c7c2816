//! Opening and closing projects while their actions run.

use std::sync::Arc;
use std::time::Duration;

use provost_gateway::{GatewayError, KernelState, OpenProjectOutcome};
use provost_proto::{ActionStatus, ApprovalStatus, Code, Project, ProjectStatus};
use tokio::task::JoinSet;

use crate::fixture::{LONG, ServicesFixture, fault_code, is_alive, stdout};

async fn close(test: &ServicesFixture) -> Project {
    test.gateway.lifecycle.close_project(test.request(), &test.project.slug).await.unwrap()
}

async fn open_again(test: &ServicesFixture) -> OpenProjectOutcome {
    test.gateway.lifecycle.open_project(test.request(), &test.project.path).await.unwrap()
}

pub(crate) async fn closing_ends_what_runs_and_what_waits() {
    let test = ServicesFixture::open().await;
    let agent = test.create_agent().await;
    let waiting = test.request_approval(&agent, "echo never >> runs").await;
    let line = "sleep 60; echo never >> runs";
    let running = test.run(&test.person, line, Duration::ZERO).await.unwrap().action_id;
    test.wait_for("ACTION_STARTED", running).await;
    let kernel = test.kernel_pid();

    assert_eq!(close(&test).await.status, ProjectStatus::Closed);
    assert_eq!((test.kernel_state(), is_alive(kernel)), (KernelState::NotRunning, false));
    assert_eq!(test.wait_for_end(running).await.status, ActionStatus::Finished);
    let id = waiting.id.uuid().to_string();
    let withdrawn = test.gateway.approvals.get_approval(&id).await.unwrap();
    assert_eq!(withdrawn.status, ApprovalStatus::Withdrawn);
    assert_eq!(fault_code(&test.allow(&waiting).await), Some(Code::ApprovalResolved));
    let refused = test.run(&test.person, "true", LONG).await;
    assert!(matches!(refused, Err(GatewayError::ProjectClosed)), "{refused:?}");
    assert_eq!(test.count_lines("runs"), 0);

    let n_events = test.events("PROJECT_CLOSED").await.len();
    assert_eq!(close(&test).await.status, ProjectStatus::Closed);
    assert_eq!(test.events("PROJECT_CLOSED").await.len(), n_events, "it was closed before");
    test.end().await;
}

/// Whatever is first: an action that was accepted ends, and no kernel runs for a closed project.
pub(crate) async fn actions_that_start_while_the_project_closes_leave_no_kernel() {
    let test = Arc::new(ServicesFixture::open().await);
    for round in 0..6 {
        let mut callers = JoinSet::new();
        for _ in 0..4 {
            let test = Arc::clone(&test);
            callers.spawn(async move { test.run(&test.person, "sleep 60", LONG).await });
        }
        // Before, while and after the kernel is started.
        for _ in 0..round * 40 {
            tokio::task::yield_now().await;
        }
        close(&test).await;
        let ended = tokio::time::timeout(LONG, callers.join_all()).await.unwrap();
        assert_eq!(test.kernel_state(), KernelState::NotRunning, "round {round}: {ended:?}");
        let (allowed, finished) =
            (test.events("ACTION_ALLOWED").await, test.events("ACTION_FINISHED").await);
        assert_eq!(allowed.len(), finished.len(), "round {round}: each has one end");
        let opened = open_again(&test).await;
        assert!(matches!(opened, OpenProjectOutcome::Opened(_)), "{opened:?}");
    }
    Arc::into_inner(test).unwrap().end().await;
}

pub(crate) async fn a_folder_that_is_opened_again_is_the_same_project() {
    let test = ServicesFixture::open().await;
    let already = open_again(&test).await;
    assert!(matches!(&already, OpenProjectOutcome::AlreadyOpen(it) if it.id == test.project.id));
    assert_eq!(test.events("PROJECT_OPENED").await.len(), 1);
    test.run(&test.person, "echo one > kept", LONG).await.unwrap();
    let home = test.data().join("homes").join(test.project.id.uuid().simple().to_string());
    assert!(home.is_dir(), "{}", home.display());
    close(&test).await;
    let opened = open_again(&test).await;
    let OpenProjectOutcome::Opened(project) = &opened else { panic!("{opened:?}") };
    assert_eq!((project.id, project.status), (test.project.id, ProjectStatus::Open));
    let response = test.run(&test.person, "cat kept", LONG).await.unwrap();
    assert_eq!(stdout(&response), "one\n");
    test.end().await;
}
