//! Following: no gap, no duplicate, however slow the reader is.

use std::sync::Arc;
use std::time::Duration;

use provost_proto::{LogCursor, Seq, Stream};
use provost_store::{
    AppendRequest, Clock, Durability, EventScope, EventStore, LogTail, SqliteStore,
};
use tokio::time::timeout;

use super::{fresh, note, one};

/// Long enough for any machine; only a test that fails waits for it.
const LONG: Duration = Duration::from_mins(1);

async fn follow(store: &Arc<SqliteStore>, scope: EventScope, after: Seq, until: Seq) -> Vec<Seq> {
    let after = LogCursor::from_seq(after);
    let mut tail = LogTail::new(Arc::clone(store) as Arc<dyn EventStore>, scope, after);
    let mut seen = Vec::new();
    while seen.last() != Some(&until) {
        let events = timeout(LONG, tail.next()).await.unwrap().unwrap();
        seen.extend(events.iter().map(|event| event.seq));
        tokio::task::yield_now().await;
    }
    seen
}

async fn write(store: &SqliteStore, stream: Stream, n: u64) {
    for i in 0..n {
        let append = one(stream, note(i));
        store.append(AppendRequest { durability: Durability::Buffered, ..append }).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_from_anywhere_see_every_event_once_and_in_order() {
    const EVENTS: u64 = 10_000;
    let (store, _folder) = fresh();
    // More than the window in memory, so that readers start on disk.
    write(&store, Stream::Sys, EVENTS / 2).await;
    let readers: Vec<_> = [0, 1, 17, 499, 512, 4_000, 4_999, 5_000]
        .map(|after| {
            let store = Arc::clone(&store);
            tokio::spawn(
                async move { (after, follow(&store, EventScope::All, after, EVENTS).await) },
            )
        })
        .into();
    write(&store, Stream::Sys, EVENTS / 2).await;
    for reader in readers {
        let (after, seen) = reader.await.unwrap();
        assert_eq!(seen, (after + 1..=EVENTS).collect::<Vec<_>>(), "after {after}");
    }
}

/// Of every position around both ends of the log, in memory and on disk.
#[tokio::test]
async fn the_event_at_a_position_is_found_and_none_beyond_the_log() {
    // More than the window in memory.
    const EVENTS: u64 = 5_000;
    let (store, _folder) = fresh();
    assert_eq!((store.head(), store.is_beyond_head(store.head())), (LogCursor::START, false));
    assert!(store.read_event_at(LogCursor::START).await.unwrap().is_none());
    write(&store, Stream::Sys, EVENTS).await;
    let head = store.head();
    assert_eq!(head.events_since(LogCursor::START), EVENTS);
    for seq in [0, 1, 2, 17, EVENTS - 1, EVENTS, EVENTS + 1, Seq::MAX - 1, Seq::MAX] {
        let at = LogCursor::from_seq(seq);
        let found = store.read_event_at(at).await.unwrap().map(|event| event.cursor());
        let exists = (1..=EVENTS).contains(&seq);
        assert_eq!(found, exists.then_some(at), "{seq}");
        assert_eq!(store.is_beyond_head(at), seq > EVENTS, "{seq}");
        assert_eq!(head.has_reached(at), seq <= EVENTS, "{seq}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reader_of_one_stream_sees_that_stream_only() {
    let (store, _folder) = fresh();
    let mine = Stream::Project(Clock::system().new_id());
    let reader = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { follow(&store, EventScope::Stream(mine), 0, 9_000).await })
    };
    for _ in 0..9 {
        write(&store, Stream::Sys, 999).await;
        write(&store, mine, 1).await;
    }
    let expected: Vec<_> = (1..=9).map(|n| n * 1000).collect();
    assert_eq!(reader.await.unwrap(), expected);
    assert_eq!(follow(&store, EventScope::Stream(mine), 0, 9_000).await, expected, "from disk");
}

#[tokio::test]
async fn a_tail_that_is_dropped_while_it_waits_loses_nothing() {
    let (store, _folder) = fresh();
    write(&store, Stream::Sys, 1).await;
    let mut tail =
        LogTail::new(Arc::clone(&store) as Arc<dyn EventStore>, EventScope::All, LogCursor::START);
    assert_eq!(tail.next().await.unwrap().len(), 1);
    assert!(timeout(Duration::ZERO, tail.next()).await.is_err());
    write(&store, Stream::Sys, 1).await;
    assert_eq!(tail.next().await.unwrap()[0].seq, 2);
}
