//! Appending: positions, idempotency, expected versions, concurrent writers.

use std::sync::Arc;

use provost_proto::{Hash, LogCursor, Stream};
use provost_store::{
    AppendOutcome, AppendRequest, Clock, Durability, EventScope, EventStore, Idempotency, NewEvent,
    StoreError,
};
use rusqlite::Connection;

use super::{append, events, fresh, note, one, open};

fn keyed(key: &str, request: u8, text: &str) -> AppendRequest {
    let command = Idempotency { key: key.to_owned(), request: Hash::new([request; 32]) };
    AppendRequest { command: Some(command), ..one(Stream::Sys, note(text)) }
}

#[tokio::test]
async fn events_get_their_place_in_the_log_and_in_their_stream() {
    let (store, _folder) = fresh();
    let project = Stream::Project(Clock::system().new_id());
    let mut places = Vec::new();
    for stream in [Stream::Sys, project, Stream::Sys, project] {
        let event = append(&store, one(stream, note("x"))).await.remove(0);
        places.push((event.seq, event.stream, event.version));
    }
    assert_eq!(
        places,
        [(1, Stream::Sys, 1), (2, project, 1), (3, Stream::Sys, 2), (4, project, 2)]
    );
}

#[tokio::test]
async fn many_wait_for_the_disk_at_once_and_the_end_of_the_log_ends_their_wait() {
    let (store, _folder) = fresh();
    append(&store, one(Stream::Sys, note("x"))).await;
    let waits: Vec<_> = (0..3000).map(|_| store.sync_all()).collect();
    for wait in waits {
        wait.await.unwrap();
    }
    let waits: Vec<_> = (0..3000).map(|_| store.sync_all()).collect();
    drop(store);
    for wait in waits {
        let written = wait.await;
        assert!(matches!(written, Ok(()) | Err(StoreError::Closed)), "{written:?}");
    }
}

fn quick(n: usize) -> AppendRequest {
    AppendRequest { durability: Durability::Buffered, ..one(Stream::Sys, note(n)) }
}

#[tokio::test]
async fn an_append_that_nobody_waits_for_is_written_all_the_same() {
    let (store, _folder) = fresh();
    drop(store.append(quick(1)));
    assert_eq!(store.watch_head().borrow().seq(), 1, "never waited for");
    let mut begun = Box::pin(store.append(quick(2)));
    assert!(futures::poll!(&mut begun).is_pending());
    drop(begun);
    assert_eq!(store.watch_head().borrow().seq(), 2, "given up in the midst");
    let forgotten = store.append(quick(3));
    store.append(quick(4)).await.unwrap();
    assert_eq!(store.watch_head().borrow().seq(), 4, "whoever writes does it for all");
    assert_eq!(forgotten.await.unwrap().events()[0].seq, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_another_program_has_the_log_locked_all_wait_together_and_are_told() {
    let (store, folder) = fresh();
    append(&store, one(Stream::Sys, note("first"))).await;
    let db = Connection::open(folder.path().join("log.db")).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = std::time::Instant::now();
    let refused = futures::future::join_all((0..32).map(|n| store.append(quick(n)))).await;
    for answer in refused {
        assert!(matches!(answer, Err(StoreError::Locked)), "{answer:?}");
    }
    // Sequentially, it would take minutes.
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    db.execute_batch("ROLLBACK").unwrap();
    assert!(store.append(quick(9)).await.is_ok());
}

#[tokio::test]
async fn appends_that_come_together_are_one_commit() {
    let (store, folder) = fresh();
    append(&store, one(Stream::Sys, note("first"))).await;
    let db = Connection::open(folder.path().join("log.db")).unwrap();
    let frames =
        || -> i64 { db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1)).unwrap() };
    let before = frames();
    let appended = futures::future::join_all((0..32).map(|n| store.append(quick(n)))).await;
    assert!(appended.iter().all(Result::is_ok));
    let written = frames() - before;
    assert!(written < 32, "{written} pages for 32 appends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_caller_appends_without_waiting_comes_in_its_order_however_sure_it_must_be() {
    let (store, _folder) = fresh();
    let sure = |n: usize| if n % 7 == 3 { Durability::Synced } else { Durability::Buffered };
    for round in 0..20 {
        let append = |n| AppendRequest { durability: sure(n), ..one(Stream::Sys, note(n)) };
        let appends: Vec<_> = (0..=round).map(|n| store.append(append(n))).collect();
        let mut seqs = Vec::new();
        for append in appends {
            seqs.push(append.await.unwrap().events()[0].seq);
        }
        assert!(seqs.is_sorted(), "{seqs:?}");
    }
    assert!(store.verify_log().await.unwrap().bad.is_none());
}

#[tokio::test]
async fn a_file_that_another_program_has_locked_keeps_only_its_appends_waiting() {
    let (store, folder) = fresh();
    let calm = || AppendRequest { durability: Durability::Buffered, ..one(Stream::Sys, note("x")) };
    append(&store, calm()).await;
    let other = Connection::open(folder.path().join("log.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // On this one thread: if it were written here, nobody could end the other transaction.
    let waits = store.append(calm());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(waits.await.unwrap().events()[0].seq, 2);
}

#[tokio::test]
async fn each_event_carries_the_hash_of_the_one_before() {
    let (store, _folder) = fresh();
    let mut prev = Hash::ZERO;
    for n in 0..5 {
        let event = append(&store, one(Stream::Sys, note(n))).await.remove(0);
        assert_eq!(event.prev, prev);
        prev = event.hash;
    }
    assert_eq!(store.verify_log().await.unwrap().head, prev);
}

#[tokio::test]
async fn the_log_goes_on_where_it_was_after_it_was_closed() {
    let (store, folder) = fresh();
    let first = append(&store, one(Stream::Sys, note(1))).await.remove(0);
    drop(store);
    let store = open(folder.path());
    let second = append(&store, one(Stream::Sys, note(2))).await.remove(0);
    assert_eq!((second.seq, second.version, second.prev), (2, 2, first.hash));
    assert!(second.at >= first.at, "time ran backwards");
}

#[tokio::test]
async fn a_command_sent_twice_happens_once() {
    let (store, _folder) = fresh();
    let first = store.append(keyed("k", 1, "once")).await.unwrap();
    let again = store.append(keyed("k", 1, "once")).await.unwrap();
    assert!(matches!(first, AppendOutcome::Appended(_)));
    assert!(matches!(again, AppendOutcome::Replayed(_)));
    assert_eq!(events(&first), events(&again));
    assert_eq!(store.watch_head().borrow().seq(), 1);
}

#[tokio::test]
async fn a_command_sent_many_times_at_once_happens_once() {
    let (store, _folder) = fresh();
    let sent: Vec<_> = (0..32)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.append(keyed("k", 1, "once")).await.unwrap() })
        })
        .collect();
    let mut n_fresh = 0;
    for answer in sent {
        n_fresh += usize::from(matches!(answer.await.unwrap(), AppendOutcome::Appended(_)));
    }
    assert_eq!((n_fresh, store.watch_head().borrow().seq()), (1, 1));
}

#[tokio::test]
async fn a_key_used_for_another_request_is_refused_and_writes_nothing() {
    let (store, _folder) = fresh();
    store.append(keyed("k", 1, "once")).await.unwrap();
    let error = store.append(keyed("k", 2, "other")).await.unwrap_err();
    assert!(matches!(error, StoreError::CommandReused(_)), "{error}");
    assert_eq!(store.watch_head().borrow().seq(), 1);
}

#[tokio::test]
async fn the_same_key_of_two_principals_is_two_commands() {
    let (store, _folder) = fresh();
    store.append(keyed("k", 1, "mine")).await.unwrap();
    let other = AppendRequest { principal: "local:bob".to_owned(), ..keyed("k", 2, "his") };
    assert!(matches!(store.append(other).await.unwrap(), AppendOutcome::Appended(_)));
}

#[tokio::test]
async fn of_many_who_expect_the_same_version_one_wins_and_nothing_else_is_written() {
    let (store, _folder) = fresh();
    append(&store, one(Stream::Sys, note("first"))).await;
    let sent: Vec<_> = (0..32)
        .map(|n| {
            let store = Arc::clone(&store);
            let expect = vec![(Stream::Sys, 1)];
            let append = AppendRequest { expect, ..one(Stream::Sys, note(n)) };
            tokio::spawn(async move { store.append(append).await })
        })
        .collect();
    let mut n_won = 0;
    for answer in sent {
        match answer.await.unwrap() {
            Ok(_) => n_won += 1,
            Err(error) => assert!(
                matches!(error, StoreError::Conflict { expected: 1, actual: 2, .. }),
                "{error}"
            ),
        }
    }
    assert_eq!((n_won, store.watch_head().borrow().seq()), (1, 2));
}

#[tokio::test]
async fn events_that_belong_together_stand_together() {
    let (store, _folder) = fresh();
    let writers: Vec<_> = (0..16)
        .map(|n| {
            let store = Arc::clone(&store);
            let event = |part| NewEvent {
                stream: Stream::Sys,
                fact: note(format!("{n}.{part}")),
                cause: None,
            };
            let events = vec![event(0), event(1), event(2)];
            let append = AppendRequest { events, ..one(Stream::Sys, note("")) };
            tokio::spawn(async move { store.append(append).await.unwrap() })
        })
        .collect();
    for writer in writers {
        let seqs: Vec<_> = writer.await.unwrap().events().iter().map(|e| e.seq).collect();
        assert!(seqs.windows(2).all(|pair| pair[1] == pair[0] + 1), "{seqs:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_writers_leave_a_log_without_gaps() {
    const EACH: u64 = 20;
    let (store, _folder) = fresh();
    let writers: Vec<_> = (0..64)
        .map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for i in 0..EACH {
                    store.append(one(Stream::Sys, note(format!("{n}.{i}")))).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let page = store.read_events(EventScope::All, LogCursor::START, usize::MAX).await.unwrap();
    let seqs: Vec<_> = page.events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=64 * EACH).collect::<Vec<_>>());
    assert_eq!(store.verify_log().await.unwrap().bad, None);
}

#[tokio::test]
async fn an_event_is_found_by_its_version_in_its_stream() {
    let (store, _folder) = fresh();
    let stream = || Stream::Session(Clock::system().new_id());
    let (ours, other, nobody) = (stream(), stream(), stream());
    for n in 0..10 {
        for stream in [ours, other] {
            append(&store, one(stream, note(n))).await;
        }
    }
    for version in 1..=10 {
        let found = store.find_stream_event(ours, version).await.unwrap().unwrap();
        let event = found.decode_event().unwrap();
        assert_eq!((event.stream, event.version), (ours, version));
    }
    for version in [0, 11, u64::MAX] {
        assert!(store.find_stream_event(ours, version).await.unwrap().is_none(), "{version}");
    }
    assert!(store.find_stream_event(nobody, 1).await.unwrap().is_none());
}
