//! The head of the log is kept beside it: a lost WAL, a replaced log and a clock that is set back
//! are noticed.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use provost_proto::Stream;
use provost_store::{Clock, EventStore, SqliteStore, StoreOptions};

use super::{append, fresh, note, one, open};

/// The folder as a killed process leaves it.
fn killed(folder: &std::path::Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

#[tokio::test]
async fn a_wal_that_was_deleted_after_a_kill_is_noticed_by_verify_and_for_ever() {
    let (store, folder) = fresh();
    for n in 0..5 {
        append(&store, one(Stream::Sys, note(n))).await;
    }
    drop(store);
    let store = open(folder.path());
    for n in 0..5 {
        append(&store, one(Stream::Sys, note(n))).await;
    }
    let copy = killed(folder.path());
    let path = copy.path().join("log.db");
    assert_eq!(SqliteStore::verify_file(&path).unwrap().bad, None);
    let copy = killed(folder.path());
    let path = copy.path().join("log.db");
    assert!(fs::metadata(copy.path().join("log.db-wal")).unwrap().len() > 0);
    for beside in ["log.db-wal", "log.db-shm"] {
        fs::remove_file(copy.path().join(beside)).unwrap();
    }
    let bad = SqliteStore::verify_file(&path).unwrap().bad.unwrap();
    assert!(bad.seq == 6 && bad.why.contains("once reached event 10"), "{bad:?}");

    // The next daemon records it.
    let store = open(copy.path());
    append(&store, one(Stream::Sys, note("later"))).await;
    for report in [store.verify_log().await.unwrap(), {
        drop(store);
        SqliteStore::verify_file(&path).unwrap()
    }] {
        let bad = report.bad.unwrap();
        assert!(bad.seq == 6 && bad.why.contains("once reached event 10"), "{bad:?}");
    }
}

#[tokio::test]
async fn another_log_in_its_place_is_noticed() {
    let (store, folder) = fresh();
    let (other, other_folder) = fresh();
    for n in 0..3 {
        append(&store, one(Stream::Sys, note(n))).await;
        append(&other, one(Stream::Sys, note(n))).await;
        append(&other, one(Stream::Sys, note("more"))).await;
    }
    drop((store, other));
    let path = folder.path().join("log.db");
    fs::copy(other_folder.path().join("log.db"), &path).unwrap();
    let bad = SqliteStore::verify_file(&path).unwrap().bad.unwrap();
    assert!(bad.seq == 3 && bad.why.contains("another hash"), "{bad:?}");
    let bad = open(folder.path()).verify_log().await.unwrap().bad.unwrap();
    assert_eq!(bad.seq, 3, "{bad:?}");
}

#[tokio::test]
async fn a_log_without_a_head_or_with_an_empty_one_is_whole() {
    let (store, folder) = fresh();
    append(&store, one(Stream::Sys, note("a"))).await;
    drop(store);
    let path = folder.path().join("log.db");
    let head = folder.path().join("log.db-head");
    fs::write(&head, []).unwrap();
    let report = SqliteStore::verify_file(&path).unwrap();
    assert_eq!((report.bad, report.database), (None, None));
    fs::remove_file(&head).unwrap();
    let report = SqliteStore::verify_file(&path).unwrap();
    assert_eq!((report.bad, report.database), (None, None));
    drop(open(folder.path()));
    assert!(head.exists());
    fs::write(&head, "something else").unwrap();
    assert!(SqliteStore::verify_file(&path).unwrap().database.unwrap().contains("log.db-head"));
}

#[tokio::test]
async fn the_time_does_not_go_back_across_a_restart() {
    let (store, folder) = fresh();
    append(&store, one(Stream::Sys, note("a"))).await;
    store.record_time(1_900_000_000_000_000);
    let copy = killed(folder.path());
    let wall = Arc::new(AtomicU64::new(1_700_000_000_000_000));
    let set = Arc::clone(&wall);
    let clock = Clock::from_fn(move || set.load(Ordering::Relaxed));
    let options = StoreOptions { path: copy.path().join("log.db"), clock: clock.clone() };
    let store = SqliteStore::open(options).unwrap();
    assert_eq!(clock.now(), 1_900_000_000_000_000);
    let event = append(&store, one(Stream::Sys, note("b"))).await.remove(0);
    assert_eq!(event.at, 1_900_000_000_000_000);
}
