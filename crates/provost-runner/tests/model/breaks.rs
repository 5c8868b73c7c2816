//! Broken connections, silent servers, dropped streams.

use std::time::Duration;

use futures::StreamExt;
use provost_fake_model::{
    FakeCompletion, FakeModelServer, FakeReply, FakeWireFormat, StreamEnding,
};
use provost_runner::model::{ModelError, ModelEvent, ModelTimeouts, RetryPolicy};
use serde_json::{Value, json};

use crate::faults::{QUICK, all, hello, left, models, models_at, turn};
use crate::support::{kind, short};

/// The first events of a response.
fn begun(format: FakeWireFormat, text: &str, n_events: usize) -> String {
    FakeCompletion::from_text(text).encode_events(format).into_iter().take(n_events).collect()
}

#[tokio::test]
async fn what_breaks_after_it_was_shown_is_begun_anew_and_shown_once() {
    for format in FakeWireFormat::ALL {
        let n = if format == FakeWireFormat::Messages { 4 } else { 3 };
        let first = begun(format, "One two three", n);
        for ending in [StreamEnding::ConnectionReset, StreamEnding::Complete] {
            let broken = FakeReply::raw_stream(first.clone(), ending);
            let whole = FakeReply::Completion(FakeCompletion::from_text("One two three"));
            let server = FakeModelServer::start_with_replies(vec![broken.clone(), broken, whole])
                .await
                .unwrap();
            let (events, result) = all(&models(&server, format), &hello()).await;
            result.unwrap();
            assert_eq!(left(&events), "One two three", "{format:?}");
            let lines = short(&events, &Ok(()));
            let at = |name: &str| lines.iter().filter(|line| line[0] == name).count();
            assert_eq!((at("waiting"), at("restarted")), (2, 2), "{format:?}: {lines:?}");
            // The mark stands directly before what begins anew.
            for (place, line) in lines.iter().enumerate() {
                if line[0] == "restarted" {
                    assert_eq!(lines[place + 1], json!(["text", "One "]), "{format:?}: {lines:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn what_breaks_before_anything_was_shown_is_begun_anew_without_a_mark() {
    for format in FakeWireFormat::ALL {
        let broken =
            FakeReply::raw_stream(begun(format, "One two", 0), StreamEnding::ConnectionReset);
        let whole = FakeReply::Completion(FakeCompletion::from_text("One two"));
        let server = FakeModelServer::start_with_replies(vec![broken, whole]).await.unwrap();
        let (events, result) = all(&models(&server, format), &hello()).await;
        result.unwrap();
        let lines = short(&events, &Ok(()));
        assert_eq!(lines[0], json!(["waiting", 2]), "{format:?}: {lines:?}");
        assert!(lines.iter().all(|line| line[0] != "restarted"), "{format:?}: {lines:?}");
    }
}

#[tokio::test]
async fn what_was_shown_stays_when_no_attempt_gets_further() {
    let first = FakeReply::raw_stream(
        begun(FakeWireFormat::Chat, "One two", 2),
        StreamEnding::ConnectionReset,
    );
    let overloaded = json!({ "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let server =
        FakeModelServer::start_with_replies(vec![first, FakeReply::json_status(529, overloaded)])
            .await
            .unwrap();
    let (events, result) = all(&models(&server, FakeWireFormat::Chat), &hello()).await;
    assert_eq!(kind(&result.unwrap_err()), "Overloaded");
    assert_eq!(left(&events), "One ");
    assert!(events.iter().all(|event| !matches!(event, ModelEvent::Restarted { .. })));
}

#[tokio::test]
async fn what_breaks_after_the_model_said_why_it_stopped_is_whole() {
    let chat: String = {
        let events = FakeCompletion::from_text("One two").encode_events(FakeWireFormat::Chat);
        let n = events.iter().position(|event| event.contains("\"stop\"")).unwrap();
        events[..=n].concat() + "data: {\"usage\": {\"prom"
    };
    let gemini: String =
        FakeCompletion::from_text("One two").encode_events(FakeWireFormat::Gemini).concat();
    for (format, stream) in [(FakeWireFormat::Chat, chat), (FakeWireFormat::Gemini, gemini)] {
        let server = FakeModelServer::start_with_replies(vec![FakeReply::raw_stream(
            stream,
            StreamEnding::ConnectionReset,
        )])
        .await
        .unwrap();
        let (events, result) = all(&models(&server, format), &hello()).await;
        result.unwrap();
        assert_eq!(
            (turn(&events).text().as_str(), server.received_requests().len()),
            ("One two", 1)
        );
    }
}

#[tokio::test]
async fn an_overload_in_the_midst_of_a_stream_is_tried_again() {
    let stream = include_str!("../streams/messages/overloaded-in-the-midst.sse");
    let replies = vec![
        FakeReply::raw_stream(stream, StreamEnding::Complete),
        FakeReply::Completion(FakeCompletion::from_text("One two")),
    ];
    let server = FakeModelServer::start_with_replies(replies).await.unwrap();
    let (events, result) = all(&models(&server, FakeWireFormat::Messages), &hello()).await;
    result.unwrap();
    assert_eq!(left(&events), "One two");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let brief = Duration::from_millis(50);
    let timeouts = ModelTimeouts {
        first: brief,
        first_of_silent: brief,
        idle: brief,
        ..ModelTimeouts::default()
    };
    let begun = begun(FakeWireFormat::Chat, "One two", 2);
    for reply in [FakeReply::NoResponse, FakeReply::raw_stream(begun, StreamEnding::Stalled)] {
        let server = FakeModelServer::start_with_replies(vec![reply]).await.unwrap();
        let base = server.base_url(FakeWireFormat::Chat);
        let models =
            models_at(base, FakeWireFormat::Chat, RetryPolicy { attempts: 2, ..QUICK }, timeouts);
        let error = all(&models, &hello()).await.1.unwrap_err();
        assert_eq!(error, ModelError::Stalled(brief));
        assert_eq!(server.received_requests().len(), 2);
        server.wait_until_idle().await;
    }
}

#[test]
fn a_server_has_a_minute_between_two_pieces() {
    assert_eq!(ModelTimeouts::default().idle, Duration::from_mins(1));
}

#[tokio::test]
async fn nobody_there_is_said_without_the_address_being_a_riddle() {
    let base = {
        let server = FakeModelServer::start_with_replies(vec![]).await.unwrap();
        server.base_url(FakeWireFormat::Gemini)
    };
    let models = models_at(base, FakeWireFormat::Gemini, QUICK, ModelTimeouts::default());
    let (events, result) = all(&models, &hello()).await;
    let error = result.unwrap_err();
    assert_eq!((kind(&error).as_str(), events.len()), ("Connect", 0));
    assert!(!error.to_string().contains("http"), "{error}");
}

/// An address at which the first connection is closed before a response, and all others are
/// forwarded to the server.
async fn hanging_up_once(server: &FakeModelServer, format: FakeWireFormat) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = format!("http://{}", listener.local_addr().unwrap());
    let behind = server.url();
    let base = server.base_url(format).replace(&behind, &own);
    let address = behind.trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        let (mut first, _) = listener.accept().await.unwrap();
        let mut some = [0; 64];
        tokio::io::AsyncReadExt::read(&mut first, &mut some).await.unwrap();
        drop(first);
        while let Ok((mut client, _)) = listener.accept().await {
            let mut behind = tokio::net::TcpStream::connect(&address).await.unwrap();
            tokio::spawn(
                async move { tokio::io::copy_bidirectional(&mut client, &mut behind).await },
            );
        }
    });
    base
}

#[tokio::test]
async fn a_provider_on_this_machine_that_hangs_up_before_it_answers_is_asked_again() {
    for format in FakeWireFormat::ALL {
        let whole = FakeReply::Completion(FakeCompletion::from_text("One two"));
        let server = FakeModelServer::start_with_replies(vec![whole]).await.unwrap();
        let base = hanging_up_once(&server, format).await;
        let models = models_at(base, format, QUICK, ModelTimeouts::default());
        let (events, result) = all(&models, &hello()).await;
        result.unwrap();
        assert_eq!(left(&events), "One two", "{format:?}");
        assert_eq!(short(&events, &Ok(()))[0], json!(["waiting", 2]), "{format:?}");
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for format in FakeWireFormat::ALL {
        let begun = begun(format, "One two three", 4);
        let reply = FakeReply::raw_stream(begun, StreamEnding::Stalled);
        let server = FakeModelServer::start_with_replies(vec![reply]).await.unwrap();
        let models = models(&server, format);
        let mut stream = models.stream_completion(&hello()).unwrap();
        while !matches!(stream.next().await, Some(Ok(ModelEvent::TextDelta { .. }))) {}
        server.wait_until_busy().await;
        drop(stream);
        server.wait_until_idle().await;
    }
}

#[tokio::test]
async fn a_server_that_keeps_the_connection_after_the_end_does_not_hold_the_turn_back() {
    for format in [FakeWireFormat::Responses, FakeWireFormat::Chat, FakeWireFormat::Messages] {
        let whole: String = FakeCompletion::from_text("Hi").encode_events(format).concat();
        let server = FakeModelServer::start_with_replies(vec![FakeReply::raw_stream(
            whole,
            StreamEnding::Stalled,
        )])
        .await
        .unwrap();
        let (events, result) = all(&models(&server, format), &hello()).await;
        result.unwrap();
        assert_eq!(turn(&events).text(), "Hi");
    }
}

#[tokio::test]
async fn an_answer_that_is_complete_is_not_asked_for_again_because_its_stream_has_no_end() {
    // Gemini has no last event, and some servers leave theirs out.
    for format in FakeWireFormat::ALL {
        let events = FakeCompletion::from_text("Hi").encode_events(format);
        let n_sent = events.len()
            - usize::from(matches!(format, FakeWireFormat::Chat | FakeWireFormat::Messages));
        let sent = events[..n_sent].concat();
        let server = FakeModelServer::start_with_replies(vec![FakeReply::raw_stream(
            sent,
            StreamEnding::Stalled,
        )])
        .await
        .unwrap();
        let brief = Duration::from_millis(100);
        // That of Gemini is given up only after the usual while.
        let idle =
            if format == FakeWireFormat::Gemini { brief } else { ModelTimeouts::default().idle };
        let timeouts = ModelTimeouts { end: brief, idle, ..ModelTimeouts::default() };
        let models = models_at(server.base_url(format), format, QUICK, timeouts);
        let (events, result) = all(&models, &hello()).await;
        result.unwrap();
        assert_eq!(turn(&events).text(), "Hi", "{format:?}");
        assert_eq!(
            (turn(&events).usage.input, server.received_requests().len()),
            (100, 1),
            "{format:?}"
        );
    }
}

#[tokio::test]
async fn what_is_no_stream_is_said_to_be_none() {
    for (reply, expected) in [
        (FakeReply::json_status(200, json!({ "choices": [] })), "Protocol"),
        (
            FakeReply::json_status(200, json!({ "error": { "message": "no", "code": 429 } })),
            "RateLimited",
        ),
        (FakeReply::raw_stream("<html>hello</html>", StreamEnding::Complete), "Truncated"),
        (
            FakeReply::Status {
                status: 307,
                headers: vec![("location", "http://elsewhere.invalid/".to_owned())],
                body: Value::Null,
            },
            "Protocol",
        ),
    ] {
        let server = FakeModelServer::start_with_replies(vec![reply.clone()]).await.unwrap();
        let base = server.base_url(FakeWireFormat::Chat);
        let models =
            models_at(base, FakeWireFormat::Chat, RetryPolicy::never(), ModelTimeouts::default());
        let error = all(&models, &hello()).await.1.unwrap_err();
        assert_eq!(kind(&error), expected, "{reply:?}");
    }
}
