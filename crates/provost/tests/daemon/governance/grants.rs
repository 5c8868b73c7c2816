//! Grants: what an answer covers beyond once, and how that ends.

use super::*;

#[tokio::test]
async fn threat_32_what_is_granted_asks_the_third_time_in_a_row_and_after_it_is_taken_back() {
    let world = World::new().await;
    let command = |limit: u64| json!({ "command": "echo x >> ran", "timeoutMs": 60_000 + limit });
    let question = world.asks_to_run(command(0)).await;
    world.allows(&question, json!({ "scope": "session" })).await;
    world.ended(&question).await;
    let second = world.runs(command(1)).await;
    assert_eq!(second["outcome"]["exitCode"], 0);
    // Another time limit does not make it another action.
    let tired = world.asks_to_run(command(2)).await;
    assert!(tired["question"]["why"].as_str().unwrap().contains("third time in a row"), "{tired}");
    world.allows(&tired, json!({})).await;
    world.ended(&tired).await;
    assert_eq!(world.read("ran"), "x\nx\nx\n");

    // The same agent with another line, and another agent with the same.
    world.asks_to_run(json!({ "command": "echo x > ran" })).await;
    let (other, _) = world.new_agent().await;
    let body = json!({ "action": "terminal.runCommand", "params": command(0) });
    let path = "/api/projects/app/actions?wait=0";
    let (_, said) = world.send(&other, Method::POST, path, &body).await;
    assert_eq!(said["status"], "waiting", "{said}");

    let grants = world.get("/api/projects/app/grants").await;
    let path = format!("/api/grants/{}", grants["grants"][0]["id"].as_str().unwrap());
    let (status, said) = world.send(&world.agent, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(status, 403, "{said}");
    assert_eq!(world.operator(Method::DELETE, &path, &Value::Null).await.0, 200);
    world.asks_to_run(command(0)).await;
    assert_eq!(world.read("ran"), "x\nx\nx\n");
    world.assert_log_intact();
}

#[tokio::test]
async fn always_writes_a_rule_that_allows_this_or_nothing() {
    let world = World::new().await;
    let policy = || std::fs::read_to_string(world.home.path("policy.toml")).ok();
    let rule = |argv: &str| {
        format!(
            "[[rule]]\nid = 'mine'\neffect = 'allow'\non = ['terminal.runCommand']\nargv = {argv}\n"
        )
    };
    let question = world.asks_to_run(json!({ "command": "echo x" })).await;
    for wrong in [rule("['ls']"), "[[rule]]\nid = 'x'\n".to_owned(), "nonsense".to_owned()] {
        let more = json!({ "scope": "always", "rule": wrong });
        let (status, said) = world.allows(&question, more).await;
        assert_eq!((status.as_u16(), &said["code"]), (422, &json!("BAD_GOVERNANCE")), "{said}");
        assert_eq!(policy(), None, "{wrong}");
    }
    // That the mode allows it by now makes no rule of this.
    world.sets_mode("full").await;
    let more = json!({ "scope": "always", "rule": rule("['ls']") });
    assert_eq!(world.allows(&question, more).await.1["code"], "BAD_GOVERNANCE");
    assert_eq!(policy(), None);
    world.sets_mode("sandbox").await;
    let (status, said) = world.allows(&question, json!({ "scope": "always" })).await;
    assert_eq!(status, 200, "{said}");
    world.ended(&question).await;
    assert!(policy().unwrap().contains(r#"line = ["echo x"]"#), "{:?}", policy());

    let done = world.runs(json!({ "command": "echo x" })).await;
    let allowed = world.daemon.events("ACTION_ALLOWED").await;
    let last = allowed.iter().find(|body| body["action"] == done["id"]).unwrap();
    assert_eq!(last["why"]["kind"], "rules", "{last}");
    world.asks_to_run(json!({ "command": "echo y" })).await;
    world.assert_log_intact();
}

#[tokio::test]
async fn a_rule_that_cannot_be_written_answers_nothing() {
    let world = World::new().await;
    let question = world.asks_to_run(json!({ "command": "echo x >> ran" })).await;
    // Where the rules would be, there is a folder.
    std::fs::create_dir(world.home.path("policy.toml")).unwrap();
    let (status, said) = world.allows(&question, json!({ "scope": "always" })).await;
    assert_eq!((status.as_u16(), &said["code"]), (422, &json!("BAD_GOVERNANCE")), "{said}");
    assert_eq!(world.open().await.len(), 1);
    assert_eq!(world.read("ran"), "");
    std::fs::remove_dir(world.home.path("policy.toml")).unwrap();
    assert_eq!(world.allows(&question, json!({})).await.0, 200);
    world.assert_log_intact();
}

#[tokio::test]
async fn a_hard_gate_is_opened_once_and_no_further() {
    let world = World::new().await;
    world.sets_mode("full").await;
    let question = world.asks_to_run(json!({ "command": "rm -rf src/.." })).await;
    for scope in ["session", "until", "always"] {
        let minutes = (scope == "until").then_some(5);
        let more = json!({ "scope": scope, "minutes": minutes });
        let (status, said) = world.allows(&question, more).await;
        assert_eq!(status, 422, "{scope}: {said}");
    }
    assert_eq!(world.open().await.len(), 1);
    world.assert_log_intact();
}
