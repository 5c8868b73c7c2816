//! Tests of the service with a real log.

use std::sync::Arc;
use std::time::Duration;

use provost_proto::notebook::{
    CreateNotebookRequest, NotebookCommand, NotebookFact, RuntimeCapabilities, RuntimeEndReason,
    RuntimeLocation,
};
use provost_proto::{NotebookId, RuntimeSessionId};

use super::{NotebookCommands, NotebookService};
use crate::test_support::{OWNER_TOKEN, TestProject};
use crate::{NotebookAccess, RequestCredentials};

fn owner(test: &TestProject) -> NotebookAccess {
    let caller = test.gateway.auth.authenticate(RequestCredentials::Header(OWNER_TOKEN)).unwrap();
    caller.into_notebook_access().unwrap()
}

async fn create(test: &TestProject, access: &NotebookAccess) -> NotebookId {
    let request = CreateNotebookRequest { title: "Leases".to_owned(), language: None, slots: None };
    let notebooks = &test.gateway.notebooks;
    notebooks.create(access, &test.project, &request, None).await.unwrap().id
}

async fn start(
    notebooks: &NotebookService,
    access: &NotebookAccess,
    notebook: NotebookId,
) -> RuntimeSessionId {
    let session = RuntimeSessionId::new(uuid::Uuid::from_u128(7));
    let command = NotebookCommand::StartSession {
        session,
        slot: None,
        runtime_id: "echo-1".to_owned(),
        runtime_type: "echo".to_owned(),
        place: RuntimeLocation::Native,
        capabilities: RuntimeCapabilities {
            can_execute_code: true,
            can_execute_sql: true,
            can_execute_ai: true,
        },
    };
    let commands =
        NotebookCommands { notebook, commands: vec![command], key: None, connection: None };
    notebooks.apply_commands(access, commands).await.unwrap();
    session
}

#[tokio::test]
async fn a_session_whose_lease_is_not_renewed_is_ended_by_the_daemon() {
    let test = TestProject::open(&[]).await;
    let access = owner(&test);
    let notebook = create(&test, &access).await;
    let notebooks = Arc::clone(&test.gateway.notebooks);
    let session = start(&notebooks, &access, notebook).await;
    let renewed = notebooks.renew_lease(&access, notebook, session, 1, None).await.unwrap();
    assert_eq!(renewed, Ok(Duration::from_secs(30)));
    let stale = notebooks.renew_lease(&access, notebook, session, 2, None).await.unwrap();
    assert!(stale.is_err(), "another fence");
    let (_, mut follower) = notebooks.follow(&access, notebook, None).await.unwrap();
    notebooks.leases.grant_for(notebook, session, None, Duration::from_millis(1));
    let watch = tokio::spawn(Arc::clone(&notebooks).run_lease_loop());
    let events = follower.next().await.unwrap();
    let NotebookFact::RuntimeSessionEnded(ended) = &events[0].fact else { panic!("{events:?}") };
    assert_eq!((ended.session, ended.reason), (session, RuntimeEndReason::Timeout));
    assert_eq!(events[0].actor.to_string(), "daemon");
    let late = notebooks.renew_lease(&access, notebook, session, 1, None).await.unwrap();
    assert!(late.is_err(), "it has ended: {late:?}");
    watch.abort();
}

#[tokio::test]
async fn what_is_in_memory_is_what_a_new_service_reads() {
    let test = TestProject::open(&[]).await;
    let access = owner(&test);
    let notebook = create(&test, &access).await;
    let session = start(&test.gateway.notebooks, &access, notebook).await;
    let gateway = &test.gateway;
    let directory: Arc<dyn crate::project::principal_directory::PrincipalDirectory> =
        Arc::<crate::team::auth::Auth>::clone(&gateway.auth);
    let again = NotebookService::load(Arc::clone(&gateway.log), directory).await.unwrap();
    assert!(again.leases.is_granted(session), "an active session has a fresh lease");
    let kept = gateway.notebooks.cache.entry(notebook);
    let kept = kept.lock().await;
    let read = super::LoadedNotebook::read(&gateway.log, notebook).await.unwrap();
    let kept = kept.as_ref().unwrap();
    assert_eq!((&kept.state, kept.at), (&read.state, read.at));
}
