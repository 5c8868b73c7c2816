//! `/v1`: a whole turn as one completion, streamed or not, within the requested limits.

use provost_fake_model::{
    FakeCompletion, FakeCompletionPart, FakeModelServer, FakeReply, FakeTokenUsage, FakeWireFormat,
    StreamEnding,
};
use serde_json::{Value, json};

use super::openai::content;
use super::{ALL, Home, Running, call};

impl Running {
    /// Requests a completion: its content and finish reason, streamed or not.
    async fn completes(&self, stream: bool, most: Option<u32>) -> (String, String, Value) {
        let messages = json!([{ "role": "user", "content": "Tell me." }]);
        let mut body = json!({ "model": "role/dev", "stream": stream, "messages": messages });
        if stream {
            body["stream_options"] = json!({ "include_usage": true });
        }
        body["max_tokens"] = json!(most);
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let asked = http.post(format!("{}/v1/chat/completions", self.base)).json(&body);
        let response = asked.bearer_auth(&self.token).send().await.unwrap().text().await.unwrap();
        if !stream {
            let response: Value = serde_json::from_str(&response).unwrap();
            let choice = &response["choices"][0];
            let (printed, why) = (&choice["message"]["content"], &choice["finish_reason"]);
            let [printed, why] = [printed, why].map(|text| text.as_str().unwrap().to_owned());
            return (printed, why, response["usage"].clone());
        }
        let pieces = response.lines().filter_map(|line| line.strip_prefix("data: {"));
        let pieces: Vec<Value> =
            pieces.map(|rest| serde_json::from_str(&format!("{{{rest}")).unwrap()).collect();
        let why = pieces.iter().find_map(|one| one["choices"][0]["finish_reason"].as_str());
        let usage = pieces.last().unwrap()["usage"].clone();
        (content(&response), why.unwrap().to_owned(), usage)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_is_said_in_a_turn_is_told_in_either_form_with_what_it_used() {
    let home = Home::new();
    let model = FakeModelServer::start_with_rule(|n, _| {
        let read = |id| call(id, "fs_readFile", json!({ "path": "hello.txt" }));
        FakeReply::Completion(match n % 3 {
            0 => FakeCompletion::new(vec![read("a")]),
            1 => FakeCompletion::new(vec![
                FakeCompletionPart::Text("I look twice.".to_owned()),
                read("b"),
                read("c"),
            ]),
            _ => FakeCompletion::from_text("It says hello."),
        })
    });
    let model = model.await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    for stream in [false, true] {
        let (printed, why, usage) = daemon.completes(stream, None).await;
        assert_eq!(printed, "I look twice.\n\nIt says hello.", "{stream}");
        assert_eq!(why, "stop", "{stream}");
        let used = json!({
            "prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360,
            "prompt_tokens_details": { "cached_tokens": 192 },
            "completion_tokens_details": { "reasoning_tokens": 36 },
        });
        assert_eq!(usage, used, "{stream}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_before_an_answer_began_anew_stays() {
    let home = Home::new();
    let half: String = FakeCompletion::from_text("It may say")
        .encode_events(FakeWireFormat::Chat)
        .into_iter()
        .take(2)
        .collect();
    let read = call("a", "fs_readFile", json!({ "path": "hello.txt" }));
    let replies = vec![
        FakeReply::Completion(FakeCompletion::new(vec![
            FakeCompletionPart::Text("I look.".to_owned()),
            read,
        ])),
        FakeReply::raw_stream(half, StreamEnding::ConnectionReset),
        FakeReply::Completion(FakeCompletion::from_text("It says hello.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let (printed, ..) = daemon.completes(false, None).await;
    assert_eq!(printed, "I look.\n\nIt says hello.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_a_provider_that_keeps_no_limit_ends_at_it() {
    for (n_words, wire) in [(20, ALL[1]), (20_000, ALL[0]), (20_000, ALL[2]), (20_000, ALL[3])] {
        let home = Home::new();
        let output = u64::try_from(n_words).unwrap();
        let tokens = FakeTokenUsage { input: 100, cached: 0, output, thinking: 0 };
        let long = FakeCompletion { tokens, ..FakeCompletion::from_text(&"word ".repeat(n_words)) };
        let model =
            FakeModelServer::start_with_replies(vec![FakeReply::Completion(long)]).await.unwrap();
        let daemon = home.with_model(&model, wire, "");
        let (printed, why, _) = daemon.completes(false, Some(16)).await;
        assert!(
            !printed.is_empty() && printed.len() <= 16 * 5,
            "{wire:?} {}: {printed}",
            printed.len()
        );
        assert_eq!(why, "length", "{wire:?}");
        // What was sent cannot be taken back; but it does not go on.
        let (printed, why, _) = daemon.completes(true, Some(16)).await;
        assert!(printed.len() <= 16 * 8 + 64, "{wire:?} {}", printed.len());
        assert_eq!(why, "length", "{wire:?}");
        model.wait_until_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_whose_tokens_nobody_tells_is_whole_if_it_fits() {
    let text = "The answer is exactly forty-two, as you said.";
    let mut events = FakeCompletion::from_text(text).encode_events(FakeWireFormat::Chat);
    events.retain(|event| !event.contains("\"usage\":{"));
    let home = Home::new();
    let reply = FakeReply::raw_stream(events.concat(), StreamEnding::Complete);
    let model = FakeModelServer::start_with_replies(vec![reply]).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    // By an estimate it has 15 tokens: rather too many, which is no reason to cut it.
    for (stream, most) in [(false, 100), (true, 100), (false, 12)] {
        let (printed, why, usage) = daemon.completes(stream, Some(most)).await;
        assert_eq!((printed.as_str(), why.as_str()), (text, "stop"), "{stream} {most}");
        assert_eq!(usage["completion_tokens"], 15, "{stream} {most}: {usage}");
    }
}

impl Running {
    /// Asks in a session for an answer that fails: the status, whether the client should
    /// ask again by itself, and why.
    async fn fetch_failure(&self, session: &str) -> (u16, Option<String>, String) {
        let messages = json!([{ "role": "user", "content": "Tell me." }]);
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let asked = http.post(format!("{}/v1/chat/completions", self.base));
        let asked = asked.json(&json!({ "model": "role/dev", "messages": messages }));
        let asked = asked.bearer_auth(&self.token).header("x-provost-session", session);
        let response = asked.send().await.unwrap();
        let again =
            response.headers().get("x-should-retry").map(|yes| yes.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let response: Value = response.json().await.unwrap();
        (status, again, response["error"]["message"].as_str().unwrap().to_owned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_asks_again_by_itself_after_a_stop_or_for_what_was_done() {
    let home = Home::new();
    let mut slow = FakeCompletion::from_text(&"word ".repeat(3000));
    slow.pace = std::time::Duration::from_millis(10);
    let bad = || FakeReply::json_status(400, json!({ "error": { "message": "no", "type": "x" } }));
    let read = FakeCompletion::new(vec![call("a", "fs_readFile", json!({ "path": "hello.txt" }))]);
    let replies = vec![
        bad(),
        FakeReply::Completion(read),
        bad(),
        FakeReply::Completion(slow.clone()),
        FakeReply::Completion(slow),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let no = Some("false".to_owned());
    let session = daemon.session(json!({})).await;
    let (status, again, why) = daemon.fetch_failure(&session).await;
    assert_eq!(again, None, "nothing was done: {status} {why}");
    let (status, again, why) = daemon.fetch_failure(&session).await;
    assert_eq!(again, no, "a file was read: {status} {why}");

    let stop = async || {
        daemon.session_until(&session, |now| now["draft"].to_string().contains("word")).await;
        let path = format!("/api/sessions/{session}/cancel");
        assert_eq!(daemon.post(&path, &daemon.token, &json!({})).await.0, 200);
    };
    let (failure, ()) = tokio::join!(daemon.fetch_failure(&session), stop());
    assert_eq!(failure, (409, no.clone(), "the turn was cancelled".to_owned()));

    daemon.send_message(&session, "Begin.").await;
    let waits = |now: &Value| now["session"]["queued"].as_array().unwrap().len() == 1;
    let (failure, ()) = tokio::join!(daemon.fetch_failure(&session), async {
        daemon.session_until(&session, waits).await;
        stop().await;
    });
    let why = "the previous turn was cancelled, so this message was withdrawn";
    assert_eq!(failure, (409, no, why.to_owned()));
    let detail = daemon.get(&format!("/api/sessions/{session}")).await;
    assert_eq!(detail["session"]["queued"], json!([]), "when it says so, it is so");
}
