//! Tampering: whatever is done to the file, `verify` names the event.

use std::fs;
use std::path::Path;

use provost_proto::{BadEvent, Stream};
use provost_store::{Clock, Store};
use rusqlite::Connection;

use super::{append, fresh, note, one, open, opened};

const EVENTS: u64 = 20;

/// Writes a log, lets `tamper` at the file, and tells what `verify` finds.
async fn after(tamper: impl FnOnce(&Path)) -> Option<BadEvent> {
    let (store, folder) = fresh();
    for n in 1..=EVENTS {
        append(&store, one(Stream::Sys, note(format!("event number {n:03}")))).await;
    }
    assert_eq!(store.verify().await.unwrap().bad, None);
    drop(store);
    let path = folder.path().join("log.db");
    tamper(&path);
    let report = open(folder.path()).verify().await.unwrap();
    assert!(report.bad.is_some() || report.events == EVENTS);
    report.bad
}

/// As someone would who can write to the file: the triggers are only a rail.
fn sql(path: &Path, sql: &str) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("DROP TRIGGER events_stay; DROP TRIGGER events_remain;").unwrap();
    db.execute_batch(sql).unwrap();
}

fn sql_again(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[track_caller]
fn check(bad: Option<BadEvent>, seq: u64, why: &str) {
    let bad = bad.unwrap();
    assert_eq!(bad.seq, seq, "{}", bad.why);
    assert!(bad.why.contains(why), "{}", bad.why);
}

#[tokio::test]
async fn a_byte_flipped_in_the_file_is_found() {
    let bad = after(|path| {
        let mut bytes = fs::read(path).unwrap();
        let needle = b"event number 007";
        // A page that was split keeps stale copies, so change them all.
        let found: Vec<_> =
            (0..bytes.len() - needle.len()).filter(|&at| bytes[at..].starts_with(needle)).collect();
        assert!(!found.is_empty());
        for at in found {
            bytes[at] ^= 0x20;
        }
        fs::write(path, bytes).unwrap();
    });
    check(bad.await, 7, "do not match its hash");
}

#[tokio::test]
async fn an_event_that_was_rewritten_is_found() {
    let set =
        "UPDATE events SET record = CAST(replace(record, '003', '004') AS BLOB) WHERE seq = 3";
    check(after(|path| sql(path, set)).await, 3, "do not match its hash");
}

#[tokio::test]
async fn an_event_that_was_taken_out_is_found() {
    let bad = after(|path| sql(path, "DELETE FROM events WHERE seq = 5")).await;
    check(bad, 5, "it is missing");
}

#[tokio::test]
async fn a_tail_that_was_cut_off_is_found() {
    let bad = after(|path| sql(path, "DELETE FROM events WHERE seq > 12")).await;
    check(bad, 13, "once reached event 20");
}

#[tokio::test]
async fn events_that_changed_places_are_found() {
    let swap = "UPDATE events SET seq = 99 WHERE seq = 8; UPDATE events SET seq = 8 WHERE seq = 9;
                UPDATE events SET seq = 9 WHERE seq = 99;";
    check(after(|path| sql(path, swap)).await, 8, "do not match its hash");
}

#[tokio::test]
async fn an_event_filed_under_another_stream_is_found() {
    let file = "INSERT INTO streams (id, name) VALUES (9, 'other');
                UPDATE events SET stream = 9 WHERE seq = 4;";
    check(after(|path| sql(path, file)).await, 4, "filed under `other`");
}

#[tokio::test]
async fn a_body_that_was_changed_in_the_blob_store_is_found() {
    let (store, folder) = fresh();
    append(&store, one(Stream::Sys, note("small"))).await;
    append(&store, one(Stream::Sys, note("large ".repeat(2000)))).await;
    drop(store);
    sql(&folder.path().join("log.db"), "UPDATE blobs SET bytes = x'00'");
    let report = open(folder.path()).verify().await.unwrap();
    check(report.bad, 2, "was changed");
    sql_again(&folder.path().join("log.db"), "DELETE FROM blobs");
    check(open(folder.path()).verify().await.unwrap().bad, 2, "is missing");
}

#[tokio::test]
async fn a_view_that_was_changed_is_found() {
    for (tamper, why) in [
        (
            "UPDATE docs SET doc = CAST(replace(doc, '/src/app', '/etc') AS BLOB)",
            "not what the log",
        ),
        ("DELETE FROM docs", "not what the log says"),
        ("UPDATE docs SET key = '0'", "not what the log says"),
    ] {
        let (store, folder) = fresh();
        append(&store, one(Stream::Sys, opened(Clock::system().id(), "app"))).await;
        assert_eq!(store.verify().await.unwrap().views, None);
        drop(store);
        sql(&folder.path().join("log.db"), tamper);
        let store = open(folder.path());
        let report = store.verify().await.unwrap();
        assert_eq!(report.bad, None);
        assert!(report.views.as_ref().is_some_and(|views| views.contains(why)), "{report:?}");
        store.rebuild().await.unwrap();
        assert_eq!(store.verify().await.unwrap().views, None, "it can be folded again");
    }
}

#[tokio::test]
async fn an_event_put_behind_the_end_is_found() {
    let add = "INSERT INTO events SELECT 21, stream, hash, record FROM events WHERE seq = 20";
    check(after(|path| sql(path, add)).await, 21, "do not match its hash");
}
