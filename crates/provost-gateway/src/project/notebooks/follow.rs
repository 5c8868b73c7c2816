//! Following a notebook: a snapshot or what changed since, and then every event.
//!
//! A follower is a cursor in the log. A slow one costs nothing: what it has not read is on disk.

use std::time::Duration;

use provost_proto::notebook::{
    NotebookDocument, NotebookEvent, NotebookFact, ResumePoint, ResyncReason,
};
use provost_proto::{LogCursor, NotebookId, Stream, StreamVersion, limits};
use provost_store::{EventScope, LogTail, RecordedEvent, StoreError};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::time::Instant;

use super::{NotebookService, not_found};
use crate::GatewayError;
use crate::caller::NotebookAccess;
use crate::event_log::EventLog;

/// How long events are gathered after others were sent: one event is sent at once, and many are
/// sent together.
const GATHER_TIME: Duration = Duration::from_millis(8);

/// What a subscriber gets first.
#[derive(Debug)]
pub enum NotebookStart {
    /// Nothing: the events after its resume point follow.
    Resumed,
    /// The documents as of a position.
    Snapshot {
        /// The position.
        at: ResumePoint,
        /// Why it gets them instead of what it asked for.
        reason: Option<ResyncReason>,
        /// The documents.
        documents: Vec<NotebookDocument>,
    },
}

/// Follows the events of a notebook.
#[derive(Debug)]
pub struct NotebookFollower {
    log: Arc<EventLog>,
    tail: LogTail,
    waiting: VecDeque<Arc<RecordedEvent>>,
    /// Events of the next batch, with their sizes. They are here and not in a future, so that
    /// dropping that loses none.
    decoded: VecDeque<(NotebookEvent, usize)>,
    /// The version of the last event that was handed out.
    version: StreamVersion,
    last_batch: Option<Instant>,
}

impl NotebookService {
    /// Follows a notebook from a position, or from a snapshot.
    pub async fn follow(
        &self,
        access: &NotebookAccess,
        id: NotebookId,
        resume: Option<ResumePoint>,
    ) -> Result<(NotebookStart, NotebookFollower), GatewayError> {
        let notebook = self.documents().get_notebook(id).await?;
        if !access.may_see(id, notebook.project) {
            return Err(not_found(id));
        }
        let reason = match resume {
            Some(resume) => match self.find_resume_cursor(id, resume).await? {
                Ok(cursor) => {
                    let follower = NotebookFollower::new(&self.log, id, cursor, resume.version);
                    return Ok((NotebookStart::Resumed, follower));
                }
                Err(reason) => Some(reason),
            },
            None => None,
        };
        // Nothing is appended to the notebook while the lock is held.
        let entry = self.cache.entry(id);
        let held = entry.lock().await;
        let contents = self.documents().read_contents(id).await?;
        let (at, cursor) = self.find_end(id).await?;
        drop(held);
        let documents = contents.into_documents();
        let follower = NotebookFollower::new(&self.log, id, cursor, at.version);
        Ok((NotebookStart::Snapshot { at, reason, documents }, follower))
    }

    /// Where a client goes on, if its last event is in this log and not too far back.
    async fn find_resume_cursor(
        &self,
        id: NotebookId,
        resume: ResumePoint,
    ) -> Result<Result<LogCursor, ResyncReason>, GatewayError> {
        let store = self.log.store();
        let last = store.stream_version(Stream::Notebook(id)).await?;
        let Some(behind) = last.checked_sub(resume.version) else {
            return Ok(Err(ResyncReason::Diverged));
        };
        if behind > limits::MAX_NOTEBOOK_RESUME_EVENTS {
            return Ok(Err(ResyncReason::Behind));
        }
        Ok(match store.find_stream_event(Stream::Notebook(id), resume.version).await? {
            Some(event) if event.hash == resume.hash => Ok(event.cursor()),
            Some(_) => Err(ResyncReason::Diverged),
            None => Err(ResyncReason::Behind),
        })
    }

    /// The last event of a notebook, and a position in the log from which nothing was read.
    async fn find_end(&self, id: NotebookId) -> Result<(ResumePoint, LogCursor), GatewayError> {
        let (store, stream) = (self.log.store(), Stream::Notebook(id));
        let head = store.head();
        let version = store.stream_version(stream).await?;
        let event = store.find_stream_event(stream, version).await?;
        let cursor = event.as_ref().map_or(head, |event| event.cursor());
        let hash = event.map_or(provost_proto::Hash::ZERO, |event| event.hash);
        Ok((ResumePoint { version, hash }, cursor))
    }
}

impl NotebookFollower {
    fn new(log: &Arc<EventLog>, id: NotebookId, cursor: LogCursor, version: StreamVersion) -> Self {
        let scope = EventScope::Stream(Stream::Notebook(id));
        let tail = LogTail::new(Arc::clone(log.store()), scope, cursor);
        let log = Arc::clone(log);
        let (waiting, decoded) = (VecDeque::new(), VecDeque::new());
        Self { log, tail, waiting, decoded, version, last_batch: None }
    }

    /// The version up to which events were handed out.
    pub fn version(&self) -> StreamVersion {
        self.version
    }

    /// The next events that exist already; empty if there are none.
    pub async fn next_available(&mut self) -> Result<Vec<NotebookEvent>, GatewayError> {
        if self.waiting.is_empty() && self.decoded.is_empty() {
            self.waiting.extend(self.tail.next_available().await?);
        }
        self.take_batch().await
    }

    /// The next events, at least one. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Vec<NotebookEvent>, GatewayError> {
        if self.waiting.is_empty() && self.decoded.is_empty() {
            self.waiting.extend(self.tail.next().await?);
            if let Some(last) = self.last_batch
                && self.waiting.len() < limits::MAX_NOTEBOOK_BATCH_EVENTS
                && last.elapsed() < GATHER_TIME
            {
                tokio::time::sleep_until(last + GATHER_TIME).await;
                self.waiting.extend(self.tail.next_available().await?);
            }
        }
        let batch = self.take_batch().await?;
        self.last_batch = Some(Instant::now());
        Ok(batch)
    }

    /// Takes events up to the limits of one message, but at least one.
    async fn take_batch(&mut self) -> Result<Vec<NotebookEvent>, GatewayError> {
        let mut bytes: usize = self.decoded.iter().map(|(_, size)| size).sum();
        while bytes <= limits::MAX_NOTEBOOK_BATCH_BYTES
            && self.decoded.len() < limits::MAX_NOTEBOOK_BATCH_EVENTS
            && let Some(event) = self.waiting.front()
        {
            let (event, size) = decode_event(&self.log, event).await?;
            self.waiting.pop_front();
            if let Some(event) = event {
                bytes += size;
                self.decoded.push_back((event, size));
            }
        }
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some((_, size)) = self.decoded.front() {
            bytes += size;
            let is_full = bytes > limits::MAX_NOTEBOOK_BATCH_BYTES
                || batch.len() == limits::MAX_NOTEBOOK_BATCH_EVENTS;
            if is_full && !batch.is_empty() {
                break;
            }
            if let Some((event, _)) = self.decoded.pop_front() {
                self.version = event.version;
                batch.push(event);
            }
        }
        Ok(batch)
    }
}

/// An event as clients get it, with its approximate size; `None` for a kind of a newer daemon.
async fn decode_event(
    log: &EventLog,
    recorded: &RecordedEvent,
) -> Result<(Option<NotebookEvent>, usize), GatewayError> {
    let event = recorded.decode_event()?;
    let mut size = recorded.record_bytes().len();
    let blob = serde_json::from_value::<provost_proto::BlobRef>(event.body.clone());
    if let Ok(blob) = blob {
        size += usize::try_from(blob.size).unwrap_or(usize::MAX / 2);
    }
    let Some(fact) = log.hydrate_event_fact(&event).await? else { return Ok((None, size)) };
    let fact = NotebookFact::from_fact(&fact);
    let missing = || StoreError::Damaged(format!("event {} is not one of a notebook", event.seq));
    let fact = fact.ok_or_else(missing)?;
    let notebook_event = NotebookEvent {
        version: event.version,
        at: event.at,
        principal: event.principal.clone(),
        actor: event.actor.clone(),
        command: event.command.clone(),
        hash: event.hash,
        fact,
    };
    Ok((Some(notebook_event), size))
}
