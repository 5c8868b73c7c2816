//! Recovery after a restart: handed-off tasks, and turns whose message was withdrawn.

use std::fs;
use std::time::Duration;

use provost_fake_model::{FakeCompletion, FakeModelServer, FakeReply};
use provost_proto::session::{
    HandedOff, MessageAdded, MessageAuthor, MessagePart, SessionBudget, SessionOpened, ToolCalled,
};
use provost_proto::{Actor, Fact, SessionId, Stream};
use provost_store::{AppendRequest, Clock, EventStore as _, SqliteStore, StoreOptions};
use serde_json::{Value, json};

use super::{ALL, Home, texts, tools};

const READER: &str = "---\nname: reader\ndescription: Reads.\nmodel: fake/model-1\nskills: [fs.read]\n---\nYou are the reader.\n";

fn parsed<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// Writes the log of a daemon that was killed between two appends: the subagent's session is
/// recorded, its task is not.
async fn hand_over_without_a_task(home: &Home, session: &Value) -> SessionId {
    let clock = Clock::system();
    let path = home.data().join("log.db");
    let store = SqliteStore::open(StoreOptions { path, clock: clock.clone() }).unwrap();
    let (parent, turn) = (parsed(&session["id"]), parsed(&session["turn"]["id"]));
    let (child, item): (SessionId, u32) = (clock.new_id(), parsed(&session["items"]));
    let added = MessageAdded {
        session: parent,
        item,
        message: clock.new_id(),
        turn: Some(turn),
        from: MessageAuthor::Assistant,
        parts: vec![MessagePart::Text { text: "I have it read.".to_owned() }],
        answer: None,
        answer_texts: Vec::new(),
        cut_calls: Vec::new(),
    };
    let called = ToolCalled {
        session: parent,
        turn,
        item: item + 1,
        call: "h".to_owned(),
        tool: "handoff".to_owned(),
        arguments: json!({ "role": "reader", "task": "Read it aloud." }).to_string(),
        action: None,
    };
    let opened = SessionOpened {
        session: child,
        project: parsed(&session["project"]),
        role: "reader".to_owned(),
        model: "fake/model-1".to_owned(),
        budget: SessionBudget::default(),
        parent: Some(parent),
        depth: 1,
        only: Some(vec!["fs.readFile".to_owned()]),
    };
    let role = "reader".to_owned();
    let handed = HandedOff { session: parent, turn, item: item + 1, to: child, role };
    let by = session["turn"]["principal"].as_str().unwrap();
    for (stream, fact) in [
        (parent, Fact::MessageAdded(added)),
        (parent, Fact::ToolCalled(called)),
        (child, Fact::SessionOpened(opened)),
        (parent, Fact::HandedOff(handed)),
    ] {
        let append = AppendRequest::single_event(by, Actor::Daemon, Stream::Session(stream), fact);
        store.append(append).await.unwrap();
    }
    child
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_was_handed_over_and_never_told_is_told_once() {
    let home = Home::new();
    let model = FakeModelServer::start_with_rule(|n, asked| {
        let is_reader = asked.body.to_string().contains("You are the reader.");
        let mut answer = match (n, is_reader) {
            (0, _) => FakeCompletion::from_text(&"word ".repeat(2000)),
            (_, true) => FakeCompletion::from_text("It says hello."),
            (_, false) => FakeCompletion::from_text("All done."),
        };
        if n == 0 {
            answer.pace = Duration::from_millis(10);
        }
        FakeReply::Completion(answer)
    });
    let model = model.await.unwrap();
    fs::create_dir_all(home.path("app/.provost/roles")).unwrap();
    fs::write(home.path("app/.provost/roles/reader.md"), READER).unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Have it read.").await;
    let speaks = |now: &Value| now["draft"]["text"].as_str().is_some_and(|text| !text.is_empty());
    let seen = daemon.session_until(&session, speaks).await;
    daemon.kill();
    let child = hand_over_without_a_task(&home, &seen["session"]).await;

    let daemon = home.up();
    let is_over = |now: &Value| tools(now).iter().all(|tool| tool["result"].is_object());
    let detail = daemon.session_until(&session, is_over).await;
    assert_eq!(tools(&detail)[0]["result"]["output"], "It says hello.", "{detail:#}");
    let child = format!("/api/sessions/{}", child.uuid());
    assert_eq!(texts(&daemon.get(&child).await), ["Read it aloud.", "It says hello."]);
    // And it stays told.
    daemon.kill();
    let daemon = home.up();
    assert_eq!(texts(&daemon.get(&child).await).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_taken_up_ends_when_its_message_is_taken_back() {
    let home = Home::new();
    let command = json!({ "command": "touch made" });
    let replies = vec![FakeReply::Completion(FakeCompletion::from_tool_call(
        "c1",
        "terminal_runCommand",
        command,
    ))];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    let sent = daemon.send_message(&session, "Do it.").await;
    daemon.wait_for_approvals(1).await;
    daemon.kill();

    let daemon = home.up();
    let message = sent["message"].as_str().unwrap();
    let path = format!("/api/sessions/{session}/messages/{message}/cancel");
    assert_eq!(daemon.post(&path, &daemon.token, &json!({})).await.0, 204);
    let detail = daemon.get(&format!("/api/sessions/{session}")).await;
    assert_eq!(detail["session"]["turn"]["status"], "cancelled", "{detail:#}");
    daemon.wait_for_approvals(0).await;
}
