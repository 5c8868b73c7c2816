//! Answers: exactly one is valid, for exactly what was shown (THREATS 24, 25, 26).

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threat_24_of_32_answers_at_once_one_counts_and_it_runs_once() {
    let fixture = GovernanceFixture::new().await;
    let question = fixture.request_command(json!({ "command": "echo x >> ran" })).await;
    let all = (0..32).map(|_| fixture.allow(&question, json!({})));
    let answers = futures::future::join_all(all).await;
    let won = answers.iter().filter(|(status, _)| *status == 200).count();
    let late =
        answers.iter().filter(|(_, response)| response["code"] == "APPROVAL_RESOLVED").count();
    assert_eq!((won, late), (1, 31), "{answers:?}");
    fixture.wait_finished(&question).await;
    assert_eq!(fixture.read("ran"), "x\n");
    assert_eq!(fixture.daemon.events("APPROVAL_ANSWERED").await.len(), 1);
    fixture.assert_log_intact();
}

#[tokio::test]
async fn threat_25_an_answer_to_something_else_runs_nothing() {
    let fixture = GovernanceFixture::new().await;
    let harmless = fixture.request_command(json!({ "command": "echo good" })).await;
    let harmful = fixture.request_command(json!({ "command": "echo x >> ran" })).await;
    let swapped = json!({ "id": harmful["id"], "actionHash": harmless["actionHash"] });
    let (status, response) = fixture.allow(&swapped, json!({})).await;
    assert_eq!((status.as_u16(), &response["code"]), (409, &json!("HASH_MISMATCH")), "{response}");
    // Answered once, it is not there for another time.
    fixture.allow(&harmful, json!({})).await;
    fixture.wait_finished(&harmful).await;
    let (_, again) = fixture.allow(&harmful, json!({})).await;
    assert_eq!(again["code"], "APPROVAL_RESOLVED");
    assert_eq!(fixture.read("ran"), "x\n");
    let (_, response) = fixture.allow(&harmless, json!({ "rule": "x" })).await;
    assert_eq!(response["code"], "INVALID_REQUEST", "{response}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn threat_26_a_script_that_is_edited_after_the_question_is_asked_about_again() {
    let fixture = GovernanceFixture::new().await;
    let outside = fixture.home.path("outside.sh");
    std::fs::write(&outside, "echo good >> ran").unwrap();
    std::os::unix::fs::symlink(&outside, fixture.home.path("app").join("out.sh")).unwrap();
    let app = fixture.home.path("app").canonicalize().unwrap();
    let absolute = format!("sh {}/build.sh", app.display());
    let long = format!("echo good >> ran #{}", "x".repeat(17 * 1024 * 1024));
    for (command, file, before) in [
        ("sh build.sh", "build.sh", "echo good >> ran"),
        ("mkdir -p web; cd web && sh ../build.sh", "build.sh", "echo good >> ran"),
        (&absolute, "build.sh", "echo good >> ran"),
        ("cat build.sh | bash", "build.sh", "echo good >> ran"),
        ("sh out.sh", "../outside.sh", "echo good >> ran"),
        ("sh long.sh", "long.sh", &long),
        ("make -f other.mk", "other.mk", "all:\n\techo good >> ran\n"),
    ] {
        fixture.write(file, before);
        let question = fixture.request_command(json!({ "command": command })).await;
        assert!(!question["question"]["pins"].as_array().unwrap().is_empty(), "{command}");
        fixture.write(file, "echo evil >> ran");
        let (status, response) = fixture.allow(&question, json!({})).await;
        assert_eq!(
            (status.as_u16(), &response["code"]),
            (409, &json!("HASH_MISMATCH")),
            "{command}: {response}"
        );
        let old =
            fixture.get(&format!("/api/approvals/{}", question["id"].as_str().unwrap())).await;
        assert_eq!(old["status"], "withdrawn", "{command}");
        let open = fixture.pending_approvals().await;
        assert_eq!((open.len(), &open[0]["action"]), (1, &question["action"]), "{command}");
        assert_ne!(open[0]["question"]["pins"], question["question"]["pins"], "{command}");
        let deny = json!({ "decision": "deny", "actionHash": open[0]["actionHash"] });
        let path = format!("/api/approvals/{}", open[0]["id"].as_str().unwrap());
        assert_eq!(fixture.operator(Method::POST, &path, &deny).await.0, 200);
    }
    assert_eq!(fixture.read("ran"), "");
    assert!(fixture.daemon.events("ACTION_ALLOWED").await.is_empty());
    fixture.assert_log_intact();
}

#[tokio::test]
async fn questions_outlive_a_kill_and_their_actions_run_once() {
    let mut fixture = GovernanceFixture::new().await;
    let first = fixture.request_command(json!({ "command": "echo x >> ran" })).await;
    fixture.request_command(json!({ "command": "echo y >> ran", "cwd": "." })).await;
    let before = fixture.pending_approvals().await;
    fixture.daemon.kill();
    fixture.daemon = fixture.home.up();
    assert_eq!(fixture.pending_approvals().await, before);
    assert_eq!(before.len(), 2);
    let (status, response) = fixture.allow(&first, json!({})).await;
    assert_eq!(status, 200, "{response}");
    fixture.wait_finished(&first).await;
    fixture.daemon.kill();
    fixture.daemon = fixture.home.up();
    let (_, again) = fixture.allow(&first, json!({})).await;
    assert_eq!(again["code"], "APPROVAL_RESOLVED");
    assert_eq!((fixture.read("ran").as_str(), fixture.pending_approvals().await.len()), ("x\n", 1));
    fixture.assert_log_intact();
}

#[tokio::test]
async fn what_a_revoked_token_asked_for_does_not_run() {
    let fixture = GovernanceFixture::new().await;
    let question = fixture.request_command(json!({ "command": "echo x >> ran" })).await;
    // Another waits for its role to be trusted, where the mode would let it run.
    fixture.set_mode("full").await;
    fixture.write(ROLE, "---\nname: dev\nskills: [terminal.*]\n---\nChanged.\n");
    let waits = fixture.request_command(json!({ "command": "echo y >> ran" })).await;
    assert!(waits["question"]["trust"].is_object(), "{waits}");
    let path = format!("/api/tokens/{}", fixture.agent_id);
    assert_eq!(fixture.operator(Method::DELETE, &path, &Value::Null).await.0, 204);
    for question in [&waits, &question] {
        fixture.allow(question, json!({})).await;
        assert_eq!(fixture.denied(question).await, "FORBIDDEN");
    }
    assert_eq!(fixture.read("ran"), "");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn questions_are_taken_back_by_their_asker_and_with_their_project() {
    let fixture = GovernanceFixture::new().await;
    let question = fixture.request_command(json!({ "command": "echo x >> ran" })).await;
    let (other, _) = fixture.new_agent().await;
    let cancel = format!("/api/actions/{}/cancel", question["action"].as_str().unwrap());
    let (status, _) = fixture.send(&other, Method::POST, &cancel, &json!({})).await;
    assert_eq!(status, 404, "it is not theirs");
    let (_, response) = fixture.send(&fixture.agent, Method::POST, &cancel, &json!({})).await;
    assert_eq!(response["stopping"], true, "{response}");
    let (_, late) = fixture.allow(&question, json!({})).await;
    assert_eq!(late["code"], "APPROVAL_RESOLVED");

    let second = fixture.request_command(json!({ "command": "echo x >> ran" })).await;
    fixture.operator(Method::DELETE, "/api/projects/app", &Value::Null).await;
    let (_, late) = fixture.allow(&second, json!({})).await;
    assert_eq!(late["code"], "APPROVAL_RESOLVED");
    let (_, closed) =
        fixture.request_action("terminal.runCommand", json!({ "command": "ls" })).await;
    assert_eq!(closed["code"], "CONFLICT", "{closed}");
    assert_eq!(fixture.daemon.events("APPROVAL_WITHDRAWN").await.len(), 2);
    assert_eq!(fixture.read("ran"), "");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_flood_of_questions_is_bounded_and_the_same_key_asks_once() {
    let fixture = GovernanceFixture::new().await;
    let body = json!({ "action": "terminal.runCommand", "params": { "command": "make" } });
    for _ in 0..2 {
        let url = format!("{}/api/projects/app/actions?wait=0", fixture.daemon.base);
        let request = fixture.http.post(url).bearer_auth(&fixture.agent).json(&body);
        let response = request.header("idempotency-key", "one").send().await.unwrap();
        assert_eq!(response.status(), 202);
    }
    assert_eq!(fixture.pending_approvals().await.len(), 1);

    let refused = |reply: &Value| reply["code"] == "TOO_MANY_QUESTIONS";
    let all =
        (0..50).map(|n| fixture.request_action("fs.createDir", json!({ "path": format!("d{n}") })));
    let answers = futures::future::join_all(all).await;
    assert_eq!(answers.iter().filter(|(_, reply)| refused(reply)).count(), 50 - 31);
    assert_eq!(
        fixture.pending_approvals().await.len(),
        32,
        "one requester does not keep the others out"
    );
    for _ in 0..8 {
        let (other, _) = fixture.new_agent().await;
        let all = (0..32).map(|n| {
            let body = json!({ "action": "fs.createDir", "params": { "path": format!("d{n}") } });
            let (fixture, other) = (&fixture, &other);
            async move {
                let path = "/api/projects/app/actions?wait=0";
                fixture.send(other, Method::POST, path, &body).await
            }
        });
        futures::future::join_all(all).await;
    }
    assert_eq!(fixture.pending_approvals().await.len(), 256);
    fixture.assert_log_intact();
}

#[tokio::test]
async fn what_is_asked_again_while_it_is_open_joins_the_question_and_runs_once() {
    let fixture = GovernanceFixture::new().await;
    let command = |limit: u64| json!({ "command": "echo x >> ran", "timeoutMs": 60_000 + limit });
    let first = fixture.request_command(command(0)).await;
    let again = (1..25).map(|n| fixture.request_action("terminal.runCommand", command(n)));
    for (status, response) in futures::future::join_all(again).await {
        assert_eq!(status, 202, "{response}");
        assert_eq!(
            (&response["approvalId"], &response["actionId"]),
            (&first["id"], &first["action"])
        );
        assert_eq!(response["actionHash"], first["actionHash"], "of what waits");
    }
    assert_eq!(fixture.pending_approvals().await.len(), 1);
    // The same action of another agent, or in another session, has its own approval.
    let (other, _) = fixture.new_agent().await;
    let path = "/api/projects/app/actions?wait=0";
    let body = json!({ "action": "terminal.runCommand", "params": command(0) });
    fixture.send(&other, Method::POST, path, &body).await;
    assert_eq!(fixture.pending_approvals().await.len(), 2);
    fixture.allow(&first, json!({})).await;
    fixture.wait_finished(&first).await;
    assert_eq!(fixture.read("ran"), "x\n");
    // Once it is answered, the same action needs a new approval.
    let next = fixture.request_command(command(0)).await;
    assert_ne!(next["id"], first["id"]);
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_script_that_changed_is_asked_about_again_also_if_the_mode_was_loosened() {
    let fixture = GovernanceFixture::new().await;
    fixture.write("build.sh", "echo good >> ran");
    let question = fixture.request_command(json!({ "command": "sh build.sh" })).await;
    fixture.write("build.sh", "echo evil >> ran");
    fixture.set_mode("full").await;
    let (status, response) = fixture.allow(&question, json!({})).await;
    assert_eq!((status.as_u16(), &response["code"]), (409, &json!("HASH_MISMATCH")), "{response}");
    let open = fixture.pending_approvals().await;
    assert_eq!((open.len(), &open[0]["action"]), (1, &question["action"]));
    assert_eq!(fixture.read("ran"), "");
    assert_eq!(fixture.allow(&open[0], json!({})).await.0, 200);
    fixture.wait_finished(&open[0]).await;
    assert_eq!(fixture.read("ran"), "evil\n");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_session_belongs_to_the_token_that_used_it_first() {
    let mut fixture = GovernanceFixture::new().await;
    let (other, _) = fixture.new_agent().await;
    let session = "0190b1de-0000-7000-8000-000000000001";
    let body = |path: &str| {
        let params = json!({ "path": path });
        json!({ "action": "fs.createDir", "params": params, "sessionId": session })
    };
    let path = "/api/projects/app/actions?wait=0";
    let agent = fixture.agent.clone();
    assert_eq!(fixture.send(&agent, Method::POST, path, &body("a")).await.0, 202);
    for again in 0..2 {
        let (status, response) = fixture.send(&other, Method::POST, path, &body("b")).await;
        assert_eq!(
            (status.as_u16(), &response["code"]),
            (403, &json!("FORBIDDEN")),
            "{again} {response}"
        );
        assert_eq!(fixture.send(&agent, Method::POST, path, &body("c")).await.0, 202, "{again}");
        fixture.daemon.kill();
        fixture.daemon = fixture.home.up();
    }
    fixture.assert_log_intact();
}
