//! An archive that ends anywhere, and segments that are removed or changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use provost_proto::{AuditReport, LogCursor, Stream, UnixMicros};
use provost_store::{
    ArchiveObserver, ArchiveRequest, ArchiveStep, EventScope, EventStore, SqliteStore, StoreError,
};
use rusqlite::Connection;
use tempfile::TempDir;

use super::archive::{archive_all, assert_intact, before, count, read_log, write};
use super::{fresh, note, one, open};

/// Copies a folder, as it is on disk at this moment.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A process that is killed leaves the files as they are. So the files are copied after each
/// step, while nothing else is written, and each copy is opened as if it had been left so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_that_ends_after_any_step_loses_and_doubles_nothing() {
    let (store, folder) = fresh();
    write(&store, 1..=2700).await;
    let expected = read_log(&store, 2700).await;
    let copies = tempfile::tempdir().unwrap();
    let steps: Arc<Mutex<Vec<(ArchiveStep, PathBuf)>>> = Arc::default();
    let observer = ArchiveObserver::new({
        let (from, to, steps) =
            (folder.path().to_owned(), copies.path().to_owned(), Arc::clone(&steps));
        move |step| {
            let mut steps = steps.lock().unwrap();
            let copy = to.join(steps.len().to_string());
            copy_folder(&from, &copy);
            steps.push((step, copy));
        }
    });
    let request = ArchiveRequest { observer, ..before(UnixMicros::MAX) };
    store.archive_log(request).await.unwrap();
    drop(store);

    let steps = std::mem::take(&mut *steps.lock().unwrap());
    let mut kinds: Vec<_> = steps.iter().map(|(step, _)| *step).collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds.len(), 6, "{kinds:?}");
    for (step, copy) in steps {
        let store = open(&copy);
        assert!(read_log(&store, 2700).await == expected, "after {step:?}");
        assert_intact(&store).await;
        let completed = archive_all(&store).await;
        let is_recorded = step >= ArchiveStep::Recorded;
        assert_eq!(completed.segments.len(), usize::from(!is_recorded), "after {step:?}");
        assert!(read_log(&store, 2700).await == expected, "archived again after {step:?}");
        assert_intact(&store).await;
        assert_eq!(store.watch_head().borrow().seq(), 2701);
        let files = fs::read_dir(copy.join("log.db-segments")).unwrap().count();
        assert_eq!(files, 1, "after {step:?}");
        assert_eq!(count(&copy, "SELECT min(seq) FROM events"), 2561, "after {step:?}");
        assert_eq!(count(&copy, "SELECT count(*) FROM segments"), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_with_other_events_is_left_alone() {
    let (other, others_folder) = fresh();
    write(&other, 5001..=6000).await;
    let foreign = archive_all(&other).await.segments.remove(0).file;
    let (store, folder) = fresh();
    write(&store, 1..=1000).await;
    let segments = folder.path().join("log.db-segments");
    fs::create_dir(&segments).unwrap();
    fs::copy(others_folder.path().join("log.db-segments").join(&foreign), segments.join(&foreign))
        .unwrap();
    archive_all(&store).await;
    assert!(segments.join(&foreign).exists());
    assert_intact(&store).await;
}

/// Two segments, which `tamper` gets the paths of.
async fn after(tamper: impl FnOnce(&Path, &[PathBuf])) -> (AuditReport, TempDir) {
    let (store, folder) = fresh();
    write(&store, 1..=700).await;
    let mut segments = archive_all(&store).await.segments;
    write(&store, 701..=1300).await;
    segments.extend(archive_all(&store).await.segments);
    assert_intact(&store).await;
    drop(store);
    let path = folder.path().join("log.db");
    let segments: Vec<_> = segments
        .iter()
        .map(|segment| folder.path().join("log.db-segments").join(&segment.file))
        .collect();
    assert_eq!(segments.len(), 2);
    tamper(&path, &segments);
    (SqliteStore::verify_file(&path).unwrap(), folder)
}

#[track_caller]
fn check(report: AuditReport, seq: u64, why: &str) {
    let bad = report.bad.unwrap();
    assert_eq!(bad.seq, seq, "{}", bad.why);
    assert!(bad.why.contains(why), "{}", bad.why);
    assert_eq!(report.events, seq - 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_segment_that_was_removed_or_changed_is_named() {
    let (report, _folder) = after(|_, files| fs::remove_file(&files[0]).unwrap()).await;
    check(report, 1, "with the events 1 to 512 is missing");
    let (report, _folder) = after(|_, files| fs::remove_file(&files[1]).unwrap()).await;
    check(report, 513, "with the events 513 to 1024 is missing");
    let (report, _folder) = after(|_, files| {
        fs::remove_file(&files[1]).unwrap();
        let mut bytes = fs::read(&files[0]).unwrap();
        bytes[900] ^= 1;
        fs::write(&files[0], bytes).unwrap();
    })
    .await;
    check(report.clone(), 1, "with the events 1 to 512 was changed");
    check(report, 1, "and the segment 000000000513");
    let (report, _folder) = after(|_, files| {
        fs::rename(&files[0], files[0].with_extension("x")).unwrap();
        fs::rename(&files[1], &files[0]).unwrap();
        fs::rename(files[0].with_extension("x"), &files[1]).unwrap();
    })
    .await;
    check(report, 1, "with the events 1 to 512 was changed");
    let (report, _folder) = after(|_, files| fs::write(&files[0], b"").unwrap()).await;
    check(report, 1, "with the events 1 to 512 was changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_database_says_about_segments_must_be_what_the_log_recorded() {
    // As someone would who can write to the file, and leaves the schema as it was.
    let sql = |path: &Path, sql: &str| {
        let db = Connection::open(path).unwrap();
        let mut triggers = db
            .prepare(
                "SELECT name, sql FROM sqlite_master WHERE name LIKE 'segments\\_%' ESCAPE '\\'",
            )
            .unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let triggers: Vec<(String, String)> =
            triggers.query_map([], row).unwrap().map(Result::unwrap).collect();
        assert_eq!(triggers.len(), 2);
        for (name, _) in &triggers {
            db.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
        }
        db.execute_batch(sql).unwrap();
        for (_, sql) in &triggers {
            db.execute_batch(sql).unwrap();
        }
    };
    let (report, _folder) = after(|path, _| sql(path, "DELETE FROM segments")).await;
    check(report, 1, "it is missing; the next one is event 1025");
    let (report, _folder) =
        after(|path, _| sql(path, "DELETE FROM segments WHERE first = 1")).await;
    check(report, 1, "does not follow the one before");
    // A file that was compressed anew, with a row to match: the log recorded another.
    let (report, _folder) = after(|path, files| {
        let mut bytes = fs::read(&files[0]).unwrap();
        bytes.splice(16..16, *b"more");
        fs::write(&files[0], &bytes).unwrap();
        let digest = provost_core::hash_chain::digest(&bytes);
        sql(
            path,
            &format!(
                "UPDATE segments SET bytes = {}, digest = x'{digest}' WHERE first = 1",
                bytes.len()
            ),
        );
    })
    .await;
    assert!(report.bad.is_some() || report.database.is_some(), "{report:?}");
    let (report, _folder) =
        after(|path, _| sql(path, "UPDATE segments SET last_at = last_at + 1")).await;
    assert!(report.database.unwrap().contains("is not listed as the log recorded it"));
    let (report, _folder) =
        after(|path, _| sql(path, "UPDATE streams SET archived = archived + 1")).await;
    assert!(report.database.unwrap().contains("in segments was changed"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_segment_the_rest_of_the_log_is_used_and_its_events_are_named() {
    let (_, folder) = after(|_, files| fs::remove_file(&files[0]).unwrap()).await;
    let store = open(folder.path());
    let read = |after| store.read_events(EventScope::All, LogCursor::from_seq(after), 100);
    let error = read(0).await.unwrap_err();
    assert!(matches!(error, StoreError::UnreadableSegment { first: 1, last: 512, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("events 1 to 512 are in") && text.contains("which is missing"), "{text}");
    assert_eq!(read(512).await.unwrap().events.len(), 100);
    let appended = store.append(one(Stream::Sys, note("goes on"))).await.unwrap();
    assert_eq!(appended.events()[0].seq, 1303);
    let error = store.rebuild_views().await.unwrap_err();
    assert!(matches!(error, StoreError::UnreadableSegment { .. }), "{error}");
    store.append(one(Stream::Sys, note("still goes on"))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tail_that_was_cut_off_after_an_archive_is_found() {
    let cut = "DROP TRIGGER events_remain; DELETE FROM events WHERE seq > 1100";
    let (report, folder) =
        after(|path, _| Connection::open(path).unwrap().execute_batch(cut).unwrap()).await;
    check(report, 1101, "once reached event 1302");
    let store = open(folder.path());
    check(store.verify_log().await.unwrap(), 1101, "cut off here, but it once reached event 1302");
    drop(store);
    let db = Connection::open(folder.path().join("log.db")).unwrap();
    db.execute_batch("DELETE FROM events").unwrap();
    drop(db);
    let store = open(folder.path());
    assert_eq!(store.watch_head().borrow().seq(), 1024, "what is archived is still there");
    let appended = store.append(one(Stream::Sys, note("later"))).await.unwrap();
    assert_eq!(appended.events()[0].seq, 1025);
}
