//! `kill -9` of the daemon during a turn.

use std::fs;
use std::time::Duration;

use provost_fake_model::{
    FakeCompletion, FakeCompletionPart, FakeModelServer, FakeReply, FakeWireFormat, StreamEnding,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{ALL, Home, Running, texts, tools};

#[tokio::test(flavor = "multi_thread")]
async fn what_was_streamed_is_shown_and_the_turn_can_be_gone_on_with() {
    let home = Home::new();
    let mut slow = FakeCompletion::from_text(&"word ".repeat(2000));
    slow.pace = Duration::from_millis(10);
    let replies = vec![
        FakeReply::Completion(slow),
        FakeReply::Completion(FakeCompletion::from_text("and the end.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[2], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Tell me.").await;
    let long = |now: &Value| now["draft"]["text"].as_str().is_some_and(|text| text.len() > 100);
    let seen = daemon.session_until(&session, long).await;
    daemon.kill();

    let daemon = home.up();
    let detail = daemon.turn_end(&session, "interrupted").await;
    assert_eq!(detail["session"]["status"], "interrupted");
    let printed = texts(&detail);
    assert!(printed[1].starts_with(seen["draft"]["text"].as_str().unwrap()), "{printed:?}");
    // The partial completion is charged once, by an estimate.
    let usage = &detail["session"]["usage"];
    let output = usage["output"].as_u64().unwrap();
    assert!(output >= printed[1].len() as u64 / 3 && output < 10_000, "{usage}");
    assert!(usage["input"].as_u64().unwrap() > 1000, "{usage}");
    let used = daemon.events("USAGE_RECORDED").await;
    assert_eq!((used.len(), &used[0]["estimated"]), (1, &json!(true)), "{used:?}");
    let path = format!("/api/sessions/{session}/continue");
    assert_eq!(daemon.post(&path, &daemon.token, &json!({})).await.0, 202);
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(texts(&detail).last().unwrap(), "and the end.");
    let asked = model.received_requests();
    assert!(asked.last().unwrap().body.to_string().contains("Go on from where you stopped"));
    assert_eq!(daemon.post(&path, &daemon.token, &json!({})).await.0, 409);
}

/// The journals of completions that are being streamed.
fn journals(home: &Home) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(home.data().join("drafts")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_streamed_is_put_into_the_log_once_however_often_the_daemon_is_killed() {
    let home = Home::new();
    let mut slow = FakeCompletion::from_text(&"word ".repeat(2000));
    slow.pace = Duration::from_millis(10);
    let replies = vec![FakeReply::Completion(slow)];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Tell me.").await;
    let long = |now: &Value| now["draft"]["text"].as_str().is_some_and(|text| text.len() > 100);
    daemon.session_until(&session, long).await;
    daemon.kill();
    let journal = journals(&home).remove(0);
    let kept = fs::read(&journal).unwrap();
    for line in ["{\"kind\":\"TEXT_DE", ""] {
        // Killed while it wrote, and killed again before it removed the journal.
        fs::write(&journal, [&kept[..], line.as_bytes()].concat()).unwrap();
        let daemon = home.up();
        let detail = daemon.turn_end(&session, "interrupted").await;
        assert_eq!(texts(&detail).len(), 2, "{detail:#}");
        assert!(texts(&detail)[1].len() > 100 && texts(&detail)[1].starts_with("word word "));
        assert_eq!(daemon.events("USAGE_RECORDED").await.len(), 1);
        assert!(daemon.events("TEXT_DELTA").await.is_empty());
        assert!(journals(&home).is_empty());
        daemon.kill();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_of_a_completion_that_ended_adds_nothing() {
    let home = Home::new();
    let call = json!({ "command": "echo x >> log" });
    let mut calls = FakeCompletion::from_tool_call("c1", "terminal_runCommand", call);
    calls.parts.insert(0, FakeCompletionPart::Text("I shall do that, and slowly.".to_owned()));
    calls.pace = Duration::from_millis(50);
    let replies = vec![
        FakeReply::Completion(calls),
        FakeReply::Completion(FakeCompletion::from_text("Done.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Do it.").await;
    let speaks = |now: &Value| now["draft"]["text"].as_str().is_some_and(|text| text.len() > 5);
    daemon.session_until(&session, speaks).await;
    let journal = journals(&home).remove(0);
    let kept = fs::read(&journal).unwrap();
    let open = daemon.wait_for_approvals(1).await;
    daemon.kill();
    // As if it had been killed between the append and the removal of the journal.
    fs::write(&journal, kept).unwrap();
    let daemon = home.up();
    assert!(journals(&home).is_empty());
    home.run_ok(&["approvals", "allow", open[0]["id"].as_str().unwrap(), "--yes"]);
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(texts(&detail)[1..], ["I shall do that, and slowly.", "Done."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_attempts_of_a_completion_that_was_cut_off_are_paid_for() {
    let home = Home::new();
    let broken = FakeCompletion::from_text(&"b".repeat(4000));
    // Without the end.
    let broken: String = broken.encode_events(FakeWireFormat::Chat).into_iter().take(2).collect();
    let mut slow = FakeCompletion::from_text(&"word ".repeat(2000));
    slow.pace = Duration::from_millis(10);
    let replies = vec![
        FakeReply::raw_stream(broken, StreamEnding::ConnectionReset),
        FakeReply::Completion(slow),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Tell me.").await;
    let second = |now: &Value| now["draft"]["text"].as_str().is_some_and(|t| t.contains("word"));
    daemon.session_until(&session, second).await;
    daemon.kill();

    let daemon = home.up();
    daemon.turn_end(&session, "interrupted").await;
    let restarted = daemon.events("ATTEMPT_RESTARTED").await;
    assert_eq!(restarted.len(), 1, "{restarted:?}");
    let used = daemon.events("USAGE_RECORDED").await;
    assert_eq!((used.len(), &used[0]["estimated"]), (1, &json!(true)), "{used:?}");
    let (input, output) = (&used[0]["usage"]["input"], &used[0]["usage"]["output"]);
    let asked = model.received_requests();
    let request_bytes = u64::try_from(asked[0].body.to_string().len()).unwrap();
    assert!(output.as_u64().unwrap() > 4000 / 4, "of both attempts: {used:?}");
    assert!(input.as_u64().unwrap() > request_bytes / 2, "for each attempt: {used:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_stays_open_and_the_turn_goes_on_when_it_is_answered() {
    let home = Home::new();
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c1",
            "terminal_runCommand",
            json!({ "command": "echo x >> log" }),
        )),
        FakeReply::Completion(FakeCompletion::from_text("Done.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[0], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Do it.").await;
    let open = daemon.wait_for_approvals(1).await;
    daemon.kill();

    let daemon = home.up();
    assert_eq!(daemon.wait_for_approvals(1).await[0]["id"], open[0]["id"]);
    home.run_ok(&["approvals", "allow", open[0]["id"].as_str().unwrap(), "--yes"]);
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(texts(&detail).last().unwrap(), "Done.");
    assert_eq!(tools(&detail)[0]["result"]["status"], "ok", "{detail:#}");
    assert_eq!(fs::read_to_string(home.path("app/log")).unwrap(), "x\n", "it ran once");
    assert_eq!(
        model.received_requests().len(),
        2,
        "the model was not asked again for what it had said"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_runs_is_followed_to_its_end_and_never_run_twice() {
    let home = Home::new();
    let command = "echo begun >> log; until [ -e go ]; do sleep 0.02; done; echo the end";
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c1",
            "terminal_runCommand",
            json!({ "command": command }),
        )),
        FakeReply::Completion(FakeCompletion::from_text("It ran.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[3], "");
    home.run_ok(&["mode", "full", "--minutes", "5", "--project", "app"]);
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Run it.").await;
    let runs = daemon.session_until(&session, |now| tools(now).len() == 1).await;
    daemon.until(tools(&runs)[0]["action"].as_str().unwrap(), "running").await;
    daemon.kill();

    let daemon = home.up();
    fs::write(home.path("app/go"), "").unwrap();
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(texts(&detail).last().unwrap(), "It ran.");
    let output = tools(&detail)[0]["result"]["output"].as_str().unwrap().to_owned();
    assert!(output.contains("exit code 0") && output.contains("the end"), "{output}");
    assert_eq!(fs::read_to_string(home.path("app/log")).unwrap(), "begun\n", "it ran once");
    assert!(model.received_requests()[1].body.to_string().contains("the end"));
}

/// Allows the action and kills the daemon before it receives the outcome: the kernel is
/// stopped until the daemon is gone.
async fn cut_off(daemon: &Running, open: &Value) {
    let kernel = daemon.get("/api/projects/app/kernel").await["pid"].as_i64().unwrap();
    let kernel = Pid::from_raw(i32::try_from(kernel).unwrap()).unwrap();
    kill_process(kernel, Signal::STOP).unwrap();
    let answer = json!({ "decision": "allow", "actionHash": open["actionHash"] });
    let path = format!("/api/approvals/{}", open["id"].as_str().unwrap());
    let (status, response) = daemon.post(&path, &daemon.token, &answer).await;
    assert_eq!(status, 200, "{response}");
    daemon.until(open["action"].as_str().unwrap(), "allowed").await;
    daemon.kill();
    kill_process(kernel, Signal::CONT).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_for_a_daemon_that_is_gone_is_read_again_and_told() {
    let home = Home::new();
    let rule = "[[rule]]\nid = \"ask\"\neffect = \"ask\"\non = [\"fs.readFile\"]\npath = [\"hello.txt\"]\n";
    fs::write(home.path("policy.toml"), rule).unwrap();
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c1",
            "fs_readFile",
            // A part of a file is read by the kernel process, which is stopped.
            json!({ "path": "hello.txt", "startLine": 1 }),
        )),
        FakeReply::Completion(FakeCompletion::from_text("It says hello.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    home.run_ok(&["do", "fs.stat", "path=hello.txt", "--project", "app"]);
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Read it.").await;
    let open = daemon.wait_for_approvals(1).await;
    cut_off(&daemon, &open[0]).await;

    let daemon = home.up();
    // The rule asks again, so the read needs a new approval, and nothing else does.
    let again = daemon.wait_for_approvals(1).await;
    assert_ne!(again[0]["id"], open[0]["id"]);
    home.run_ok(&["approvals", "allow", again[0]["id"].as_str().unwrap(), "--yes"]);
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(tools(&detail)[0]["result"]["output"], "hello from the file\n", "{detail:#}");
    assert!(model.received_requests()[1].body.to_string().contains("hello from the file"));
    assert_eq!(model.received_requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_for_a_daemon_that_is_gone_is_not_written_again() {
    let home = Home::new();
    let append = json!({ "path": "log", "content": "x\n", "mode": "append" });
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_tool_call("c1", "fs_writeFile", append)),
        FakeReply::Completion(FakeCompletion::from_text("Written.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    fs::write(home.path("app/log"), "").unwrap();
    home.run_ok(&["do", "fs.stat", "path=hello.txt", "--project", "app"]);
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Write it.").await;
    let open = daemon.wait_for_approvals(1).await;
    cut_off(&daemon, &open[0]).await;

    let daemon = home.up();
    let detail = daemon.turn_end(&session, "finished").await;
    assert!(tools(&detail)[0]["result"]["output"].is_string(), "{detail:#}");
    let written = fs::read_to_string(home.path("app/log")).unwrap();
    assert!(written.is_empty() || written == "x\n", "{written:?}");
    assert_eq!(daemon.events("ACTION_REQUESTED").await.len(), 1, "it was asked for once");
}
