//! `/v1`: clients of Chat Completions talk to a governed agent.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use provost_fake_model::{
    FakeCompletion, FakeModelServer, FakeReply, FakeWireFormat, StreamEnding,
};
use serde_json::{Value, json};

use super::{ALL, Home, Running, texts};

#[tokio::test(flavor = "multi_thread")]
async fn any_client_of_chat_completions_talks_to_a_governed_agent() {
    let home = Home::new();
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c",
            "fs_readFile",
            json!({ "path": "hello.txt" }),
        )),
        FakeReply::Completion(FakeCompletion::from_text("It says hello.")),
        FakeReply::Completion(FakeCompletion::from_text("Streamed answer.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[3], "");
    assert_eq!(daemon.get("/v1/models").await["data"][0]["id"], "role/dev");
    let body =
        json!({ "model": "role/dev", "messages": [{ "role": "user", "content": "Read it" }] });
    let (status, reply) = daemon.post("/v1/chat/completions", &daemon.token, &body).await;
    assert_eq!(status, 200, "{reply}");
    assert_eq!(reply["choices"][0]["message"]["content"], "It says hello.");
    // Two answers, of 100 tokens in and 20 out each.
    assert_eq!(reply["usage"]["total_tokens"], 240, "{reply}");
    let options = json!({ "include_usage": true });
    let body = json!({ "model": "role/dev", "stream": true, "stream_options": options, "messages": [{ "role": "user", "content": "Again" }] });
    let post = |session: Option<String>, body: Value| {
        let client = provost_runner::model::local_http_client_builder().build().unwrap();
        let url = format!("{}/v1/chat/completions", daemon.base);
        let asked = client.post(url).bearer_auth(&daemon.token).json(&body);
        let named = session.map(|name| ("x-provost-session", name));
        named.into_iter().fold(asked, |asked, (key, name)| asked.header(key, name)).send()
    };
    let response = post(None, body.clone()).await.unwrap();
    let session = response.headers()["x-provost-session"].to_str().unwrap().to_owned();
    let text = response.text().await.unwrap();
    assert!(text.contains("\"total_tokens\":120"), "{text}");
    // A session stays what it is, whatever role its client names later.
    let other = json!({ "model": "role/reviewer", "messages": body["messages"] });
    assert_eq!(post(Some(session), other).await.unwrap().status(), 422);
    assert!(text.trim_end().ends_with("data: [DONE]"), "{text}");
    let words = text.lines().filter_map(|line| line.strip_prefix("data: {"));
    let words = words.map(|rest| serde_json::from_str::<Value>(&format!("{{{rest}")).unwrap());
    let words: String = words
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(words, "Streamed answer.");
}

/// A client on a raw socket, which can disconnect at any time.
struct Client(TcpStream);

impl Client {
    fn post_completion(daemon: &Running, session: Option<&str>, stream: bool) -> Self {
        let mut socket = TcpStream::connect(daemon.base.trim_start_matches("http://")).unwrap();
        socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let messages = json!([{ "role": "user", "content": "Tell me." }]);
        let body =
            json!({ "model": "role/dev", "stream": stream, "messages": messages }).to_string();
        let session = session.map_or(String::new(), |id| format!("X-Provost-Session: {id}\r\n"));
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\n{session}Content-Length: {}\r\n\r\n{body}",
            daemon.base.trim_start_matches("http://"),
            daemon.token,
            body.len()
        );
        socket.write_all(head.as_bytes()).unwrap();
        Self(socket)
    }

    /// Reads until the response contains this.
    fn read_until(&mut self, wanted: &str) {
        let mut all = Vec::new();
        let mut piece = [0; 1024];
        while !String::from_utf8_lossy(&all).contains(wanted) {
            let n_read = self.0.read(&mut piece).unwrap();
            assert!(n_read > 0, "no {wanted:?} in {}", String::from_utf8_lossy(&all));
            all.extend_from_slice(&piece[..n_read]);
        }
    }
}

impl Running {
    /// Waits until the draft of the only session contains this: the session.
    async fn wait_for_draft(&self, words: &str) -> String {
        let session = loop {
            let list = self.get("/api/sessions").await;
            if let Some(id) = list["sessions"][0]["id"].as_str() {
                break id.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        self.session_until(&session, |now| now["draft"].to_string().contains(words)).await;
        session
    }
}

fn slowly(words: usize) -> FakeCompletion {
    let mut slow = FakeCompletion::from_text(&"word ".repeat(words));
    slow.pace = Duration::from_millis(20);
    slow
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_in_a_stream_ends_its_turn() {
    // While words come, and while none do.
    let half = FakeCompletion::from_text("word word word")
        .encode_events(FakeWireFormat::Chat)
        .into_iter()
        .take(3)
        .collect();
    let half: String = half;
    for reply in
        [FakeReply::Completion(slowly(5000)), FakeReply::raw_stream(half, StreamEnding::Stalled)]
    {
        let home = Home::new();
        let model = FakeModelServer::start_with_replies(vec![reply]).await.unwrap();
        let daemon = home.with_model(&model, ALL[1], "");
        let mut client = Client::post_completion(&daemon, None, true);
        let session = daemon.wait_for_draft("word word").await;
        client.read_until("word");
        drop(client);
        daemon.turn_end(&session, "cancelled").await;
        model.wait_until_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_while_it_waits_ends_its_turn_and_what_that_runs() {
    let home = Home::new();
    let run = json!({ "command": "touch begun; sleep 600; touch made" });
    let replies = vec![
        FakeReply::Completion(slowly(5000)),
        FakeReply::Completion(FakeCompletion::from_tool_call("c", "terminal_runCommand", run)),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let client = Client::post_completion(&daemon, None, false);
    let session = daemon.wait_for_draft("word word").await;
    drop(client);
    daemon.turn_end(&session, "cancelled").await;
    model.wait_until_idle().await;

    home.run_ok(&["mode", "full", "--minutes", "5", "--project", "app"]);
    let client = Client::post_completion(&daemon, Some(&session), false);
    while !home.path("app/begun").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(client);
    let ended = |now: &Value| {
        let calls = super::tools(now);
        now["session"]["status"] == "idle" && calls.len() == 1 && !calls[0]["result"].is_null()
    };
    let detail = daemon.session_until(&session, ended).await;
    assert_eq!(detail["session"]["turn"]["status"], "cancelled", "{detail}");
    assert!(!home.path("app/made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_ends_no_other_turn() {
    let home = Home::new();
    let replies = vec![
        FakeReply::Completion(slowly(60)),
        FakeReply::Completion(FakeCompletion::from_text("The last.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Begin.").await;
    let client = Client::post_completion(&daemon, Some(&session), false);
    let waits = |now: &Value| now["session"]["queued"].as_array().unwrap().len() == 1;
    daemon.session_until(&session, waits).await;
    drop(client);
    let withdrawn = |now: &Value| now["session"]["queued"] == json!([]);
    daemon.session_until(&session, withdrawn).await;
    daemon.send_message(&session, "And then?").await;
    let over = |now: &Value| texts(now).pop().as_deref() == Some("The last.");
    let detail = daemon.session_until(&session, over).await;
    assert!(texts(&detail).contains(&"word ".repeat(60)), "the first went on to its end");
    let asked: Vec<String> =
        model.received_requests().iter().map(|one| one.body.to_string()).collect();
    assert_eq!(asked.len(), 2, "nobody asked for the client that was gone");
    // It is in the log, so a restarted daemon does not request it again.
    assert_eq!(daemon.events("MESSAGE_WITHDRAWN").await.len(), 1);
    assert!(daemon.events("TURN_CANCELLED").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_turn_before_its_own_hears_its_own_only() {
    let home = Home::new();
    let replies = vec![
        FakeReply::Completion(slowly(30)),
        FakeReply::Completion(FakeCompletion::from_text("The second answer.")),
        FakeReply::Completion(slowly(30)),
        FakeReply::Completion(FakeCompletion::from_text("The fourth answer.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    for (stream, answer) in [(false, "The second answer."), (true, "The fourth answer.")] {
        daemon.send_message(&session, "Begin.").await;
        let body = json!({ "model": "role/dev", "stream": stream, "messages": [{ "role": "user", "content": "And then?" }] });
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let asked = http.post(format!("{}/v1/chat/completions", daemon.base)).json(&body);
        let asked = asked.bearer_auth(&daemon.token).header("x-provost-session", &session);
        let text = asked.send().await.unwrap().text().await.unwrap();
        assert!(!text.contains("word"), "{text}");
        assert_eq!(content(&text), answer);
    }
}

/// The content, streamed or not.
pub(super) fn content(body: &str) -> String {
    if let Ok(whole) = serde_json::from_str::<Value>(body) {
        return whole["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    }
    let pieces = body.lines().filter_map(|line| line.strip_prefix("data: {"));
    let pieces = pieces.map(|rest| serde_json::from_str::<Value>(&format!("{{{rest}")).unwrap());
    pieces
        .filter_map(|one| Some(one["choices"][0]["delta"]["content"].as_str()?.to_owned()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_met_is_refused_as_such_clients_read_it() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(vec![FakeReply::Completion(
        FakeCompletion::from_text("Hi."),
    )])
    .await
    .unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    for (more, status, field) in [
        (json!({ "n": 2 }), 422, json!("n")),
        (json!({ "temperature": 0.2 }), 422, json!("temperature")),
        (json!({ "tools": [{ "type": "function" }] }), 422, json!("tools")),
        (json!({ "messages": [] }), 422, json!("messages")),
        (json!({ "messages": 1 }), 422, Value::Null),
        (json!({ "model": "gpt-5" }), 422, Value::Null),
    ] {
        let mut body =
            json!({ "model": "role/dev", "messages": [{ "role": "user", "content": "x" }] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (received, refused) = daemon.post("/v1/chat/completions", &daemon.token, &body).await;
        assert_eq!((received.as_u16(), &refused["error"]["param"]), (status, &field), "{refused}");
        assert_eq!(refused["error"]["type"], "invalid_request_error", "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().len() > 20, "{refused}");
    }
    assert!(model.received_requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_tokens_holds_for_all_answers_of_the_turn() {
    let home = Home::new();
    let read = || {
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c",
            "fs_readFile",
            json!({ "path": "hello.txt" }),
        ))
    };
    let cut = FakeCompletion::from_text("It says")
        .encode_events(FakeWireFormat::Chat)
        .concat()
        .replace("\"stop\"", "\"length\"");
    // Each answer has 20 tokens.
    let replies = vec![
        read(),
        FakeReply::raw_stream(cut, StreamEnding::Complete),
        read(),
        FakeReply::Completion(FakeCompletion::from_text("No.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let ask = async |most: u32| {
        let body = json!({ "model": "role/dev", "max_completion_tokens": most, "messages": [{ "role": "user", "content": "x" }] });
        let (status, response) = daemon.post("/v1/chat/completions", &daemon.token, &body).await;
        assert_eq!(status, 200, "{response}");
        response
    };
    let printed = ask(50).await;
    let limits: Vec<_> =
        model.received_requests().iter().map(|one| one.body["max_tokens"].clone()).collect();
    assert_eq!(limits, [json!(50), json!(30)]);
    assert_eq!(printed["choices"][0]["finish_reason"], "length", "{printed}");
    assert_eq!(content(&printed.to_string()), "It says");
    // The remaining budget is too small for a request.
    let printed = ask(30).await;
    assert_eq!(printed["choices"][0]["finish_reason"], "length", "{printed}");
    assert_eq!(model.received_requests().len(), 3);
}
