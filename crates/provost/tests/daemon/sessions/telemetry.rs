//! Telemetry of sessions, as a collector receives it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use provost_fake_model::{FakeCompletion, FakeModelServer, FakeReply};
use serde_json::{Value, json};

use super::{ALL, Home, call};

/// A collector that keeps what it is sent.
#[derive(Clone, Default)]
struct Collector {
    bodies: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
}

impl Collector {
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let keep = async |State(own): State<Self>, headers: HeaderMap, Json(body): Json<Value>| {
            own.bodies.lock().unwrap().push((headers, body));
            Json(json!({}))
        };
        let router = axum::Router::new().route("/v1/traces", axum::routing::post(keep));
        tokio::spawn(axum::serve(listener, router.with_state(self.clone())).into_future());
        format!("http://{address}")
    }

    fn spans(&self) -> Vec<Value> {
        let bodies = self.bodies.lock().unwrap();
        let scopes = bodies.iter().map(|(_, body)| &body["resourceSpans"][0]["scopeSpans"][0]);
        scopes.flat_map(|scope| scope["spans"].as_array().unwrap().clone()).collect()
    }

    /// Waits until so many turns were told.
    async fn turns(&self, n: usize) -> Vec<Value> {
        loop {
            let spans = self.spans();
            if spans.iter().filter(|span| is(span, "invoke_agent")).count() == n {
                return spans;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn is(span: &Value, operation: &str) -> bool {
    span["name"].as_str().unwrap().starts_with(operation)
}

fn named<'a>(spans: &'a [Value], name: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

/// A span of the turn lies in it, and in its time.
fn lies_in(span: &Value, turn: &Value) {
    assert_eq!(span["traceId"], turn["traceId"]);
    assert_eq!(span["parentSpanId"], turn["spanId"]);
    let time = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
    assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"));
    assert!(span["startTimeUnixNano"].as_str() >= turn["startTimeUnixNano"].as_str());
    assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
}

fn one<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let found = named(spans, name);
    assert_eq!(found.len(), 1, "`{name}` in {spans:#?}");
    found[0]
}

fn attributes(span: &Value) -> BTreeMap<String, Value> {
    let all = span["attributes"].as_array().unwrap().iter();
    all.map(|one| (one["key"].as_str().unwrap().to_owned(), one["value"].clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_told_by_the_conventions_and_nothing_of_what_was_said() {
    let home = Home::new();
    let replies = vec![
        FakeReply::Completion(FakeCompletion::new(vec![
            call("call_a", "fs_readFile", json!({ "path": "hello.txt" })),
            call("call_b", "fs_readFile", json!({ "path": "missing.txt" })),
        ])),
        FakeReply::Completion(FakeCompletion::from_text("The answer is forty-two.")),
        FakeReply::json_status(
            401,
            json!({ "error": { "message": "no", "type": "authentication_error" } }),
        ),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let collector = Collector::default();
    let endpoint = collector.start().await;
    let more = format!(
        "[telemetry]\nendpoint = \"{endpoint}\"\nheaders = {{ x-key = \"collector-key-0123\" }}\n"
    );
    let daemon = home.with_model(&model, ALL[1], &more);
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "What is the question?").await;
    let spans = collector.turns(1).await;

    let turn = one(&spans, "invoke_agent dev");
    let (chats, tools) = (named(&spans, "chat model-1"), named(&spans, "execute_tool fs.readFile"));
    assert_eq!((chats.len(), tools.len(), spans.len()), (2, 2, 5), "{spans:#?}");
    assert_eq!((&turn["kind"], turn.get("parentSpanId")), (&json!(1), None));
    chats.iter().chain(&tools).for_each(|span| lies_in(span, turn));
    let attribute = attributes(turn);
    assert_eq!(attribute["gen_ai.operation.name"]["stringValue"], "invoke_agent");
    assert_eq!(attribute["gen_ai.agent.name"]["stringValue"], "dev");
    assert_eq!(attribute["gen_ai.conversation.id"]["stringValue"], session);
    assert_eq!(attribute["gen_ai.usage.input_tokens"]["intValue"], "200");
    let attribute = attributes(chats[1]);
    assert_eq!(attribute["gen_ai.operation.name"]["stringValue"], "chat");
    assert_eq!(attribute["gen_ai.provider.name"]["stringValue"], "fake");
    assert_eq!(attribute["gen_ai.request.model"]["stringValue"], "model-1");
    assert_eq!(attribute["gen_ai.usage.output_tokens"]["intValue"], "20");
    let finish = &attribute["gen_ai.response.finish_reasons"]["arrayValue"]["values"][0];
    assert_eq!(finish["stringValue"], "stop");
    assert_eq!((&chats[1]["kind"], chats[1]["status"].get("code")), (&json!(3), None));
    let failed = tools.iter().find(|span| span["status"]["code"] == 2).unwrap();
    let attribute = attributes(failed);
    assert_eq!(attribute["error.type"]["stringValue"], "error");
    assert_eq!(attribute["gen_ai.tool.name"]["stringValue"], "fs.readFile");
    assert_eq!(attribute["gen_ai.tool.call.id"]["stringValue"], "call_b");

    daemon.send_message(&session, "And again?").await;
    let spans = collector.turns(2).await;
    let failed: Vec<_> = spans.iter().filter(|span| span["traceId"] != turn["traceId"]).collect();
    assert_eq!(failed.len(), 2, "{failed:#?}");
    for span in failed {
        assert_eq!(attributes(span)["error.type"]["stringValue"], "MODEL_KEY");
    }
    let bodies = collector.bodies.lock().unwrap();
    assert!(bodies.iter().all(|(headers, _)| headers["x-key"] == "collector-key-0123"));
    let all: String = bodies.iter().map(|(_, body)| body.to_string()).collect();
    for secret in ["forty-two", "question", "hello", "missing.txt", "test-key", "collector-key"] {
        assert!(!all.contains(secret), "`{secret}` is told: {all}");
    }
    let config = home.run_ok(&["config", "--json"]) + &home.run_ok(&["config"]);
    assert!(!config.contains("collector-key"), "{config}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_switch_tells_what_was_said_and_a_task_hangs_where_it_was_given() {
    let home = Home::new();
    let model = FakeModelServer::start_with_rule(|_, asked| {
        let text = asked.body.to_string();
        FakeReply::Completion(
            match (text.contains("You are the reader"), text.contains("tool_call_id")) {
                (true, _) => FakeCompletion::from_text("I have read it."),
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
    let role =
        "---\nname: reader\ndescription: Reads.\nskills: [fs.read]\n---\nYou are the reader.\n";
    std::fs::write(home.path("app/.provost/roles/reader.md"), role).unwrap();
    let collector = Collector::default();
    let endpoint = collector.start().await;
    let more = format!("[telemetry]\nendpoint = \"{endpoint}/\"\ncontent = true\n");
    let daemon = home.with_model(&model, ALL[1], &more);
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Have it read.").await;
    let spans = collector.turns(2).await;
    let (giver, tool) = (one(&spans, "invoke_agent dev"), one(&spans, "execute_tool handoff"));
    let taker = one(&spans, "invoke_agent reader");
    assert_eq!(taker["traceId"], giver["traceId"]);
    assert_eq!(taker["parentSpanId"], tool["spanId"]);
    let attribute = attributes(giver);
    assert!(attribute["gen_ai.input.messages"].to_string().contains("Have it read."));
    assert!(attribute["gen_ai.output.messages"].to_string().contains("All done."));
    let attribute = attributes(tool);
    assert!(attribute["gen_ai.tool.call.arguments"].to_string().contains("Read it."));
    assert_eq!(attribute["gen_ai.tool.call.result"]["stringValue"], "I have read it.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_a_crash_cut_off_is_told_when_the_daemon_is_back() {
    let home = Home::new();
    let mut slow = FakeCompletion::from_text(&"word ".repeat(2000));
    slow.pace = Duration::from_millis(10);
    let model =
        FakeModelServer::start_with_replies(vec![FakeReply::Completion(slow)]).await.unwrap();
    let collector = Collector::default();
    let endpoint = collector.start().await;
    let more = format!("[telemetry]\nendpoint = \"{endpoint}\"\n");
    let daemon = home.with_model(&model, ALL[1], &more);
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Tell me.").await;
    daemon.session_until(&session, |now| now["draft"]["text"].is_string()).await;
    daemon.kill();
    assert!(collector.spans().is_empty());
    let _daemon = home.up();
    let spans = collector.turns(1).await;
    let turn = one(&spans, "invoke_agent dev");
    assert_eq!(attributes(turn)["error.type"]["stringValue"], "interrupted");
    assert!(turn["startTimeUnixNano"].as_str() < turn["endTimeUnixNano"].as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_not_there_disturbs_nobody() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(vec![FakeReply::Completion(
        FakeCompletion::from_text("Hi."),
    )])
    .await
    .unwrap();
    // Nothing listens on port 1.
    let more = "[telemetry]\nendpoint = \"http://127.0.0.1:1\"\n";
    let daemon = home.with_model(&model, ALL[1], more);
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Hello").await;
    daemon.turn_end(&session, "finished").await;
    home.run_ok(&["down"]);
}
