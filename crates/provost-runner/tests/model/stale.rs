//! Reasoning that its provider cannot read any more.

use provost_fake_model::{
    FakeCompletion, FakeCompletionPart, FakeModelServer, FakeReply, FakeWireFormat,
};
use provost_runner::model::{ModelMessage, ModelRequest, ModelToolResult, ModelToolResultStatus};
use serde_json::json;

use crate::faults::{all, hello, left, models, turn};
use crate::support::kind;

fn thinks_and_calls() -> FakeReply {
    let think =
        FakeCompletionPart::Reasoning { text: "Hm.".to_owned(), signature: "c2lnbmVk".to_owned() };
    let (id, name) = ("call_1".to_owned(), "read".to_owned());
    FakeReply::Completion(FakeCompletion::new(vec![
        think,
        FakeCompletionPart::ToolCall { id, name, arguments: json!({}) },
    ]))
}

fn refused(message: &str) -> FakeReply {
    FakeReply::json_status(
        400,
        json!({ "error": { "type": "invalid_request_error", "message": message } }),
    )
}

async fn goes_on(
    format: FakeWireFormat,
    replies: Vec<FakeReply>,
) -> (FakeModelServer, Result<String, String>) {
    let server = FakeModelServer::start_with_replies(replies).await.unwrap();
    let models = models(&server, format);
    let (events, result) = all(&models, &hello()).await;
    result.unwrap();
    let reply = turn(&events);
    let call = reply.tool_calls().next().unwrap().id.clone();
    let output = "the content".to_owned();
    let results = vec![ModelToolResult { call, status: ModelToolResultStatus::Ok, output }];
    let messages = vec![
        ModelMessage::user("Hi"),
        ModelMessage::Assistant { turn: Box::new(reply) },
        ModelMessage::Results { results },
    ];
    let (events, result) = all(&models, &ModelRequest::new("fake/m", messages)).await;
    (server, result.map(|()| left(&events)).map_err(|error| kind(&error)))
}

#[tokio::test]
async fn a_conversation_whose_reasoning_cannot_be_read_any_more_goes_on_without() {
    for (format, why) in [
        (
            FakeWireFormat::Responses,
            "The encrypted content gAAA could not be verified. Reason: Encrypted content could not \
             be decrypted or parsed.",
        ),
        (FakeWireFormat::Messages, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (FakeWireFormat::Gemini, "Corrupted thought signature."),
    ] {
        let last = FakeReply::Completion(FakeCompletion::from_text("Read."));
        let replies = vec![thinks_and_calls(), refused(why), last];
        let (server, reply) = goes_on(format, replies).await;
        assert_eq!(reply.as_deref(), Ok("Read."), "{format:?}");
        let asked: Vec<_> =
            server.received_requests().iter().map(|received| received.body.to_string()).collect();
        assert!(asked[1].contains("c2lnbmVk"), "{format:?}");
        assert!(!asked[2].contains("c2lnbmVk") && asked[2].contains("the content"), "{format:?}");
        // Once is enough: if that was not it, the provider is believed.
        let replies = vec![thinks_and_calls(), refused(why), refused(why)];
        let (server, reply) = goes_on(format, replies).await;
        assert_eq!(reply, Err("BadRequest".to_owned()), "{format:?}");
        assert_eq!(server.received_requests().len(), 3, "{format:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_refused_for_another_reason_is_not_changed() {
    let replies = vec![thinks_and_calls(), refused("Unknown parameter: 'input[1].signature_of'")];
    let (server, reply) = goes_on(FakeWireFormat::Responses, replies).await;
    assert_eq!((reply, server.received_requests().len()), (Err("BadRequest".to_owned()), 2));
}
