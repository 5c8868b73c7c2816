//! The views: written with the event, and equal to a new fold.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use provost_core::fold::{DocumentKey, MemoryViews, ViewDocument, ViewKind};
use provost_proto::{Fact, LogCursor, Stream};
use provost_store::{AppendRequest, Clock, EventScope, EventStore, SqliteStore, StoreError};

use super::{append, fresh, one, open, opened, token};

async fn docs(store: &SqliteStore) -> Vec<ViewDocument> {
    let mut docs = store.list_documents(ViewKind::Projects).await.unwrap();
    docs.extend(store.list_documents(ViewKind::Tokens).await.unwrap());
    docs
}

#[tokio::test]
async fn a_project_is_in_the_view_when_its_append_returns() {
    let (store, _folder) = fresh();
    let clock = Clock::system();
    let project = clock.new_id();
    append(&store, one(Stream::Sys, opened(project, "app"))).await;
    let doc = store.get_document(ViewKind::Projects, project.uuid()).await.unwrap();
    assert_eq!(doc.and_then(ViewDocument::into_project).unwrap().name, "app");
    assert!(store.list_documents(ViewKind::Tokens).await.unwrap().is_empty());
}

#[test]
fn any_log_has_the_same_views_stored_rebuilt_and_folded_in_memory() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let facts = prop::collection::vec((0..4_u8, 0..3_usize), 1..30);
    TestRunner::new(ProptestConfig::with_cases(24))
        .run(&facts, |plan| {
            runtime.block_on(check(plan));
            Ok(())
        })
        .unwrap();
}

async fn check(plan: Vec<(u8, usize)>) {
    let (store, _folder) = fresh();
    let clock = Clock::system();
    let projects: [provost_proto::ProjectId; 3] = std::array::from_fn(|_| clock.new_id());
    let made: [Fact; 3] = std::array::from_fn(|n| token(&clock, &n.to_string()));
    for (what, n) in plan {
        let fact = match (what, &made[n]) {
            (0, _) => opened(projects[n], "app"),
            (1, _) => Fact::ProjectClosed { project: projects[n] },
            (2, fact) => fact.clone(),
            (_, Fact::TokenCreated { token, .. }) => Fact::TokenRevoked { token: *token },
            (_, fact) => fact.clone(),
        };
        append(&store, one(Stream::Sys, fact)).await;
    }
    let stored = docs(&store).await;
    let mut world = MemoryViews::default();
    for event in
        store.read_events(EventScope::All, LogCursor::START, usize::MAX).await.unwrap().events
    {
        world.apply(&event.decode_event().unwrap());
    }
    let folded: Vec<_> = ViewKind::ALL
        .iter()
        .flat_map(|view| world.docs(*view))
        .map(|(_, doc)| doc.clone())
        .collect();
    assert_eq!(stored, folded);
    let store: Arc<dyn EventStore> = store;
    store.rebuild_views().await.unwrap();
    let mut rebuilt = store.list_documents(ViewKind::Projects).await.unwrap();
    rebuilt.extend(store.list_documents(ViewKind::Tokens).await.unwrap());
    assert_eq!(rebuilt, folded);
}

#[tokio::test]
async fn what_was_decided_on_a_document_is_not_done_to_another() {
    let (store, _folder) = fresh();
    let clock = Clock::system();
    let project: provost_proto::ProjectId = clock.new_id();
    append(&store, one(Stream::Sys, opened(project, "app"))).await;
    let key = DocumentKey { view: ViewKind::Projects, key: project.uuid() };
    let seen = store.get_document(ViewKind::Projects, key.key).await.unwrap().unwrap();
    let close = || AppendRequest {
        unchanged: vec![(key, seen.clone())],
        ..one(Stream::Sys, Fact::ProjectClosed { project })
    };
    // Concurrently, also within one group commit: only one of them finds it unchanged.
    let tries = futures::future::join_all((0..32).map(|_| store.append(close()))).await;
    let (done, refused): (Vec<_>, Vec<_>) = tries.into_iter().partition(Result::is_ok);
    assert_eq!((done.len(), refused.len()), (1, 31));
    for error in refused {
        assert!(
            matches!(error, Err(StoreError::DocumentChanged { view: "projects", .. })),
            "{error:?}"
        );
    }
    assert_eq!(store.stream_version(Stream::Sys).await.unwrap(), 2, "nothing else was written");
}

/// The files at this moment, as a crash would leave them.
fn crashed(folder: &std::path::Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in ["log.db", "log.db-wal"] {
        std::fs::copy(folder.join(file), copy.path().join(file)).unwrap();
    }
    copy
}

#[tokio::test]
async fn documents_are_there_at_once_and_after_a_crash_however_many_wait_to_be_written() {
    let (store, folder) = fresh();
    let clock = crate::ticking();
    for n_tokens in [1, 2, 300, 511, 512, 513, 900, 1100] {
        while store.list_documents(ViewKind::Tokens).await.unwrap().len() < n_tokens {
            append(&store, one(Stream::Sys, token(&clock, "new"))).await;
        }
        let docs = store.list_documents(ViewKind::Tokens).await.unwrap();
        let revoked = docs[n_tokens / 2].clone().into_token().unwrap().id;
        append(&store, one(Stream::Sys, Fact::TokenRevoked { token: revoked })).await;
        let live = store.list_documents(ViewKind::Tokens).await.unwrap();
        let doc = store.get_document(ViewKind::Tokens, revoked.uuid()).await.unwrap();
        assert!(doc.clone().and_then(ViewDocument::into_token).unwrap().revoked_at.is_some());
        assert_eq!(doc.as_ref(), Some(&live[n_tokens / 2]));

        let copy = crashed(folder.path());
        let report = SqliteStore::verify_file(&copy.path().join("log.db")).unwrap();
        assert_eq!((report.bad, report.views), (None, None), "{n_tokens}, as it was left");
        let again = open(copy.path());
        assert_eq!(again.list_documents(ViewKind::Tokens).await.unwrap(), live, "{n_tokens}");
        assert_eq!(again.verify_log().await.unwrap().views, None, "{n_tokens}");
    }
}

#[tokio::test]
async fn a_document_that_cannot_be_read_after_a_crash_is_folded_again() {
    let (store, folder) = fresh();
    let project = Clock::system().new_id();
    append(&store, one(Stream::Sys, opened(project, "app"))).await;
    drop(store);
    let db = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    db.execute("UPDATE docs SET doc = x'7b'", []).unwrap();
    db.execute("UPDATE reached SET folded = 0", []).unwrap();
    drop(db);
    let store = open(folder.path());
    assert_eq!(docs(&store).await.len(), 1);
    append(&store, one(Stream::Sys, Fact::ProjectClosed { project })).await;
    let copy = crashed(folder.path());
    let db = rusqlite::Connection::open(copy.path().join("log.db")).unwrap();
    db.execute("UPDATE docs SET doc = x'7b'", []).unwrap();
    drop(db);
    let again = open(copy.path());
    assert_eq!(docs(&again).await, docs(&store).await);
    assert_eq!(again.verify_log().await.unwrap().views, None);
}
