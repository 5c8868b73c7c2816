//! Searching: what a search finds is what reading everything finds.

use std::sync::Arc;

use provost_proto::{Actor, LogCursor, ProjectId, Seq, Stream};
use provost_store::{
    AppendRequest, ArchiveRequest, Durability, EventFilter, EventQuery, EventScope, EventStore,
    LogTail, SearchFrom, SqliteStore,
};

use super::{fresh, note, one, open, opened};

const PROJECT: Stream = Stream::Project(provost_proto::ProjectId::new(uuid::Uuid::from_u128(5)));

/// More than two blocks that are indexed, and some that are not.
const EVENTS: u64 = 1500;

async fn write(store: &SqliteStore) {
    for number in 1..=EVENTS {
        let text = match number {
            700 => "a RARE Word \"quoted\"".to_owned(),
            // Stored as a blob.
            900 => format!("{}needle", "x".repeat(8000)),
            _ => format!("number {number}"),
        };
        let stream = if number % 3 == 0 { PROJECT } else { Stream::Sys };
        let actor = if number % 500 == 0 { Actor::Daemon } else { Actor::Cli };
        let append = AppendRequest { actor, ..one(stream, note(text)) };
        let append = AppendRequest { durability: Durability::Buffered, ..append };
        store.append(append).await.unwrap();
    }
}

async fn search_all(
    store: &SqliteStore,
    scope: EventScope,
    forward: bool,
    limit: usize,
    filter: &EventFilter,
) -> Vec<Seq> {
    let mut cursor = if forward { LogCursor::START } else { LogCursor::END };
    let mut found = Vec::new();
    loop {
        let from = if forward { SearchFrom::After(cursor) } else { SearchFrom::Before(cursor) };
        let query = EventQuery { scope, from, limit, filter: filter.clone() };
        let page = store.search_events(query).await.unwrap();
        assert!(page.events.len() <= limit);
        found.extend(page.events.iter().map(|event| event.seq));
        match page.next {
            Some(next) => cursor = next,
            None => return found,
        }
    }
}

async fn check(store: &SqliteStore, filter: EventFilter, scope: EventScope, expected: &[Seq]) {
    for limit in [1, 7, 1000] {
        if expected.len() > 100 && limit == 1 {
            continue;
        }
        let found = search_all(store, scope, true, limit, &filter).await;
        assert_eq!(found, expected, "{filter:?}");
        let mut found = search_all(store, scope, false, limit, &filter).await;
        found.reverse();
        assert_eq!(found, expected, "{filter:?}, newest first");
    }
}

async fn check_all(store: &SqliteStore) {
    let words = |text: &str| EventFilter {
        words: EventFilter::split_words(text),
        ..EventFilter::default()
    };
    let every: Vec<Seq> = (1..=EVENTS).collect();
    let of_project: Vec<Seq> = every.iter().copied().filter(|seq| seq % 3 == 0).collect();
    check(store, EventFilter::default(), EventScope::All, &every).await;
    check(store, EventFilter::default(), EventScope::Stream(PROJECT), &of_project).await;
    check(store, words("rare word"), EventScope::All, &[700]).await;
    check(store, words("WORD \"quoted\""), EventScope::All, &[700]).await;
    check(store, words("needle"), EventScope::All, &[900]).await;
    check(store, words("needle"), EventScope::Stream(PROJECT), &[900]).await;
    check(store, words("absent-text"), EventScope::All, &[]).await;
    check(store, words("#700"), EventScope::All, &[700]).await;
    let daemon = EventFilter { actors: vec![Actor::Daemon], ..EventFilter::default() };
    check(store, daemon, EventScope::All, &[500, 1000, 1500]).await;
    let kinds = EventFilter { kinds: vec!["TOKEN_CREATED".to_owned()], ..EventFilter::default() };
    check(store, kinds, EventScope::All, &[]).await;
    let any_of = vec!["needle".to_owned(), "rare".to_owned()];
    check(store, EventFilter { any_of, ..EventFilter::default() }, EventScope::All, &[700, 900])
        .await;
}

#[tokio::test]
async fn a_search_from_a_position_begins_with_its_event() {
    let (store, _folder) = fresh();
    write(&store).await;
    let rare = EventFilter { words: vec!["rare".to_owned()], ..EventFilter::default() };
    let none = EventFilter::default;
    for (at, filter, expected) in [
        (0, none(), Some(1)),
        (1, none(), Some(1)),
        (512, none(), Some(512)),
        (513, none(), Some(513)),
        (EVENTS, none(), Some(EVENTS)),
        (EVENTS + 1, none(), None),
        (Seq::MAX, none(), None),
        (1, rare.clone(), Some(700)),
        (700, rare.clone(), Some(700)),
        (701, rare, None),
    ] {
        let from = SearchFrom::At(LogCursor::from_seq(at));
        let query = EventQuery { scope: EventScope::All, from, limit: 1, filter };
        let page = store.search_events(query).await.unwrap();
        assert_eq!(page.events.first().map(|event| event.seq), expected, "{at}");
    }
}

/// The size of the file with the signatures.
fn index_size(folder: &std::path::Path) -> u64 {
    std::fs::metadata(folder.join("log.db-search")).map_or(0, |file| file.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_finds_what_reading_everything_finds_indexed_or_not() {
    let (store, folder) = fresh();
    write(&store).await;
    check_all(&store).await;
    drop(store);
    // Whatever the index has when the log is opened again, and whatever is wrong with it.
    for damage in [None, Some(0), Some(40_000)] {
        if let Some(length) = damage {
            let file = std::fs::OpenOptions::new()
                .write(true)
                .open(folder.path().join("log.db-search"))
                .unwrap();
            file.set_len(length).unwrap();
        }
        let store = open(folder.path());
        check_all(&store).await;
        while index_size(folder.path()) < 2 * (32 * 1024 + 32) {
            tokio::task::yield_now().await;
        }
        check_all(&store).await;
        drop(store);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_of_another_log_is_written_anew() {
    let (other, others_folder) = fresh();
    for number in 0..1100 {
        let append = one(Stream::Sys, note(format!("other {number}")));
        other.append(AppendRequest { durability: Durability::Buffered, ..append }).await.unwrap();
    }
    while index_size(others_folder.path()) < 2 * (32 * 1024 + 32) {
        tokio::task::yield_now().await;
    }
    drop(other);
    let (store, folder) = fresh();
    write(&store).await;
    drop(store);
    let name = "log.db-search";
    std::fs::copy(others_folder.path().join(name), folder.path().join(name)).unwrap();
    let store = open(folder.path());
    check_all(&store).await;
    let _shared: Arc<SqliteStore> = store;
}

#[tokio::test]
async fn times_limit_a_search() {
    let (store, _folder) = fresh();
    write(&store).await;
    let all = store.read_events(EventScope::All, LogCursor::START, 2000).await.unwrap().events;
    let at = |seq: usize| all[seq - 1].decode_event().unwrap().at;
    let (since, until) = (Some(at(100)), Some(at(200)));
    let filter = EventFilter { since, until, ..EventFilter::default() };
    let expected: Vec<Seq> = (100..200).collect();
    check(&store, filter, EventScope::All, &expected).await;
}

/// A log in which every seventh event of the daemon names a project, and every third one is in its
/// stream.
async fn write_named(store: &SqliteStore, project: ProjectId) -> Vec<Seq> {
    let mut expected = Vec::new();
    for number in 1..=EVENTS {
        let (stream, fact) = match (number % 3 == 0, number % 7 == 0) {
            (true, _) => (PROJECT, note(number)),
            (false, true) => (Stream::Sys, opened(project, "app")),
            (false, false) => (Stream::Sys, opened(ProjectId::new(uuid::Uuid::from_u128(6)), "b")),
        };
        if number % 3 == 0 || number % 7 == 0 {
            expected.push(number);
        }
        let append = AppendRequest { durability: Durability::Buffered, ..one(stream, fact) };
        store.append(append).await.unwrap();
    }
    expected
}

async fn follow_all(store: &Arc<SqliteStore>, scope: EventScope) -> Vec<Seq> {
    let log: Arc<dyn EventStore> = Arc::<SqliteStore>::clone(store);
    let mut tail = LogTail::new(log, scope, LogCursor::START);
    let mut found = Vec::new();
    loop {
        let events = tail.next_available().await.unwrap();
        if events.is_empty() {
            return found;
        }
        found.extend(events.iter().map(|event| event.seq));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_events_of_a_project_are_those_of_its_stream_and_those_that_name_it() {
    let (store, folder) = fresh();
    let project = ProjectId::new(uuid::Uuid::from_u128(5));
    let expected = write_named(&store, project).await;
    let scope = EventScope::Project(project);
    // From memory, then from disk, then from segments, and after a rebuild.
    assert_eq!(follow_all(&store, scope).await, expected);
    drop(store);
    let store = open(folder.path());
    let words = EventFilter { words: vec!["DAEMON_STOPPED".to_owned()], ..EventFilter::default() };
    let stopped: Vec<Seq> = expected.iter().copied().filter(|seq| seq % 3 == 0).collect();
    for archived in [false, true] {
        if archived {
            let all = ArchiveRequest {
                before: u64::MAX,
                ..ArchiveRequest::none("local:ann", Actor::Cli)
            };
            store.archive_log(all).await.unwrap();
            assert!(!store.list_segments().await.unwrap().is_empty());
            store.rebuild_views().await.unwrap();
        }
        assert_eq!(follow_all(&store, scope).await, expected, "archived: {archived}");
        check(&store, EventFilter::default(), scope, &expected).await;
        check(&store, words.clone(), scope, &stopped).await;
        let report = store.verify_log().await.unwrap();
        assert_eq!((report.bad, report.views, report.database), (None, None, None));
    }
}

#[tokio::test]
async fn a_wrong_index_of_projects_is_named_and_a_rebuild_repairs_it() {
    for damage in [
        "DELETE FROM project_events WHERE seq = 7",
        "UPDATE project_events SET seq = 8 WHERE seq = 7",
    ] {
        let (store, folder) = fresh();
        write_named(&store, ProjectId::new(uuid::Uuid::from_u128(5))).await;
        let db = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
        db.execute(damage, []).unwrap();
        drop(db);
        let why = store.verify_log().await.unwrap().database.unwrap();
        assert!(why.contains("the index of projects is wrong about event"), "{why}");
        store.rebuild_views().await.unwrap();
        assert_eq!(store.verify_log().await.unwrap().database, None);
    }
}
