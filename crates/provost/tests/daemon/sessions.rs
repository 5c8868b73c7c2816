//! Sessions with models, against a fake provider with the wire formats of the real ones.

mod any_json;
mod budgets;
mod chat;
mod cli;
mod completions;
mod handoff;
mod leave;
mod live_draft;
mod log_size;
mod long;
mod openai;
mod queue;
mod real_model;
mod recovery;
mod single_message;
mod survive;
mod telemetry;
mod tour;
mod typed_input;
mod unlogged;
mod wire_formats;

use std::fs;
use std::time::Duration;

use provost_fake_model::{
    FakeCompletion, FakeCompletionPart, FakeModelServer, FakeReply, FakeWireFormat,
};
use serde_json::{Value, json};

use super::{Home, Running};

const ROLE: &str = "---\nname: dev\ndescription: Works.\nmodel: fake/model-1\nskills: [fs.read, fs.write, terminal.runCommand]\n---\nYou are careful.\n";
const ALL: [(FakeWireFormat, &str); 4] = [
    (FakeWireFormat::Responses, "responses"),
    (FakeWireFormat::Chat, "chat"),
    (FakeWireFormat::Messages, "messages"),
    (FakeWireFormat::Gemini, "gemini"),
];

impl Home {
    /// A daemon whose models are this one, in a wire format, with a trusted role.
    fn with_model(
        &self,
        model: &FakeModelServer,
        (format, wire): (FakeWireFormat, &str),
        more: &str,
    ) -> Running {
        let config = format!(
            "model = \"fake/model-1\"\n{more}\n[providers.fake]\nwire = \"{wire}\"\nbase_url = \"{}\"\nkey = \"test-key-0123456789\"\n",
            model.base_url(format)
        );
        let folder = self.path(".config/provost");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), config).unwrap();
        fs::create_dir_all(self.path("app/.provost/roles")).unwrap();
        fs::write(self.path("app/.provost/roles/dev.md"), ROLE).unwrap();
        fs::write(self.path("app/AGENTS.md"), "Use tabs.\n").unwrap();
        fs::write(self.path("app/hello.txt"), "hello from the file\n").unwrap();
        let daemon = self.up();
        self.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
        daemon
    }
}

impl Running {
    async fn session(&self, more: Value) -> String {
        let mut body = json!({ "project": "app", "role": "dev" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, session) = self.post("/api/sessions", &self.token, &body).await;
        assert_eq!(status, 201, "{session}");
        session["id"].as_str().unwrap().to_owned()
    }

    async fn send_message(&self, session: &str, text: &str) -> Value {
        let path = format!("/api/sessions/{session}/messages");
        let (status, sent) = self.post(&path, &self.token, &json!({ "text": text })).await;
        assert_eq!(status, 202, "{sent}");
        sent
    }

    /// Waits until the session is as it should be.
    async fn session_until(&self, session: &str, what: impl Fn(&Value) -> bool) -> Value {
        loop {
            let detail = self.get(&format!("/api/sessions/{session}")).await;
            if what(&detail) {
                return detail;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn turn_end(&self, session: &str, status: &str) -> Value {
        self.session_until(session, |now| now["session"]["turn"]["status"] == *status).await
    }
}

fn texts(detail: &Value) -> Vec<String> {
    let items = detail["items"].as_array().unwrap().iter();
    let messages = items.filter(|item| item["content"]["type"] == "message");
    let part = |part: &Value| part["type"].as_str().unwrap() == "text";
    messages
        .map(|item| {
            let parts = item["content"]["parts"].as_array().unwrap().iter();
            parts.filter(|p| part(p)).map(|p| p["text"].as_str().unwrap()).collect::<String>()
        })
        .collect()
}

fn tools(detail: &Value) -> Vec<Value> {
    let items = detail["items"].as_array().unwrap().iter();
    let tools = items.filter(|item| item["content"]["type"] == "tool");
    tools.map(|item| item["content"].clone()).collect()
}

fn call(id: &str, name: &str, arguments: Value) -> FakeCompletionPart {
    FakeCompletionPart::ToolCall { id: id.to_owned(), name: name.to_owned(), arguments }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_of_every_wire_reads_files_at_once_and_answers() {
    for wire in ALL {
        let home = Home::new();
        let replies = vec![
            FakeReply::Completion(FakeCompletion::new(vec![
                FakeCompletionPart::Reasoning {
                    text: "I look first.".to_owned(),
                    signature: "c2ln".to_owned(),
                },
                call("call_a", "fs_readFile", json!({ "path": "hello.txt" })),
                call("call_b", "fs_readFile", json!({ "path": "missing.txt" })),
            ])),
            FakeReply::Completion(FakeCompletion::from_text("It says hello.")),
            FakeReply::Completion(FakeCompletion::from_text("Still hello.")),
        ];
        let model = FakeModelServer::start_with_replies(replies).await.unwrap();
        let daemon = home.with_model(&model, wire, "");
        let session = daemon.session(json!({})).await;
        daemon.send_message(&session, "What does it say?").await;
        let detail = daemon.turn_end(&session, "finished").await;
        assert_eq!(texts(&detail).last().unwrap(), "It says hello.", "{wire:?} {detail:#}");
        let called = tools(&detail);
        assert_eq!(called[0]["result"]["output"], "hello from the file\n", "{wire:?}");
        assert_eq!(called[1]["result"]["status"], "error", "{wire:?}");
        assert!(called[1]["result"]["output"].as_str().unwrap().contains("NOT_FOUND"));
        assert!(detail["session"]["usage"]["input"].as_u64().unwrap() >= 200, "{wire:?}");

        let asked = model.received_requests();
        let first = asked[0].body.to_string();
        assert!(first.contains("You are careful.") && first.contains("Use tabs."), "{wire:?}");
        assert!(first.contains("fs_writeFile") && !first.contains("pty_write"), "{wire:?}");
        assert!(asked[1].body.to_string().contains("hello from the file"), "{wire:?}");
        // The next turn is told from the log alone, with what the provider signed.
        daemon.send_message(&session, "And now?").await;
        let over = |now: &Value| {
            let last = texts(now).pop();
            last.as_deref() == Some("Still hello.") && now["session"]["status"] == "idle"
        };
        daemon.session_until(&session, over).await;
        let third = model.received_requests()[2].body.to_string();
        assert!(third.contains("What does it say?") && third.contains("And now?"), "{wire:?}");
        if wire.0 != FakeWireFormat::Chat {
            assert!(third.contains("c2ln"), "{wire:?} {third}");
        }
        let log = fs::read(home.data().join("log.db")).unwrap();
        assert!(!log.windows(19).any(|part| part == b"test-key-0123456789"), "{wire:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_with_its_message_returns_to_the_model() {
    let home = Home::new();
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c1",
            "terminal_runCommand",
            json!({ "command": "touch made" }),
        )),
        FakeReply::Completion(FakeCompletion::from_text("Then not.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[2], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Make it.").await;
    let open = daemon.wait_for_approvals(1).await;
    assert_eq!(open[0]["session"], session);
    home.run_ok(&["approvals", "deny", open[0]["id"].as_str().unwrap(), "--message", "use npm ci"]);
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(tools(&detail)[0]["result"]["status"], "denied");
    assert!(model.received_requests()[1].body.to_string().contains("use npm ci"));
    assert!(!home.path("app/made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_cancelled_while_it_streams_while_it_asks_and_while_a_command_runs() {
    let home = Home::new();
    let mut slow = FakeCompletion::from_text(&"word ".repeat(2000));
    slow.pace = Duration::from_millis(20);
    let replies = vec![
        FakeReply::Completion(slow),
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c1",
            "terminal_runCommand",
            json!({ "command": "touch made" }),
        )),
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c2",
            "terminal_runCommand",
            json!({ "command": "sleep 600; touch made" }),
        )),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[0], "");
    let session = daemon.session(json!({})).await;
    let cancel = format!("/api/sessions/{session}/cancel");

    daemon.send_message(&session, "one").await;
    let printed =
        |now: &Value| now["draft"]["text"].as_str().is_some_and(|text| text.contains("word"));
    daemon.session_until(&session, printed).await;
    let (status, body) = daemon.post(&cancel, &daemon.token, &json!({})).await;
    assert_eq!((status.as_u16(), &body), (200, &json!({ "cancelled": true })));
    model.wait_until_idle().await;
    let detail = daemon.turn_end(&session, "cancelled").await;
    assert!(texts(&detail)[1].starts_with("word "), "what was said stays");

    daemon.send_message(&session, "two").await;
    daemon.wait_for_approvals(1).await;
    assert_eq!(daemon.post(&cancel, &daemon.token, &json!({})).await.0, 200);
    daemon.wait_for_approvals(0).await;
    let detail = daemon.turn_end(&session, "cancelled").await;
    assert_eq!(tools(&detail)[0]["result"]["status"], "cancelled");

    home.run_ok(&["mode", "full", "--minutes", "5", "--project", "app"]);
    daemon.send_message(&session, "three").await;
    let runs = daemon.session_until(&session, |now| tools(now).len() == 2).await;
    daemon.until(tools(&runs)[1]["action"].as_str().unwrap(), "running").await;
    assert_eq!(daemon.post(&cancel, &daemon.token, &json!({})).await.0, 200);
    let detail = daemon.turn_end(&session, "cancelled").await;
    assert_ne!(tools(&detail)[1]["result"]["status"], "ok");
    assert!(!home.path("app/made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_goes_round_in_circles_is_told_and_then_stopped() {
    let read = FakeCompletion::from_tool_call("c", "fs_readFile", json!({ "path": "hello.txt" }));
    let look = FakeCompletion::from_tool_call("d", "fs_stat", json!({ "path": "hello.txt" }));
    let both = FakeCompletion { parts: [read.parts.clone(), look.parts].concat(), ..read.clone() };
    for (call, rounds) in [(read, 4), (both, 6)] {
        let home = Home::new();
        let model =
            FakeModelServer::start_with_replies(vec![FakeReply::Completion(call)]).await.unwrap();
        let daemon = home.with_model(&model, ALL[1], "");
        let session = daemon.session(json!({})).await;
        daemon.send_message(&session, "Read.").await;
        let detail = daemon.turn_end(&session, "failed").await;
        assert_eq!(detail["session"]["turn"]["fault"]["code"], "LOOP_DETECTED");
        assert_eq!(model.received_requests().len(), rounds);
        assert!(model.received_requests()[3].body.to_string().contains("three times"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_does_not_fit_is_summarized_and_stays_readable() {
    let home = Home::new();
    let model = FakeModelServer::start_with_rule(|n, _| match n {
        0 => FakeReply::Completion(FakeCompletion::from_text("First answer.")),
        1 => FakeReply::json_status(400, json!({ "error": { "message": "prompt is too long: 210000 tokens > 200000 maximum", "type": "invalid_request_error", "code": "context_length_exceeded" } })),
        2 => FakeReply::Completion(FakeCompletion::from_text("SUMMARY of it all")),
        _ => FakeReply::Completion(FakeCompletion::from_text("Second answer.")),
    })
    .await
    .unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "The first thing.").await;
    daemon.turn_end(&session, "finished").await;
    daemon.send_message(&session, "The second thing.").await;
    let detail = daemon.session_until(&session, |now| texts(now).len() == 4).await;
    assert_eq!(
        texts(&detail),
        ["The first thing.", "First answer.", "The second thing.", "Second answer."]
    );
    let last = model.received_requests()[3].body.to_string();
    assert!(last.contains("SUMMARY of it all") && last.contains("The second thing."), "{last}");
    assert!(!last.contains("First answer."), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_kept_before_the_model_is_asked() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(vec![FakeReply::Completion(
        FakeCompletion::from_text("Hi."),
    )])
    .await
    .unwrap();
    let daemon = home.with_model(&model, ALL[0], "");
    let session = daemon.session(json!({ "budget": { "tokens": 10 } })).await;
    daemon.send_message(&session, "Hello").await;
    let detail = daemon.turn_end(&session, "failed").await;
    assert_eq!(detail["session"]["turn"]["fault"]["code"], "BUDGET_EXCEEDED");
    assert!(model.received_requests().is_empty());
    let usage = daemon.get("/api/usage").await;
    assert_eq!(usage["rows"], json!([]));
}
