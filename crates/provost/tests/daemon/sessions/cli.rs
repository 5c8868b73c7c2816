//! Sessions over the command line and HTTP: permissions and streams.

use std::time::Duration;

use provost_fake_model::{
    FakeCompletion, FakeModelServer, FakeReply, FakeWireFormat, StreamEnding,
};
use serde_json::{Value, json};

use super::{ALL, Home, texts};

#[tokio::test(flavor = "multi_thread")]
async fn one_shot_prints_the_answer_and_it_is_listed_with_what_it_used() {
    let home = Home::new();
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c",
            "fs_readFile",
            json!({ "path": "hello.txt" }),
        )),
        FakeReply::Completion(FakeCompletion::from_text("It says hello.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let _daemon = home.with_model(&model, ALL[0], "");
    let printed = home.run_ok_with_stderr(&["chat", "--project", "app", "-p", "What does it say?"]);
    assert!(
        printed.contains("· fs.readFile") && printed.ends_with("It says hello.\n"),
        "{printed}"
    );
    let events = home.run_ok(&["chat", "--project", "app", "--json", "-p", "Again"]);
    let kinds: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].clone())
        .collect();
    assert_eq!(kinds.last().unwrap(), "TURN_FINISHED", "{kinds:?}");
    let list = home.run_ok(&["sessions"]);
    assert!(list.contains("idle") && list.contains("What does it say?"), "{list}");
    let usage = home.run_ok(&["usage"]);
    assert!(usage.contains("fake/model-1") && usage.contains("without a known price"), "{usage}");
    let config = home.run_ok(&["config", "--json"]) + &home.run_ok(&["config"]);
    assert!(config.contains("fake") && !config.contains("test-key"), "{config}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_shot_without_a_model_points_to_the_tour() {
    let home = Home::new();
    let _daemon = home.up();
    let tour = "provost chat --model script/tour";
    // A newcomer has neither a role nor a model; with a role, the model is what lacks.
    let complaint = home.run_failing(&["chat", "--project", "app", "-p", "Hello"], 1);
    assert!(complaint.contains("no trusted role") && complaint.contains(tour), "{complaint}");
    let role = "---\nname: dev\nskills: [fs.read]\n---\nWork.\n";
    std::fs::create_dir_all(home.path("app/.provost/roles")).unwrap();
    std::fs::write(home.path("app/.provost/roles/dev.md"), role).unwrap();
    home.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
    let complaint = home.run_failing(&["chat", "--project", "app", "-p", "Hello"], 1);
    assert!(complaint.contains("NO_MODEL") && complaint.contains(tour), "{complaint}");
    assert_eq!(complaint.matches(tour).count(), 1, "{complaint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_the_daemon_was_started_without_is_explained() {
    const WHY: &str = "the daemon was started without it; run `provost down --keep && provost up`";
    let home = Home::new();
    let _daemon = home.up();
    let role = "---\nname: dev\nskills: [fs.read]\n---\nWork.\n";
    std::fs::create_dir_all(home.path("app/.provost/roles")).unwrap();
    std::fs::write(home.path("app/.provost/roles/dev.md"), role).unwrap();
    home.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
    let run = |args: &[&str], key: &str| {
        let output = home.provost(args).env("OPENAI_API_KEY", key).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    };
    let ask = ["chat", "--project", "app", "--model", "openai/gpt-5", "-p", "Hello"];
    let key = "sk-a-key-that-only-the-caller-has-0123456789";
    let printed = run(&ask, key);
    assert!(printed.contains(WHY) && printed.contains("OPENAI_API_KEY"), "{printed}");
    assert!(!printed.contains("set OPENAI_API_KEY") && !printed.contains(key), "{printed}");
    let printed = run(&ask, "");
    assert!(printed.contains("set OPENAI_API_KEY") && !printed.contains(WHY), "{printed}");

    let shown = run(&["config"], key);
    assert!(shown.contains(WHY) && shown.contains("openai") && !shown.contains(key), "{shown}");
    assert!(shown.contains("uses the model providers: none"), "{shown}");
    let shown: Value = serde_json::from_str(&run(&["config", "--json"], key)).unwrap();
    assert_eq!(shown["daemon"]["missingKeys"][0]["name"], "openai", "{shown}");
    let file = shown["daemon"]["file"].as_str().unwrap();
    assert!(file.ends_with("provost/config.toml"), "{file}");
    assert!(!run(&["config"], "").contains(WHY));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_opens_no_session_and_reads_none() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(vec![FakeReply::Completion(
        FakeCompletion::from_text("Hi."),
    )])
    .await
    .unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    let create = ["token", "create", "--class", "agent", "--project", "app", "--role", "dev"];
    let agent = home.run_ok(&create).trim().to_owned();
    let open = json!({ "project": "app", "role": "dev" });
    assert_eq!(daemon.post("/api/sessions", &agent, &open).await.0, 403);
    let path = format!("/api/sessions/{session}/messages");
    assert_eq!(daemon.post(&path, &agent, &json!({ "text": "hi" })).await.0, 403);
    let ask = json!({ "model": "role/dev", "messages": [{ "role": "user", "content": "x" }] });
    assert_eq!(daemon.post("/v1/chat/completions", &agent, &ask).await.0, 403);
    // Nor does it act in the session of another.
    let act =
        json!({ "action": "fs.readFile", "params": { "path": "hello.txt" }, "sessionId": session });
    assert_eq!(daemon.post("/api/projects/app/actions", &agent, &act).await.0, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_is_asked_for_again_and_nothing_is_shown_twice() {
    let home = Home::new();
    let whole = FakeCompletion::from_text("one two three four");
    let half: String = whole.encode_events(FakeWireFormat::Messages).into_iter().take(4).collect();
    let replies = vec![
        FakeReply::raw_stream(half, StreamEnding::ConnectionReset),
        FakeReply::Completion(whole),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[2], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Count.").await;
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(texts(&detail), ["Count.", "one two three four"]);
    assert_eq!(daemon.events("ATTEMPT_RESTARTED").await.len(), 1);
    assert_eq!(model.received_requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_during_a_turn_waits_and_is_answered_in_order() {
    let home = Home::new();
    let mut slow = FakeCompletion::from_text(&"word ".repeat(60));
    slow.pace = Duration::from_millis(5);
    let replies = vec![
        FakeReply::Completion(slow),
        FakeReply::Completion(FakeCompletion::from_text("second")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[3], "");
    let session = daemon.session(json!({})).await;
    assert_eq!(daemon.send_message(&session, "Begin.").await["queued"], false);
    let waits = daemon.send_message(&session, "Go farther.").await;
    assert_eq!((&waits["queued"], &waits["turn"]), (&json!(true), &Value::Null));
    let over = |now: &Value| texts(now).pop().as_deref() == Some("second");
    daemon.session_until(&session, over).await;
    let asked = model.received_requests();
    assert!(!asked[0].body.to_string().contains("Go farther."));
    let second = asked[1].body.to_string();
    assert!(second.find("word").unwrap() < second.find("Go farther.").unwrap(), "in order");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_to_a_message_is_the_turn_itself_and_its_error_when_it_fails() {
    let home = Home::new();
    let bad =
        json!({ "error": { "message": "invalid x-api-key", "type": "authentication_error" } });
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_text("Hello you.")),
        FakeReply::json_status(401, bad),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[2], "");
    let session = daemon.session(json!({})).await;
    let path = format!("{}/api/sessions/{session}/messages", daemon.base);
    let send = async |text: &str| {
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let request = http.post(&path).bearer_auth(&daemon.token);
        let request = request.header("accept", "text/event-stream");
        request.json(&json!({ "text": text })).send().await.unwrap().text().await.unwrap()
    };
    let stream = send("Hi").await;
    assert!(stream.starts_with("event: sent\n"), "{stream}");
    let places = ["MESSAGE_ADDED", "TURN_STARTED", "TEXT_DELTA", "USAGE_RECORDED", "TURN_FINISHED"]
        .map(|kind| stream.find(&format!("\"kind\":\"{kind}\"")).unwrap());
    assert!(places.is_sorted(), "{stream}");
    let stream = send("Again").await;
    assert!(stream.contains("event: error\ndata: ") && stream.contains("MODEL_KEY"), "{stream}");
    // The other form, from a place on.
    let detail = daemon.get(&format!("/api/sessions/{session}")).await;
    assert_eq!(detail["session"]["turn"]["fault"]["code"], "MODEL_KEY");
    assert!(detail["cursor"].as_u64().unwrap() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_handed_to_another_role_with_no_more_skills_than_both_have() {
    let home = Home::new();
    let model = FakeModelServer::start_with_rule(|_, asked| {
        let text = asked.body.to_string();
        FakeReply::Completion(
            match (text.contains("You are the reader"), text.contains("hello from the file")) {
                (true, false) if text.contains("denied (SKILL_DENIED)") => {
                    FakeCompletion::from_tool_call(
                        "r2",
                        "fs_readFile",
                        json!({ "path": "hello.txt" }),
                    )
                }
                (true, false) => FakeCompletion::from_tool_call("r1", "pty_read", json!({})),
                (true, true) => FakeCompletion::from_text("the reader says: hello from the file"),
                (false, true) => FakeCompletion::from_text("All done."),
                (false, false) => FakeCompletion::from_tool_call(
                    "h",
                    "handoff",
                    json!({ "role": "reader", "task": "Read it." }),
                ),
            },
        )
    });
    let model = model.await.unwrap();
    std::fs::create_dir_all(home.path("app/.provost/roles")).unwrap();
    let role = "---\nname: reader\ndescription: Reads.\nskills: [fs.read, pty.read]\n---\nYou are the reader.\n";
    std::fs::write(home.path("app/.provost/roles/reader.md"), role).unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Have it read.").await;
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(texts(&detail).pop().unwrap(), "All done.");
    let called = &super::tools(&detail)[0];
    assert_eq!(called["result"]["output"], "the reader says: hello from the file");
    let child = daemon.get(&format!("/api/sessions/{}", called["child"].as_str().unwrap())).await;
    assert_eq!(child["session"]["depth"], 1);
    let refused = &super::tools(&child)[0];
    assert_eq!(refused["result"]["status"], "denied", "{refused}");
}
