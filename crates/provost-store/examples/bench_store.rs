//! The log's benchmark: every figure is a ratio to a bare operation measured in
//! the same run, interleaved with it, so that the machine's noise hits both.
//!
//! `cargo xtask bench store`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails loudly"
)]
#![expect(clippy::cast_precision_loss, reason = "figures for people have few digits")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_core::chain::{self, Record};
use provost_core::fold::World;
use provost_proto::{Actor, Fact, Hash, Stream, TokenClass};
use provost_store::{
    Append, Clock, Durability, NewEvent, Scope, Sqlite, Store, StoreOptions, Tail,
};
use rusqlite::{Connection, params};

const ROUNDS: usize = 5;
const BATCH: usize = 64;
const WRITERS: usize = 64;

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap();
    durable_appends(&runtime);
    cost_of_one(&runtime);
    replay(&runtime);
}

fn store(folder: &Path) -> Arc<Sqlite> {
    let options = StoreOptions { path: folder.join("log.db"), clock: Clock::system() };
    Arc::new(Sqlite::open(options).unwrap())
}

/// An event of the size of most: it touches no view.
fn plain() -> Fact {
    Fact::DaemonStopped { reason: "x".repeat(100) }
}

/// An event that is folded into a view.
fn folded(clock: &Clock) -> Fact {
    Fact::TokenCreated {
        token: clock.id(),
        class: TokenClass::Viewer,
        project: None,
        role: None,
        holder: None,
        label: "a label".to_owned(),
        digest: Hash::ZERO,
        expires_at: None,
    }
}

fn one(fact: Fact, durability: Durability) -> Append {
    Append { durability, ..Append::one("local:ann", Actor::Cli, Stream::Sys, fact) }
}

/// The same table, index, row size and settings, with nothing of ours.
fn bare(folder: &Path, synchronous: &str) -> Connection {
    let db = Connection::open(folder.join("bare.db")).unwrap();
    db.pragma_update(None, "journal_mode", "WAL").unwrap();
    db.pragma_update(None, "wal_autocheckpoint", 2000).unwrap();
    db.pragma_update(None, "synchronous", synchronous).unwrap();
    db.execute_batch(
        "CREATE TABLE events (seq INTEGER PRIMARY KEY, stream INTEGER NOT NULL, hash BLOB NOT NULL,
            record BLOB NOT NULL);
         CREATE INDEX events_of_stream ON events (stream);",
    )
    .unwrap();
    db
}

fn insert(db: &Connection, rows: usize, record: &[u8]) {
    let step = db.unchecked_transaction().unwrap();
    for _ in 0..rows {
        db.prepare_cached("INSERT INTO events (stream, hash, record) VALUES (?1, ?2, ?3)")
            .unwrap()
            .execute(params![1, [7_u8; 32], record])
            .unwrap();
    }
    step.commit().unwrap();
}

fn record_size(runtime: &tokio::runtime::Runtime, fact: Fact) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let appended = runtime.block_on(store.append(one(fact, Durability::Process))).unwrap();
    appended.events()[0].record().len()
}

fn durable_appends(runtime: &tokio::runtime::Runtime) {
    const EACH: usize = 300;
    let record = vec![b'x'; record_size(runtime, plain())];
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let folder = tempfile::tempdir().unwrap();
        let db = bare(folder.path(), "FULL");
        let began = Instant::now();
        for _ in 0..EACH {
            insert(&db, BATCH, &record);
        }
        let raw = per_second(EACH * BATCH, began.elapsed());

        let store = store(folder.path());
        let began = Instant::now();
        runtime.block_on(async {
            let writers: Vec<_> = (0..WRITERS)
                .map(|_| {
                    let store = Arc::clone(&store);
                    tokio::spawn(async move {
                        for _ in 0..EACH {
                            store.append(one(plain(), Durability::Power)).await.unwrap();
                        }
                    })
                })
                .collect();
            for writer in writers {
                writer.await.unwrap();
            }
        });
        let ours = per_second(EACH * WRITERS, began.elapsed());
        println!("  raw {raw:>9.0} rows/s   log {ours:>9.0} events/s   {:.2}", ours / raw);
        ratios.push(ours / raw);
    }
    verdict("64 durable writers / raw batches of 64", median(ratios), &Bound::AtLeast(0.30));
}

/// CPU, not wall time, of the whole process, per event; batches of 64, so that
/// neither side waits for the disk.
fn cost_of_one(runtime: &tokio::runtime::Runtime) {
    const BATCHES: usize = 300;
    let clock = Clock::system();
    for (what, fact) in [
        ("an event", (|_: &Clock| plain()) as fn(&Clock) -> Fact),
        ("an event folded into a view", folded),
    ] {
        let record = vec![b'x'; record_size(runtime, fact(&clock))];
        let mut ratios = Vec::new();
        for _ in 0..ROUNDS {
            let folder = tempfile::tempdir().unwrap();
            let db = bare(folder.path(), "NORMAL");
            let before = cpu();
            for _ in 0..BATCHES {
                insert(&db, BATCH, &record);
            }
            let raw = cpu().saturating_sub(before);

            let store = store(folder.path());
            let before = cpu();
            for _ in 0..BATCHES {
                let events = (0..BATCH)
                    .map(|_| NewEvent { stream: Stream::Sys, fact: fact(&clock), cause: None })
                    .collect();
                let append = Append { events, ..one(plain(), Durability::Process) };
                runtime.block_on(store.append(append)).unwrap();
            }
            let ours = cpu().saturating_sub(before);
            let each = |time: Duration| time.as_secs_f64() * 1e6 / (BATCHES * BATCH) as f64;
            println!("  INSERT {:>6.2} µs   {what} {:>6.2} µs", each(raw), each(ours));
            ratios.push(ours.as_secs_f64() / raw.as_secs_f64());
        }
        verdict(&format!("CPU of {what} / bare INSERT"), median(ratios), &Bound::AtMost(3.0));
    }
}

fn replay(runtime: &tokio::runtime::Runtime) {
    const EVENTS: usize = 1_000_000;
    const CHUNK: usize = 1000;
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let clock = Clock::system();
    let revoked = clock.id();
    for _ in 0..EVENTS / CHUNK {
        // One in ten touches a view, always the same few documents: memory must
        // not grow with the log.
        let fact = |n| match n % 10 {
            0 => Fact::TokenRevoked { token: revoked },
            _ => plain(),
        };
        let events =
            (0..CHUNK).map(|n| NewEvent { stream: Stream::Sys, fact: fact(n), cause: None });
        let append = Append { events: events.collect(), ..one(plain(), Durability::Process) };
        runtime.block_on(store.append(append)).unwrap();
    }
    let before = resident();
    let began = Instant::now();
    let report = runtime.block_on(store.verify()).unwrap();
    assert_eq!((report.events, report.bad), (EVENTS as u64, None));
    let verified = per_second(EVENTS, began.elapsed());
    println!("  verify: {verified:.0} events/s");

    let began = Instant::now();
    let views = runtime.block_on(async {
        let mut tail = Tail::new(Arc::clone(&store) as Arc<dyn Store>, Scope::All, 0);
        let (mut world, mut prev, mut seen) = (World::default(), Hash::ZERO, 0);
        while seen < EVENTS {
            for event in tail.next().await.unwrap() {
                prev = chain::link(&prev, event.record());
                assert_eq!(prev, event.hash);
                let read = Record::read(event.record()).unwrap().into_event(event.prev, prev);
                world.apply(&read);
                seen += 1;
            }
        }
        world
    });
    let rate = per_second(EVENTS, began.elapsed());
    let grown = resident().saturating_sub(before) / 1024;
    println!("  verify and fold: {rate:.0} events/s, memory grew by {grown} KiB");
    drop(views);
    verdict("replayed events/s (verified and folded)", rate, &Bound::AtLeast(50_000.0));
    verdict("KiB grown while replaying a million", grown as f64, &Bound::AtMost(16_384.0));
}

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

fn verdict(what: &str, value: f64, bound: &Bound) {
    let (holds, sign, limit) = match *bound {
        Bound::AtLeast(limit) => (value >= limit, "≥", limit),
        Bound::AtMost(limit) => (value <= limit, "≤", limit),
    };
    let word = if holds { "holds" } else { "MISSED" };
    println!("{word}: {what} = {value:.2} (promised {sign} {limit})\n");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn per_second(n: usize, time: Duration) -> f64 {
    n as f64 / time.as_secs_f64()
}

/// CPU time of this process.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// Bytes of memory this process holds.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}
