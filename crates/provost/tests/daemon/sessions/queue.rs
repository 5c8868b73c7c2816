//! Queued messages: their order, the effect of a cancelled turn, and their streams.

use std::time::Duration;

use provost_fake_model::{FakeCompletion, FakeModelServer, FakeReply};
use provost_runner::model::local_http_client_builder;
use serde_json::{Value, json};

use super::{ALL, Home, Running, texts};

fn slowly(n_words: usize) -> FakeReply {
    let mut slow = FakeCompletion::from_text(&"word ".repeat(n_words));
    slow.pace = Duration::from_millis(10);
    FakeReply::Completion(slow)
}

fn text(printed: &str) -> FakeReply {
    FakeReply::Completion(FakeCompletion::from_text(printed))
}

fn n_queued(detail: &Value) -> usize {
    detail["session"]["queued"].as_array().unwrap().len()
}

impl Running {
    async fn take_back(&self, session: &str, message: &str) -> u16 {
        let path = format!("{}/api/sessions/{session}/messages/{message}", self.base);
        let asked =
            local_http_client_builder().build().unwrap().delete(path).bearer_auth(&self.token);
        asked.send().await.unwrap().status().as_u16()
    }

    async fn stop(&self, session: &str) {
        let path = format!("/api/sessions/{session}/cancel");
        assert_eq!(self.post(&path, &self.token, &json!({})).await.1, json!({ "cancelled": true }));
    }

    async fn continue_session(&self, session: &str) {
        let path = format!("/api/sessions/{session}/continue");
        assert_eq!(self.post(&path, &self.token, &json!({})).await.0, 202);
    }

    /// Sends a message with an idempotency key, and reads the stream to its end.
    async fn send_and_read(&self, session: &str, key: &str, text: &str) -> String {
        let path = format!("{}/api/sessions/{session}/messages", self.base);
        let asked =
            local_http_client_builder().build().unwrap().post(path).bearer_auth(&self.token);
        let asked = asked.header("accept", "text/event-stream").header("idempotency-key", key);
        let heard = asked.json(&json!({ "text": text })).send().await.unwrap().text();
        tokio::time::timeout(Duration::from_mins(1), heard).await.unwrap().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_during_a_turn_stands_behind_its_answer() {
    let home = Home::new();
    let replies = vec![slowly(40), text("The second."), text("The third.")];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "One").await;
    daemon.send_message(&session, "Two").await;
    daemon.send_message(&session, "Three").await;
    let answered = |now: &Value| texts(now).len() == 4 && n_queued(now) == 2;
    let first = "word ".repeat(40);
    let detail = daemon.session_until(&session, |now| answered(now) || n_queued(now) < 2).await;
    assert_eq!(texts(&detail)[..3], ["One", &first, "Two"], "{detail:#}");
    let over = |now: &Value| texts(now).len() == 6 && now["session"]["status"] == "idle";
    let detail = daemon.session_until(&session, over).await;
    let order = ["One", &first, "Two", "The second.", "Three", "The third."];
    assert_eq!(texts(&detail), order);
    daemon.kill();
    let daemon = home.up();
    assert_eq!(texts(&daemon.get(&format!("/api/sessions/{session}")).await), order);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_sends_nothing_that_waits_until_somebody_goes_on() {
    let home = Home::new();
    let replies = vec![slowly(3000), text("The rest."), text("The second.")];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "One").await;
    daemon.send_message(&session, "Two").await;
    daemon.session_until(&session, |now| now["draft"].to_string().contains("word")).await;
    daemon.stop(&session).await;
    let held = |now: &Value| now["session"]["turn"]["status"] == "cancelled" && n_queued(now) == 1;
    let detail = daemon.session_until(&session, held).await;
    assert_eq!(detail["session"]["status"], "idle");
    // Not by the next daemon either.
    daemon.kill();
    let daemon = home.up();
    let detail = daemon.session_until(&session, held).await;
    assert_eq!(texts(&detail).last().unwrap(), "Two");
    assert_eq!(model.received_requests().len(), 1);
    daemon.continue_session(&session).await;
    let over = |now: &Value| n_queued(now) == 0 && now["session"]["status"] == "idle";
    let detail = daemon.session_until(&session, over).await;
    assert_eq!(texts(&detail)[2..], ["The rest.", "Two", "The second."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_can_be_taken_back_and_what_is_said_next_comes_after_the_rest() {
    let home = Home::new();
    let replies = vec![slowly(3000), text("The second."), text("The fourth.")];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    let first = daemon.send_message(&session, "One").await;
    daemon.send_message(&session, "Two").await;
    let third =
        daemon.send_message(&session, "Three").await["message"].as_str().unwrap().to_owned();
    daemon.session_until(&session, |now| now["draft"].to_string().contains("word")).await;
    assert_eq!(daemon.take_back(&session, &third).await, 200);
    assert_eq!(daemon.take_back(&session, &third).await, 409);
    assert_eq!(daemon.take_back(&session, first["message"].as_str().unwrap()).await, 409);
    assert_eq!(daemon.take_back(&session, "nothing").await, 404);
    daemon.stop(&session).await;
    daemon.kill();
    let daemon = home.up();
    assert_eq!(daemon.send_message(&session, "Four").await["queued"], true);
    let over = |now: &Value| texts(now).last().unwrap() == "The fourth.";
    let detail = daemon.session_until(&session, over).await;
    assert_eq!(texts(&detail)[2..], ["Two", "The second.", "Four", "The fourth."]);
    assert!(model.received_requests().iter().all(|one| !one.body.to_string().contains("Three")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_twice_under_one_key_is_heard_twice_and_happens_once() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(vec![text("Hello you.")]).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    // One that is kept in the log, and one that is kept beside it.
    for (key, response) in [("short", "Hello".to_owned()), ("long", "Hello ".repeat(2000))] {
        let session = daemon.session(json!({})).await;
        let first = daemon.send_and_read(&session, key, &response).await;
        assert!(first.contains("TURN_FINISHED") && first.contains("Hello you."), "{first}");
        let second = daemon.send_and_read(&session, key, &response).await;
        assert_eq!(join_deltas(&second), join_deltas(&first));
    }
    assert_eq!(model.received_requests().len(), 2);
}

/// The messages of a stream without the deltas, and the text of those: how it is divided depends
/// on when it is read.
fn join_deltas(stream: &str) -> (Vec<&str>, String) {
    let (deltas, others): (Vec<_>, Vec<_>) =
        stream.split("\n\n").partition(|message| message.starts_with("event: delta\n"));
    let read_text = |message: &&str| {
        let data: Value = serde_json::from_str(message.split_once("data: ").unwrap().1).unwrap();
        data["body"]["text"].as_str().unwrap().to_owned()
    };
    (others, deltas.iter().map(read_text).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_turn_hears_that_it_is_held_back_or_taken_back() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(vec![slowly(3000)]).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "One").await;
    let waits = async |n: usize| {
        let detail = daemon.session_until(&session, |now| n_queued(now) == n).await;
        detail["session"]["queued"][n - 1]["message"].as_str().unwrap().to_owned()
    };
    let (heard, ()) = tokio::join!(daemon.send_and_read(&session, "a", "Two"), async {
        let message = waits(1).await;
        assert_eq!(daemon.take_back(&session, &message).await, 200);
    });
    assert!(heard.contains("event: error") && heard.contains("was withdrawn"), "{heard}");
    let (heard, ()) = tokio::join!(daemon.send_and_read(&session, "b", "Three"), async {
        waits(1).await;
        daemon.stop(&session).await;
    });
    assert!(
        heard.contains("event: error") && heard.contains("this message stays queued"),
        "{heard}"
    );
    assert_eq!(n_queued(&daemon.get(&format!("/api/sessions/{session}")).await), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_call_says_is_taken_back_when_the_turn_before_is_stopped() {
    let home = Home::new();
    let model =
        FakeModelServer::start_with_replies(vec![slowly(3000), text("The rest.")]).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "One").await;
    let mut call = home.provost(&["chat", "--session", &session, "-p", "Two"]);
    let calls = tokio::task::spawn_blocking(move || call.output().unwrap());
    daemon.session_until(&session, |now| n_queued(now) == 1).await;
    daemon.session_until(&session, |now| now["draft"].to_string().contains("word")).await;
    daemon.stop(&session).await;
    let called = calls.await.unwrap();
    let why = String::from_utf8(called.stderr).unwrap();
    assert_eq!((called.status.code(), called.stdout.len()), (Some(1), 0), "{why}");
    assert!(why.contains("was withdrawn (CANCELLED)"), "{why}");
    assert!(!why.contains("/continue") && !why.contains("/drop"), "{why}");
    // So it is not sent unnoticed when a person continues the session.
    assert_eq!(n_queued(&daemon.get(&format!("/api/sessions/{session}")).await), 0);
    daemon.continue_session(&session).await;
    daemon.turn_end(&session, "finished").await;
    assert!(model.received_requests().iter().all(|one| !one.body.to_string().contains("Two")));
}
