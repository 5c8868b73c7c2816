//! Trust is in one version of a file, and lets exactly the actions continue that waited for it.

use provost_proto::{
    Approval, ApprovalStatus, ChangeRoleRequest, Code, GovernanceFileKind, Hash, TrustFileRequest,
};

use crate::test_support::{ROLE, ROLE_TEXT, TestProject};
use crate::{Caller, GatewayError, SubmissionOutcome};

const POLICY: &str = ".provost/policy.toml";
const POLICY_TEXT: &str =
    "[[rule]]\nid = \"no-secrets\"\neffect = \"deny\"\non = [\"fs.*\"]\npath = [\"secret/**\"]\n";

/// What became of a file since it was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileState {
    Same,
    Changed,
    Invalid,
    Removed,
    /// It was changed and then put back.
    Restored,
}

const STATES: [FileState; 5] = [
    FileState::Same,
    FileState::Changed,
    FileState::Invalid,
    FileState::Removed,
    FileState::Restored,
];

fn apply(project: &TestProject, file: &str, text: &str, state: FileState) {
    match state {
        FileState::Same => {}
        FileState::Changed => project.write(file, &format!("{text}\n# more\n")),
        FileState::Invalid => project.write(file, "---\nskills: 7"),
        FileState::Removed => {
            std::fs::remove_file(std::path::Path::new(&project.project.path).join(file)).unwrap();
        }
        FileState::Restored => {
            project.write(file, "another text");
            project.write(file, text);
        }
    }
}

/// How an attempt to trust a file ended.
fn describe<T>(result: &Result<T, GatewayError>) -> String {
    match result {
        Ok(_) => "trusted".to_owned(),
        Err(GatewayError::Fault(fault)) => fault.code.to_string(),
        Err(GatewayError::ItemNotFound { .. }) => "NOT_FOUND".to_owned(),
        Err(other) => panic!("{other:?}"),
    }
}

async fn submit(test: &TestProject, agent: &Caller, line: &str) -> Approval {
    let outcome = test.submit_command(agent, line).await;
    let SubmissionOutcome::Running(response) = outcome else { panic!("{outcome:?}") };
    approval(test, response.approval_id.unwrap().uuid().to_string()).await
}

async fn approval(test: &TestProject, id: String) -> Approval {
    test.gateway.approvals.get_approval(&id).await.unwrap()
}

async fn reload(test: &TestProject, approval: &Approval) -> Approval {
    self::approval(test, approval.id.uuid().to_string()).await
}

async fn list_pending(test: &TestProject) -> Vec<Approval> {
    test.gateway.approvals.list_pending(|_| true).await.unwrap().approvals
}

/// Every state of every kind of file.
#[tokio::test]
async fn a_file_is_trusted_only_as_it_was_shown() {
    for state in STATES {
        let expected = match state {
            FileState::Same | FileState::Restored => ["trusted", "trusted"],
            FileState::Changed => ["HASH_MISMATCH", "HASH_MISMATCH"],
            FileState::Invalid => ["NOT_FOUND", "BAD_GOVERNANCE"],
            FileState::Removed => ["NOT_FOUND", "NOT_FOUND"],
        };
        let test = TestProject::open(&[(ROLE, ROLE_TEXT), (POLICY, POLICY_TEXT)]).await;
        let shown = test.role().await.hash;
        apply(&test, ROLE, ROLE_TEXT, state);
        assert_eq!(describe(&test.trust_role(shown).await), expected[0], "role, {state:?}");

        let view = test.gateway.governance.get_policy_view(&test.project).await.unwrap();
        let layer = view.layers.iter().find(|layer| layer.layer == "project").unwrap();
        let (what, hash) = (GovernanceFileKind::Policy, layer.hash.unwrap());
        apply(&test, POLICY, POLICY_TEXT, state);
        let wanted = TrustFileRequest { what, file: POLICY.to_owned(), hash };
        let trusted = test.gateway.trust.trust_file(test.request(), &test.project, wanted).await;
        assert_eq!(describe(&trusted), expected[1], "policy, {state:?}");
    }
}

#[tokio::test]
async fn no_other_hash_and_no_other_file_is_trusted() {
    let test = TestProject::open(&[(ROLE, ROLE_TEXT), ("provost.toml", "")]).await;
    let shown = test.role().await.hash;
    assert_eq!(describe(&test.trust_role(Hash::ZERO).await), "HASH_MISMATCH");
    for (what, file) in [
        (GovernanceFileKind::Role, "README.md"),
        (GovernanceFileKind::Role, "../outside.md"),
        (GovernanceFileKind::Policy, POLICY),
        (GovernanceFileKind::Policy, ROLE),
        (GovernanceFileKind::Runtime, "provost.toml"),
    ] {
        let wanted = TrustFileRequest { what, file: file.to_owned(), hash: shown };
        let trusted = test.gateway.trust.trust_file(test.request(), &test.project, wanted).await;
        assert_eq!(describe(&trusted), "NOT_FOUND", "{what:?} {file}");
    }
    assert!(!test.role().await.trusted);
}

#[tokio::test]
async fn trust_ends_with_a_change_of_the_file_and_returns_with_the_version() {
    let (test, agent) = TestProject::open_with_agent(&[]).await;
    assert!(test.role().await.trusted);
    assert!(submit(&test, &agent, "make one").await.question.trust.is_none());
    test.write(ROLE, &format!("{ROLE_TEXT}More.\n"));
    assert!(!test.role().await.trusted);
    let asked = submit(&test, &agent, "make two").await;
    assert_eq!(asked.question.trust.map(|trust| trust.hash), Some(test.role().await.hash));
    test.write(ROLE, ROLE_TEXT);
    assert!(test.role().await.trusted);
    assert!(submit(&test, &agent, "make three").await.question.trust.is_none());
}

#[tokio::test]
async fn trust_resumes_what_waits_for_this_version_and_withdraws_the_rest() {
    let test = TestProject::open(&[(ROLE, ROLE_TEXT)]).await;
    let agent = test.create_agent().await;
    let older = submit(&test, &agent, "make old").await;
    test.write(ROLE, &format!("{ROLE_TEXT}More.\n"));
    let newer = submit(&test, &agent, "make new").await;
    let hashes = [&older, &newer].map(|it| it.question.trust.as_ref().unwrap().hash);
    assert_ne!(hashes[0], hashes[1]);

    assert_eq!(describe(&test.trust_role(hashes[0]).await), "HASH_MISMATCH");
    assert_eq!(list_pending(&test).await.len(), 2, "nothing continues after a refusal");
    test.trust_role(hashes[1]).await.unwrap();
    assert_eq!(reload(&test, &older).await.status, ApprovalStatus::Withdrawn);
    assert_eq!(reload(&test, &newer).await.status, ApprovalStatus::Allowed);
    // Both are decided anew in the trusted role: now the commands themselves are asked for.
    let mut asked: Vec<_> = list_pending(&test).await;
    asked.sort_by_key(|approval| approval.action);
    let actions: Vec<_> = asked.iter().map(|approval| approval.action).collect();
    assert_eq!(actions, [older.action, newer.action]);
    assert!(asked.iter().all(|approval| approval.question.trust.is_none()));
}

#[tokio::test]
async fn trust_at_the_same_time_resumes_an_action_once() {
    let test = TestProject::open(&[(ROLE, ROLE_TEXT)]).await;
    let agent = test.create_agent().await;
    let waiting = submit(&test, &agent, "make all").await;
    let hash = test.role().await.hash;
    let results = tokio::join!(test.trust_role(hash), test.trust_role(hash), test.trust_role(hash));
    assert!(results.0.is_ok() && results.1.is_ok() && results.2.is_ok(), "{results:?}");
    let asked: Vec<_> = list_pending(&test).await.into_iter().map(|it| it.action).collect();
    assert_eq!(asked, [waiting.action]);
}

#[tokio::test]
async fn another_model_in_a_role_keeps_its_trust_and_gives_none() {
    for is_trusted in [false, true] {
        let test = TestProject::open(&[(ROLE, ROLE_TEXT)]).await;
        let before = test.role().await;
        if is_trusted {
            test.trust_role(before.hash).await.unwrap();
        }
        let change = async |role: &str| {
            let change = ChangeRoleRequest { model: "acme/model-2".to_owned() };
            test.gateway.trust.change_role_model(test.request(), &test.project, role, change).await
        };
        let changed = change("dev").await.unwrap();
        assert_eq!((changed.model.as_deref(), changed.trusted), (Some("acme/model-2"), is_trusted));
        assert_ne!(changed.hash, before.hash);
        assert_eq!(test.role().await, changed, "the file has it");
        assert_eq!(describe(&change("nobody").await), Code::NotFound.to_string());
    }
}
