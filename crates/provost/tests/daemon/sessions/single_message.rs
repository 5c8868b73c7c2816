//! `provost chat -p` in scripts: input, output and exit status.

use provost_fake_model::{
    FakeCompletion, FakeCompletionPart, FakeModelServer, FakeReply, FakeWireFormat, StreamEnding,
};
use serde_json::{Value, json};

use super::{ALL, Home};

impl Home {
    /// Says something with this piped in; the status, what was printed and remarked.
    fn run_with_stdin(&self, args: &[&str], piped: impl Into<Vec<u8>>) -> (i32, String, String) {
        let mut chat = self.provost(&["chat", "--project", "app"]);
        let output = chat.args(args).write_stdin(piped).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }
}

/// The user's messages in the last Chat Completions request.
fn asked(model: &FakeModelServer) -> String {
    let body = model.received_requests().pop().unwrap().body;
    body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_piped_in_follows_what_is_asked() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(vec![FakeReply::Completion(
        FakeCompletion::from_text("I see."),
    )])
    .await
    .unwrap();
    let _daemon = home.with_model(&model, ALL[1], "");
    for (args, piped, expected) in [
        (&["-p", "Explain this:"][..], "an error\n", "Explain this:\n\nan error\n"),
        (&["-p", "Hello"], "", "Hello"),
        (&["-p", "-"], "only this\n", "only this\n"),
        (&[], "only this\n", "only this\n"),
    ] {
        let (status, printed, _) = home.run_with_stdin(args, piped);
        assert_eq!((status, printed.as_str()), (0, "I see.\n"), "{args:?}");
        assert_eq!(asked(&model), expected, "{args:?}");
    }
    let n_asked = model.received_requests().len();
    for (piped, why) in [
        (vec![b'x'; 300 * 1024], "longer than the limit of 262144 bytes"),
        (vec![0xff; 8], "is not text"),
    ] {
        let (status, _, complaint) = home.run_with_stdin(&["-p", "Explain this:"], piped);
        assert_eq!(status, 1);
        assert!(complaint.contains(why) && complaint.contains("hint:"), "{complaint}");
    }
    assert_eq!(home.run_with_stdin(&[], "").0, 1);
    assert_eq!(model.received_requests().len(), n_asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_whole_says_why_and_has_a_status_of_its_own() {
    let ends = |reason: &str| {
        let whole =
            FakeCompletion::from_text("So far").encode_events(FakeWireFormat::Chat).concat();
        let cut = whole.replace("\"stop\"", &format!("\"{reason}\""));
        assert_ne!(whole, cut);
        FakeReply::raw_stream(cut, StreamEnding::Complete)
    };
    let read = || {
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c",
            "fs_stat",
            json!({ "path": "hello.txt" }),
        ))
    };
    let poor = "[budget]\nsession_tokens = 10\n";
    for (reply, more, status, why, finished) in [
        (FakeReply::Completion(FakeCompletion::from_text("All.")), "", 0, "", json!("done")),
        (ends("length"), "", 7, "reached the token limit", json!("maxTokens")),
        (ends("content_filter"), "", 8, "declined", json!("refused")),
        (read(), "[turn]\ncalls = 1\n", 9, "(TURN_LIMIT)", Value::Null),
        (read(), poor, 9, "(BUDGET_EXCEEDED)", Value::Null),
    ] {
        let home = Home::new();
        let model = FakeModelServer::start_with_replies(vec![reply]).await.unwrap();
        let _daemon = home.with_model(&model, ALL[1], more);
        let (exit_code, _, remarks) = home.run_with_stdin(&["-p", "Go"], "");
        assert_eq!(exit_code, status, "{why}: {remarks}");
        assert!(remarks.contains(why), "{why}: {remarks}");
        let (exit_code, events, remarks) = home.run_with_stdin(&["--json", "-p", "Go"], "");
        assert_eq!(exit_code, status, "{why}");
        assert!(remarks.contains(why), "{why}: {remarks}");
        let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
        assert_eq!(last["body"]["reason"], finished, "{last}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn into_a_pipe_goes_the_answer_once_and_what_is_said_about_it_beside_it() {
    let home = Home::new();
    let mut whole = FakeCompletion::from_text("one two three four");
    let (text, signature) = ("thinking aloud".to_owned(), "s".to_owned());
    whole.parts.insert(0, FakeCompletionPart::Reasoning { text, signature });
    let half: String =
        whole.encode_events(FakeWireFormat::Messages).into_iter().rev().skip(4).rev().collect();
    let call = FakeCompletion::from_tool_call("c", "fs_stat", json!({ "path": "hello.txt" }));
    let replies = vec![
        FakeReply::Completion(call),
        FakeReply::raw_stream(half, StreamEnding::ConnectionReset),
        FakeReply::Completion(whole),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[2], "");
    let (status, printed, remarks) = home.run_with_stdin(&["-p", "Count"], "");
    assert_eq!((status, printed.as_str()), (0, "one two three four\n"), "{remarks}");
    assert!(remarks.contains("· fs.stat") && remarks.contains("retrying"), "{remarks}");
    assert_eq!(daemon.events("ATTEMPT_RESTARTED").await.len(), 1);
}
