//! The log as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use provost_proto::{Actor, Event, Fact, Stream};
use provost_store::{AppendRequest, Durability};
use reqwest::{Method, Response};
use serde_json::json;
use tokio::time::timeout;

use super::Server;

/// Long enough for any machine; only a test that fails waits for it.
const LONG: Duration = Duration::from_mins(1);

impl Server {
    async fn write(&self, n: u64) {
        for i in 0..n {
            let fact = Fact::DaemonStopped { reason: format!("note {i}\nwith two lines") };
            let append = AppendRequest::single_event("local:ann", Actor::Daemon, Stream::Sys, fact);
            let append = AppendRequest { durability: Durability::Buffered, ..append };
            self.gateway.store().append(append).await.unwrap();
        }
    }

    async fn follow_as(&self, token: &str, path: &str) -> Feed {
        let response = self.anyone(Method::GET, path).bearer_auth(token).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Feed { response, text: String::new() }
    }

    async fn follow(&self, path: &str, last: Option<u64>) -> Feed {
        let mut request = self.owner(Method::GET, path);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Feed { response, text: String::new() }
    }
}

struct Feed {
    response: Response,
    text: String,
}

impl Feed {
    /// The next message, as its lines.
    async fn message(&mut self) -> Vec<String> {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let lines = message.lines().map(str::to_owned).collect();
                self.text = rest.to_string();
                return lines;
            }
            let chunk = timeout(LONG, self.response.chunk()).await.unwrap().unwrap().unwrap();
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    async fn event(&mut self) -> Event {
        loop {
            let lines = self.message().await;
            if lines[0].starts_with(':') || lines[0] == "event: live" {
                continue;
            }
            assert_eq!(lines.len(), 2, "{lines:?}");
            let data = lines[1].strip_prefix("data: ").unwrap();
            let event: Event = serde_json::from_str(data).unwrap();
            assert_eq!(lines[0], format!("id: {}", event.seq));
            return event;
        }
    }

    /// Everything until the stream ends.
    async fn rest(mut self) -> String {
        while let Some(chunk) = timeout(LONG, self.response.chunk()).await.unwrap().unwrap() {
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        self.text
    }

    async fn seqs(&mut self, n: u64) -> Vec<u64> {
        let mut seqs = Vec::new();
        for _ in 0..n {
            seqs.push(self.event().await.seq);
        }
        seqs
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn history_then_live_without_a_gap_or_a_duplicate() {
    let server = Arc::new(Server::start().await);
    server.write(6000).await;
    let mut feed = server.follow("/api/events", None).await;
    let writer = tokio::spawn({
        let server = Arc::clone(&server);
        async move { server.write(2000).await }
    });
    assert_eq!(feed.seqs(8000).await, (1..=8000).collect::<Vec<_>>());
    writer.await.unwrap();
}

#[tokio::test]
async fn a_client_comes_back_to_where_it_was() {
    let server = Server::start().await;
    server.write(10).await;
    assert_eq!(server.follow("/api/events?after=7", None).await.seqs(3).await, [8, 9, 10]);
    let mut feed = server.follow("/api/events?after=0", Some(8)).await;
    assert_eq!(feed.seqs(2).await, [9, 10], "Last-Event-ID stands above after");
}

#[tokio::test]
async fn a_client_that_has_seen_another_log_is_told_to_begin_anew() {
    let server = Server::start().await;
    server.write(3).await;
    let mut feed = server.follow("/api/events", Some(99)).await;
    assert_eq!(feed.message().await[0], "event: resync");
    assert_eq!(feed.seqs(3).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_client_is_told_when_it_has_seen_all_that_was() {
    let server = Server::start().await;
    server.write(2).await;
    for (path, n_before) in [("/api/events", 2), ("/api/events?after=2", 0)] {
        let mut feed = server.follow(path, None).await;
        assert_eq!(feed.message().await, [": provost"]);
        for _ in 0..n_before {
            assert!(feed.message().await[0].starts_with("id: "), "{path}");
        }
        assert_eq!(feed.message().await[0], "event: live", "{path}");
    }
    let project = server.project("app").await;
    let path = format!("/api/events?stream=project/{}", project.id.uuid());
    let mut feed = server.follow(&path, None).await;
    assert_eq!(feed.message().await, [": provost"]);
    assert_eq!(feed.message().await[0], "event: live", "a stream without events");
}

#[tokio::test]
async fn one_stream_is_followed_alone() {
    let server = Server::start().await;
    let project = server.project("app").await;
    let path = format!("/api/events?stream=project/{}", project.id.uuid());
    let mut feed = server.follow(&path, None).await;
    server.write(2).await;
    let fact = Fact::ProjectClosed { project: project.id };
    let append = AppendRequest::single_event(
        "local:ann",
        Actor::Daemon,
        Stream::Project(project.id),
        fact.clone(),
    );
    server.gateway.store().append(append).await.unwrap();
    let event = feed.event().await;
    assert_eq!((event.seq, event.fact()), (4, Some(fact)));
}

#[tokio::test]
async fn a_client_that_does_not_read_slows_nobody() {
    let server = Server::start().await;
    let stalled = server.follow("/api/events", None).await;
    server.write(20_000).await;
    let mut feed = server.follow("/api/events?after=19990", None).await;
    assert_eq!(feed.seqs(10).await.last(), Some(&20_000));
    drop(stalled);
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_revoked_and_shows_nothing_after() {
    let server = Server::start().await;
    let kept = server.token(json!({ "class": "viewer", "label": "kept" })).await;
    let token = server.token(json!({ "class": "viewer" })).await;
    let mut feed = server.follow_as(&token, "/api/events").await;
    let mut other = server.follow_as(&kept, "/api/events").await;
    assert_eq!(feed.seqs(2).await, [1, 2]);
    let list = server.get("/api/tokens").await;
    let id = list["tokens"][1]["id"].as_str().unwrap();
    let revoked = server.owner(Method::DELETE, &format!("/api/tokens/{id}")).send().await;
    assert_eq!(revoked.unwrap().status(), 204);
    server.write(1).await;
    let rest = feed.rest().await;
    assert!(!rest.contains("DAEMON_STOPPED"), "{rest}");
    assert_eq!(other.seqs(4).await, [1, 2, 3, 4], "another token's stream goes on");
}

#[tokio::test]
async fn a_stream_ends_when_its_token_expires() {
    let server = Server::start().await;
    let token = server.token(json!({ "class": "viewer", "ttlMinutes": 5 })).await;
    let mut feed = server.follow_as(&token, "/api/events").await;
    assert_eq!(feed.seqs(1).await, [1]);
    server.pass_minutes(6);
    server.write(1).await;
    let rest = feed.rest().await;
    assert!(!rest.contains("DAEMON_STOPPED"), "{rest}");
}

#[tokio::test]
async fn what_is_streamed_is_what_is_hashed() {
    let server = Server::start().await;
    server.write(3).await;
    let mut feed = server.follow("/api/events", None).await;
    let mut prev = provost_proto::Hash::ZERO;
    for _ in 0..3 {
        let event = feed.event().await;
        assert_eq!(event.prev, prev);
        let mut rest = serde_json::to_value(&event).unwrap();
        let members = rest.as_object_mut().unwrap();
        members.remove("prev");
        members.remove("hash");
        let record = provost_core::canonical::to_vec(&rest).unwrap();
        assert_eq!(provost_core::hash_chain::hash_record(&prev, &record), event.hash);
        prev = event.hash;
    }
}
