//! Errors of requests, against a server that speaks all four formats.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::support::kind;
use futures::StreamExt;
use provost_fake_model::{
    FakeCompletion, FakeCompletionPart, FakeModelServer, FakeReply, FakeWireFormat, StreamEnding,
};
use provost_runner::model::{
    Completion, ModelClient, ModelError, ModelEvent, ModelMessage, ModelRequest, ModelTimeouts,
    ModelToolResult, ProviderConfig, ProviderRegistry, RetryPolicy, ToolDefinition, WireFormat,
};
use serde_json::{Value, json};

/// A key in no provider's format, so that only redaction by value finds it.
const KEY: &str = "hush/this+is-the-key";

/// Quick, so that a test of five attempts takes no time; nothing waits for a time to pass.
pub(crate) const QUICK: RetryPolicy = RetryPolicy {
    attempts: 4,
    base: Duration::from_millis(1),
    longest: Duration::from_millis(4),
    patience: Duration::from_secs(2),
};

fn wire(format: FakeWireFormat) -> WireFormat {
    match format {
        FakeWireFormat::Responses => WireFormat::Responses,
        FakeWireFormat::Chat => WireFormat::Chat,
        FakeWireFormat::Messages => WireFormat::Messages,
        FakeWireFormat::Gemini => WireFormat::Gemini,
    }
}

/// The models of a fake provider, in one format, as `fake/m`.
pub(crate) fn models_at(
    base: String,
    format: FakeWireFormat,
    retry: RetryPolicy,
    timeouts: ModelTimeouts,
) -> ModelClient {
    let config = ProviderConfig {
        wire: Some(wire(format)),
        base_url: Some(base),
        key_env: Some("FAKE_KEY".to_owned()),
        ..ProviderConfig::default()
    };
    let configs = BTreeMap::from([("fake".to_owned(), config)]);
    let env = BTreeMap::from([("FAKE_KEY".to_owned(), KEY.to_owned())]);
    ModelClient::new(ProviderRegistry::new(&configs, &env).unwrap(), retry, timeouts).unwrap()
}

pub(crate) fn models(server: &FakeModelServer, format: FakeWireFormat) -> ModelClient {
    models_at(server.base_url(format), format, QUICK, ModelTimeouts::default())
}

pub(crate) async fn all(
    models: &ModelClient,
    request: &ModelRequest,
) -> (Vec<ModelEvent>, Result<(), ModelError>) {
    let mut stream = models.stream_completion(request).unwrap();
    let mut events = Vec::new();
    while let Some(next) = stream.next().await {
        match next {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing comes after an error");
                return (events, Err(error));
            }
        }
    }
    (events, Ok(()))
}

pub(crate) fn hello() -> ModelRequest {
    ModelRequest::new("fake/m", vec![ModelMessage::user("Hi")])
}

pub(crate) fn turn(events: &[ModelEvent]) -> Completion {
    match events.last() {
        Some(ModelEvent::End { turn }) => (**turn).clone(),
        other => panic!("ends with {other:?}"),
    }
}

/// The text that a consumer has which honors `Restarted`.
pub(crate) fn left(events: &[ModelEvent]) -> String {
    let mut text = String::new();
    for event in events {
        if let ModelEvent::TextDelta { text: more } = event {
            text.push_str(more);
        } else if let ModelEvent::Restarted { .. } = event {
            text.clear();
        }
    }
    text
}

#[tokio::test]
async fn a_whole_exchange_with_thoughts_and_calls_works_in_all_four_formats() {
    for format in FakeWireFormat::ALL {
        let server = FakeModelServer::start_with_rule(|n, _| {
            FakeReply::Completion(match n {
                0 => FakeCompletion::new(vec![
                    FakeCompletionPart::Reasoning {
                        text: "Let me see".to_owned(),
                        signature: "c2ln".to_owned(),
                    },
                    FakeCompletionPart::ToolCall {
                        id: "c1".into(),
                        name: "read".into(),
                        arguments: json!({"n": 1}),
                    },
                    FakeCompletionPart::ToolCall {
                        id: "c2".into(),
                        name: "read".into(),
                        arguments: json!({"n": 2}),
                    },
                ]),
                _ => FakeCompletion::from_text("It is done."),
            })
        });
        let server = server.await.unwrap();
        let models = models(&server, format);
        let mut request = hello();
        request.tools =
            vec![ToolDefinition::new("read", "Reads.", json!({ "type": "object" })).unwrap()];
        let (events, result) = all(&models, &request).await;
        result.unwrap();
        let first = turn(&events);
        let calls: Vec<_> = first.tool_calls().map(|call| call.arguments.clone()).collect();
        assert_eq!(calls, [r#"{"n":1}"#, r#"{"n":2}"#], "{format:?}");
        let usage = first.usage;
        assert_eq!((usage.input, usage.output, usage.cached_input), (100, 20, 64), "{format:?}");
        let results = first.tool_calls().map(|call| ModelToolResult {
            call: call.id.clone(),
            status: provost_runner::model::ModelToolResultStatus::Ok,
            output: "ok".to_owned(),
        });
        let results = results.collect();
        request.messages.push(ModelMessage::Assistant { turn: Box::new(first) });
        request.messages.push(ModelMessage::Results { results });
        let (events, result) = all(&models, &request).await;
        result.unwrap();
        assert_eq!(turn(&events).text(), "It is done.", "{format:?}");
        let second = server.received_requests()[1].body.to_string();
        // Chat Completions have no signature; what was thought goes back by itself.
        let mark = if format == FakeWireFormat::Chat { "Let me see" } else { "c2ln" };
        assert!(second.contains(mark), "{format:?}: {second}");
    }
}

#[tokio::test]
async fn keys_are_in_a_header_and_in_no_address() {
    for (format, header, value) in [
        (FakeWireFormat::Responses, "authorization", format!("Bearer {KEY}")),
        (FakeWireFormat::Chat, "authorization", format!("Bearer {KEY}")),
        (FakeWireFormat::Messages, "x-api-key", KEY.to_owned()),
        (FakeWireFormat::Gemini, "x-goog-api-key", KEY.to_owned()),
    ] {
        let server = FakeModelServer::start_with_replies(vec![FakeReply::Completion(
            FakeCompletion::from_text("Hi"),
        )])
        .await
        .unwrap();
        all(&models(&server, format), &hello()).await.1.unwrap();
        let received = &server.received_requests()[0];
        assert_eq!(received.header(header), value, "{format:?}");
        assert!(!received.path.contains("hush"), "{}", received.path);
    }
}

/// Responses that are final errors, and the error.
fn final_statuses() -> Vec<(u16, Value, &'static str)> {
    let error =
        |kind: &str, message: &str| json!({ "error": { "type": kind, "message": message } });
    vec![
        (401, error("authentication_error", "invalid x-api-key"), "Unauthorized"),
        (
            400,
            json!([{ "error": { "code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT", "details": [{ "reason": "API_KEY_INVALID" }] } }]),
            "Unauthorized",
        ),
        (403, error("permission_error", "no access"), "Forbidden"),
        (404, error("not_found_error", "model: m"), "UnknownModel"),
        (
            402,
            json!({ "error": { "code": 402, "message": "Insufficient credits" } }),
            "QuotaExceeded",
        ),
        (
            429,
            json!({ "error": { "code": "insufficient_quota", "message": "You exceeded your current quota" } }),
            "QuotaExceeded",
        ),
        (400, error("invalid_request_error", "Your credit balance is too low"), "QuotaExceeded"),
        (
            400,
            json!({ "error": { "code": "context_length_exceeded", "message": "This model's maximum context length is 8192 tokens" } }),
            "ContextLength",
        ),
        (
            400,
            error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            "ContextLength",
        ),
        (
            400,
            error(
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000",
            ),
            "ContextLength",
        ),
        (
            400,
            json!({ "error": { "code": 400, "type": "exceed_context_size_error", "message": "the request exceeds the available context size" } }),
            "ContextLength",
        ),
        (413, error("request_too_large", "Request exceeds the maximum size"), "ContextLength"),
        (
            400,
            json!({ "error": { "message": "Unsupported parameter: 'max_tokens'", "type": "invalid_request_error", "code": "unsupported_parameter" } }),
            "BadRequest",
        ),
        (
            422,
            json!({ "object": "error", "message": { "detail": [{ "msg": "Extra inputs are not permitted" }] } }),
            "BadRequest",
        ),
        (400, json!({ "error": { "code": "content_filter", "message": "filtered" } }), "Refused"),
    ]
}

/// Responses that are retried, and the error.
fn passing_statuses() -> Vec<(u16, Value, &'static str)> {
    let error =
        |kind: &str, message: &str| json!({ "error": { "type": kind, "message": message } });
    vec![
        (429, error("rate_limit_error", "slow down"), "RateLimited"),
        (529, error("overloaded_error", "Overloaded"), "Overloaded"),
        (503, json!({ "error": "model is loading" }), "Overloaded"),
        (500, json!("what"), "Overloaded"),
        (408, error("timeout", "too slow"), "Overloaded"),
        (409, error("conflict", "again"), "Overloaded"),
    ]
}

#[tokio::test]
async fn every_status_becomes_its_error_and_only_what_can_succeed_is_tried_again() {
    let finals = final_statuses().into_iter().map(|row| (row, 1));
    let passing = passing_statuses().into_iter().map(|row| (row, 4));
    for ((status, body, expected), attempts) in finals.chain(passing) {
        let server =
            FakeModelServer::start_with_replies(vec![FakeReply::json_status(status, body.clone())])
                .await
                .unwrap();
        let (events, result) = all(&models(&server, FakeWireFormat::Chat), &hello()).await;
        let error = result.unwrap_err();
        assert_eq!(kind(&error), expected, "{status} {body}");
        assert_eq!(server.received_requests().len(), attempts, "{status} {body}");
        assert_eq!(error.is_retryable(), attempts > 1, "{status} {body}");
        assert!(!error.advice().is_empty());
        let waits = events.iter().filter(|event| matches!(event, ModelEvent::Waiting { .. }));
        assert_eq!((waits.count(), events.len()), (attempts - 1, attempts - 1), "{status} {body}");
    }
}

#[tokio::test]
async fn a_provider_that_repeats_the_key_does_not_get_it_shown() {
    let error_body =
        json!({ "error": { "message": format!("bad key {KEY} or sk-proj-12345678**") } });
    for status in [401, 500] {
        let server = FakeModelServer::start_with_replies(vec![FakeReply::json_status(
            status,
            error_body.clone(),
        )])
        .await
        .unwrap();
        let (events, result) = all(&models(&server, FakeWireFormat::Chat), &hello()).await;
        let shown = format!("{events:?} {result:?} {}", result.as_ref().unwrap_err());
        assert!(!shown.contains("hush") && !shown.contains("12345678"), "{shown}");
        assert!(shown.contains("bad key [key] or [key]"), "{shown}");
    }
    let in_stream = format!("data: {error_body}\n\n");
    let reply = FakeReply::raw_stream(in_stream, StreamEnding::Complete);
    let server = FakeModelServer::start_with_replies(vec![reply]).await.unwrap();
    let shown = format!("{:?}", all(&models(&server, FakeWireFormat::Chat), &hello()).await);
    assert!(!shown.contains("hush") && shown.contains("[key]"), "{shown}");
}

#[tokio::test]
async fn a_provider_is_left_alone_as_long_as_it_asks() {
    let limited = |name, value: &str| FakeReply::Status {
        status: 429,
        headers: vec![(name, value.to_owned())],
        body: json!({ "error": { "message": "slow down" } }),
    };
    let google = json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota", "details": [
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.06s" },
    ] } });
    for (first, millis) in [
        (limited("retry-after-ms", "60"), 60),
        (limited("retry-after", "0.06"), 60),
        (FakeReply::json_status(429, google), 60),
    ] {
        let replies = vec![first, FakeReply::Completion(FakeCompletion::from_text("Hi"))];
        let server = FakeModelServer::start_with_replies(replies).await.unwrap();
        let began = Instant::now();
        let (events, result) = all(&models(&server, FakeWireFormat::Chat), &hello()).await;
        result.unwrap();
        assert!(began.elapsed() >= Duration::from_millis(millis));
        assert!(
            matches!(&events[0], ModelEvent::Waiting { attempt: 2, millis: reported, .. } if *reported == millis),
            "{events:?}"
        );
        assert_eq!(left(&events), "Hi");
    }
    let server =
        FakeModelServer::start_with_replies(vec![limited("retry-after", "3600")]).await.unwrap();
    let error = all(&models(&server, FakeWireFormat::Chat), &hello()).await.1.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_hours(1)));
    assert_eq!(server.received_requests().len(), 1, "an hour is too long to wait");
}

#[tokio::test]
async fn without_a_key_nothing_is_sent() {
    let registry = ProviderRegistry::new(&BTreeMap::new(), &BTreeMap::new()).unwrap();
    let models = ModelClient::new(registry, QUICK, ModelTimeouts::default()).unwrap();
    let request = ModelRequest::new("anthropic/claude-sonnet-5", vec![ModelMessage::user("Hi")]);
    let error = all(&models, &request).await.1.unwrap_err();
    assert_eq!(error.to_string(), "no key for `anthropic`");
    assert_eq!(
        error.advice(),
        "set ANTHROPIC_API_KEY before the daemon starts, or name another model"
    );
}
