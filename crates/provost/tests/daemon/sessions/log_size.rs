//! A streamed answer is in the log once, however fast it streams.

use std::time::Duration;

use provost_fake_model::{FakeCompletion, FakeCompletionPart, FakeModelServer, FakeReply};
use provost_proto::{BlobRef, LogCursor, SessionId, Stream};
use provost_store::{Clock, EventScope, EventStore as _, SqliteStore, StoreOptions};
use serde_json::json;

use super::{ALL, Home, texts};

/// What a turn adds to the log, whatever its text: its events with their envelopes, and what the
/// provider says beside the text.
const BYTES_PER_TURN: usize = 6 * 1024;

/// The bytes of a session in the log: its records, and the bodies that are stored beside them.
async fn bytes_in_log(home: &Home, session: &str) -> usize {
    let options = StoreOptions { path: home.data().join("log.db"), clock: Clock::system() };
    let store = SqliteStore::open(options).unwrap();
    let session: SessionId = session.parse().unwrap();
    let scope = EventScope::Stream(Stream::Session(session));
    let (mut bytes, mut after) = (0, LogCursor::START);
    loop {
        let page = store.read_events(scope, after, 500).await.unwrap();
        if page.events.is_empty() {
            return bytes;
        }
        after = page.up_to;
        for event in page.events {
            bytes += event.record_bytes().len();
            let body = event.decode_event().unwrap().body;
            if let Ok(blob) = serde_json::from_value::<BlobRef>(body) {
                bytes += store.get_blob(blob.hash).await.unwrap().unwrap().len();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "prints what it measured")]
async fn a_streamed_answer_is_in_the_log_once_however_fast_it_streams() {
    let mut too_large = Vec::new();
    for (wire, words, pace) in [
        (ALL[1], 40_000, Duration::ZERO),
        (ALL[1], 500, Duration::from_millis(10)),
        (ALL[0], 500, Duration::from_millis(10)),
        (ALL[2], 500, Duration::from_millis(10)),
        (ALL[3], 500, Duration::from_millis(10)),
    ] {
        let home = Home::new();
        let text: String = (0..words).map(|n| "word".to_owned() + &n.to_string() + " ").collect();
        let mut completion = FakeCompletion::new(vec![
            FakeCompletionPart::Reasoning {
                text: "thought ".repeat(words / 10),
                signature: "c2ln".to_owned(),
            },
            FakeCompletionPart::Text(text.clone()),
        ]);
        completion.pace = pace;
        let replies = vec![FakeReply::Completion(completion)];
        let model = FakeModelServer::start_with_replies(replies).await.unwrap();
        let daemon = home.with_model(&model, wire, "");
        let session = daemon.session(json!({})).await;
        daemon.send_message(&session, "Tell me.").await;
        let detail = daemon.turn_end(&session, "finished").await;
        assert_eq!(texts(&detail)[1], text);
        let written = text.len()
            + detail["items"][1]["content"]["parts"][0]["text"]
                .as_str()
                .filter(|part| *part != text)
                .map_or(0, str::len);
        daemon.kill();
        let bytes = bytes_in_log(&home, &session).await;
        let row = format!(
            "{} at {} ms per token: {written} bytes of text, {bytes} in the log: {} per kilobyte",
            wire.1,
            pace.as_millis(),
            bytes * 1000 / written
        );
        println!("{row}");
        too_large.extend((bytes * 2 > written * 3 + BYTES_PER_TURN * 2).then_some(row));
    }
    assert!(too_large.is_empty(), "{too_large:#?}");
}
