//! Long answers: no text is lost, and there is a limit.

use provost_fake_model::{FakeCompletion, FakeModelServer, FakeReply};
use serde_json::json;

use super::{ALL, Home, texts};

/// Long pieces, each of which is kept beside the log.
fn long(pieces: usize, size: usize) -> String {
    let piece = |n: usize| n.to_string() + &"x".repeat(size) + " ";
    (0..pieces).map(piece).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_arrives_whole_by_every_way() {
    let home = Home::new();
    let text = long(20, 10_000);
    let model = FakeModelServer::start_with_replies(vec![FakeReply::Completion(
        FakeCompletion::from_text(&text),
    )])
    .await
    .unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let printed = home.run_ok(&["chat", "--project", "app", "-p", "Tell me."]);
    assert_eq!(printed.trim_end(), text.trim_end());
    let body = json!({ "model": "role/dev", "messages": [{ "role": "user", "content": "x" }] });
    let (_, whole) = daemon.post("/v1/chat/completions", &daemon.token, &body).await;
    assert_eq!(whole["choices"][0]["message"]["content"], text);
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Tell me.").await;
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(texts(&detail)[1], text);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_ends_at_eight_mebibytes_and_what_was_said_stays() {
    let home = Home::new();
    let text = long(36, 256 * 1024);
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_text(&text)),
        FakeReply::Completion(FakeCompletion::from_text("Better.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Tell me.").await;
    let detail = daemon.turn_end(&session, "failed").await;
    let fault = &detail["session"]["turn"]["fault"];
    assert_eq!(fault["code"], "MODEL_FAILED", "{fault}");
    let most = provost_proto::limits::MAX_COMPLETION_BYTES;
    assert!(fault["message"].as_str().unwrap().contains(&format!("longer than {most} bytes")));
    let kept = texts(&detail).remove(1);
    assert!(text.starts_with(&kept) && kept.len() > most, "{} bytes stay", kept.len());
    assert!(kept.len() < most + 512 * 1024, "{} bytes stay", kept.len());
    model.wait_until_idle().await;
}
