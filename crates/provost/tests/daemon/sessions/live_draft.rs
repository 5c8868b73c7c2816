//! What a model is writing reaches every follower whole, wherever it attaches, and agents never.

use std::time::Duration;

use futures::StreamExt as _;
use provost_fake_model::{FakeCompletion, FakeModelServer, FakeReply};
use serde_json::{Value, json};

use super::{ALL, Home, Running, texts};

/// What a stream of a session sent.
#[derive(Default)]
struct FollowedSession {
    /// The message that each draft becomes, and its text.
    drafts: Vec<(Value, String)>,
    /// The messages of the model in the log, with the number of drafts before each.
    messages: Vec<(Value, usize)>,
}

/// Follows a session until a turn ends, or until a draft has this many bytes.
async fn follow(daemon: &Running, session: &str, bytes: usize) -> FollowedSession {
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    let path = format!("{}/api/sessions/{session}/events", daemon.base);
    let answer = http.get(path).bearer_auth(&daemon.token).send().await.unwrap();
    let (mut pieces, mut rest) = (answer.bytes_stream(), Vec::new());
    let mut followed = FollowedSession::default();
    loop {
        rest.extend_from_slice(&pieces.next().await.unwrap().unwrap());
        while let Some(end) = rest.windows(2).position(|two| two == b"\n\n") {
            let frame = String::from_utf8(rest.drain(..end + 2).collect()).unwrap();
            let field = |name| frame.lines().find_map(|line| line.strip_prefix(name));
            let data: Value = serde_json::from_str(field("data: ").unwrap_or("null")).unwrap();
            match (field("event: "), data["kind"].as_str()) {
                (Some("draft"), _) => {
                    followed.drafts.push((data["message"].clone(), String::new()));
                }
                (Some("delta"), _) => {
                    assert!(field("id: ").is_none(), "a delta has no position");
                    let (_, text) = followed.drafts.last_mut().unwrap();
                    text.push_str(data["body"]["text"].as_str().unwrap());
                    if text.len() >= bytes {
                        return followed;
                    }
                }
                (None, Some("MESSAGE_ADDED")) if data["body"]["from"] == "assistant" => {
                    let message = data["body"]["message"].clone();
                    followed.messages.push((message, followed.drafts.len()));
                }
                (None, Some("TURN_FINISHED")) => return followed,
                _ => {}
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_has_the_text_so_far_wherever_it_attaches_and_then_the_message() {
    let home = Home::new();
    let text: String = (0..300).map(|n| "w".to_owned() + &n.to_string() + " ").collect();
    let mut slow = FakeCompletion::from_text(&text);
    slow.pace = Duration::from_millis(10);
    let replies = vec![FakeReply::Completion(slow)];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Tell me.").await;
    // It is disconnected and connects again, while another one attaches late.
    for bytes in [1, 50, 300] {
        let followed = follow(&daemon, &session, bytes).await;
        let (_, response) = &followed.drafts[0];
        assert!(text.starts_with(response) && followed.drafts.len() == 1, "{response}");
        assert!(followed.messages.is_empty());
    }
    let followed = follow(&daemon, &session, usize::MAX).await;
    let (message, response) = &followed.drafts[0];
    assert_eq!((response, followed.drafts.len()), (&text, 1));
    assert_eq!(followed.messages, [(message.clone(), 1)], "the message follows its draft");
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!((texts(&detail)[1].as_str(), &detail["draft"]), (text.as_str(), &Value::Null));
    let followed = follow(&daemon, &session, usize::MAX).await;
    assert!(followed.drafts.is_empty() && followed.messages.len() == 1, "it is in the log");
}
