//! Roles, guides and owners of sessions in a real project.

use provost_proto::{Actor, Fact, SessionId, Stream};
use provost_store::AppendRequest;
use serde_json::json;
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
    sessions.claim_session(id, "agent:a").await.unwrap();
    sessions.claim_session(id, "agent:a").await.unwrap();
    assert!(sessions.claim_session(id, "agent:b").await.is_err());
    assert!(sessions.create_session_caller(id, test.project.id, "dev").await.is_err());
}

#[tokio::test]
async fn the_owner_that_an_earlier_daemon_recorded_is_found_in_the_log() {
    let test = TestProject::open(&[]).await;
    let (sessions, id) = (&test.gateway.sessions, SessionId::from(Uuid::new_v4()));
    for principal in ["agent:a", "agent:later"] {
        let question = json!({
            "name": "n", "params": {}, "what": "w", "why": "w", "demands": [], "cwd": ".",
            "diff": null, "profile": "command", "network": false, "rules": [], "gate": null,
            "pins": [], "choices": [], "trust": null,
        });
        let body = json!({
            "approval": Uuid::new_v4(), "project": test.project.id, "action": Uuid::new_v4(),
            "actionHash": "5".repeat(64), "class": "agent", "role": "dev", "session": id,
            "question": question, "expiresAt": 9,
        });
        let fact = Fact::from_kind_and_body("APPROVAL_ASKED", &body).unwrap();
        let stream = Stream::Project(test.project.id);
        let request = AppendRequest::single_event(principal, Actor::Daemon, stream, fact);
        test.gateway.store().append(request).await.unwrap();
    }
    for (by, ok) in [("agent:b", false), ("agent:later", false), ("agent:a", true)] {
        assert_eq!(sessions.claim_session(id, by).await.is_ok(), ok, "{by}");
    }
}
