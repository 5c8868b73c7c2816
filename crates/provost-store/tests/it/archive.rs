//! Archived events are read as before: whatever was archived, and whatever is read.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use provost_proto::{Actor, Hash, LogCursor, Seq, Stream, UnixMicros};
use provost_store::{
    AppendRequest, ArchiveOutcome, ArchiveRequest, Durability, EventFilter, EventQuery, EventScope,
    EventStore, Idempotency, LogTail, SearchFrom, SqliteStore, StoreError,
};
use rusqlite::Connection;

use super::{fresh, note, one, open, opened};

const PROJECT: Stream = Stream::Project(provost_proto::ProjectId::new(uuid::Uuid::from_u128(5)));

/// A request to archive what is before a time.
pub(crate) fn before(before: UnixMicros) -> ArchiveRequest {
    ArchiveRequest { before, ..ArchiveRequest::none("local:ann", Actor::Cli) }
}

/// Archives everything that can be.
pub(crate) async fn archive_all(store: &SqliteStore) -> ArchiveOutcome {
    store.archive_log(before(UnixMicros::MAX)).await.unwrap()
}

/// Events in two streams; some are stored as blobs, some change views, some are commands.
pub(crate) async fn write(store: &SqliteStore, numbers: impl Iterator<Item = u64>) {
    for number in numbers {
        let fact = match number % 97 {
            0 => note(format!("{number} {}needle", "x".repeat(6000))),
            1 => super::blobs::printed(format!("{number}").repeat(3000).into_bytes()),
            // The same content more than once.
            2 => note("same ".repeat(1000)),
            3 => opened(uuid::Uuid::from_u128(u128::from(number % 11)).into(), "app"),
            4 => note(format!("RARE {number}")),
            _ => note(format!("number {number}")),
        };
        let stream = if number % 3 == 0 { PROJECT } else { Stream::Sys };
        let command = (number % 50 == 7)
            .then(|| Idempotency { key: format!("key {number}"), request: Hash::ZERO });
        let append = AppendRequest { command, ..one(stream, fact) };
        store.append(AppendRequest { durability: Durability::Buffered, ..append }).await.unwrap();
    }
}

/// An event as bytes: what a client gets.
type WireEvent = Vec<u8>;

async fn read_all(store: &SqliteStore, scope: EventScope, limit: usize) -> Vec<WireEvent> {
    let (mut after, mut found) = (LogCursor::START, Vec::new());
    loop {
        let page = store.read_events(scope, after, limit).await.unwrap();
        assert!(page.events.len() <= limit);
        if page.events.is_empty() {
            return found;
        }
        found.extend(page.events.iter().map(|event| event.wire_json().to_vec()));
        after = page.up_to;
    }
}

async fn search(store: &SqliteStore, forward: bool, filter: &EventFilter) -> Vec<WireEvent> {
    let mut cursor = if forward { LogCursor::START } else { LogCursor::END };
    let mut found = Vec::new();
    loop {
        let from = if forward { SearchFrom::After(cursor) } else { SearchFrom::Before(cursor) };
        let query = EventQuery { scope: EventScope::All, from, limit: 100, filter: filter.clone() };
        let page = store.search_events(query).await.unwrap();
        found.extend(page.events.iter().map(|event| event.wire_json().to_vec()));
        match page.next {
            Some(next) => cursor = next,
            None => return found,
        }
    }
}

fn words(text: &str) -> EventFilter {
    EventFilter { words: EventFilter::split_words(text), ..EventFilter::default() }
}

/// All that can be read of the first `n_events` events.
#[derive(Debug, PartialEq)]
pub(crate) struct ReadLog {
    pages: [Vec<WireEvent>; 3],
    searches: Vec<Vec<WireEvent>>,
    commands: Vec<Option<Vec<WireEvent>>>,
    blobs: Vec<Option<Vec<u8>>>,
    documents: Vec<String>,
}

pub(crate) async fn read_log(store: &SqliteStore, n_events: usize) -> ReadLog {
    let all = read_all(store, EventScope::All, 700).await;
    let times = EventFilter {
        since: Some(1_700_000_000_400_000),
        until: Some(1_700_000_000_900_000),
        ..EventFilter::default()
    };
    let kinds = EventFilter { kinds: vec!["PROJECT_OPENED".to_owned()], ..EventFilter::default() };
    let mut searches = Vec::new();
    for filter in [words("rare"), words("needle"), words("#600"), times, kinds] {
        let found = search(store, true, &filter).await;
        let mut backwards = search(store, false, &filter).await;
        backwards.reverse();
        assert_eq!(found.len(), backwards.len(), "{filter:?}");
        assert!(found == backwards, "{filter:?}");
        searches.push(found);
    }
    let (mut commands, mut blobs) = (Vec::new(), Vec::new());
    for number in (7..n_events).step_by(50) {
        let command = Idempotency { key: format!("key {number}"), request: Hash::ZERO };
        let found = store.find_command_events("local:ann", &command).await.unwrap();
        commands.push(
            found.map(|events| events.iter().map(|event| event.wire_json().to_vec()).collect()),
        );
    }
    for event in &all {
        let event: serde_json::Value = serde_json::from_slice(event).unwrap();
        for reference in [&event["body"], &event["body"]["output"]["data"]["blob"]] {
            if let Some(hash) = reference["$blob"].as_str() {
                let bytes = store.get_blob(hash.parse().unwrap()).await.unwrap();
                assert!(bytes.is_some(), "{hash}");
                blobs.push(bytes);
            }
        }
    }
    let mut documents = Vec::new();
    for view in provost_core::fold::ViewKind::ALL {
        documents.push(format!("{:?}", store.list_documents(view).await.unwrap()));
    }
    let mut log = ReadLog {
        pages: [
            all,
            read_all(store, EventScope::Stream(PROJECT), 100).await,
            read_all(store, EventScope::Stream(Stream::Sys), 512).await,
        ],
        searches,
        commands,
        blobs,
        documents,
    };
    // What was recorded about archives comes after.
    let is_archive =
        |event: &WireEvent| memchr::memmem::find(event, b"\"kind\":\"LOG_ARCHIVED\"").is_some();
    log.pages.iter_mut().for_each(|page| page.retain(|event| !is_archive(event)));
    log.searches.iter_mut().for_each(|found| found.retain(|event| !is_archive(event)));
    log
}

pub(crate) async fn assert_intact(store: &SqliteStore) {
    let report = store.verify_log().await.unwrap();
    assert_eq!((report.bad, report.views, report.database), (None, None, None));
    assert_eq!(report.events, store.watch_head().borrow().seq());
}

pub(crate) fn count(folder: &Path, sql: &str) -> u64 {
    let db = Connection::open(folder.join("log.db")).unwrap();
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn any_log_archived_at_any_points_is_read_as_if_it_were_not(
        parts in proptest::collection::vec(300_u64..1100, 1..3),
        points in proptest::collection::vec(0_u64..2500, 1..4),
        loses_index: bool,
        reopens: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            let (mut store, folder) = fresh();
            let mut written = 0;
            for part in parts {
                write(&store, written + 1..=written + part).await;
                written += part;
                let n_events = usize::try_from(written).unwrap();
                let expected = read_log(&store, n_events).await;
                for point in &points {
                    let all = store.read_events(EventScope::All, LogCursor::START, 5000).await;
                    let event = all.unwrap().events.get(usize::try_from(*point).unwrap()).cloned();
                    let at = event.map_or(UnixMicros::MAX, |event| event.decode_event().unwrap().at);
                    store.archive_log(before(at)).await.unwrap();
                    let archived = store.list_segments().await.unwrap().last().map(|row| row.last);
                    prop_assert_eq!(archived.unwrap_or(0) % 512, 0);
                    let found = read_log(&store, n_events).await;
                    prop_assert!(found == expected, "archived before event {}", point + 1);
                    assert_intact(&store).await;
                    if reopens {
                        drop(store);
                        if loses_index {
                            std::fs::remove_file(folder.path().join("log.db-search")).unwrap();
                        }
                        store = open(folder.path());
                        let found = read_log(&store, n_events).await;
                        prop_assert!(found == expected, "reopened");
                    }
                }
                store.rebuild_views().await.unwrap();
                let rebuilt = read_log(&store, n_events).await;
                prop_assert!(rebuilt.documents == expected.documents, "rebuilt");
                assert_intact(&store).await;
            }
            Ok(())
        })?;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archived_events_leave_the_database_with_their_blobs() {
    let (store, folder) = fresh();
    write(&store, 1..=3000).await;
    let outcome = archive_all(&store).await;
    assert_eq!(outcome.segments.len(), 1);
    let segment = &outcome.segments[0];
    assert_eq!((segment.first, segment.last, segment.prev), (1, 2560, Hash::ZERO));
    assert_eq!(outcome.left, 441, "the last block is not complete, and has the event about it");
    assert_eq!(count(folder.path(), "SELECT min(seq) FROM events"), 2561);
    let blobs = count(folder.path(), "SELECT count(*) FROM blobs");
    assert!(blobs < 15, "{blobs} blobs of the last 440 events");
    let file = folder.path().join("log.db-segments").join(&segment.file);
    let metadata = std::fs::metadata(&file).unwrap();
    assert_eq!(metadata.len(), segment.bytes);
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777, 0o600);
    // Versions go on where they were, and the content of an archived blob may come again.
    let recorded = store.append(one(PROJECT, note("same ".repeat(1000)))).await.unwrap();
    let event = recorded.events()[0].decode_event().unwrap();
    assert_eq!(event.version, 1001);
    write(&store, 3001..=4000).await;
    let used = store.size_bytes();
    assert_eq!(archive_all(&store).await.segments.len(), 1);
    assert!(store.size_bytes() < used);
    assert_intact(&store).await;
    assert!(archive_all(&store).await.segments.is_empty(), "nothing is left to archive");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_too_large_is_archived_but_for_its_newest_events() {
    let (store, _folder) = fresh();
    write(&store, 1..=10_000).await;
    let request = |max_log_bytes| ArchiveRequest { max_log_bytes, ..before(0) };
    let outcome = store.archive_log(request(Some(u64::MAX))).await.unwrap();
    assert!(outcome.segments.is_empty());
    let few = ArchiveRequest { min_events: 4096, ..request(Some(1)) };
    assert!(store.archive_log(few).await.unwrap().segments.is_empty(), "too few for a file");
    let outcome = store.archive_log(request(Some(1))).await.unwrap();
    assert_eq!(outcome.segments.last().unwrap().last, 1536, "8192 events stay");
    assert_intact(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_sees_every_event_once_while_the_log_is_archived() {
    let (store, _folder) = fresh();
    write(&store, 1..=6000).await;
    let archive = tokio::spawn({
        let store = Arc::clone(&store);
        async move { archive_all(&store).await }
    });
    let mut rounds = 0;
    while !archive.is_finished() || rounds < 2 {
        rounds += 1;
        let dynamic = Arc::clone(&store) as Arc<dyn EventStore>;
        let mut tail = LogTail::new(dynamic, EventScope::All, LogCursor::START);
        let mut seen: Vec<Seq> = Vec::new();
        let mut prev = Hash::ZERO;
        loop {
            let events = tail.next_available().await.unwrap();
            if events.is_empty() {
                break;
            }
            for event in events {
                assert_eq!(event.prev, prev);
                prev = event.hash;
                seen.push(event.seq);
            }
        }
        assert!(seen.iter().copied().eq(1..=seen.len() as u64));
        assert!(seen.len() >= 6000);
    }
    assert_eq!(archive.await.unwrap().segments.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_was_changed_is_not_archived() {
    let (store, folder) = fresh();
    write(&store, 1..=1200).await;
    drop(store);
    let db = Connection::open(folder.path().join("log.db")).unwrap();
    db.execute_batch(
        "DROP TRIGGER events_stay; UPDATE events SET record = x'7b7d' WHERE seq = 700",
    )
    .unwrap();
    drop(db);
    let store = open(folder.path());
    let error = store.archive_log(before(UnixMicros::MAX)).await.unwrap_err();
    assert!(matches!(&error, StoreError::Damaged(why) if why.contains("event 700")), "{error}");
    assert_eq!(count(folder.path(), "SELECT count(*) FROM events"), 1200);
    assert_eq!(
        store.append(one(Stream::Sys, note("goes on"))).await.unwrap().events()[0].seq,
        1201
    );
}
