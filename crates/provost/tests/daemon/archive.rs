//! The archive of the log: what a person sees, and a daemon that is killed while it archives.

mod settings;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use provost_proto::{Actor, Fact, Stream};
use provost_store::{AppendRequest, Clock, Durability, EventStore as _, SqliteStore, StoreOptions};
use serde_json::Value;

use super::{Home, Running};

/// Adds events to the log of a daemon that is not running.
async fn fill(home: &Home, n_events: u64) {
    fill_at(home, Clock::system(), n_events).await;
}

/// Adds events with the time of this clock.
async fn fill_at(home: &Home, clock: Clock, n_events: u64) {
    let store =
        SqliteStore::open(StoreOptions { path: home.data().join("log.db"), clock }).unwrap();
    for number in 0..n_events {
        let fact = Fact::DaemonStopped { reason: format!("test {number}") };
        let append = AppendRequest::single_event("local:ann", Actor::Daemon, Stream::Sys, fact);
        store.append(AppendRequest { durability: Durability::Buffered, ..append }).await.unwrap();
    }
}

/// Now, as RFC 3339.
fn now() -> String {
    let micros = i64::try_from(Clock::system().now()).unwrap();
    jiff::Timestamp::from_microsecond(micros).unwrap().to_string()
}

fn segment_files(home: &Home) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(home.data().join("log.db-segments")) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn printed_events(home: &Home) -> Vec<Value> {
    let text = home.run_ok(&["events", "--after", "0", "--json"]);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_archives_the_log_and_finds_everything_as_before() {
    let home = Home::new();
    home.up();
    home.run_ok(&["do", "fs.writeFile", "path=a.txt", "content=hello", "--project", "app"]);
    let actions: Value = serde_json::from_str(&home.run_ok(&["audit", "--json"])).unwrap();
    let action = actions[0]["id"].as_str().unwrap().to_owned();
    let printed = home.run_ok(&["log", "archive", "--before", "2001-01-01"]);
    assert!(printed.contains("Nothing to archive: the database has no events before"), "{printed}");
    let printed = home.run_ok(&["log", "archive", "--before", &now()]);
    assert!(printed.contains("events are archived in blocks of 512"), "{printed}");
    let printed = home.run_failing(&["log", "archive", "--before", "2999-01-01"], 1);
    assert!(printed.contains("before: is in the future"), "{printed}");
    let printed = home.run_failing(&["log", "archive", "--before", "soon"], 2);
    assert!(printed.contains("not a date") && printed.contains("2026-10-31"), "{printed}");
    assert!(home.run_ok(&["log", "segments"]).contains("No segments."));

    let report = home.run_ok(&["audit", "--action", &action]);
    home.run_ok(&["down"]);
    fill(&home, 1500).await;
    home.up();
    let before = printed_events(&home);
    let printed = home.run_ok(&["log", "archive", "--before", &now()]);
    assert!(printed.contains("Archived 1024 events"), "{printed}");
    assert!(printed.contains("events 1 to 1024"), "{printed}");
    let listed: Value = serde_json::from_str(&home.run_ok(&["log", "segments", "--json"])).unwrap();
    assert_eq!(listed["segments"][0]["last"], 1024);

    assert_eq!(home.run_ok(&["audit", "--action", &action]), report);
    let after = printed_events(&home);
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after.last().unwrap()["kind"], "LOG_ARCHIVED");
    let found = home.run_ok(&["events", "--text", "fs.writeFile", "--json"]);
    assert!(found.contains(&action), "{found}");
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
    home.run_ok(&["down"]);
    home.run_ok(&["audit", "rebuild"]);
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));

    let file = segment_files(&home).remove(0);
    fs::rename(&file, home.path("taken")).unwrap();
    let output = home.provost(&["audit", "verify"]).assert().code(4);
    let printed = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(printed.contains("with the events 1 to 1024 is missing"), "{printed}");
    // The daemon starts, and says what cannot be read.
    home.up();
    let printed = home.run_failing(&["events", "--after", "0"], 1);
    assert!(
        printed.contains("events 1 to 1024 are in") && printed.contains("is missing"),
        "{printed}"
    );
    fs::rename(home.path("taken"), &file).unwrap();
    assert!(printed_events(&home).len() > after.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_archives_nothing() {
    let home = Home::new();
    let daemon = home.up();
    let text = home.run_ok(&["token", "create", "--class", "viewer", "--json"]);
    let created: Value = serde_json::from_str(&text).unwrap();
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    let request = http
        .post(format!("{}/api/log/archive", daemon.base))
        .bearer_auth(created["token"].as_str().unwrap())
        .json(&serde_json::json!({ "before": 1 }));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 403);
}

/// How far an archive has got, as far as one can see from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArchiveState {
    /// It is writing a file.
    FileBegun,
    /// The file has its name; it is being recorded, or rows are being removed.
    FilePublished,
    /// An earlier daemon was killed then, and this one continues.
    Continued,
}

/// Waits until the archive has got so far, or further.
fn wait_for(home: &Home, state: ArchiveState) {
    let limit = Instant::now() + Duration::from_mins(1);
    let is_there = || {
        let files = segment_files(home);
        let is_published = |file: &PathBuf| file.extension().is_some_and(|end| end == "segment");
        files.iter().any(|file| state == ArchiveState::FileBegun || is_published(file))
    };
    while !is_there() {
        assert!(Instant::now() < limit, "the archive did not get to {state:?}");
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_is_killed_while_it_archives_loses_and_doubles_nothing() {
    const EVENTS: u64 = 8000;
    let home = Home::new();
    home.up().kill();
    fill(&home, EVENTS).await;
    let mut known: Vec<Value> = Vec::new();
    for state in [ArchiveState::FileBegun, ArchiveState::FilePublished, ArchiveState::Continued] {
        let daemon: Running = home.up();
        if known.is_empty() {
            known = printed_events(&home);
        }
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let request = http
            .post(format!("{}/api/log/archive", daemon.base))
            .bearer_auth(&daemon.token)
            .json(&serde_json::json!({ "before": Clock::system().now() }));
        let archive = tokio::spawn(request.send());
        wait_for(&home, state);
        daemon.kill();
        drop(archive.await.unwrap());

        assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"), "{state:?}");
        home.up();
        let events = printed_events(&home);
        assert_eq!(events[..known.len()], known[..], "{state:?}");
        let numbers = events.iter().map(|event| event["seq"].as_u64().unwrap());
        assert!(numbers.eq(1..=events.len() as u64), "{state:?}");
        known = events;
        home.running().kill();
    }
    home.up();
    home.run_ok(&["log", "archive", "--before", &now()]);
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
    let temporary = segment_files(&home)
        .iter()
        .filter(|file| file.extension().is_none_or(|end| end != "segment"))
        .count();
    assert_eq!(temporary, 0);
    assert_eq!(printed_events(&home)[..known.len()], known[..]);
}
