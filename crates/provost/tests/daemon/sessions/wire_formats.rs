//! Failures in the three wire formats other than Chat Completions, up to the command line.

use provost_fake_model::{
    FakeCompletion, FakeCompletionPart, FakeModelServer, FakeReply, FakeWireFormat, StreamEnding,
};
use serde_json::{Value, json};

use super::{ALL, Home, Running, call};

const WIRES: [(FakeWireFormat, &str); 3] = [ALL[0], ALL[2], ALL[3]];

/// A stream of the runner's own tests.
macro_rules! stream {
    ($name:literal) => {
        include_str!(concat!("../../../../provost-runner/tests/streams/", $name, ".sse"))
    };
}

impl Running {
    async fn last_session(&self) -> Value {
        let list = self.get("/api/sessions").await;
        let id = list["sessions"][0]["id"].as_str().unwrap().to_owned();
        self.get(&format!("/api/sessions/{id}")).await
    }
}

fn chat(home: &Home, args: &[&str]) -> (i32, String, String) {
    let output = home.provost(&["chat"]).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_in_the_midst_and_what_is_no_json_are_tried_again_on_every_wire() {
    for (format, wire) in WIRES {
        let error = match format {
            FakeWireFormat::Messages => {
                json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } })
            }
            FakeWireFormat::Gemini => {
                json!({ "error": { "code": 503, "message": "Overloaded", "status": "UNAVAILABLE" } })
            }
            FakeWireFormat::Responses | FakeWireFormat::Chat => {
                json!({ "type": "error", "code": "server_error", "message": "Overloaded" })
            }
        };
        let half: String = FakeCompletion::from_text("One two")
            .encode_events(format)
            .into_iter()
            .take(4)
            .collect();
        let replies = vec![
            FakeReply::raw_stream(format!("{half}data: {error}\n\n"), StreamEnding::Complete),
            FakeReply::raw_stream(
                format!("{half}data: {{\"type\": \"resp\n\n"),
                StreamEnding::Complete,
            ),
            FakeReply::Completion(FakeCompletion::from_text("One two three")),
        ];
        let home = Home::new();
        let model = FakeModelServer::start_with_replies(replies).await.unwrap();
        let daemon = home.with_model(&model, (format, wire), "");
        let (status, printed, remarks) = chat(&home, &["--project", "app", "-p", "Count"]);
        assert_eq!((status, printed.as_str()), (0, "One two three\n"), "{wire}: {remarks}");
        assert!(remarks.contains("retrying"), "{wire}: {remarks}");
        assert_eq!(model.received_requests().len(), 3, "{wire}");
        let detail = daemon.last_session().await;
        assert_eq!(super::texts(&detail), ["Count", "One two three"], "{wire}");
        // What the attempts before used is paid for too, where it was told.
        assert!(detail["session"]["usage"]["cachedInput"].as_u64().unwrap() >= 64, "{wire}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_declined_stays_to_be_read_and_the_conversation_goes_on() {
    for (at, stream, why) in [
        (WIRES[0], stream!("responses/declined"), ""),
        (WIRES[1], stream!("messages/declined"), "Blocked by policy."),
        (WIRES[2], stream!("gemini/filtered"), "Not safe."),
        (WIRES[2], stream!("gemini/blocked"), "PROHIBITED_CONTENT"),
    ] {
        let home = Home::new();
        let replies = vec![
            FakeReply::raw_stream(stream, StreamEnding::Complete),
            FakeReply::Completion(FakeCompletion::from_text("Gladly.")),
        ];
        let model = FakeModelServer::start_with_replies(replies).await.unwrap();
        let daemon = home.with_model(&model, at, "");
        let (status, printed, remarks) = chat(&home, &["--project", "app", "-p", "Question one"]);
        assert_eq!(status, 8, "{at:?}: {printed} {remarks}");
        assert!(
            printed.contains(why) && remarks.contains("declined"),
            "{at:?}: {printed} {remarks}"
        );
        let detail = daemon.last_session().await;
        let items = detail["items"].as_array().unwrap();
        let last = items.last().unwrap()["content"]["parts"].to_string();
        assert!(last.contains("\"refusal\"") && last.contains(why), "{at:?}: {last}");
        let id = detail["session"]["id"].as_str().unwrap();
        let (status, printed, _) = chat(&home, &["--session", id, "-p", "Question two"]);
        assert_eq!((status, printed.as_str()), (0, "Gladly.\n"), "{at:?}");
        let again = model.received_requests()[1].body.to_string();
        assert!(again.contains("Question two"), "{at:?}: {again}");
        // Messages would go on to decline; the text of a filter is not the model's.
        assert_eq!(
            again.contains("Question one"),
            at.0 != FakeWireFormat::Messages,
            "{at:?}: {again}"
        );
        assert!(at.0 == FakeWireFormat::Responses || !again.contains(why), "{at:?}: {again}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_gemini_could_not_read_is_made_again() {
    let home = Home::new();
    let replies = vec![
        FakeReply::raw_stream(stream!("gemini/a-malformed-call"), StreamEnding::Complete),
        FakeReply::Completion(FakeCompletion::from_text("Without a call.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let _daemon = home.with_model(&model, WIRES[2], "");
    let (status, printed, remarks) = chat(&home, &["--project", "app", "-p", "Call"]);
    assert_eq!(status, 0, "{printed}");
    assert!(printed.ends_with("\nWithout a call.\n"), "{printed}");
    assert!(remarks.contains("MALFORMED_FUNCTION_CALL"), "{remarks}");
    assert!(remarks.contains("ignore what was printed of it before"), "{remarks}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_thought_in_secret_goes_back_with_the_results_of_both_calls() {
    let home = Home::new();
    let stream = stream!("messages/thoughts-and-two-calls");
    let replies = vec![
        FakeReply::raw_stream(stream, StreamEnding::Complete),
        FakeReply::Completion(FakeCompletion::from_text("Done.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let _daemon = home.with_model(&model, WIRES[1], "");
    let (status, printed, _) = chat(&home, &["--project", "app", "-p", "Think"]);
    assert_eq!(status, 0, "{printed}");
    let messages = model.received_requests()[1].body["messages"].clone();
    let kinds = |n: usize| -> Vec<String> {
        let blocks = messages[n]["content"].as_array().unwrap().iter();
        blocks.map(|block| block["type"].as_str().unwrap().to_owned()).collect()
    };
    let spoken = kinds(1);
    assert_eq!(spoken[..2], ["thinking", "redacted_thinking"], "{messages}");
    assert_eq!(spoken.iter().filter(|kind| *kind == "tool_use").count(), 2, "{messages}");
    assert!(messages[1]["content"][0]["signature"].as_str().is_some_and(|s| !s.is_empty()));
    assert_eq!(kinds(2), ["tool_result", "tool_result"], "{messages}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_busy_is_asked_again_when_it_says_so() {
    for (status, wire) in [(429, WIRES[0]), (529, WIRES[1]), (503, WIRES[2])] {
        let home = Home::new();
        let busy = FakeReply::Status {
            status,
            headers: vec![("retry-after", "1".to_owned())],
            body: json!({ "error": { "type": "overloaded_error", "message": "Busy" } }),
        };
        let read = call("c", "fs_readFile", json!({ "path": "hello.txt" }));
        let think =
            FakeCompletionPart::Reasoning { text: "Hm.".to_owned(), signature: "c2ln".to_owned() };
        let replies = vec![
            busy.clone(),
            FakeReply::Completion(FakeCompletion::new(vec![think, read])),
            busy,
            FakeReply::Completion(FakeCompletion::from_text("Hello.")),
        ];
        let model = FakeModelServer::start_with_replies(replies).await.unwrap();
        let _daemon = home.with_model(&model, wire, "");
        let began = std::time::Instant::now();
        let (status, printed, remarks) = chat(&home, &["--project", "app", "-p", "Read"]);
        assert_eq!((status, printed.as_str()), (0, "Hello.\n"), "{wire:?}: {remarks}");
        assert!(began.elapsed().as_secs() >= 2, "{wire:?} was not left alone");
        assert!(remarks.contains("Busy"), "{wire:?}: {remarks}");
        let last = model.received_requests()[3].body.to_string();
        assert!(last.contains("c2ln") && last.contains("hello from the file"), "{wire:?}: {last}");
    }
}
