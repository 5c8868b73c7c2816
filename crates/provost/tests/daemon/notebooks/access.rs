//! Who may do what in notebooks.

use futures::SinkExt as _;
use provost_proto::Code;
use provost_proto::notebook::{
    ClientSyncMessage, NotebookCommand, SYNC_PROTOCOL, ServerSyncMessage,
};
use reqwest::Method;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::client::{SyncClient, id};
use crate::Home;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_reads_and_does_not_write() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Read").await;
    let viewer = home.token(&["viewer"]);
    let mut reader = daemon.follow(&viewer, notebook).await;
    assert!(!reader.can_write);
    let rename = NotebookCommand::RenameNotebook { title: "Mine".to_owned() };
    let refused = reader.command(notebook, rename.clone()).await;
    assert_eq!(refused, Err((Code::Forbidden, 0)));
    let path = format!("/api/notebooks/{}/commands", notebook.uuid());
    let body = json!({ "commands": [rename] });
    let (status, _) = daemon.ask(&viewer, Method::POST, &path, Some(&body)).await;
    assert_eq!(status, 403);
    let body = json!({ "title": "Mine" });
    let create = "/api/projects/app/notebooks";
    let (status, _) = daemon.ask(&viewer, Method::POST, create, Some(&body)).await;
    assert_eq!(status, 403);
    let (status, list) = daemon.ask(&viewer, Method::GET, create, None).await;
    assert_eq!((status.as_u16(), &list["notebooks"][0]["title"]), (200, &json!("Read")));
    let renew = ClientSyncMessage::RenewLease { notebook, session: id(), fence: 1 };
    reader.send(&renew).await;
    assert!(matches!(reader.reply().await, ServerSyncMessage::Fenced { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_sees_its_own_notebook_and_edits_nothing() {
    let home = Home::new();
    let daemon = home.up();
    let (own, foreign) =
        (daemon.create_notebook("Own").await, daemon.create_notebook("Foreign").await);
    let token = home.runtime_token(own);
    let mut runtime = daemon.follow(&token, own).await;
    assert!(runtime.can_write && runtime.principal.starts_with("token:"), "{}", runtime.principal);
    runtime.send(&ClientSyncMessage::Subscribe { notebook: foreign, resume: None }).await;
    let refused = runtime.reply().await;
    assert!(
        matches!(&refused, ServerSyncMessage::Unsubscribed { error, .. }
            if error.code == Code::NotebookNotFound),
        "{refused:?}"
    );
    let rename = NotebookCommand::RenameNotebook { title: "Mine".to_owned() };
    let refused = runtime.command(foreign, rename.clone()).await;
    assert_eq!(refused, Err((Code::NotebookNotFound, 0)));
    let refused = runtime.command(own, rename).await;
    assert_eq!(refused, Err((Code::Forbidden, 0)));
    for path in [
        format!("/api/notebooks/{}", foreign.uuid()),
        format!("/api/notebooks/{}/artifacts/{}", foreign.uuid(), "00".repeat(32)),
    ] {
        let (status, error) = daemon.ask(&token, Method::GET, &path, None).await;
        assert_eq!((status.as_u16(), &error["code"]), (404, &json!("NOTEBOOK_NOT_FOUND")));
    }
    for path in ["/api/projects/app/notebooks", "/api/events", "/api/tokens"] {
        let (status, _) = daemon.ask(&token, Method::GET, path, None).await;
        assert_eq!(status, 403, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_comes_in_without_a_token_or_from_a_foreign_page() {
    let home = Home::new();
    let daemon = home.up();
    let agent = home.token(&["agent", "--project", "app", "--role", "dev"]);
    let unbound = home.token(&["runtime"]);
    let origin = |place: &str| ("origin", place.to_owned());
    let bearer = |token: &str| ("authorization", format!("Bearer {token}"));
    for (query, headers, expected) in [
        ("", vec![], 401),
        ("?ticket=guess", vec![], 401),
        ("", vec![bearer("guess")], 401),
        ("", vec![bearer(&daemon.token), origin("http://evil.example")], 403),
        ("", vec![bearer(&daemon.token), origin("null")], 403),
        ("", vec![bearer(&agent)], 403),
        ("", vec![bearer(&unbound)], 403),
    ] {
        let refused = daemon.dial_sync(query, &headers).await.map(|_| ()).unwrap_err();
        assert_eq!(refused.0, expected, "{query} {headers:?}: {refused:?}");
    }
    let (status, ticket) = daemon.ask(&daemon.token, Method::POST, "/api/sync/ticket", None).await;
    assert_eq!(status, 200, "{ticket}");
    let query = format!("?ticket={}", ticket["ticket"].as_str().unwrap());
    let ours = [origin(&daemon.base)];
    let mut client = SyncClient::new(daemon.dial_sync(&query, &ours).await.unwrap());
    client.send(&ClientSyncMessage::Hello { protocol: SYNC_PROTOCOL }).await;
    assert!(matches!(client.reply().await, ServerSyncMessage::Welcome { can_write: true, .. }));
    assert_eq!(daemon.dial_sync(&query, &ours).await.map(|_| ()).unwrap_err().0, 401, "once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_ends_with_its_token() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Revoked").await;
    let mut client = daemon.follow(&home.token(&["viewer"]), notebook).await;
    let tokens = daemon.get("/api/tokens").await;
    let id = tokens["tokens"][0]["id"].as_str().unwrap().to_owned();
    home.run_ok(&["token", "revoke", &id]);
    let end = client.read_to_end().await;
    assert!(
        matches!(&end, Some(ServerSyncMessage::Error { error })
            if error.code == Code::Unauthenticated),
        "{end:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn principal_and_actor_are_those_of_the_token_whatever_a_client_says() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Forged").await;
    let mut owner = daemon.follow(&daemon.token, notebook).await;
    let token = home.runtime_token(notebook);
    let mut runtime = daemon.follow(&token, notebook).await;
    let forged = json!({
        "type": "commands",
        "id": "forged",
        "notebook": notebook,
        "principal": "local:ann",
        "actor": "ui",
        "commands": [{
            "name": "startSession",
            "principal": "local:ann",
            "args": {
                "session": uuid::Uuid::new_v4(),
                "runtimeId": "echo-1",
                "runtimeType": "echo",
                "place": "native",
                "clientId": "local:ann",
                "capabilities":
                    { "canExecuteCode": true, "canExecuteSql": false, "canExecuteAi": false },
            },
        }],
    });
    runtime.send_text(forged.to_string()).await;
    // Either nothing is understood, or only what is known.
    if let ServerSyncMessage::Error { .. } = runtime.reply().await {
        let mut runtime = daemon.follow(&token, notebook).await;
        runtime.start_session(notebook, "echo-1").await;
    }
    let started = owner.until("RUNTIME_SESSION_STARTED").await;
    assert_eq!(started.principal, runtime.principal);
    assert_eq!(started.actor.to_string(), "runtime:echo-1");
    let fresh = daemon.follow(&daemon.token, notebook).await;
    let client = fresh.documents.iter().find_map(|document| {
        if let provost_proto::notebook::NotebookDocument::RuntimeSessions(session) = document {
            Some(session.client_id.clone())
        } else {
            None
        }
    });
    assert_eq!(client, Some(started.principal));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_and_oversize_messages_end_their_connection_and_nothing_else() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Robust").await;
    let mut witness = daemon.follow(&daemon.token, notebook).await;
    let hello = json!({ "type": "hello", "protocol": SYNC_PROTOCOL }).to_string();
    let mut frames: Vec<Vec<Message>> = vec![
        vec![Message::text("")],
        vec![Message::text("null")],
        vec![Message::text("[]")],
        vec![Message::text(r#"{"type":"hello","protocol":99}"#)],
        vec![Message::text(r#"{"type":"ping"}"#)],
        vec![Message::text(&*hello), Message::text(&*hello)],
        vec![Message::binary(vec![0, 159, 146, 150])],
        vec![Message::text(&*hello), Message::text("x".repeat((1 << 20) + 1))],
        vec![Message::text(&*hello), Message::text("x".repeat((2 << 20) + 1))],
        vec![Message::text(&*hello), Message::text("[".repeat(100_000))],
    ];
    let valid = json!({
        "type": "commands", "id": "k", "notebook": notebook,
        "commands": [{ "name": "renameNotebook", "args": { "title": "T" } }],
    })
    .to_string();
    for n in 0..150 {
        // Cut off, or with one byte changed into a quote or a brace.
        let cut = &valid[..n % valid.len()];
        frames.push(vec![Message::text(&*hello), Message::text(cut)]);
        let at = (n * 7) % valid.len();
        let mut changed = valid.clone().into_bytes();
        changed[at] = if n % 2 == 0 { b'{' } else { b'"' };
        let changed = String::from_utf8(changed).unwrap();
        if serde_json::from_str::<ClientSyncMessage>(&changed).is_err() {
            frames.push(vec![Message::text(&*hello), Message::text(changed)]);
        }
    }
    for messages in frames {
        let bearer = ("authorization", format!("Bearer {}", daemon.token));
        let mut client = SyncClient::new(daemon.dial_sync("", &[bearer]).await.unwrap());
        let shown = format!("{messages:.200?}");
        for message in messages {
            drop(client.socket.send(message).await);
        }
        let end = client.read_to_end().await;
        assert!(
            matches!(&end, Some(ServerSyncMessage::Error { error })
                if matches!(error.code, Code::InvalidRequest | Code::BadJson | Code::TooLarge))
                // So large that it was not even read.
                || end.is_none() && shown.contains("xxxx"),
            "{shown}: {end:?}"
        );
    }
    witness.create_cell(notebook, "still here").await;
    witness.until("CELL_CREATED").await;
    assert_eq!(witness.kinds(), ["CELL_CREATED"]);
}
