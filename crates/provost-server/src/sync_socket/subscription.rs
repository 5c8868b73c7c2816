//! One notebook of a connection: a snapshot in parts or the events since, and then every event.

use std::sync::Arc;

use provost_gateway::{GatewayError, NotebookAccess, NotebookStart, SyncConnection};
use provost_proto::NotebookId;
use provost_proto::notebook::{NotebookDocument, ResumePoint, ResyncReason, ServerSyncMessage};
use tokio::sync::mpsc;

use super::connection::error_info;
use crate::AppState;

/// About the most bytes of documents in one part of a snapshot.
const MAX_PART_BYTES: usize = 256 * 1024;

/// The receiver is gone: the connection has ended.
struct ConnectionClosed;

/// What a client follows.
pub(super) struct Subscription {
    pub(super) app: Arc<AppState>,
    pub(super) access: Arc<NotebookAccess>,
    pub(super) connection: Arc<SyncConnection>,
    pub(super) notebook: NotebookId,
    /// Where the client is.
    pub(super) resume: Option<ResumePoint>,
    pub(super) batches: mpsc::Sender<ServerSyncMessage>,
}

/// Sends what happens in a notebook, for as long as the connection lasts.
pub(super) async fn run_subscription(subscription: Subscription) {
    if let Err(error) = follow_notebook(&subscription).await {
        let (notebook, error) = (subscription.notebook, error_info(error));
        let message = ServerSyncMessage::Unsubscribed { notebook, error };
        drop(subscription.batches.send(message).await);
    }
}

async fn follow_notebook(subscription: &Subscription) -> Result<(), GatewayError> {
    let Subscription { app, access, connection, notebook, resume, batches } = subscription;
    let notebook = *notebook;
    let (start, mut follower) = app.gateway.notebooks.follow(access, notebook, *resume).await?;
    connection.enter(notebook);
    if let NotebookStart::Snapshot { at, reason, documents } = start
        && send_snapshot(notebook, at, reason, documents, batches).await.is_err()
    {
        return Ok(());
    }
    let mut is_live = false;
    loop {
        let mut events = follower.next_available().await?;
        if events.is_empty() {
            if !is_live {
                is_live = true;
                let version = follower.version();
                if batches.send(ServerSyncMessage::Live { notebook, version }).await.is_err() {
                    return Ok(());
                }
            }
            events = follower.next().await?;
        }
        if !events.is_empty()
            && batches.send(ServerSyncMessage::Events { notebook, events }).await.is_err()
        {
            return Ok(());
        }
    }
}

/// Sends the documents in parts of bounded size; there is at least one.
async fn send_snapshot(
    notebook: NotebookId,
    at: ResumePoint,
    reason: Option<ResyncReason>,
    documents: Vec<NotebookDocument>,
    batches: &mpsc::Sender<ServerSyncMessage>,
) -> Result<(), ConnectionClosed> {
    let mut rest = documents.into_iter().peekable();
    let mut part = 0;
    loop {
        let (mut documents, mut bytes) = (Vec::new(), 0);
        while bytes < MAX_PART_BYTES
            && let Some(document) = rest.next()
        {
            bytes += document_size(&document);
            documents.push(document);
        }
        let last = rest.peek().is_none();
        let message = ServerSyncMessage::Snapshot { notebook, at, part, last, documents, reason };
        batches.send(message).await.map_err(|_| ConnectionClosed)?;
        if last {
            return Ok(());
        }
        part += 1;
    }
}

/// About how long a document is as JSON.
fn document_size(document: &NotebookDocument) -> usize {
    serde_json::to_vec(document).map_or(0, |text| text.len())
}
