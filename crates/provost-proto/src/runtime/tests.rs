//! The JSON on the wire.

use expect_test::expect;
use uuid::Uuid;

use super::{BuildStatus, RunCause, RuntimeChange, RuntimeStarted, RuntimeStatus, RuntimeView};
use crate::Fact;
use crate::kernel::{KernelReport, ReportPayload};

fn started() -> RuntimeChange {
    RuntimeChange::Started(RuntimeStarted {
        pid: 7,
        command: "npm run dev".to_owned(),
        profile: "serve".to_owned(),
        cause: RunCause::Run,
        restarts: 0,
    })
}

#[test]
fn a_change_is_one_report_and_one_fact() {
    let (project, action) = (Uuid::from_u128(1).into(), Uuid::from_u128(2).into());
    let report = KernelReport { number: 5, action, what: ReportPayload::Runtime(started()) };
    let text = serde_json::to_string(&report).unwrap();
    expect![[r#"{"number":5,"action":"00000000-0000-0000-0000-000000000002","what":{"kind":"runtime","change":"started","body":{"pid":7,"command":"npm run dev","profile":"serve","cause":"run","restarts":0}}}"#]]
        .assert_eq(&text);
    assert_eq!(serde_json::from_str::<KernelReport>(&text).unwrap(), report);
    let fact = started().into_fact(project, action, 5);
    assert_eq!(RuntimeChange::from_fact(&fact), Some((project, action, 5, started())));
    let body = fact.body().unwrap();
    expect![[r#"{"action":"00000000-0000-0000-0000-000000000002","project":"00000000-0000-0000-0000-000000000001","report":5,"run":{"cause":"run","command":"npm run dev","pid":7,"profile":"serve","restarts":0}}"#]]
        .assert_eq(&body.to_string());
    assert_eq!(fact.kind(), "RUNTIME_STARTED");
    assert_eq!(Fact::from_kind_and_body(fact.kind(), &body), Some(fact));
}

#[test]
fn other_facts_are_no_changes() {
    let fact = Fact::DaemonStopped { reason: String::new() };
    assert_eq!(RuntimeChange::from_fact(&fact), None);
}

#[test]
fn a_build_on_its_own_is_building_and_one_beside_a_dev_server_is_not() {
    for (dev_server, build, whole) in [
        (RuntimeStatus::Stopped, BuildStatus::Running, RuntimeStatus::Building),
        (RuntimeStatus::Crashed, BuildStatus::Running, RuntimeStatus::Building),
        (RuntimeStatus::Starting, BuildStatus::Running, RuntimeStatus::Building),
        (RuntimeStatus::Running, BuildStatus::Running, RuntimeStatus::Running),
        (RuntimeStatus::Stopping, BuildStatus::Running, RuntimeStatus::Stopping),
        (RuntimeStatus::Crashed, BuildStatus::Failed, RuntimeStatus::Crashed),
        (RuntimeStatus::Stopped, BuildStatus::None, RuntimeStatus::Stopped),
    ] {
        assert_eq!(
            RuntimeView::combined_status(dev_server, build),
            whole,
            "{dev_server:?} {build:?}"
        );
    }
}
