//! Grants: what an answer covers beyond once, and how that ends.

use super::*;

#[tokio::test]
async fn threat_32_what_is_granted_asks_the_third_time_in_a_row_and_after_it_is_taken_back() {
    let fixture = GovernanceFixture::new().await;
    let command = |limit: u64| json!({ "command": "echo x >> ran", "timeoutMs": 60_000 + limit });
    let question = fixture.request_command(command(0)).await;
    fixture.allow(&question, json!({ "scope": "session" })).await;
    fixture.wait_finished(&question).await;
    let second = fixture.run_command(command(1)).await;
    assert_eq!(second["outcome"]["exitCode"], 0);
    // Another time limit does not make it another action.
    let tired = fixture.request_command(command(2)).await;
    assert!(tired["question"]["why"].as_str().unwrap().contains("third time in a row"), "{tired}");
    fixture.allow(&tired, json!({})).await;
    fixture.wait_finished(&tired).await;
    assert_eq!(fixture.read("ran"), "x\nx\nx\n");

    // The same agent with another line, and another agent with the same.
    fixture.request_command(json!({ "command": "echo x > ran" })).await;
    let (other, _) = fixture.new_agent().await;
    let body = json!({ "action": "terminal.runCommand", "params": command(0) });
    let path = "/api/projects/app/actions?wait=0";
    let (_, response) = fixture.send(&other, Method::POST, path, &body).await;
    assert_eq!(response["status"], "waiting", "{response}");

    let grants = fixture.get("/api/projects/app/grants").await;
    let path = format!("/api/grants/{}", grants["grants"][0]["id"].as_str().unwrap());
    let (status, response) =
        fixture.send(&fixture.agent, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(status, 403, "{response}");
    assert_eq!(fixture.operator(Method::DELETE, &path, &Value::Null).await.0, 200);
    fixture.request_command(command(0)).await;
    assert_eq!(fixture.read("ran"), "x\nx\nx\n");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn always_writes_a_rule_that_allows_this_or_nothing() {
    let fixture = GovernanceFixture::new().await;
    let policy = || std::fs::read_to_string(fixture.home.path("policy.toml")).ok();
    let rule = |argv: &str| {
        format!(
            "[[rule]]\nid = 'mine'\neffect = 'allow'\non = ['terminal.runCommand']\nargv = {argv}\n"
        )
    };
    let question = fixture.request_command(json!({ "command": "echo x" })).await;
    for wrong in [rule("['ls']"), "[[rule]]\nid = 'x'\n".to_owned(), "nonsense".to_owned()] {
        let more = json!({ "scope": "always", "rule": wrong });
        let (status, response) = fixture.allow(&question, more).await;
        assert_eq!(
            (status.as_u16(), &response["code"]),
            (422, &json!("BAD_GOVERNANCE")),
            "{response}"
        );
        assert_eq!(policy(), None, "{wrong}");
    }
    // That the mode allows it by now makes no rule of this.
    fixture.set_mode("full").await;
    let more = json!({ "scope": "always", "rule": rule("['ls']") });
    assert_eq!(fixture.allow(&question, more).await.1["code"], "BAD_GOVERNANCE");
    assert_eq!(policy(), None);
    fixture.set_mode("sandbox").await;
    let (status, response) = fixture.allow(&question, json!({ "scope": "always" })).await;
    assert_eq!(status, 200, "{response}");
    fixture.wait_finished(&question).await;
    assert!(policy().unwrap().contains(r#"line = ["echo x"]"#), "{:?}", policy());

    let done = fixture.run_command(json!({ "command": "echo x" })).await;
    let allowed = fixture.daemon.events("ACTION_ALLOWED").await;
    let last = allowed.iter().find(|body| body["action"] == done["id"]).unwrap();
    assert_eq!(last["why"]["kind"], "rules", "{last}");
    fixture.request_command(json!({ "command": "echo y" })).await;
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_rule_that_cannot_be_written_answers_nothing() {
    let fixture = GovernanceFixture::new().await;
    let question = fixture.request_command(json!({ "command": "echo x >> ran" })).await;
    // Where the rules would be, there is a folder.
    std::fs::create_dir(fixture.home.path("policy.toml")).unwrap();
    let (status, response) = fixture.allow(&question, json!({ "scope": "always" })).await;
    assert_eq!((status.as_u16(), &response["code"]), (422, &json!("BAD_GOVERNANCE")), "{response}");
    assert_eq!(fixture.pending_approvals().await.len(), 1);
    assert_eq!(fixture.read("ran"), "");
    std::fs::remove_dir(fixture.home.path("policy.toml")).unwrap();
    assert_eq!(fixture.allow(&question, json!({})).await.0, 200);
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_hard_gate_is_opened_once_and_no_further() {
    let fixture = GovernanceFixture::new().await;
    fixture.set_mode("full").await;
    let question = fixture.request_command(json!({ "command": "rm -rf src/.." })).await;
    for scope in ["session", "until", "always"] {
        let minutes = (scope == "until").then_some(5);
        let more = json!({ "scope": scope, "minutes": minutes });
        let (status, response) = fixture.allow(&question, more).await;
        assert_eq!(status, 422, "{scope}: {response}");
    }
    assert_eq!(fixture.pending_approvals().await.len(), 1);
    fixture.assert_log_intact();
}
