//! Benchmark of the log: every figure is a ratio to a bare operation measured in the same run,
//! interleaved with it, so that the noise of the machine affects both.
//!
//! `cargo xtask bench store`, or `cargo xtask bench store cost` for that part only.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails loudly"
)]
#![expect(clippy::cast_precision_loss, reason = "figures for people have few digits")]

mod archive;

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_core::fold::MemoryViews;
use provost_core::hash_chain::{self, EventRecord};
use provost_proto::kernel::ActionOutcome;
use provost_proto::{ActionId, Actor, Fact, Hash, LogCursor, ProjectId, Stream};
use provost_store::{
    AppendRequest, Clock, Durability, EventScope, EventStore, LogTail, NewEvent, SqliteStore,
    StoreOptions,
};
use rusqlite::{Connection, params};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 5;
const BATCH: usize = 64;
const WRITERS: usize = 64;

/// The arguments, without the one that `cargo bench` adds.
fn args() -> impl Iterator<Item = String> {
    std::env::args().skip(1).filter(|arg| arg != "--bench")
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap();
    let only = args().next();
    let wanted = |part: &str| only.as_ref().is_none_or(|only| only == part);
    if wanted("durable") {
        durable_appends(&runtime);
    }
    if wanted("cost") {
        cost_of_one(&runtime, 1);
    }
    if wanted("groups") {
        for tasks in [4, 16, WRITERS] {
            cost_of_one(&runtime, tasks);
        }
    }
    if wanted("replay") {
        replay(&runtime);
    }
    if wanted("archive") {
        archive::run(&runtime);
    }
}

fn store(folder: &Path) -> Arc<SqliteStore> {
    let options = StoreOptions { path: folder.join("log.db"), clock: Clock::system() };
    Arc::new(SqliteStore::open(options).unwrap())
}

/// An event of typical size that changes no view.
fn plain() -> Fact {
    Fact::DaemonStopped { reason: "x".repeat(100) }
}

/// The events of an action that reads a file: the first two in one append, which creates a
/// document, the last when it has ended.
fn requested(project: ProjectId, action: ActionId) -> Fact {
    Fact::ActionRequested {
        action,
        project,
        name: "fs.readFile".to_owned(),
        params: serde_json::json!({ "path": "src/main.rs" }),
        what: "Read src/main.rs".to_owned(),
        action_hash: Hash::ZERO,
        role: None,
        session: None,
    }
}

fn allowed(action: ActionId) -> Fact {
    Fact::ActionAllowed { action, by: "operator".to_owned(), why: None, profile: None }
}

fn finished(project: ProjectId, action: ActionId) -> Fact {
    let summary = serde_json::json!({ "changed": null });
    let outcome =
        ActionOutcome { exit_code: None, signal: None, duration_ms: 3, fault: None, summary };
    Fact::ActionFinished { action, project, report: None, outcome }
}

fn one(fact: Fact, durability: Durability) -> AppendRequest {
    AppendRequest {
        durability,
        ..AppendRequest::single_event("local:ann", Actor::Cli, Stream::Sys, fact)
    }
}

/// The same table, index, row size and settings, without our code.
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

/// The sizes of the records of these appends.
fn record_sizes(runtime: &tokio::runtime::Runtime, appends: Vec<AppendRequest>) -> Vec<usize> {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let mut sizes = Vec::new();
    for append in appends {
        let appended = runtime.block_on(store.append(append)).unwrap();
        sizes.extend(appended.events().iter().map(|event| event.record_bytes().len()));
    }
    sizes
}

fn durable_appends(runtime: &tokio::runtime::Runtime) {
    const EACH: usize = 300;
    let sizes = record_sizes(runtime, vec![one(plain(), Durability::Synced)]);
    let record = vec![b'x'; sizes[0]];
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
                            store.append(one(plain(), Durability::Synced)).await.unwrap();
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
    print_result("64 durable writers / raw batches of 64", median(ratios), &Bound::AtLeast(0.30));
}

/// The load of a benchmark: how many turns, by how many tasks.
struct Load {
    what: &'static str,
    bound: Bound,
    /// The appends of one task in its n-th turn, in order.
    turn: Box<dyn Fn(usize) -> Vec<AppendRequest>>,
}

/// Ids as if 50 000 were created per second: UUIDv7 are nearly in order of time.
fn new_ids() -> impl Fn() -> uuid::Uuid {
    let at = Cell::new(Clock::system().now());
    move || {
        let now = at.replace(at.get() + 20);
        Clock::from_fn(move || now).new_id()
    }
}

fn loads() -> [Load; 5] {
    let ids = Rc::new(new_ids());
    let project = ProjectId::new(ids());
    let projects: Vec<ProjectId> = (0..16).map(|_| ids().into()).collect();
    let append = move |facts: Vec<Fact>| {
        let stream = Stream::Project(project);
        let events = facts.into_iter().map(|fact| NewEvent { stream, fact, cause: None });
        AppendRequest { events: events.collect(), ..one(plain(), Durability::Buffered) }
    };
    let opened = move |n: usize| Fact::ProjectOpened {
        project: projects[n % projects.len()],
        name: "app".to_owned(),
        slug: "app".to_owned(),
        path: "/home/ann/src/app".to_owned(),
    };
    let (first, second, third) = (Rc::clone(&ids), Rc::clone(&ids), ids);
    [
        Load {
            what: "an event",
            bound: Bound::AtMost(3.0),
            turn: Box::new(move |_| vec![append(vec![plain()])]),
        },
        Load {
            what: "an event folded into one of 16 documents",
            bound: Bound::AtMost(3.0),
            turn: Box::new(move |n| vec![append(vec![opened(n)])]),
        },
        Load {
            what: "an event of an action: asked and allowed, then finished",
            bound: Bound::AtMost(3.0),
            turn: Box::new(move |_| {
                let action = ActionId::new(first());
                let asked = vec![requested(project, action), allowed(action)];
                vec![append(asked), append(vec![finished(project, action)])]
            }),
        },
        Load {
            what: "an event of a new action: asked and allowed",
            bound: Bound::AtMost(3.0),
            turn: Box::new(move |_| {
                let action = ActionId::new(second());
                vec![append(vec![requested(project, action), allowed(action)])]
            }),
        },
        Load {
            what: "an event that makes a document and is all that is ever said of it",
            bound: Bound::None,
            turn: Box::new(move |_| vec![append(vec![requested(project, third().into())])]),
        },
    ]
}

/// CPU time of the whole process per event, against a bare INSERT of a row of the same size: a
/// commit per row against events that come one after the other, which is what is promised; for
/// information, a group of as many rows as there are tasks against concurrent events.
fn cost_of_one(runtime: &tokio::runtime::Runtime, tasks: usize) {
    const EVENTS: usize = 25_600;
    const SINGLES: usize = 2000;
    let only: Option<usize> = args().nth(1).and_then(|n| n.parse().ok());
    for (n, load) in loads().into_iter().enumerate() {
        if only.is_some_and(|only| only != n) {
            continue;
        }
        let sizes = record_sizes(runtime, (load.turn)(0));
        let per_turn = sizes.len();
        let turns = EVENTS / tasks / per_turn;
        let events = turns * tasks * per_turn;
        let record = vec![b'x'; sizes.iter().sum::<usize>() / per_turn];
        let (mut ratios, mut alone) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let folder = tempfile::tempdir().unwrap();
            let db = bare(folder.path(), "NORMAL");
            let before = cpu();
            for _ in 0..events / tasks {
                insert(&db, tasks, &record);
            }
            let group = cpu().saturating_sub(before).as_secs_f64() / events as f64;
            let before = cpu();
            for _ in 0..SINGLES {
                insert(&db, 1, &record);
            }
            let single = cpu().saturating_sub(before).as_secs_f64() / SINGLES as f64;

            let store = store(folder.path());
            let mut queues = vec![Vec::new(); tasks];
            for n in 0..turns {
                for (task, queue) in queues.iter_mut().enumerate() {
                    queue.extend((load.turn)(n * tasks + task));
                }
            }
            let ours = append_all(runtime, &store, queues) / events as f64;
            ratios.push(ours / group);
            alone.push(ours / single);
            println!(
                "  INSERT in a group of {tasks} {:>5.2} µs, alone {:>5.2} µs   log {:>5.2} µs",
                group * 1e6,
                single * 1e6,
                ours * 1e6
            );
        }
        let Load { what, bound, .. } = load;
        if tasks > 1 {
            println!("for information: against an INSERT that commits alone {:.2}", median(alone));
        }
        let bound = if tasks == 1 { bound } else { Bound::None };
        let what = format!("CPU of {what} / bare INSERT in a group of {tasks}");
        print_result(&what, median(ratios), &bound);
    }
}

/// The CPU seconds that it takes to append the queues, one task for each.
fn append_all(
    runtime: &tokio::runtime::Runtime,
    store: &Arc<SqliteStore>,
    queues: Vec<Vec<AppendRequest>>,
) -> f64 {
    let before = cpu();
    runtime.block_on(async {
        let writers = queues.into_iter().map(|queue| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                for append in queue {
                    store.append(append).await.unwrap();
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
    });
    cpu().saturating_sub(before).as_secs_f64()
}

fn replay(runtime: &tokio::runtime::Runtime) {
    const EVENTS: usize = 1_000_000;
    const CHUNK: usize = 1000;
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let clock = Clock::system();
    let revoked = clock.new_id();
    for _ in 0..EVENTS / CHUNK {
        // One in ten changes a view, always the same few documents: memory must not grow with the
        // log.
        let fact = |n| match n % 10 {
            0 => Fact::TokenRevoked { token: revoked },
            _ => plain(),
        };
        let events =
            (0..CHUNK).map(|n| NewEvent { stream: Stream::Sys, fact: fact(n), cause: None });
        let append =
            AppendRequest { events: events.collect(), ..one(plain(), Durability::Buffered) };
        runtime.block_on(store.append(append)).unwrap();
    }
    let before = resident();
    let began = Instant::now();
    let report = runtime.block_on(store.verify_log()).unwrap();
    assert_eq!((report.events, report.bad), (EVENTS as u64, None));
    let verified = per_second(EVENTS, began.elapsed());
    println!("  verify: {verified:.0} events/s");

    let began = Instant::now();
    let views = runtime.block_on(async {
        let mut tail = LogTail::new(
            Arc::clone(&store) as Arc<dyn EventStore>,
            EventScope::All,
            LogCursor::START,
        );
        let (mut world, mut prev, mut seen) = (MemoryViews::default(), Hash::ZERO, 0);
        while seen < EVENTS {
            for event in tail.next().await.unwrap() {
                prev = hash_chain::hash_record(&prev, event.record_bytes());
                assert_eq!(prev, event.hash);
                let read =
                    EventRecord::parse(event.record_bytes()).unwrap().into_event(event.prev, prev);
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
    print_result("replayed events/s (verified and folded)", rate, &Bound::AtLeast(50_000.0));
    print_result("KiB grown while replaying a million", grown as f64, &Bound::AtMost(16_384.0));
}

#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// Not promised, for information only.
    None,
}

fn print_result(what: &str, value: f64, bound: &Bound) {
    let (holds, sign, limit) = match *bound {
        Bound::AtLeast(limit) => (value >= limit, "≥", limit),
        Bound::AtMost(limit) => (value <= limit, "≤", limit),
        Bound::None => return println!("for information: {what} = {value:.2}\n"),
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

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}
