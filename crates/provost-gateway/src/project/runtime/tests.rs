//! The state of a runtime without a kernel.

use provost_proto::{KernelStatus, ProjectMode, SetModeRequest};

use crate::test_support::TestProject;

#[tokio::test]
async fn a_project_that_never_ran_is_shown_as_stopped_in_its_mode() {
    let test = TestProject::open(&[]).await;
    let runtime = &test.gateway.runtime;
    let before = runtime.runtime_state(&test.project).await.unwrap();
    assert_eq!(before.kernel.status, KernelStatus::Stopped);
    assert_eq!((before.kernel.pid, before.mode), (None, ProjectMode::Sandbox));
    assert_eq!(before.cursor, *test.gateway.store().watch_head().borrow());
    let wanted = SetModeRequest { mode: ProjectMode::Auto, minutes: None };
    test.gateway.governance.set_mode(test.request(), &test.project, wanted).await.unwrap();
    let after = runtime.runtime_state(&test.project).await.unwrap();
    assert_eq!(after.mode, ProjectMode::Auto);
    assert_ne!(after.cursor, before.cursor);
}
