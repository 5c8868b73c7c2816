//! The start of a daemon reads what is open, whatever the history.
#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

mod counting_store;

use std::path::Path;
use std::sync::Arc;

use counting_store::CountingStore;
use provost_gateway::{DaemonOwner, Gateway, GatewayConfig, RequestCredentials, Secret};
use provost_proto::{Actor, Fact, Stream};
use provost_runner::model::{
    ModelClient, ModelTimeouts, PriceTable, ProviderRegistry, RetryPolicy,
};
use provost_runner::session::{Runner, SessionSettings};
use provost_store::{
    AppendRequest, Clock, Durability, EventStore, NewEvent, SqliteStore, StoreOptions,
};
use serde_json::{Value, json};
use uuid::Uuid;

const TOKEN: &str = "owner";
const PROJECT: Uuid = Uuid::from_u128(1);

fn owner() -> DaemonOwner {
    let digest = Secret::from_text(TOKEN).digest();
    DaemonOwner { principal: "local:ann".to_owned(), digest }
}

fn open_store(folder: &Path) -> (SqliteStore, Clock) {
    let clock = Clock::system();
    let options = StoreOptions { path: folder.join("log.db"), clock: clock.clone() };
    (SqliteStore::open(options).unwrap(), clock)
}

async fn append(store: &dyn EventStore, stream: Stream, facts: Vec<(&str, Value)>) {
    let event = |(kind, body): (&str, Value)| NewEvent {
        stream,
        fact: Fact::from_kind_and_body(kind, &body).unwrap(),
        cause: None,
    };
    let request = AppendRequest {
        principal: "agent:a".to_owned(),
        actor: Actor::Daemon,
        command: None,
        expect: Vec::new(),
        unchanged: Vec::new(),
        durability: Durability::Buffered,
        events: facts.into_iter().map(event).collect(),
    };
    store.append(request).await.unwrap();
}

fn question() -> Value {
    json!({
        "name": "terminal.runCommand", "params": {}, "what": "run", "why": "it asks", "demands": [],
        "cwd": ".", "diff": null, "profile": "command", "network": false, "rules": [],
        "gate": null, "pins": [], "choices": [], "trust": null,
    })
}

/// One of each that is over: a session, an approval with its action and grant, a token.
async fn append_history(store: &dyn EventStore, number: u128) {
    append_session(store, number).await;
    append_approval(store, number).await;
    append_token(store, number).await;
}

async fn append_session(store: &dyn EventStore, number: u128) {
    let id = Uuid::from_u128(number);
    let usage = json!({
        "input": 1, "output": 1, "cachedInput": 0, "cacheWrite": 0, "reasoning": 0,
    });
    let session = vec![
        (
            "SESSION_OPENED",
            json!({
                "session": id, "project": PROJECT, "role": "dev", "model": "m", "budget": {},
            }),
        ),
        ("TURN_STARTED", json!({ "session": id, "turn": id, "message": null, "item": null })),
        (
            "USAGE_RECORDED",
            json!({
                "session": id, "project": PROJECT, "turn": id, "model": "m", "day": 10_000 + number,
                "purpose": "answer", "usage": usage, "cost": 5,
            }),
        ),
        ("TURN_FINISHED", json!({ "session": id, "turn": id, "reason": "done" })),
    ];
    append(store, Stream::Session(id.into()), session).await;
}

async fn append_approval(store: &dyn EventStore, number: u128) {
    let id = Uuid::from_u128(number);
    let hash = "5".repeat(64);
    let approval = vec![
        (
            "ACTION_REQUESTED",
            json!({
                "action": id, "project": PROJECT, "name": "terminal.runCommand", "params": {},
                "what": "run", "actionHash": hash,
            }),
        ),
        (
            "APPROVAL_ASKED",
            json!({
                "approval": id, "project": PROJECT, "action": id, "actionHash": hash, "class": "agent",
                "role": "dev", "session": null, "question": question(), "expiresAt": 9,
            }),
        ),
        (
            "APPROVAL_ANSWERED",
            json!({
                "approval": id, "project": PROJECT, "actionHash": hash, "decision": "deny",
                "scope": null, "message": null,
            }),
        ),
        (
            "ACTION_DENIED",
            json!({
                "action": id, "fault": { "code": "TIMEOUT", "message": "it was denied" },
            }),
        ),
        (
            "GRANT_CREATED",
            json!({
                "grant": id, "project": PROJECT, "approval": id, "grantee": "agent:a", "role": "dev",
                "session": null, "covers": { "kind": "exact", "name": "n", "params": hash },
                "pins": [], "what": "run", "until": 9,
            }),
        ),
    ];
    append(store, Stream::Project(PROJECT.into()), approval).await;
}

async fn append_token(store: &dyn EventStore, number: u128) {
    let id = Uuid::from_u128(number);
    let token = vec![
        (
            "TOKEN_CREATED",
            json!({
                "token": id, "class": "viewer", "project": null, "role": null, "holder": null,
                "label": "", "digest": format!("{number:064x}"), "expiresAt": null,
            }),
        ),
        ("TOKEN_REVOKED", json!({ "token": id })),
    ];
    append(store, Stream::Sys, token).await;
}

/// Starts on a log with this much history; returns how many documents and events were read.
async fn start_after(n_rounds: u128) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = open_store(folder.path());
    let opened = json!({ "project": PROJECT, "name": "app", "slug": "app", "path": "/nowhere" });
    append(&store, Stream::Sys, vec![("PROJECT_OPENED", opened)]).await;
    for number in 0..n_rounds {
        append_history(&store, 100 + number).await;
    }
    drop(store);
    let (store, clock) = open_store(folder.path());
    let store = Arc::new(CountingStore::new(store));
    let config = GatewayConfig { data: folder.path().join("data"), ..GatewayConfig::default() };
    let log: Arc<dyn EventStore> = Arc::<CountingStore>::clone(&store);
    let gateway = Arc::new(Gateway::open(log, clock, owner(), config).await.unwrap());
    gateway.lifecycle.resume_projects().await.unwrap();
    let (retry, timeouts) = (RetryPolicy::default(), ModelTimeouts::default());
    let models = ModelClient::new(ProviderRegistry::default(), retry, timeouts).unwrap();
    let prices = PriceTable::built_in().unwrap();
    let runner = Runner::open(gateway, models, prices, SessionSettings::default()).await.unwrap();
    let owner = RequestCredentials::Header(TOKEN);
    assert!(runner.gateway().auth.authenticate(owner).is_ok());
    store.n_read()
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_as_much_however_long_the_log_is() {
    let few = start_after(2).await;
    let many = start_after(200).await;
    assert_eq!(few, many);
}
