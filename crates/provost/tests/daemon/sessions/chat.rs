//! `provost chat` in a terminal.

use std::fs;
use std::process::Output;
use std::time::Duration;

use provost_fake_model::{FakeCompletion, FakeModelServer, FakeReply};
use serde_json::json;

use super::{ALL, Home, tools};
use crate::typing::type_in_terminal;

/// Runs `provost chat` in a terminal.
pub(super) async fn chat(
    home: &Home,
    args: &str,
    steps: &'static [(&'static str, &'static str)],
) -> Output {
    type_in_terminal(home, &format!("chat {args}"), steps).await
}

pub(super) fn read_stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_shows_markdown_and_executes_commands() {
    let home = Home::new();
    let text = "# Title\nSome **bold words** and `code`.\n- item\n";
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_text(text)),
        FakeReply::Completion(FakeCompletion::from_text("Other.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let steps = &[
        ("> ", "Hello\n"),
        ("• item", "/cost\n"),
        ("100 tokens in (64 from a cache), 20 out", "/help\n"),
        ("/quit", "/nonsense\n"),
        ("unknown command", "/model fake/model-2\n"),
        ("fake/model-2 as `dev`", "Again\n"),
        ("Other.", "/quit\n"),
    ];
    let ended = chat(&home, "--project app", steps).await;
    let shown = read_stdout(&ended);
    assert!(ended.status.success(), "{shown}");
    assert!(shown.contains("\x1b[1mTitle\x1b[0m"), "{shown:?}");
    assert!(shown.contains("\x1b[1mbold words\x1b[0m"), "{shown:?}");
    assert!(shown.contains("\x1b[36mcode\x1b[0m"), "{shown:?}");
    assert_eq!(model.received_requests()[1].body["model"], "model-2");
    let sessions = daemon.get("/api/sessions").await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_where_they_come_up() {
    let home = Home::new();
    let touch = |id: &str, file: &str| {
        FakeReply::Completion(FakeCompletion::from_tool_call(
            id,
            "terminal_runCommand",
            json!({ "command": format!("touch {file}") }),
        ))
    };
    let replies = vec![
        touch("c1", "first"),
        touch("c2", "second"),
        FakeReply::Completion(FakeCompletion::from_text("All said.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let steps = &[
        ("> ", "Touch them.\n"),
        ("Allow it?", "not this one\n"),
        ("Allow it?", "y\n"),
        ("All said.", "/quit\n"),
    ];
    let ended = chat(&home, "--project app", steps).await;
    assert!(ended.status.success(), "{}", read_stdout(&ended));
    assert!(!home.path("app/first").exists() && home.path("app/second").exists());
    assert!(model.received_requests()[1].body.to_string().contains("not this one"));
    let sessions = daemon.get("/api/sessions").await;
    let id = sessions["sessions"][0]["id"].as_str().unwrap();
    let detail = daemon.get(&format!("/api/sessions/{id}")).await;
    assert_eq!(tools(&detail)[0]["result"]["status"], "denied");
    assert_eq!(tools(&detail)[1]["result"]["status"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_message_asks_is_answered_in_the_terminal_too() {
    let home = Home::new();
    let call = |id: &str, file: &str| {
        let command = json!({ "command": format!("touch {file}") });
        FakeReply::Completion(FakeCompletion::from_tool_call(id, "terminal_runCommand", command))
    };
    let replies = vec![
        call("c1", "first"),
        call("c2", "second"),
        FakeReply::Completion(FakeCompletion::from_text("Done.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let _daemon = home.with_model(&model, ALL[1], "");
    let steps = &[("Allow it?", "not this one\n"), ("Allow it?", "y\n")];
    let ended = chat(&home, "--project app -p Touch", steps).await;
    assert!(ended.status.success(), "{}", read_stdout(&ended));
    assert!(!home.path("app/first").exists() && home.path("app/second").exists());
    assert!(model.received_requests()[1].body.to_string().contains("not this one"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_interrupt_stops_the_turn_and_a_second_leaves() {
    let home = Home::new();
    let mut slow = FakeCompletion::from_text(&"word ".repeat(3000));
    slow.pace = Duration::from_millis(10);
    let model =
        FakeModelServer::start_with_replies(vec![FakeReply::Completion(slow)]).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let steps = &[
        ("> ", "Tell me.\n"),
        ("word word", "\x03"),
        ("CANCELLED", ""),
        ("> ", "\x03"),
        ("Press Ctrl-C again to leave.", "\x03"),
    ];
    let ended = chat(&home, "--project app", steps).await;
    assert!(ended.status.success(), "{}", read_stdout(&ended));
    model.wait_until_idle().await;
    let sessions = daemon.get("/api/sessions").await;
    assert_eq!(sessions["sessions"][0]["turn"]["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_typed_for_after_a_turn_is_not_sent_when_it_is_stopped() {
    let home = Home::new();
    let mut slow = FakeCompletion::from_text(&"word ".repeat(3000));
    slow.pace = Duration::from_millis(10);
    let replies = vec![
        FakeReply::Completion(slow.clone()),
        FakeReply::Completion(slow),
        FakeReply::Completion(FakeCompletion::from_text("and the end.")),
        FakeReply::Completion(FakeCompletion::from_text("The other answer.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let _daemon = home.with_model(&model, ALL[1], "");
    let steps = &[
        ("> ", "Tell me.\n"),
        ("word word", "And then?\n"),
        ("Queued until this turn ends.", "\x03"),
        ("not sent: And then?", "/drop\n"),
        ("No more queued messages.", "Once more.\n"),
        ("word word", "And now?\n"),
        ("Queued until this turn ends.", "/cancel\n"),
        ("not sent: And now?", "/continue\n"),
        ("and the end.", ""),
        ("The other answer.", "/quit\n"),
    ];
    let ended = chat(&home, "--project app", steps).await;
    assert!(ended.status.success(), "{}", read_stdout(&ended));
    let asked: Vec<String> =
        model.received_requests().iter().map(|one| one.body.to_string()).collect();
    assert_eq!(asked.len(), 4);
    assert!(asked[3].contains("And now?") && !asked[3].contains("And then?"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_gone_on_with_where_it_was() {
    let home = Home::new();
    let mut slow = FakeCompletion::from_text(&"word ".repeat(3000));
    slow.pace = Duration::from_millis(10);
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_text("The **first** answer.")),
        FakeReply::Completion(slow),
        FakeReply::Completion(FakeCompletion::from_text("and the end.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "The first question").await;
    daemon.turn_end(&session, "finished").await;
    let steps = &[
        ("The first question", ""),
        ("\x1b[1mfirst\x1b[0m answer.", ""),
        ("> ", "Tell me.\n"),
        ("word word", "/cancel\n"),
        ("CANCELLED", "/continue\n"),
        ("and the end.", "/quit\n"),
    ];
    let ended = chat(&home, &format!("--session {session}"), steps).await;
    assert!(ended.status.success(), "{}", read_stdout(&ended));
    assert_eq!(daemon.get("/api/sessions").await["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_model_is_offered_the_tour_and_a_plain_yes_takes_it() {
    let home = Home::new();
    let daemon = home.up();
    // Anything but a plain yes is a no, and why nothing begins is told.
    for no in ["\n", "nope\n"] {
        let steps: &'static [_] = match no {
            "\n" => &[("Take the tour instead?", ""), ("[y/N] ", "\n")],
            _ => &[("[y/N] ", "nope\n")],
        };
        let ended = chat(&home, "--project app", steps).await;
        let shown = read_stdout(&ended);
        assert!(
            !ended.status.success() && shown.contains("the project has no trusted role"),
            "{shown}"
        );
        assert!(shown.contains("provost chat --model script/tour"), "{shown}");
    }
    assert!(!home.path("provost-tour").exists());
    let steps = &[
        ("No model is available", ""),
        ("[y/N] ", "y\n"),
        ("The tour is a script, not a model", ""),
        ("Send any message to start.", ""),
        ("> ", "Hello\n"),
        ("I am a script, not a model", ""),
        ("Allow it?", "n\n"),
        ("denied", "/cancel\n"),
        ("CANCELLED", "/quit\n"),
    ];
    let ended = chat(&home, "--project app", steps).await;
    assert!(ended.status.success(), "{}", read_stdout(&ended));
    assert!(home.path("provost-tour/site/board.json").exists());
    let sessions = daemon.get("/api/sessions").await;
    assert_eq!(sessions["sessions"][0]["model"], "script/tour");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_daemon_gets_one_and_is_offered_the_tour() {
    let home = Home::new();
    let steps = &[("Started a daemon", ""), ("Take the tour instead?", ""), ("[y/N] ", "n\n")];
    let ended = chat(&home, "", steps).await;
    let shown = read_stdout(&ended);
    assert!(!ended.status.success() && shown.contains("`provost up` opens it"), "{shown}");
    assert!(shown.contains("provost chat --model script/tour"), "{shown}");
    assert!(home.run_ok(&["status"]).contains("127.0.0.1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_returned_is_shown_in_lines() {
    let home = Home::new();
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c",
            "fs_readFile",
            json!({ "path": "lines.txt" }),
        )),
        FakeReply::Completion(FakeCompletion::from_text("Read.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let _daemon = home.with_model(&model, ALL[1], "");
    fs::write(home.path("app/lines.txt"), "one\n\ttwo\x07\nthree\n").unwrap();
    let printed = home.run_ok_with_stderr(&["chat", "--project", "app", "-p", "Read it."]);
    assert!(printed.contains("→ one\n    \ttwo\\u{7}\n    three"), "{printed}");
}
