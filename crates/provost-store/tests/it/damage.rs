//! Damage to the file, wherever it is: it is named, or nothing that can be read has changed.

use std::fs;
use std::path::Path;

use provost_proto::{Hash, Stream};
use provost_store::{AppendRequest, Clock, EventStore, Idempotency, SqliteStore, StoreError};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use super::blobs::printed;
use super::{append, fresh, note, one, open, opened};

/// Everything that queries can return, by each table and each index.
fn dump(path: &Path) -> Option<Vec<Vec<Value>>> {
    const QUERIES: [&str; 9] = [
        "SELECT * FROM events ORDER BY seq",
        "SELECT seq, stream FROM events INDEXED BY events_of_stream ORDER BY stream, seq",
        "SELECT * FROM streams ORDER BY id",
        "SELECT name, id FROM streams ORDER BY name",
        "SELECT seq FROM reached",
        "SELECT * FROM commands ORDER BY principal, key",
        "SELECT view, key, doc FROM docs ORDER BY view, key",
        "SELECT hash, bytes FROM blobs ORDER BY hash",
        "SELECT seq, reached FROM cuts",
    ];
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let mut all = Vec::new();
    for sql in QUERIES {
        let mut query = db.prepare(sql).ok()?;
        let columns = query.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get(at)).collect();
        let rows: Result<Vec<Vec<Value>>, _> = query.query_map([], row).ok()?.collect();
        all.extend(rows.ok()?);
    }
    Some(all)
}

/// A log with rows in every table, several pages in every tree, and free pages.
async fn write_log() -> tempfile::TempDir {
    let (store, folder) = fresh();
    let clock = Clock::system();
    for n in 0..60 {
        let command = Idempotency { key: format!("key {n}"), request: Hash::new([7; 32]) };
        let fact = opened(clock.new_id(), &format!("project {n}"));
        let request = AppendRequest { command: Some(command), ..one(Stream::Sys, fact) };
        append(&store, request).await;
        let project = clock.new_id();
        append(&store, one(Stream::Project(project), note("x".repeat(n * 60)))).await;
    }
    store.put_blob(vec![b'o'; 9000]).await.unwrap();
    append(&store, one(Stream::Sys, printed(vec![b'y'; 20_000]))).await;
    drop(store);
    // Free pages.
    let db = Connection::open(folder.path().join("log.db")).unwrap();
    db.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(40000)); DROP TABLE t;")
        .unwrap();
    drop(db);
    folder
}

/// Whether verifying says that something is wrong.
fn is_named(path: &Path) -> bool {
    match SqliteStore::verify_file(path) {
        Ok(report) => report.bad.is_some() || report.views.is_some() || report.database.is_some(),
        Err(_) => true,
    }
}

#[tokio::test]
async fn damage_at_any_place_is_named_or_changes_nothing_that_is_read() {
    let folder = write_log().await;
    let path = folder.path().join("log.db");
    let intact = fs::read(&path).unwrap();
    let expected = dump(&path).unwrap();
    assert!(!is_named(&path), "{:?}", SqliteStore::verify_file(&path));
    let (mut named, mut harmless) = (0, 0);
    let mut check = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).unwrap();
        if is_named(&path) {
            named += 1;
        } else {
            assert_eq!(dump(&path).as_ref(), Some(&expected), "{what} verifies as whole");
            harmless += 1;
        }
    };
    let pages = intact.len() / 4096;
    for page in 0..pages {
        // The header of the page, its cell pointers, its middle and its end.
        for at in [0, 1, 3, 5, 7, 8, 9, 12, 40, 200, 1000, 2048, 3000, 3900, 4000, 4095] {
            let mut bytes = intact.clone();
            bytes[page * 4096 + at] ^= 0x41;
            check(&bytes, &format!("byte {at} of page {page}"));
        }
        let mut bytes = intact.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0);
        check(&bytes, &format!("page {page} of zeros"));
        let other = (page + 1) % pages;
        let mut bytes = intact.clone();
        bytes.copy_within(other * 4096..(other + 1) * 4096, page * 4096);
        check(&bytes, &format!("page {page} replaced by page {other}"));
    }
    for n in [1, 2, pages / 2, pages - 1] {
        check(&intact[..n * 4096], &format!("{n} of {pages} pages"));
    }
    assert!(named > harmless, "{named} named, {harmless} without effect");
}

#[tokio::test]
async fn nothing_is_written_to_a_damaged_database() {
    let folder = write_log().await;
    let path = folder.path().join("log.db");
    let db = Connection::open(&path).unwrap();
    let root: usize = db
        .query_row(
            "SELECT rootpage FROM sqlite_master WHERE name = 'events_of_stream'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    drop(db);
    let mut bytes = fs::read(&path).unwrap();
    bytes[(root - 1) * 4096..root * 4096].fill(0xff);
    fs::write(&path, bytes).unwrap();

    let store = open(folder.path());
    let events = store.watch_head().borrow().seq();
    let report = store.verify_log().await.unwrap();
    assert_eq!((report.bad, report.events), (None, events), "the events are intact");
    assert!(report.database.is_some());
    for _ in 0..2 {
        let error = store.append(one(Stream::Sys, note("more"))).await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged(_)), "{error}");
        assert!(error.to_string().contains("nothing more is written"), "{error}");
    }
    assert!(matches!(store.last_write_error(), Some(StoreError::Damaged(_))));
    assert_eq!(store.watch_head().borrow().seq(), events);
}
