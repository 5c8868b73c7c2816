//! The kernels of projects: one for all callers, delayed when it does not start, started again
//! when it was lost.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use provost_gateway::{GatewayError, KernelState};
use provost_proto::{ActionStatus, Code};
use rustix::process::{Pid, Signal, kill_process};
use tokio::task::JoinSet;

use crate::fixture::{LONG, ServicesFixture, fault_code, is_alive, stdout};

/// How often to try again while a start is delayed.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) async fn callers_at_once_get_one_kernel() {
    let test = Arc::new(ServicesFixture::open().await);
    assert_eq!(test.kernel_state(), KernelState::NotRunning, "it is started on demand");
    let mut callers = JoinSet::new();
    for number in 0..8 {
        let test = Arc::clone(&test);
        callers.spawn(async move {
            let response = test.run(&test.person, &format!("echo {number}"), LONG).await.unwrap();
            stdout(&response)
        });
    }
    let printed: HashSet<_> =
        callers.join_all().await.into_iter().map(|text| text.to_string()).collect();
    assert_eq!(printed.len(), 8, "each got its own output: {printed:?}");
    let started = test.events("KERNEL_STARTED").await;
    assert_eq!(started.len(), 1);
    assert_eq!(started[0].body["pid"], test.kernel_pid());
    Arc::into_inner(test).unwrap().end().await;
}

pub(crate) async fn starts_that_fail_are_delayed_from_the_fourth_on() {
    let test = ServicesFixture::open_without_program().await;
    let attempt = async || test.run(&test.person, "true", LONG).await;
    let message = |result| match result {
        Err(GatewayError::Fault(fault)) => fault.message,
        other => panic!("{other:?}"),
    };
    for _ in 0..3 {
        let failed = message(attempt().await);
        assert!(failed.contains("did not start"), "{failed}");
    }
    let delayed = message(attempt().await);
    let (_, rest) = delayed.split_once("started again in ").unwrap();
    let seconds: u64 = rest.strip_suffix(" s").unwrap().parse().unwrap();
    assert!((1..=2).contains(&seconds), "{delayed}");

    // Whether it could start now does not matter before that.
    test.install_program();
    let early = attempt().await;
    assert_eq!(fault_code(&early), Some(Code::KernelLost), "{early:?}");
    assert!(test.events("KERNEL_STARTED").await.is_empty());
    let mut n_refused = 5;
    while let Err(refused) = attempt().await {
        assert!(matches!(&refused, GatewayError::Fault(fault) if fault.code == Code::KernelLost));
        n_refused += 1;
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
    assert_eq!(test.events("KERNEL_STARTED").await.len(), 1);

    // Each attempt has its end in the log.
    let ended = test.events("ACTION_FINISHED").await;
    let n_failed = ended.iter().filter(|event| !event.body["outcome"]["fault"].is_null()).count();
    assert_eq!((ended.len(), n_failed), (n_refused + 1, n_refused));
    test.end().await;
}

pub(crate) async fn a_killed_kernel_ends_its_actions_and_is_started_again() {
    let test = ServicesFixture::open().await;
    let running = test.run(&test.person, "sleep 60", Duration::ZERO).await.unwrap().action_id;
    let started = test.wait_for("ACTION_STARTED", running).await;
    let (kernel, child) = (test.kernel_pid(), started.body["pid"].as_u64().unwrap());
    kill_process(Pid::from_raw(kernel.cast_signed()).unwrap(), Signal::KILL).unwrap();

    let ended = test.wait_for_end(running).await;
    let fault = ended.outcome.and_then(|outcome| outcome.fault).map(|fault| fault.code);
    assert_eq!((ended.status, fault), (ActionStatus::Finished, Some(Code::KernelLost)));
    test.wait_until("KERNEL_LOST", |_| true).await;
    assert!(test.events("KERNEL_STOPPED").await.is_empty(), "nobody stopped it");
    wait_until_gone(u32::try_from(child).unwrap()).await;

    let again = test.run(&test.person, "echo back", LONG).await.unwrap();
    assert_eq!(stdout(&again), "back\n");
    assert_ne!(test.kernel_pid(), kernel);
    assert_eq!(test.events("KERNEL_STARTED").await.len(), 2);
    test.end().await;
}

pub(crate) async fn a_stopped_kernel_leaves_no_process() {
    let test = ServicesFixture::open().await;
    let running = test.run(&test.person, "sleep 60", Duration::ZERO).await.unwrap().action_id;
    let started = test.wait_for("ACTION_STARTED", running).await;
    let (kernel, child) = (test.kernel_pid(), started.body["pid"].as_u64().unwrap());
    test.gateway.kernels.stop_kernel(test.project.id).await;
    assert_eq!(test.kernel_state(), KernelState::NotRunning);
    assert!(!is_alive(kernel), "when it returns, the kernel has exited");
    wait_until_gone(u32::try_from(child).unwrap()).await;
    assert_eq!(test.events("KERNEL_STOPPED").await.len(), 1);
    assert!(test.events("KERNEL_LOST").await.is_empty(), "its end was intended");
    assert_eq!(test.get_action(running).await.status, ActionStatus::Finished);

    // That was no failure: the next one starts at once.
    test.run(&test.person, "true", LONG).await.unwrap();
    test.end().await;
}

/// Its supervisor ends a child, which takes a moment.
async fn wait_until_gone(pid: u32) {
    let gone = async {
        while is_alive(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, gone).await.unwrap();
}
