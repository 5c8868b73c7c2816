//! Tampering: whatever is done to the file, `verify` names the event.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use provost_core::fold::ViewKind;
use provost_proto::{CorruptEvent, Hash, Stream};
use provost_store::{AppendRequest, Clock, EventStore, Idempotency, SqliteStore};
use rusqlite::Connection;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};

use super::{append, fresh, note, one, open, opened, token};

const EVENTS: u64 = 20;

/// Writes a log, lets `tamper` change the file, and returns the result of `verify`.
async fn after(tamper: impl FnOnce(&Path)) -> Option<CorruptEvent> {
    let (store, folder) = fresh();
    for n in 1..=EVENTS {
        append(&store, one(Stream::Sys, note(format!("event number {n:03}")))).await;
    }
    assert_eq!(store.verify_log().await.unwrap().bad, None);
    drop(store);
    let path = folder.path().join("log.db");
    tamper(&path);
    let report = open(folder.path()).verify_log().await.unwrap();
    assert!(report.bad.is_some() || report.events == EVENTS);
    report.bad
}

/// As someone would who can write to the file: the triggers do not stop them.
fn sql(path: &Path, sql: &str) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("DROP TRIGGER events_stay; DROP TRIGGER events_remain;").unwrap();
    db.execute_batch(sql).unwrap();
}

fn sql_again(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[track_caller]
fn check(bad: Option<CorruptEvent>, seq: u64, why: &str) {
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
async fn a_tail_that_was_cut_off_is_found_for_ever_whatever_is_appended() {
    let (store, folder) = fresh();
    let (kept, lost) = (Clock::system().new_id(), Clock::system().new_id());
    append(&store, one(Stream::Sys, opened(kept, "kept"))).await;
    let command = Idempotency { key: "k".to_owned(), request: Hash::ZERO };
    let open_lost = || AppendRequest {
        command: Some(command.clone()),
        ..one(Stream::Sys, opened(lost, "lost"))
    };
    append(&store, open_lost()).await;
    append(&store, one(Stream::Sys, note("lost too"))).await;
    drop(store);
    let path = folder.path().join("log.db");
    sql(&path, "DELETE FROM events WHERE seq > 1");
    let before = SqliteStore::verify_file(&path).unwrap();
    check(before.bad.clone(), 2, "once reached event 3");

    // As many as before, so that no number is missing.
    for round in 0..3 {
        let store = open(folder.path());
        let report = store.verify_log().await.unwrap();
        check(report.bad, 2, "cut off here, but it once reached event 3");
        assert_eq!((report.events, report.head), (1, before.head), "what is good stays so");
        append(&store, one(Stream::Sys, note(format!("later {round}")))).await;
    }
    let store = open(folder.path());
    let projects = store.list_documents(ViewKind::Projects).await.unwrap();
    assert_eq!(projects.len(), 1, "what only the lost events said is not known any more");
    let again = append(&store, open_lost()).await.remove(0);
    assert_eq!(again.seq, 5, "a command that was lost is carried out");
    drop(store);

    sql_again(&path, "UPDATE events SET record = x'00' WHERE seq = 4");
    check(
        SqliteStore::verify_file(&path).unwrap().bad,
        2,
        "and so is event 4: its bytes do not match",
    );
    sql_again(&path, "DELETE FROM events WHERE seq > 3");
    drop(open(folder.path()));
    check(
        SqliteStore::verify_file(&path).unwrap().bad,
        2,
        "and so is event 4: the log was cut off",
    );
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
async fn output_that_was_changed_or_removed_in_the_blob_store_is_found() {
    for (edit, why) in
        [("UPDATE blobs SET bytes = x'00'", "was changed"), ("DELETE FROM blobs", "is missing")]
    {
        let (store, folder) = fresh();
        append(&store, one(Stream::Sys, super::blobs::printed(vec![b'x'; 9000]))).await;
        assert_eq!(store.verify_log().await.unwrap().bad, None);
        drop(store);
        sql(&folder.path().join("log.db"), edit);
        let bad = open(folder.path()).verify_log().await.unwrap().bad.unwrap();
        assert!(bad.why.contains("its output, blob") && bad.why.contains(why), "{bad:?}");
    }
}

#[tokio::test]
async fn a_body_that_was_changed_in_the_blob_store_is_found() {
    let (store, folder) = fresh();
    append(&store, one(Stream::Sys, note("small"))).await;
    append(&store, one(Stream::Sys, note("large ".repeat(2000)))).await;
    drop(store);
    sql(&folder.path().join("log.db"), "UPDATE blobs SET bytes = x'00'");
    let report = open(folder.path()).verify_log().await.unwrap();
    check(report.bad, 2, "was changed");
    sql_again(&folder.path().join("log.db"), "DELETE FROM blobs");
    check(open(folder.path()).verify_log().await.unwrap().bad, 2, "is missing");
}

#[tokio::test]
async fn a_view_that_was_changed_is_found() {
    for (tamper, why) in [
        (
            "UPDATE docs SET doc = CAST(replace(doc, '/src/app', '/etc') AS BLOB)",
            "not what the log",
        ),
        ("DELETE FROM docs", "not what the log says"),
        ("UPDATE docs SET key = zeroblob(16)", "not what the log says"),
    ] {
        let (store, folder) = fresh();
        append(&store, one(Stream::Sys, opened(Clock::system().new_id(), "app"))).await;
        assert_eq!(store.verify_log().await.unwrap().views, None);
        drop(store);
        sql(&folder.path().join("log.db"), tamper);
        let store = open(folder.path());
        let report = store.verify_log().await.unwrap();
        assert_eq!(report.bad, None);
        assert!(report.views.as_ref().is_some_and(|views| views.contains(why)), "{report:?}");
        store.rebuild_views().await.unwrap();
        assert_eq!(store.verify_log().await.unwrap().views, None, "it can be folded again");
    }
}

#[tokio::test]
async fn a_document_that_is_listed_in_the_wrong_place_is_found() {
    for tamper in [
        "UPDATE docs SET parent = NULL WHERE view = 2",
        "UPDATE docs SET parent = x'01' WHERE view = 2",
        "UPDATE docs SET open = 1 - open WHERE view = 2",
        "UPDATE docs SET open = 'x' WHERE view = 2",
        "UPDATE docs SET at = at - 1 WHERE view = 2",
        "UPDATE docs SET parent = zeroblob(16), open = 1, at = 0 WHERE view = 1",
    ] {
        let (store, folder) = fresh();
        append(&store, one(Stream::Sys, opened(Clock::system().new_id(), "app"))).await;
        append(&store, one(Stream::Sys, token(&Clock::system(), "a token"))).await;
        drop(store);
        let path = folder.path().join("log.db");
        assert_eq!(SqliteStore::verify_file(&path).unwrap().views, None);
        sql(&path, tamper);
        let views = SqliteStore::verify_file(&path).unwrap().views.unwrap_or_default();
        assert!(views.contains("is listed in the wrong place"), "{tamper}: {views}");
        let store = open(folder.path());
        store.rebuild_views().await.unwrap();
        assert_eq!(store.verify_log().await.unwrap().views, None, "{tamper}");
    }
}

#[tokio::test]
async fn a_view_that_cannot_be_read_is_found_and_is_no_fault_of_the_log() {
    for tamper in [
        "UPDATE docs SET doc = x'7b'",
        "UPDATE docs SET doc = 'text'",
        "UPDATE docs SET doc = 7",
        "UPDATE docs SET doc = NULL, key = x'ff'",
    ] {
        let (store, folder) = fresh();
        append(&store, one(Stream::Sys, opened(Clock::system().new_id(), "app"))).await;
        drop(store);
        let path = folder.path().join("log.db");
        sql(
            &path,
            "PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = \
             replace(sql, 'doc    BLOB NOT NULL', 'doc BLOB') WHERE name = 'docs'",
        );
        sql_again(&path, tamper);
        let report = SqliteStore::verify_file(&path).unwrap();
        assert_eq!((report.events, report.bad), (1, None), "{tamper}");
        assert!(report.views.is_some_and(|views| views.contains("cannot be read")), "{tamper}");
        let store = open(folder.path());
        let error = store.list_documents(ViewKind::Projects).await.unwrap_err().to_string();
        assert!(error.contains("provost audit rebuild"), "{error}");
        assert!(!error.contains("the log is damaged"), "{error}");
        store.rebuild_views().await.unwrap();
        assert_eq!(store.verify_log().await.unwrap().views, None, "{tamper}");
        assert_eq!(store.list_documents(ViewKind::Projects).await.unwrap().len(), 1, "{tamper}");
    }
}

#[tokio::test]
async fn folding_the_views_again_does_not_hide_that_the_tail_was_cut_off() {
    let (store, folder) = fresh();
    append(&store, one(Stream::Sys, note("stays"))).await;
    append(&store, one(Stream::Sys, opened(Clock::system().new_id(), "app"))).await;
    drop(store);
    sql(&folder.path().join("log.db"), "DELETE FROM events WHERE seq = 2");
    let store = open(folder.path());
    store.rebuild_views().await.unwrap();
    check(store.verify_log().await.unwrap().bad, 2, "once reached event 2");
}

#[tokio::test]
async fn a_log_on_a_disk_that_cannot_be_written_is_verified() {
    let (store, folder) = fresh();
    append(&store, one(Stream::Sys, note("kept"))).await;
    drop(store);
    let disk = folder.path().join("disk, with % and ?");
    fs::create_dir(&disk).unwrap();
    if let Err(error) = mount("tmpfs", &disk, "tmpfs", MountFlags::empty(), c"size=4m") {
        // Only root may mount, and only others are restricted by a mode of 0555.
        assert!(!rustix::process::geteuid().is_root(), "root could not mount: {error}");
        fs::copy(folder.path().join("log.db"), disk.join("log.db")).unwrap();
        fs::set_permissions(&disk, fs::Permissions::from_mode(0o555)).unwrap();
        assert_eq!(SqliteStore::verify_file(&disk.join("log.db")).unwrap().events, 1);
        fs::set_permissions(&disk, fs::Permissions::from_mode(0o755)).unwrap();
        return;
    }
    fs::copy(folder.path().join("log.db"), disk.join("log.db")).unwrap();
    mount_remount(&disk, MountFlags::RDONLY, c"").unwrap();
    let report = SqliteStore::verify_file(&disk.join("log.db"));
    unmount(&disk, UnmountFlags::empty()).unwrap();
    let report = report.unwrap();
    assert_eq!((report.events, report.bad), (1, None));
}

#[test]
fn a_file_that_is_no_log_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let error = SqliteStore::verify_file(&path).unwrap_err().to_string();
    assert!(error.contains("cannot use") && error.contains("log.db"), "{error}");
    for bytes in [&b"this is a letter, not a database, and it is long enough".repeat(90)[..], b""] {
        fs::write(&path, bytes).unwrap();
        let error = SqliteStore::verify_file(&path).unwrap_err().to_string();
        assert!(error.contains("cannot be read as a log"), "{error}");
        assert!(!error.contains("audit verify"), "{error}");
    }
}

#[tokio::test]
async fn an_event_put_behind_the_end_is_found() {
    let add = "INSERT INTO events SELECT 21, stream, hash, record FROM events WHERE seq = 20";
    check(after(|path| sql(path, add)).await, 21, "do not match its hash");
}
