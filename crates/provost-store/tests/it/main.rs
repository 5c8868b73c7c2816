//! Tests of the log.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod any_json;
mod append;
mod archive;
mod archive_steps;
mod blobs;
mod damage;
mod disk;
mod head;
mod listed;
mod search;
mod tail;
mod verify;
mod views;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use provost_proto::{Actor, Event, Fact, Hash, ProjectId, Stream, TokenClass};
use provost_store::{AppendOutcome, AppendRequest, Clock, EventStore, SqliteStore, StoreOptions};
use tempfile::TempDir;

/// A clock that advances by one millisecond on each read.
fn ticking() -> Clock {
    let ticks = AtomicU64::new(0);
    Clock::from_fn(move || 1_700_000_000_000_000 + 1000 * ticks.fetch_add(1, Ordering::Relaxed))
}

fn open(folder: &Path) -> Arc<SqliteStore> {
    let path = folder.join("log.db");
    Arc::new(SqliteStore::open(StoreOptions { path, clock: ticking() }).unwrap())
}

fn fresh() -> (Arc<SqliteStore>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (open(folder.path()), folder)
}

fn note(text: impl std::fmt::Display) -> Fact {
    Fact::DaemonStopped { reason: format!("{text}") }
}

fn opened(project: ProjectId, name: &str) -> Fact {
    let name = name.to_owned();
    Fact::ProjectOpened { project, slug: name.clone(), path: format!("/src/{name}"), name }
}

fn token(clock: &Clock, label: &str) -> Fact {
    Fact::TokenCreated {
        token: clock.new_id(),
        class: TokenClass::Viewer,
        project: None,
        role: None,
        holder: None,
        label: label.to_owned(),
        digest: Hash::ZERO,
        page: None,
        notebook: None,
        expires_at: None,
    }
}

fn one(stream: Stream, fact: Fact) -> AppendRequest {
    AppendRequest::single_event("local:ann", Actor::Cli, stream, fact)
}

async fn append(store: &SqliteStore, append: AppendRequest) -> Vec<Event> {
    events(&store.append(append).await.unwrap())
}

fn events(appended: &AppendOutcome) -> Vec<Event> {
    appended.events().iter().map(|event| event.decode_event().unwrap()).collect()
}
