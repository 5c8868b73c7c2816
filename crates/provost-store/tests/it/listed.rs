//! Lists of open and recent documents, from memory and from disk.

use provost_core::fold::{ViewKind, usage_time};
use provost_proto::{Fact, Stream};
use provost_store::{
    AppendRequest, Clock, Durability, EventStore, ListPosition, ListQuery, SqliteStore,
    StoreOptions,
};
use serde_json::json;
use uuid::Uuid;

use super::{fresh, one, open};

async fn append(store: &SqliteStore, kind: &str, body: serde_json::Value) {
    let fact = Fact::from_kind_and_body(kind, &body).unwrap();
    let stream = Stream::Project(Uuid::from_u128(1).into());
    let append = AppendRequest { durability: Durability::Buffered, ..one(stream, fact) };
    store.append(append).await.unwrap();
}

async fn list(store: &SqliteStore, query: ListQuery) -> Vec<u128> {
    let docs = store.list_under(vec![query]).await.unwrap();
    docs.into_iter().map(|stored| stored.key.as_u128()).collect()
}

async fn request_and_finish(store: &SqliteStore, number: u128) {
    let (action, project) = (Uuid::from_u128(number), Uuid::from_u128(1 + number % 2));
    append(
        store,
        "ACTION_REQUESTED",
        json!({ "action": action, "project": project, "name": "fs.writeFile", "params": {}, "what": "w", "actionHash": "00".repeat(32) }),
    )
    .await;
    if !number.is_multiple_of(100) {
        append(
            store,
            "ACTION_FINISHED",
            json!({ "action": action, "project": project, "report": null, "outcome": { "exitCode": null, "durationMs": 1, "summary": {}, "fault": null } }),
        )
        .await;
    }
}

#[tokio::test]
async fn open_actions_are_listed_wherever_they_are() {
    let (store, folder) = fresh();
    let query = ListQuery::open(ViewKind::Actions, Uuid::from_u128(1));
    for number in 1..=1000 {
        request_and_finish(&store, number).await;
    }
    let expected: Vec<u128> = (1..=10).rev().map(|hundred| hundred * 100).collect();
    assert_eq!(list(&store, query).await, expected);
    assert_eq!(list(&store, ListQuery { limit: 2, ..query }).await, [1000, 900]);
    let other = ListQuery::open(ViewKind::Actions, Uuid::from_u128(2));
    assert!(list(&store, other).await.is_empty());
    drop(store);
    let store = open(folder.path());
    assert_eq!(list(&store, query).await, expected, "after a restart");
    for number in [100, 1000] {
        let body = json!({ "action": Uuid::from_u128(number), "fault": { "code": "CANCELLED", "message": "no" } });
        append(&store, "ACTION_DENIED", body).await;
    }
    assert_eq!(list(&store, query).await, expected[1..9], "ended in memory");
}

#[tokio::test]
async fn resolved_approvals_are_listed_by_time_within_bounds() {
    let (store, _folder) = fresh();
    let question = json!({ "name": "n", "params": {}, "what": "", "why": "", "demands": [], "cwd": "", "diff": null, "notes": [], "profile": "", "network": false, "rules": [], "gate": null, "pins": [], "choices": [], "trust": null });
    for number in 1..=300_u128 {
        let (approval, project) = (Uuid::from_u128(number), Uuid::from_u128(1));
        append(&store, "APPROVAL_ASKED", json!({ "approval": approval, "project": project, "action": approval, "actionHash": "00".repeat(32), "class": "agent", "role": null, "session": null, "question": question, "expiresAt": 9 })).await;
    }
    // The oldest is resolved last.
    for number in (11..=300_u128).rev() {
        let (approval, project) = (Uuid::from_u128(number), Uuid::from_u128(1));
        append(&store, "APPROVAL_EXPIRED", json!({ "approval": approval, "project": project }))
            .await;
    }
    let project = Uuid::from_u128(1);
    let latest = ListQuery::latest(ViewKind::Approvals, project, 3);
    assert_eq!(list(&store, latest).await, [11, 12, 13]);
    let open = list(&store, ListQuery::open(ViewKind::Approvals, project)).await;
    assert_eq!(open, (1..=10).rev().collect::<Vec<_>>());
    let docs = store.list_under(vec![latest]).await.unwrap();
    let at = docs[2].doc.listing().unwrap().at;
    assert_eq!(
        list(&store, ListQuery { before: ListPosition::at_time(at), ..latest }).await,
        [14, 15, 16]
    );
    assert_eq!(list(&store, ListQuery { after: at, ..latest }).await, [11, 12]);
}

/// Appends tokens, of which each second is revoked and each third expires, and usage of two days.
async fn append_tokens_and_usage(store: &SqliteStore) {
    for number in 1..=6_u128 {
        let token = Uuid::from_u128(number);
        let expires = number.is_multiple_of(3).then_some(1000 + number);
        let body = json!({ "token": token, "class": "operator", "project": null, "role": null, "holder": null, "label": "", "digest": format!("{number:064x}"), "expiresAt": expires });
        append(store, "TOKEN_CREATED", body).await;
        if number.is_multiple_of(2) {
            append(store, "TOKEN_REVOKED", json!({ "token": token })).await;
        }
    }
    for day in [20_000_u32, 20_001] {
        for model in ["a", "b"] {
            let id = Uuid::from_u128(9);
            let usage = json!({ "input": 1, "output": 1, "cachedInput": 0, "cacheWrite": 0, "reasoning": 0 });
            append(store, "USAGE_RECORDED", json!({ "session": id, "project": Uuid::from_u128(1), "turn": id, "model": model, "day": day, "purpose": "answer", "usage": usage, "cost": 1 })).await;
        }
    }
}

#[tokio::test]
async fn valid_tokens_and_the_usage_of_a_day_are_listed_also_in_a_file_of_an_earlier_version() {
    let (store, folder) = fresh();
    append_tokens_and_usage(&store).await;
    let tokens = ListQuery::open(ViewKind::Tokens, Uuid::nil());
    let usage = ListQuery::latest(ViewKind::Usage, Uuid::from_u128(1), usize::MAX);
    let usage = ListQuery { after: usage_time(20_001) - 1, ..usage };
    let valid = list(&store, ListQuery { after: 1003, ..tokens }).await;
    assert_eq!(valid, [5, 1], "one has expired, others were revoked");
    assert_eq!(list(&store, usage).await.len(), 2, "of two models, of one day");
    let all_tokens = list(&store, tokens).await;
    let all_usage = list(&store, usage).await;
    drop(store);
    let path = folder.path().join("log.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "UPDATE docs SET parent = NULL, open = NULL, at = NULL WHERE view IN (2, 13);
         DROP TRIGGER events_remain;
         DROP TABLE segments;
         DROP TABLE segment_blobs;
         DROP TABLE project_events;
         ALTER TABLE streams DROP COLUMN archived;
         CREATE TRIGGER events_remain BEFORE DELETE ON events
             BEGIN SELECT RAISE(ABORT, 'events are never removed'); END;
         PRAGMA user_version = 6",
    )
    .unwrap();
    drop(db);
    let store = open(folder.path());
    assert_eq!(list(&store, tokens).await, all_tokens);
    assert_eq!(list(&store, usage).await, all_usage);
    assert_eq!(store.verify_log().await.unwrap().views, None, "the columns are what is written");
}

#[tokio::test]
async fn the_latest_of_several_lists_are_found_on_disk_and_in_memory() {
    let (store, folder) = fresh();
    for number in 1..=300 {
        request_and_finish(&store, number * 100).await;
    }
    let both = [1, 2].map(|parent| ListQuery::open(ViewKind::Actions, Uuid::from_u128(parent)));
    let latest = async |store: &SqliteStore, limit| {
        let docs = store.list_latest(both.to_vec(), limit).await.unwrap();
        docs.into_iter().map(|stored| stored.key.as_u128()).collect::<Vec<_>>()
    };
    assert_eq!(latest(&store, 3).await, [30_000, 29_900, 29_800]);
    drop(store);
    let store = open(folder.path());
    assert_eq!(latest(&store, 3).await, [30_000, 29_900, 29_800], "after a restart");
    let body = json!({ "action": Uuid::from_u128(30_000), "fault": { "code": "CANCELLED", "message": "no" } });
    append(&store, "ACTION_DENIED", body).await;
    request_and_finish(&store, 30_100).await;
    assert_eq!(latest(&store, 3).await, [30_100, 29_900, 29_800], "changed in memory");
    assert_eq!(latest(&store, usize::MAX).await.len(), 300);
}

#[tokio::test]
async fn a_list_in_pages_has_each_document_once_even_if_all_have_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::from_fn(|| 1_700_000_000_000_000);
    let options = StoreOptions { path: folder.path().join("log.db"), clock };
    let store = SqliteStore::open(options).unwrap();
    // More than stay in memory.
    for number in 1..=300 {
        request_and_finish(&store, number * 100).await;
    }
    let expected: Vec<u128> = (1..=300).rev().map(|number| number * 100).collect();
    for limit in [1, 7, 150, 299, 300] {
        let (mut found, mut before) = (Vec::new(), ListPosition::END);
        loop {
            let queries = [1, 2].map(|parent| {
                let open = ListQuery::open(ViewKind::Actions, Uuid::from_u128(parent));
                ListQuery { before, ..open }
            });
            let page = store.list_latest(queries.to_vec(), limit).await.unwrap();
            let Some(last) = page.last() else { break };
            before = ListPosition { at: last.doc.listing().unwrap().at, key: last.key };
            found.extend(page.iter().map(|stored| stored.key.as_u128()));
        }
        assert_eq!(found, expected, "{limit} in a page");
    }
}
