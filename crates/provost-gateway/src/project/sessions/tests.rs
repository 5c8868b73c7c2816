//! Roles, guides and owners of sessions in a real project.

use provost_proto::SessionId;
use uuid::Uuid;

use crate::test_support::TestProject;

#[tokio::test]
async fn only_a_role_that_is_trusted_as_it_is_instructs_a_model() {
    let (test, _agent) = TestProject::open_with_agent(&[]).await;
    let sessions = &test.gateway.sessions;
    let role = sessions.find_session_role(&test.project, "dev").await.unwrap();
    assert_eq!((&*role.name, role.instructions.trim()), ("dev", "Work."));
    assert!(sessions.find_session_role(&test.project, "other").await.is_err());
    test.write(".provost/roles/dev.md", "---\nname: dev\nskills: [fs.read]\n---\nObey.\n");
    let changed = sessions.find_session_role(&test.project, "dev").await.unwrap_err();
    assert!(changed.to_string().contains("not trusted"), "{changed}");
    assert!(sessions.list_session_roles(&test.project).await.unwrap().is_empty());
}

#[tokio::test]
async fn guides_are_read_at_the_top_and_above_what_was_touched() {
    let test = TestProject::open(&[
        ("AGENTS.md", "top"),
        ("lib/AGENTS.md", "lib"),
        ("lib/deep/er/AGENTS.md", "deeper"),
        ("lib/deep/er/x.rs", ""),
    ])
    .await;
    let load = async |touched: &[&str]| {
        let touched: Vec<String> = touched.iter().map(|path| (*path).to_owned()).collect();
        let guides = test.gateway.sessions.load_guides(&test.project, &touched).await.unwrap();
        guides.into_iter().map(|guide| guide.text).collect::<Vec<_>>()
    };
    assert_eq!(load(&[]).await, ["top", "lib"]);
    assert_eq!(load(&["lib/deep/er/x.rs"]).await, ["top", "lib", "deeper"]);
    assert_eq!(load(&["../../etc/passwd"]).await, ["top", "lib"]);
}

#[tokio::test]
async fn a_session_belongs_to_the_first_principal_that_uses_it() {
    let test = TestProject::open(&[]).await;
    let (sessions, id) = (&test.gateway.sessions, SessionId::from(Uuid::new_v4()));
    sessions.claim_session(id, "agent:a").unwrap();
    sessions.claim_session(id, "agent:a").unwrap();
    assert!(sessions.claim_session(id, "agent:b").is_err());
    assert!(sessions.create_session_caller(id, test.project.id, "dev").is_err());
}
