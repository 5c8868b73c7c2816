//! Notebooks over `/api/sync` and HTTP, with a real daemon.

mod access;
mod artifacts;
mod client;
mod files;
mod local;
mod malformed;
mod processes;
mod runtimes;

use std::time::Duration;

use provost_proto::Code;
use provost_proto::notebook::{
    CellContent, CellKind, ClientSyncMessage, NotebookCommand, NotebookDocument, NotebookFact,
    ResumePoint, ResyncReason, ServerSyncMessage,
};
use reqwest::Method;
use serde_json::json;

use super::Home;
use client::id;

/// Long enough for any machine; only a test that fails waits for it.
const LONG: Duration = Duration::from_mins(1);

/// Replaces the source of a cell.
fn replace(cell: provost_proto::CellId, base: u64, source: &str) -> NotebookCommand {
    NotebookCommand::ReplaceCell { cell, base, source: source.to_owned() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_clients_see_the_edits_of_both_in_one_order() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Shared").await;
    let mut ann = daemon.follow(&daemon.token, notebook).await;
    let mut bob = daemon.follow(&daemon.token, notebook).await;
    assert!(
        matches!(&ann.documents[..], [NotebookDocument::Notebooks(it)] if it.title == "Shared")
    );
    let cell = ann.create_cell(notebook, "one").await;
    let mut last = 0;
    for n in 0..20 {
        // Each waits for the other's edit: the revision is that of both.
        let client = if n % 2 == 0 { &mut ann } else { &mut bob };
        client.until_version(last).await;
        last = client.command(notebook, replace(cell, n, &format!("edit {n}"))).await.unwrap();
    }
    ann.until_version(last).await;
    bob.until_version(last).await;
    assert_eq!(ann.events, bob.events, "the same, in the same order");
    assert_eq!(ann.events.len(), 21);
    let fresh = daemon.follow(&daemon.token, notebook).await;
    assert_eq!(fresh.at, ann.at);
    let source = fresh.documents.iter().find_map(|document| {
        if let NotebookDocument::Cells(cell) = document { Some(&*cell.source) } else { None }
    });
    assert_eq!(source, Some("edit 19"));
    let detail = daemon.get(&format!("/api/notebooks/{}", notebook.uuid())).await;
    assert_eq!(
        (&detail["cells"][0]["source"], &detail["version"]),
        (&json!("edit 19"), &json!(last))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_under_one_key_are_applied_once_over_both_roads() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Keys").await;
    let mut client = daemon.follow(&daemon.token, notebook).await;
    let cell = client.create_cell(notebook, "x").await;
    let first = client.send_commands(notebook, "key", vec![replace(cell, 0, "y")]).await.unwrap();
    // It would be stale by now, were it another one.
    let again = client.send_commands(notebook, "key", vec![replace(cell, 0, "y")]).await;
    assert_eq!(again, Ok(first));
    let body = json!({ "commands": [replace(cell, 0, "y")] });
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    let url = format!("{}/api/notebooks/{}/commands", daemon.base, notebook.uuid());
    let request = http.post(url).bearer_auth(&daemon.token).header("idempotency-key", "key");
    let answer = request.json(&body).send().await.unwrap();
    assert_eq!(answer.json::<serde_json::Value>().await.unwrap(), json!({ "version": first }));
    let other = client.send_commands(notebook, "key", vec![replace(cell, 1, "z")]).await;
    assert_eq!(other, Err((Code::CommandReused, 0)));
    client.until_version(first).await;
    assert_eq!(client.facts("CELL_REPLACED").len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_edit_is_refused_and_nothing_of_its_batch_is_applied() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Stale").await;
    let mut client = daemon.follow(&daemon.token, notebook).await;
    let cell = client.create_cell(notebook, "x").await;
    client.command(notebook, replace(cell, 0, "y")).await.unwrap();
    let rename = NotebookCommand::RenameNotebook { title: "Other".to_owned() };
    let batch = vec![rename, replace(cell, 0, "z")];
    let refused = client.send_commands(notebook, "batch", batch).await;
    assert_eq!(refused, Err((Code::StaleRevision, 1)));
    let path = format!("/api/notebooks/{}/commands", notebook.uuid());
    let body = json!({ "commands": [replace(cell, 0, "z")] });
    let (status, error) = daemon.ask(&daemon.token, Method::POST, &path, Some(&body)).await;
    assert_eq!((status.as_u16(), &error["code"]), (409, &json!("STALE_REVISION")), "{error}");
    // What follows is decided on the state as it is.
    let last = client.command(notebook, replace(cell, 1, "z")).await.unwrap();
    client.until_version(last).await;
    assert_eq!(client.kinds(), ["CELL_CREATED", "CELL_REPLACED", "CELL_REPLACED"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_goes_on_after_the_daemon_was_killed_or_starts_anew_in_another_log() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Resume").await;
    let mut client = daemon.follow(&daemon.token, notebook).await;
    let cell = client.create_cell(notebook, "x").await;
    let seen = client.command(notebook, replace(cell, 0, "seen")).await.unwrap();
    client.until_version(seen).await;
    let at = client.at;
    let unseen = client.command(notebook, replace(cell, 1, "unseen")).await.unwrap();
    daemon.kill();
    assert!(client.read_to_end().await.is_none());

    let daemon = home.up();
    let mut client = daemon.sync(&daemon.token).await;
    client.subscribe(notebook, at).await;
    assert!(client.documents.is_empty(), "no snapshot");
    assert_eq!(client.kinds(), ["CELL_REPLACED"], "only what it missed");
    assert_eq!(client.at.unwrap().version, unseen);
    client.command(notebook, replace(cell, 2, "after")).await.unwrap();

    // Its last event is not the one of this log, or is beyond its end.
    let ResumePoint { version, .. } = at.unwrap();
    let foreign = ResumePoint { version, hash: "ab".repeat(32).parse().unwrap() };
    for resume in [foreign, ResumePoint { version: 1000, ..foreign }] {
        let mut client = daemon.sync(&daemon.token).await;
        client.subscribe(notebook, Some(resume)).await;
        assert_eq!(client.resync, Some(ResyncReason::Diverged));
        assert_eq!(client.documents.len(), 2);
        assert!(client.events.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_notebook_arrives_in_parts_and_many_events_in_batches() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Large").await;
    let mut writer = daemon.sync(&daemon.token).await;
    let mut reader = daemon.follow(&daemon.token, notebook).await;
    let text = "x".repeat(3000);
    let mut last = 0;
    for n in 0..3 {
        let cells = (0..100).map(|i| {
            NotebookCommand::CreateCell(CellContent {
                cell: id(),
                kind: CellKind::Code,
                position: format!("a0{n}{i:02}1"),
                source: text.clone(),
                metadata: serde_json::Map::new(),
            })
        });
        let key = format!("batch {n}");
        last = writer.send_commands(notebook, &key, cells.collect()).await.unwrap();
    }
    reader.until_version(last).await;
    assert_eq!(reader.facts("CELL_CREATED").len(), 300);
    let fresh = daemon.follow(&daemon.token, notebook).await;
    assert_eq!((fresh.documents.len(), fresh.at), (301, reader.at));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn presence_is_told_to_the_others_and_not_logged() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Presence").await;
    let mut ann = daemon.follow(&daemon.token, notebook).await;
    let mut bob = daemon.follow(&daemon.token, notebook).await;
    let data = json!({ "cell": "c1" });
    ann.send(&ClientSyncMessage::Presence { notebook, data }).await;
    while bob.presence.is_empty() {
        assert!(bob.read().await);
    }
    assert_eq!(bob.presence[0].data, json!({ "cell": "c1" }));
    assert_eq!(bob.presence[0].principal, ann.principal);
    drop(ann);
    while bob.presence.len() < 2 {
        assert!(bob.read().await);
    }
    assert!(bob.presence[1].data.is_null(), "she is gone");
    assert!(bob.events.is_empty());
    let data = json!("x".repeat(2000));
    bob.send(&ClientSyncMessage::Presence { notebook, data }).await;
    let end = bob.read_to_end().await;
    assert!(
        matches!(&end, Some(ServerSyncMessage::Error { error }) if error.code == Code::TooLarge),
        "{end:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_of_the_environment_is_redacted_for_everybody_alike() {
    let home = Home::new();
    let secret = "hunter2-hunter2-hunter2";
    home.provost(&["up", "--no-open", home.path("app").to_str().unwrap()])
        .env("NOTEBOOK_API_KEY", secret)
        .assert()
        .success();
    let daemon = home.running();
    let notebook = daemon.create_notebook("Redacted").await;
    let mut client = daemon.follow(&daemon.token, notebook).await;
    let cell = client.create_cell(notebook, &format!("key = '{secret}'")).await;
    let created = client.until("CELL_CREATED").await;
    let NotebookFact::CellCreated(created) = created.fact else { panic!("{created:?}") };
    assert!(!created.source.contains(secret), "{}", created.source);
    // Decided on what the log holds.
    let last = client.command(notebook, replace(cell, 0, "x")).await.unwrap();
    client.until_version(last).await;
    let fresh = daemon.follow(&daemon.token, notebook).await;
    assert!(!format!("{:?}", fresh.documents).contains(secret));
}
