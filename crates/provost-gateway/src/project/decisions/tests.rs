//! Explanations and simulations over a real project.

use provost_proto::{ExplainPolicyRequest, ProjectMode, SimulatePolicyRequest};
use serde_json::json;

use crate::test_support::TestProject;

fn explain_request(command: &str, role: Option<&str>, mode: ProjectMode) -> ExplainPolicyRequest {
    ExplainPolicyRequest {
        role: role.map(str::to_owned),
        action: None,
        params: json!({ "command": command }),
        mode: Some(mode),
    }
}

#[tokio::test]
async fn an_explanation_is_the_decision_that_the_agent_would_get() {
    let (test, _agent) = TestProject::open_with_agent(&[("run.sh", "echo 1\n")]).await;
    for (command, role, mode, decision) in [
        ("ls", Some("dev"), ProjectMode::Sandbox, "ask"),
        ("ls", Some("dev"), ProjectMode::Auto, "allow"),
        ("git push", Some("dev"), ProjectMode::Auto, "ask"),
        ("ls", Some("missing"), ProjectMode::Full, "deny"),
        ("ls", None, ProjectMode::Auto, "allow"),
    ] {
        let wanted = explain_request(command, role, mode);
        let found = test.gateway.decisions.explain_decision(&test.project, wanted).await.unwrap();
        assert_eq!(found.verdict, decision, "{command} {role:?} {mode:?}: {}", found.why);
        assert!(!found.why.is_empty() && !found.what.is_empty(), "{found:?}");
    }
}

#[tokio::test]
async fn a_simulation_names_the_past_requests_that_a_rule_would_decide_differently() {
    let (test, agent) = TestProject::open_with_agent(&[("run.sh", "echo 1\n")]).await;
    test.submit_command(&agent, "sh run.sh").await;
    test.submit_command(&agent, "ls -l").await;
    let simulate = |text: &str| SimulatePolicyRequest {
        layer: "project".to_owned(),
        text: text.to_owned(),
        limit: None,
    };
    let decisions = &test.gateway.decisions;
    let same = decisions.simulate_policy(&test.project, simulate("")).await.unwrap();
    assert_eq!((same.looked_at, same.differences.len()), (2, 0), "{same:?}");
    let rule = "[[rule]]\nid = \"no-listing\"\neffect = \"deny\"\non = [\"terminal.runCommand\"]\n\
                argv = [\"ls\", \"**\"]\n";
    let changed = decisions.simulate_policy(&test.project, simulate(rule)).await.unwrap();
    assert_eq!((changed.looked_at, changed.differences.len()), (2, 1), "{changed:?}");
    assert!(decisions.simulate_policy(&test.project, simulate("[[rule")).await.is_err());
}
