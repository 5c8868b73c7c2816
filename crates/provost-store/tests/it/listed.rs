//! Lists of open and recent documents, from memory and from disk.

use provost_core::fold::ViewKind;
use provost_proto::{Fact, Stream};
use provost_store::{AppendRequest, Durability, EventStore, ListQuery, SqliteStore};
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
    assert_eq!(list(&store, ListQuery { before: at, ..latest }).await, [14, 15, 16]);
    assert_eq!(list(&store, ListQuery { after: at, ..latest }).await, [11, 12]);
}
