//! `kill -9` of the daemon while it writes: acknowledged events are kept, and the hash
//! chain is intact.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Home, Running};

const ROUNDS: usize = 20;
const APPENDS: usize = 10_000;
const WRITERS: usize = 32;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_event_is_lost_when_the_daemon_is_killed() {
    let home = Home::new();
    let mut after = 0;
    for round in 0..ROUNDS {
        let daemon = Arc::new(home.up());
        // Somewhere in the midst; early mostly, since a round costs what it writes. What was
        // acknowledged and not yet counted comes on top.
        let most = if round % 10 == 0 { APPENDS - 1200 } else { 1200 };
        let random = RandomState::new().build_hasher().finish();
        let enough = 50 + usize::try_from(random).unwrap() % most;
        let acknowledged = write_until(&daemon, round, enough).await;
        assert!(acknowledged.len() < APPENDS, "it was killed too late");

        let daemon = home.up();
        let (labels, head) = labels_after(&daemon, after).await;
        for label in &acknowledged {
            assert!(labels.contains(label), "round {round}: {label} was acknowledged and lost");
        }
        after = head;
        daemon.kill();
    }
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
}

/// Writes from many sides at once, kills the daemon when enough was
/// acknowledged, and returns all that was.
async fn write_until(daemon: &Arc<Running>, round: usize, enough: usize) -> Vec<String> {
    let (recorded, mut heard) = mpsc::channel(1024);
    let next = Arc::new(AtomicUsize::new(0));
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    for _ in 0..WRITERS {
        let (daemon, recorded, next, http) =
            (Arc::clone(daemon), recorded.clone(), Arc::clone(&next), http.clone());
        tokio::spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let label = format!("{round}.{n}");
                let request = http
                    .post(format!("{}/api/tokens", daemon.base))
                    .bearer_auth(&daemon.token)
                    .json(&json!({ "class": "viewer", "label": label }));
                let done = match request.send().await {
                    Ok(response) => response.status() == 200 && response.bytes().await.is_ok(),
                    Err(_) => false,
                };
                if n >= APPENDS || !done || recorded.send(label).await.is_err() {
                    return;
                }
            }
        });
    }
    drop(recorded);
    let mut acknowledged = Vec::new();
    let mut killed = false;
    while let Some(label) = heard.recv().await {
        acknowledged.push(label);
        if acknowledged.len() >= enough && !killed {
            daemon.kill();
            killed = true;
        }
    }
    assert!(killed, "round {round}: the writers stopped after {}", acknowledged.len());
    acknowledged
}

/// The labels of all tokens created after a place, and where the log ends.
async fn labels_after(daemon: &Running, after: u64) -> (HashSet<String>, u64) {
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    let (mut labels, mut head, mut next) = (HashSet::new(), after, Some(after));
    while let Some(place) = next {
        let request = http.get(format!("{}/api/audit?after={place}", daemon.base));
        let page = request.bearer_auth(&daemon.token).send().await.unwrap();
        let page: Value = page.json().await.unwrap();
        for event in page["events"].as_array().unwrap() {
            head = event["seq"].as_u64().unwrap();
            if let Some(label) = event["body"]["label"].as_str() {
                labels.insert(label.to_owned());
            }
        }
        next = page["next"].as_u64();
    }
    (labels, head)
}
