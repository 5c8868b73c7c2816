//! Input in `provost chat` during a turn.

use std::time::Duration;

use provost_fake_model::{FakeCompletion, FakeCompletionPart, FakeModelServer, FakeReply};
use serde_json::{Value, json};

use super::chat::{chat, read_stdout};
use super::{ALL, Home, call};

fn slowly() -> FakeCompletion {
    let mut slow = FakeCompletion::from_text(&"word ".repeat(3000));
    slow.pace = Duration::from_millis(10);
    slow
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_taken_back_during_the_turn_and_told_to_who_leaves() {
    let home = Home::new();
    let model =
        FakeModelServer::start_with_replies(vec![FakeReply::Completion(slowly())]).await.unwrap();
    let _daemon = home.with_model(&model, ALL[1], "");
    let steps = &[
        ("> ", "Tell me.\n"),
        ("word word", "/drop\n"),
        ("No queued messages.", "/cost\n"),
        ("0 tokens in", "And then?\n"),
        ("Queued until this turn ends.", "/drop\n"),
        ("withdrawn: And then?", ""),
        ("No more queued messages.", "And now?\n"),
        ("Queued until this turn ends.", "/quit\n"),
        ("The turn keeps running.", ""),
        ("not sent: And now?", ""),
    ];
    let ended = chat(&home, "--project app", steps).await;
    assert!(ended.status.success(), "{}", read_stdout(&ended));
    assert!(!read_stdout(&ended).contains("not sent: And then?"));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_joins_a_session_is_told_what_goes_on_and_waits_and_stops_it() {
    for (stop, printed) in [("\x03", "Cancelling the turn."), ("/cancel\n", "/cancel")] {
        let home = Home::new();
        let model = FakeModelServer::start_with_replies(vec![FakeReply::Completion(slowly())])
            .await
            .unwrap();
        let daemon = home.with_model(&model, ALL[1], "");
        let session = daemon.session(json!({})).await;
        daemon.send_message(&session, "One").await;
        daemon.session_until(&session, |now| now["draft"].to_string().contains("word")).await;
        daemon.send_message(&session, "Two").await;
        let steps = vec![
            ("> ", ""),
            ("One", ""),
            ("queued: Two", ""),
            ("A turn is running, and 1 message is queued.", ""),
            ("> ", stop),
            (printed, ""),
            ("The turn was cancelled.", ""),
            ("queued: Two", "/drop\n"),
            ("withdrawn: Two", ""),
            ("No more queued messages.", "/cancel\n"),
            ("No turn is running.", "/quit\n"),
        ];
        let ended = chat(&home, &format!("--session {session}"), Vec::leak(steps)).await;
        assert!(ended.status.success(), "{}", read_stdout(&ended));
        assert!(!read_stdout(&ended).contains("> \x1b[0mTwo"), "{}", read_stdout(&ended));
        let over = |now: &Value| now["session"]["queued"] == json!([]);
        let detail = daemon.session_until(&session, over).await;
        assert_eq!(detail["session"]["turn"]["status"], "cancelled");
        assert_eq!(model.received_requests().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_typed_before_a_question_answers_it() {
    let home = Home::new();
    let mut slow = FakeCompletion::new(vec![
        FakeCompletionPart::Text("word ".repeat(100)),
        call("c1", "terminal_runCommand", json!({ "command": "touch made" })),
    ]);
    slow.pace = Duration::from_millis(10);
    let touch = FakeCompletion::from_tool_call(
        "c2",
        "terminal_runCommand",
        json!({ "command": "touch other" }),
    );
    let end = FakeCompletion::from_text("All said.");
    let replies =
        vec![FakeReply::Completion(slow), FakeReply::Completion(touch), FakeReply::Completion(end)];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let _daemon = home.with_model(&model, ALL[1], "");
    let steps = &[
        ("> ", "Touch them.\n"),
        // A `y` whose line ends only below the prompt.
        ("word word", "y"),
        ("Allow it?", "\n"),
        ("denied", ""),
        ("Allow it?", "/help\n"),
        ("/quit", ""),
        ("Allow it?", "a\n"),
        ("Allow it?", "y\n"),
        ("All said.", "/quit\n"),
    ];
    let ended = chat(&home, "--project app", steps).await;
    assert!(ended.status.success(), "{}", read_stdout(&ended));
    assert!(!home.path("app/made").exists() && home.path("app/other").exists());
}
