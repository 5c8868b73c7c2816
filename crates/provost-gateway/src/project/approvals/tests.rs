//! Approvals over a real store, without a server and without kernels.

use provost_proto::{AnswerApprovalRequest, Approval, ApprovalAnswer, ApprovalStatus, Code};

use crate::project::decisions::file_pins::pin_count;
use crate::test_support::TestProject;
use crate::{Caller, GatewayError, RequestCredentials, SubmissionOutcome};

/// A project with a script, and an agent.
async fn open_project_with_agent() -> (TestProject, Caller) {
    TestProject::open_with_agent(&[("run.sh", "echo 1\n")]).await
}

/// Submits a command that runs the script, and returns its pending approval.
async fn request_script(test: &TestProject, agent: &Caller) -> Approval {
    let outcome = test.submit_command(agent, "sh run.sh").await;
    let SubmissionOutcome::Running(response) = outcome else { panic!("{outcome:?}") };
    let id = response.approval_id.unwrap();
    test.gateway.approvals.get_approval(&id.uuid().to_string()).await.unwrap()
}

async fn answer(
    test: &TestProject,
    approval: &Approval,
    decision: ApprovalAnswer,
) -> Result<Approval, GatewayError> {
    let answer = AnswerApprovalRequest {
        action_hash: approval.action_hash,
        decision,
        scope: None,
        minutes: None,
        rule: None,
        message: None,
    };
    let id = approval.id.uuid().to_string();
    test.gateway.approvals.answer_approval(test.request(), &id, answer).await
}

fn has_code(result: &Result<Approval, GatewayError>, code: Code) -> bool {
    matches!(result, Err(GatewayError::Fault(fault)) if fault.code == code)
}

#[tokio::test]
async fn of_concurrent_answers_exactly_one_counts() {
    let (test, agent) = open_project_with_agent().await;
    let approval = request_script(&test, &agent).await;
    let answers = tokio::join!(
        answer(&test, &approval, ApprovalAnswer::Deny),
        answer(&test, &approval, ApprovalAnswer::Allow),
        answer(&test, &approval, ApprovalAnswer::Deny),
    );
    let answers = [answers.0, answers.1, answers.2];
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
    let resolved = answers.iter().filter(|answer| has_code(answer, Code::ApprovalResolved));
    assert_eq!(resolved.count(), 2, "{answers:?}");
}

#[tokio::test]
async fn scripts_are_hashed_once_for_a_request_and_once_for_an_answer() {
    let (test, agent) = open_project_with_agent().await;
    pin_count::take(&test.project.path);
    let approval = request_script(&test, &agent).await;
    assert_eq!(approval.question.pins.len(), 1);
    assert_eq!(pin_count::take(&test.project.path), 1, "for the request");
    let answered = answer(&test, &approval, ApprovalAnswer::Allow).await.unwrap();
    assert_eq!(answered.status, ApprovalStatus::Allowed);
    assert_eq!(pin_count::take(&test.project.path), 1, "for the answer");
}

#[tokio::test]
async fn a_changed_script_makes_the_prompt_stale() {
    let (test, agent) = open_project_with_agent().await;
    let approval = request_script(&test, &agent).await;
    test.write("run.sh", "echo 2\n");
    let stale = answer(&test, &approval, ApprovalAnswer::Allow).await;
    assert!(has_code(&stale, Code::HashMismatch), "{stale:?}");
    let pending = test.gateway.approvals.list_pending(|_| true).await.unwrap().approvals;
    assert_eq!(pending.len(), 1);
    assert_ne!(pending[0].id, approval.id);
    assert_ne!(pending[0].question.pins, approval.question.pins);
}

#[tokio::test]
async fn the_same_request_does_not_open_a_second_approval() {
    let (test, agent) = open_project_with_agent().await;
    let first = request_script(&test, &agent).await;
    assert_eq!(request_script(&test, &agent).await.id, first.id);
}

#[tokio::test]
async fn a_revoked_token_invalidates_its_pending_request() {
    let (test, agent) = open_project_with_agent().await;
    let approval = request_script(&test, &agent).await;
    let auth = &test.gateway.auth;
    let token = auth.list_tokens(&test.operator).pop().unwrap();
    auth.revoke_token(&test.operator, &token.id.uuid().to_string()).await.unwrap();
    answer(&test, &approval, ApprovalAnswer::Allow).await.unwrap();
    let id = approval.action.uuid().to_string();
    let owner = auth.authenticate(RequestCredentials::Header("owner")).unwrap();
    let action = test.gateway.actions.get_action_for_caller(&owner, &id).await.unwrap();
    assert_eq!(action.status, provost_proto::ActionStatus::Denied);
}

#[tokio::test]
async fn a_withdrawn_approval_cannot_be_answered() {
    let (test, agent) = open_project_with_agent().await;
    let approval = request_script(&test, &agent).await;
    let id = approval.action.uuid().to_string();
    assert!(test.gateway.actions.cancel_action(&agent, &id).await.unwrap());
    let late = answer(&test, &approval, ApprovalAnswer::Allow).await;
    assert!(has_code(&late, Code::ApprovalResolved), "{late:?}");
}
