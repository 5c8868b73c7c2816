//! Ten thousand frames that are no messages: each ends its own connection and nothing else.

use std::sync::Arc;

use provost_proto::notebook::{ClientSyncMessage, SYNC_PROTOCOL, ServerSyncMessage};
use provost_proto::{Code, NotebookId};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::client::SyncClient;
use crate::{Home, Running};

const FRAMES: usize = 10_000;
const CONNECTIONS: usize = 8;

/// Messages of every kind.
fn list_valid(notebook: NotebookId) -> Vec<String> {
    let (session, execution) = (uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
    let commands = |command: serde_json::Value| json!({ "type": "commands", "id": "k", "notebook": notebook, "commands": [command] });
    let output = json!({ "type": "stream", "name": "stdout", "text": "x" });
    [
        json!({ "type": "subscribe", "notebook": notebook, "resume": { "version": 1, "hash": "0".repeat(64) } }),
        json!({ "type": "renewLease", "notebook": notebook, "session": session, "fence": 1 }),
        json!({ "type": "presence", "notebook": notebook, "data": { "cell": "c" } }),
        commands(json!({ "name": "renameNotebook", "args": { "title": "T" } })),
        commands(json!({ "name": "addOutput", "args": {
            "execution": execution, "fence": 1, "output": session, "content": output } })),
        commands(json!({ "name": "claimExecution", "args": {
            "execution": execution, "session": session, "fence": 1 } })),
    ]
    .map(|message| message.to_string())
    .to_vec()
}

/// A frame that is no message.
fn malform(valid: &str, n: usize) -> Message {
    let at = (n * 31) % valid.len();
    match n % 8 {
        0 => Message::text(&valid[..at]),
        1 => Message::text(format!("{valid}{}", &valid[at..])),
        2 => Message::text(valid.replacen("\"type\"", "\"tipe\"", 1)),
        3 => Message::text(valid.replacen(':', ":-1e400,", 1 + n % 3)),
        4 => Message::binary(valid.as_bytes().to_vec()),
        5 => Message::text("[{\"a\":".repeat(1 + n % 2000)),
        6 => Message::text(valid.replacen('"', "\u{0}", 1 + n % 5)),
        _ if n % 1000 == 7 => Message::text(format!("{valid}{}", " ".repeat(1 << 20))),
        _ => {
            let mut bytes = valid.as_bytes().to_vec();
            bytes[at] = b"{}[]\",:0"[n % 8];
            Message::text(String::from_utf8(bytes).unwrap_or_default())
        }
    }
}

fn is_malformed(message: &Message) -> bool {
    let Message::Text(text) = message else { return true };
    text.len() > 1 << 20 || serde_json::from_str::<ClientSyncMessage>(text).is_err()
}

async fn send_one(daemon: &Running, token: &str, message: Message) {
    let bearer = ("authorization", format!("Bearer {token}"));
    let mut client = SyncClient::new(daemon.dial_sync("", &[bearer]).await.unwrap());
    let shown = format!("{message:.200?}");
    client.send(&ClientSyncMessage::Hello { protocol: SYNC_PROTOCOL }).await;
    client.send_message(message).await;
    let end = client.read_to_end().await;
    assert!(
        matches!(&end, Some(ServerSyncMessage::Error { error })
            if matches!(error.code, Code::InvalidRequest | Code::BadJson | Code::TooLarge)),
        "{shown}: {end:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_malformed_frames_harm_nobody_else() {
    let home = Home::new();
    let daemon = Arc::new(home.up());
    let notebook = daemon.create_notebook("Robust").await;
    let mut witness = daemon.follow(&daemon.token, notebook).await;
    let token = home.runtime_token(notebook);
    let valid = list_valid(notebook);
    let frames = (0..).map(|n| malform(&valid[n % valid.len()], n / valid.len() + n));
    let frames: Vec<_> = frames.filter(is_malformed).take(FRAMES).collect();
    let tasks = frames.chunks(FRAMES / CONNECTIONS).map(|frames| {
        let (daemon, token, frames) = (Arc::clone(&daemon), token.clone(), frames.to_vec());
        tokio::spawn(async move {
            for frame in frames {
                send_one(&daemon, &token, frame).await;
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    witness.create_cell(notebook, "still here").await;
    witness.until("CELL_CREATED").await;
    assert_eq!(witness.kinds(), ["CELL_CREATED"]);
}
