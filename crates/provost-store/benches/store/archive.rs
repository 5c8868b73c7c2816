//! Archiving while somebody appends: events per second, the size of the files against what the
//! events had occupied in the database, and the longest wait of an append.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use provost_proto::{Actor, EventId, ProjectId, Stream, UnixMicros};
use provost_store::{
    AppendRequest, ArchiveRequest, Clock, Durability, EventStore, NewEvent, SqliteStore,
};

use super::{Bound, allowed, finished, new_ids, one, per_second, plain, print_result, requested};

const EVENTS: usize = 400_000;

/// The events of actions, in appends of 600.
const ACTIONS: usize = 200;

pub(super) fn run(runtime: &tokio::runtime::Runtime) {
    let folder = tempfile::tempdir().unwrap();
    let store = super::store(folder.path());
    fill(runtime, &store);
    let before = store.size_bytes();
    let request =
        ArchiveRequest { before: UnixMicros::MAX, ..ArchiveRequest::none("local:ann", Actor::Cli) };
    let done = Arc::new(AtomicBool::new(false));
    let (outcome, took, waits) = runtime.block_on(async {
        let appender = tokio::spawn(append_until(Arc::clone(&store), Arc::clone(&done)));
        let began = Instant::now();
        let outcome = store.archive_log(request).await.unwrap();
        let took = began.elapsed();
        done.store(true, Ordering::Relaxed);
        (outcome, took, appender.await.unwrap())
    });
    let n_events: u64 = outcome.segments.iter().map(|one| one.last + 1 - one.first).sum();
    let bytes: u64 = outcome.segments.iter().map(|one| one.bytes).sum();
    let left = before.saturating_sub(store.size_bytes());
    let began = Instant::now();
    let report = runtime.block_on(store.verify_log()).unwrap();
    assert_eq!((report.bad, report.views, report.database), (None, None, None));
    let verified = per_second(usize::try_from(report.events).unwrap(), began.elapsed());
    let longest = waits.iter().max().copied().unwrap_or_default();
    let mut sorted = waits.clone();
    sorted.sort();
    let p99 = sorted.get(sorted.len() * 99 / 100).copied().unwrap_or_default();
    println!(
        "  {n_events} events in {:.2} s, {} files of {bytes} bytes, {left} bytes less in the \
         database\n  {} appends meanwhile: p99 {:.1} ms; then verified at {verified:.0} events/s",
        took.as_secs_f64(),
        outcome.segments.len(),
        waits.len(),
        p99.as_secs_f64() * 1e3,
    );
    let rate = per_second(usize::try_from(n_events).unwrap(), took);
    print_result("archived events/s, while somebody appends", rate, &Bound::AtLeast(100_000.0));
    let ratio = bytes as f64 / left as f64;
    print_result("size of segments / size in the log", ratio, &Bound::AtMost(0.25));
    let longest = longest.as_secs_f64() * 1e3;
    print_result("longest wait of an append in ms", longest, &Bound::AtMost(50.0));
}

/// Writes actions: asked, allowed, finished.
fn fill(runtime: &tokio::runtime::Runtime, store: &SqliteStore) {
    let ids = new_ids();
    let project = ProjectId::new(ids());
    let stream = Stream::Project(project);
    for _ in 0..EVENTS / (3 * ACTIONS) {
        let facts = (0..ACTIONS).flat_map(|_| {
            let action = ids().into();
            [requested(project, action), allowed(action), finished(project, action)]
        });
        let cause = Some(EventId::new(Clock::system().new_id()));
        let events = facts.map(|fact| NewEvent { stream, fact, cause }).collect();
        let append = AppendRequest { events, ..one(plain(), Durability::Buffered) };
        runtime.block_on(store.append(append)).unwrap();
    }
}

/// Appends an event about every millisecond; how long each append took.
async fn append_until(store: Arc<SqliteStore>, done: Arc<AtomicBool>) -> Vec<Duration> {
    let mut waits = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let began = Instant::now();
        store.append(one(plain(), Durability::Buffered)).await.unwrap();
        waits.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    waits
}
