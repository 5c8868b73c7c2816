//! A log as a busy person leaves it, of any length and always the same, in a data folder.
//!
//! The number of projects is the same for every length: only history differs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, try_join_all};
use provost_proto::{Actor, Fact, SessionId, Stream};
use provost_store::{
    AppendOutcome, AppendRequest, Clock, Durability, EventStore as _, NewEvent, SqliteStore,
    StoreError, StoreOptions,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::random::SeededRandom;
use crate::turns::{self, Project};

/// Changes when the generated events do: logs of another version are generated again.
const VERSION: u32 = 2;
/// How many projects are open.
pub(crate) const N_PROJECTS: usize = 100;
/// How many turns a session has.
const TURNS_PER_SESSION: usize = 6;
/// How many appends are written together.
const APPENDS_PER_GROUP: usize = 256;
/// How many days a log covers, whatever its length.
const DAYS: u64 = 90;
/// How many events share a signature of the search file, and the bytes of one.
const SIGNATURE_EVENTS: u64 = 512;
const SIGNATURE_BYTES: u64 = 32 * 1024 + 32;

/// Words that the benchmark searches for.
pub(crate) const COMMON_WORD: &str = "cargo";
pub(crate) const RARE_WORD: &str = "zanzibar";
pub(crate) const ABSENT_WORD: &str = "quetzalcoatl";

/// What the benchmark needs to know of a generated log.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct SeededHistory {
    /// The session that ended last, and its project.
    pub(crate) session: SessionId,
    pub(crate) project: Project,
    /// An action with an approval, in the middle of the log.
    pub(crate) action: Uuid,
}

/// The folder with a generated log: `data`, and its projects in `projects`.
pub(crate) async fn find_or_generate(n_events: u64) -> (PathBuf, SeededHistory) {
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("history");
    let folder = cache.join(format!("v{VERSION}-{n_events}"));
    let summary = folder.join("history.json");
    if let Ok(text) = std::fs::read(&summary) {
        return (folder, serde_json::from_slice(&text).unwrap());
    }
    drop(std::fs::remove_dir_all(&folder));
    let began = Instant::now();
    let history = generate(&folder, n_events).await;
    std::fs::write(summary, serde_json::to_vec(&history).unwrap()).unwrap();
    println!("generated {n_events} events in {:.0} s", began.elapsed().as_secs_f64());
    (folder, history)
}

async fn generate(folder: &Path, n_events: u64) -> SeededHistory {
    let data = folder.join("data");
    std::fs::create_dir_all(&data).unwrap();
    let log = data.join("log.db");
    let end = Clock::system().now() - 3_600_000_000;
    let now = Arc::new(AtomicU64::new(end - DAYS * 86_400_000_000));
    let clock = Clock::from_fn({
        let now = Arc::clone(&now);
        move || now.load(Ordering::Relaxed)
    });
    let store = SqliteStore::open(StoreOptions { path: log.clone(), clock }).unwrap();
    // The last session ends somewhat later.
    let step = DAYS * 86_400_000_000 / (n_events + 500);
    let random = SeededRandom(17);
    let mut writer =
        HistoryWriter { store: &store, now, step, random, n_events: 0, waiting: Vec::new() };
    let projects = open_projects(&mut writer, folder).await;
    let (mut number, mut action) = (0, Uuid::nil());
    let (session, project) = loop {
        let project = &projects[writer.random.below(projects.len())];
        let (session, last_action) = write_session(&mut writer, project, number).await;
        if writer.n_events <= n_events / 2 || action.is_nil() {
            action = last_action;
        }
        number += 1;
        if writer.n_events >= n_events {
            break (session, project.clone());
        }
    };
    writer.flush().await;
    drop(writer);
    drop(store);
    await_search_file(&log, n_events);
    SeededHistory { session, project, action }
}

/// The signatures of the search file are written by a thread of the store, which has to begin
/// anew for the last ones: a block that becomes complete is noticed with the next append.
fn await_search_file(log: &Path, n_events: u64) {
    let options = StoreOptions { path: log.to_owned(), clock: Clock::system() };
    let _store = SqliteStore::open(options).unwrap();
    let path = log.with_file_name("log.db-search");
    let wanted = n_events / SIGNATURE_EVENTS * SIGNATURE_BYTES;
    let deadline = Instant::now() + Duration::from_mins(5);
    while std::fs::metadata(&path).unwrap().len() < wanted {
        assert!(Instant::now() < deadline, "the search file is not continued");
        std::thread::sleep(Duration::from_millis(20));
    }
}

async fn open_projects(writer: &mut HistoryWriter<'_>, folder: &Path) -> Vec<Project> {
    let mut projects = Vec::new();
    for number in 0..N_PROJECTS {
        let slug = format!("p{number}");
        let path = folder.join("projects").join(&slug);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("README.md"), "# A project\n").unwrap();
        let project = Project { id: writer.new_id(), slug };
        let body = json!({
            "project": project.id, "name": project.slug, "slug": project.slug, "path": path,
        });
        writer.append_by_person(Stream::Sys, &[("PROJECT_OPENED", body)]).await;
        projects.push(project);
    }
    projects
}

/// One session, with what happens around it. Returns it and its last action with an approval.
async fn write_session(
    writer: &mut HistoryWriter<'_>,
    project: &Project,
    number: usize,
) -> (SessionId, Uuid) {
    let stream = Stream::Project(project.id.into());
    if number.is_multiple_of(10) {
        let body = json!({ "pid": 1000 + number, "version": "0.1.0", "listen": "127.0.0.1:3001" });
        writer.append_by_daemon(Stream::Sys, &[("DAEMON_STARTED", body)]).await;
        turns::log_in(writer).await;
    }
    let boot = writer.new_id();
    let body =
        json!({ "project": project.id, "boot": boot, "pid": 2000 + number, "version": "0.1.0" });
    writer.append_by_daemon(stream, &[("KERNEL_STARTED", body)]).await;
    let session = turns::open_session(writer, project).await;
    let mut action = Uuid::nil();
    for turn in 0..TURNS_PER_SESSION {
        action = turns::write_turn(writer, project, session, turn).await.unwrap_or(action);
    }
    if number.is_multiple_of(5) {
        turns::run_dev_server(writer, project).await;
    }
    let body = json!({ "project": project.id, "boot": boot });
    writer.append_by_daemon(stream, &[("KERNEL_STOPPED", body)]).await;
    (session, action)
}

/// Appends events and counts them.
pub(crate) struct HistoryWriter<'a> {
    store: &'a SqliteStore,
    now: Arc<AtomicU64>,
    step: u64,
    pub(crate) random: SeededRandom,
    pub(crate) n_events: u64,
    waiting: Vec<BoxFuture<'a, Result<AppendOutcome, StoreError>>>,
}

impl HistoryWriter<'_> {
    /// The time of the events that are appended next.
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// A UUIDv7 of that time.
    pub(crate) fn new_id(&mut self) -> Uuid {
        let mut random = [0; 10];
        random[..8].copy_from_slice(&self.random.next().to_be_bytes());
        random[8..].copy_from_slice(&self.random.next().to_be_bytes()[..2]);
        uuid::Builder::from_unix_timestamp_millis(self.now() / 1000, &random).into_uuid()
    }

    pub(crate) async fn append_by_person(&mut self, stream: Stream, facts: &[(&str, Value)]) {
        self.append("local:ann", Actor::Ui, stream, facts).await;
    }

    pub(crate) async fn append_by_daemon(&mut self, stream: Stream, facts: &[(&str, Value)]) {
        self.append("system", Actor::Daemon, stream, facts).await;
    }

    /// Appends facts to a stream, together.
    pub(crate) async fn append(
        &mut self,
        principal: &str,
        actor: Actor,
        stream: Stream,
        facts: &[(&str, Value)],
    ) {
        let events: Vec<_> = facts
            .iter()
            .map(|(kind, body)| {
                let fact = Fact::from_kind_and_body(kind, body);
                let fact = fact.unwrap_or_else(|| panic!("{kind} does not fit: {body}"));
                NewEvent { stream, fact, cause: None }
            })
            .collect();
        let n_events = u64::try_from(events.len()).unwrap();
        self.n_events += n_events;
        self.now.fetch_add(self.step * n_events, Ordering::Relaxed);
        let request = AppendRequest {
            principal: principal.to_owned(),
            actor,
            command: None,
            expect: Vec::new(),
            unchanged: Vec::new(),
            durability: Durability::Buffered,
            events,
        };
        // It is sent now: the order is that of the calls.
        self.waiting.push(self.store.append(request));
        if self.waiting.len() >= APPENDS_PER_GROUP {
            self.flush().await;
        }
    }

    pub(crate) async fn flush(&mut self) {
        try_join_all(std::mem::take(&mut self.waiting)).await.unwrap();
    }
}
