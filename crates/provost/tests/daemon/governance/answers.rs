//! Answers: exactly one is valid, for exactly what was shown (THREATS 24, 25, 26).

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threat_24_of_32_answers_at_once_one_counts_and_it_runs_once() {
    let world = World::new().await;
    let question = world.asks_to_run(json!({ "command": "echo x >> ran" })).await;
    let all = (0..32).map(|_| world.allows(&question, json!({})));
    let answers = futures::future::join_all(all).await;
    let won = answers.iter().filter(|(status, _)| *status == 200).count();
    let late = answers.iter().filter(|(_, said)| said["code"] == "APPROVAL_RESOLVED").count();
    assert_eq!((won, late), (1, 31), "{answers:?}");
    world.ended(&question).await;
    assert_eq!(world.read("ran"), "x\n");
    assert_eq!(world.daemon.events("APPROVAL_ANSWERED").await.len(), 1);
    world.assert_log_intact();
}

#[tokio::test]
async fn threat_25_an_answer_to_something_else_runs_nothing() {
    let world = World::new().await;
    let harmless = world.asks_to_run(json!({ "command": "echo good" })).await;
    let harmful = world.asks_to_run(json!({ "command": "echo x >> ran" })).await;
    let swapped = json!({ "id": harmful["id"], "actionHash": harmless["actionHash"] });
    let (status, said) = world.allows(&swapped, json!({})).await;
    assert_eq!((status.as_u16(), &said["code"]), (409, &json!("HASH_MISMATCH")), "{said}");
    // Answered once, it is not there for another time.
    world.allows(&harmful, json!({})).await;
    world.ended(&harmful).await;
    let (_, again) = world.allows(&harmful, json!({})).await;
    assert_eq!(again["code"], "APPROVAL_RESOLVED");
    assert_eq!(world.read("ran"), "x\n");
    let (_, said) = world.allows(&harmless, json!({ "rule": "x" })).await;
    assert_eq!(said["code"], "INVALID_REQUEST", "{said}");
    world.assert_log_intact();
}

#[tokio::test]
async fn threat_26_a_script_that_is_edited_after_the_question_is_asked_about_again() {
    let world = World::new().await;
    let outside = world.home.path("outside.sh");
    std::fs::write(&outside, "echo good >> ran").unwrap();
    std::os::unix::fs::symlink(&outside, world.home.path("app").join("out.sh")).unwrap();
    let app = world.home.path("app").canonicalize().unwrap();
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
        world.write(file, before);
        let question = world.asks_to_run(json!({ "command": command })).await;
        assert!(!question["question"]["pins"].as_array().unwrap().is_empty(), "{command}");
        world.write(file, "echo evil >> ran");
        let (status, said) = world.allows(&question, json!({})).await;
        assert_eq!(
            (status.as_u16(), &said["code"]),
            (409, &json!("HASH_MISMATCH")),
            "{command}: {said}"
        );
        let old = world.get(&format!("/api/approvals/{}", question["id"].as_str().unwrap())).await;
        assert_eq!(old["status"], "withdrawn", "{command}");
        let open = world.open().await;
        assert_eq!((open.len(), &open[0]["action"]), (1, &question["action"]), "{command}");
        assert_ne!(open[0]["question"]["pins"], question["question"]["pins"], "{command}");
        let deny = json!({ "decision": "deny", "actionHash": open[0]["actionHash"] });
        let path = format!("/api/approvals/{}", open[0]["id"].as_str().unwrap());
        assert_eq!(world.operator(Method::POST, &path, &deny).await.0, 200);
    }
    assert_eq!(world.read("ran"), "");
    assert!(world.daemon.events("ACTION_ALLOWED").await.is_empty());
    world.assert_log_intact();
}

#[tokio::test]
async fn questions_outlive_a_kill_and_their_actions_run_once() {
    let mut world = World::new().await;
    let first = world.asks_to_run(json!({ "command": "echo x >> ran" })).await;
    world.asks_to_run(json!({ "command": "echo y >> ran", "cwd": "." })).await;
    let before = world.open().await;
    world.daemon.kill();
    world.daemon = world.home.up();
    assert_eq!(world.open().await, before);
    assert_eq!(before.len(), 2);
    let (status, said) = world.allows(&first, json!({})).await;
    assert_eq!(status, 200, "{said}");
    world.ended(&first).await;
    world.daemon.kill();
    world.daemon = world.home.up();
    let (_, again) = world.allows(&first, json!({})).await;
    assert_eq!(again["code"], "APPROVAL_RESOLVED");
    assert_eq!((world.read("ran").as_str(), world.open().await.len()), ("x\n", 1));
    world.assert_log_intact();
}

#[tokio::test]
async fn what_a_revoked_token_asked_for_does_not_run() {
    let world = World::new().await;
    let question = world.asks_to_run(json!({ "command": "echo x >> ran" })).await;
    // Another waits for its role to be trusted, where the mode would let it run.
    world.sets_mode("full").await;
    world.write(ROLE, "---\nname: dev\nskills: [terminal.*]\n---\nChanged.\n");
    let waits = world.asks_to_run(json!({ "command": "echo y >> ran" })).await;
    assert!(waits["question"]["trust"].is_object(), "{waits}");
    let path = format!("/api/tokens/{}", world.agent_id);
    assert_eq!(world.operator(Method::DELETE, &path, &Value::Null).await.0, 204);
    for question in [&waits, &question] {
        world.allows(question, json!({})).await;
        assert_eq!(world.denied(question).await, "FORBIDDEN");
    }
    assert_eq!(world.read("ran"), "");
    world.assert_log_intact();
}

#[tokio::test]
async fn questions_are_taken_back_by_their_asker_and_with_their_project() {
    let world = World::new().await;
    let question = world.asks_to_run(json!({ "command": "echo x >> ran" })).await;
    let (other, _) = world.new_agent().await;
    let cancel = format!("/api/actions/{}/cancel", question["action"].as_str().unwrap());
    let (status, _) = world.send(&other, Method::POST, &cancel, &json!({})).await;
    assert_eq!(status, 404, "it is not theirs");
    let (_, said) = world.send(&world.agent, Method::POST, &cancel, &json!({})).await;
    assert_eq!(said["stopping"], true, "{said}");
    let (_, late) = world.allows(&question, json!({})).await;
    assert_eq!(late["code"], "APPROVAL_RESOLVED");

    let second = world.asks_to_run(json!({ "command": "echo x >> ran" })).await;
    world.operator(Method::DELETE, "/api/projects/app", &Value::Null).await;
    let (_, late) = world.allows(&second, json!({})).await;
    assert_eq!(late["code"], "APPROVAL_RESOLVED");
    let (_, closed) = world.asks("terminal.runCommand", json!({ "command": "ls" })).await;
    assert_eq!(closed["code"], "CONFLICT", "{closed}");
    assert_eq!(world.daemon.events("APPROVAL_WITHDRAWN").await.len(), 2);
    assert_eq!(world.read("ran"), "");
    world.assert_log_intact();
}

#[tokio::test]
async fn a_flood_of_questions_is_bounded_and_the_same_key_asks_once() {
    let world = World::new().await;
    let body = json!({ "action": "terminal.runCommand", "params": { "command": "make" } });
    for _ in 0..2 {
        let url = format!("{}/api/projects/app/actions?wait=0", world.daemon.base);
        let request = world.http.post(url).bearer_auth(&world.agent).json(&body);
        let response = request.header("idempotency-key", "one").send().await.unwrap();
        assert_eq!(response.status(), 202);
    }
    assert_eq!(world.open().await.len(), 1);

    let refused = |said: &Value| said["code"] == "TOO_MANY_QUESTIONS";
    let all = (0..50).map(|n| world.asks("fs.createDir", json!({ "path": format!("d{n}") })));
    let answers = futures::future::join_all(all).await;
    assert_eq!(answers.iter().filter(|(_, said)| refused(said)).count(), 50 - 31);
    assert_eq!(world.open().await.len(), 32, "one asker does not keep the others out");
    for _ in 0..8 {
        let (other, _) = world.new_agent().await;
        let all = (0..32).map(|n| {
            let body = json!({ "action": "fs.createDir", "params": { "path": format!("d{n}") } });
            let (world, other) = (&world, &other);
            async move {
                let path = "/api/projects/app/actions?wait=0";
                world.send(other, Method::POST, path, &body).await
            }
        });
        futures::future::join_all(all).await;
    }
    assert_eq!(world.open().await.len(), 256);
    world.assert_log_intact();
}

#[tokio::test]
async fn what_is_asked_again_while_it_is_open_joins_the_question_and_runs_once() {
    let world = World::new().await;
    let command = |limit: u64| json!({ "command": "echo x >> ran", "timeoutMs": 60_000 + limit });
    let first = world.asks_to_run(command(0)).await;
    let again = (1..25).map(|n| world.asks("terminal.runCommand", command(n)));
    for (status, said) in futures::future::join_all(again).await {
        assert_eq!(status, 202, "{said}");
        assert_eq!((&said["approvalId"], &said["actionId"]), (&first["id"], &first["action"]));
        assert_eq!(said["actionHash"], first["actionHash"], "of what waits");
    }
    assert_eq!(world.open().await.len(), 1);
    // Another asker's question is another, and so is that of another session.
    let (other, _) = world.new_agent().await;
    let path = "/api/projects/app/actions?wait=0";
    let body = json!({ "action": "terminal.runCommand", "params": command(0) });
    world.send(&other, Method::POST, path, &body).await;
    assert_eq!(world.open().await.len(), 2);
    world.allows(&first, json!({})).await;
    world.ended(&first).await;
    assert_eq!(world.read("ran"), "x\n");
    // Once it is answered, the same is a new question.
    let next = world.asks_to_run(command(0)).await;
    assert_ne!(next["id"], first["id"]);
    world.assert_log_intact();
}

#[tokio::test]
async fn a_script_that_changed_is_asked_about_again_also_if_the_mode_was_loosened() {
    let world = World::new().await;
    world.write("build.sh", "echo good >> ran");
    let question = world.asks_to_run(json!({ "command": "sh build.sh" })).await;
    world.write("build.sh", "echo evil >> ran");
    world.sets_mode("full").await;
    let (status, said) = world.allows(&question, json!({})).await;
    assert_eq!((status.as_u16(), &said["code"]), (409, &json!("HASH_MISMATCH")), "{said}");
    let open = world.open().await;
    assert_eq!((open.len(), &open[0]["action"]), (1, &question["action"]));
    assert_eq!(world.read("ran"), "");
    assert_eq!(world.allows(&open[0], json!({})).await.0, 200);
    world.ended(&open[0]).await;
    assert_eq!(world.read("ran"), "evil\n");
    world.assert_log_intact();
}

#[tokio::test]
async fn a_session_belongs_to_the_token_that_used_it_first() {
    let mut world = World::new().await;
    let (other, _) = world.new_agent().await;
    let session = "0190b1de-0000-7000-8000-000000000001";
    let body = |path: &str| {
        let params = json!({ "path": path });
        json!({ "action": "fs.createDir", "params": params, "sessionId": session })
    };
    let path = "/api/projects/app/actions?wait=0";
    let agent = world.agent.clone();
    assert_eq!(world.send(&agent, Method::POST, path, &body("a")).await.0, 202);
    for again in 0..2 {
        let (status, said) = world.send(&other, Method::POST, path, &body("b")).await;
        assert_eq!((status.as_u16(), &said["code"]), (403, &json!("FORBIDDEN")), "{again} {said}");
        assert_eq!(world.send(&agent, Method::POST, path, &body("c")).await.0, 202, "{again}");
        world.daemon.kill();
        world.daemon = world.home.up();
    }
    world.assert_log_intact();
}
