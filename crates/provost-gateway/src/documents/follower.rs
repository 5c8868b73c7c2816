//! One page that follows documents: a position in the log, what the page has, and the draft of its
//! session.
//!
//! It holds no queue. What changed while a slow page did not read is found in the log when it
//! reads again, each document once; and a page that is too far behind starts anew.

use std::collections::VecDeque;
use std::sync::Arc;

use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_proto::{
    DocumentChange, DocumentChanges, DocumentContent, DocumentCursor, LogCursor, limits,
};
use provost_store::{EventScope, RecordedEvent, StoreError, StoredDocument};
use tokio::sync::watch;

use super::changes::{ChangeBatch, ChangeTracker, is_text};
use super::page_document::{document_project, removed_document, whole_document};
use super::page_draft::PageDraft;
use super::selection::{AllowedSelection, PageView};
use super::snapshot::{SnapshotReader, last_answer, list_shown_actions, read_agent_input};
use crate::GatewayError;
use crate::event_log::EventLog;
use crate::live_drafts::LiveDrafts;

/// How many events are read at once.
const EVENTS_PER_READ: usize = 512;

/// The most documents of one batch; the rest is in the next one.
const MAX_BATCH_DOCUMENTS: usize = 2000;

/// A message to the page.
#[derive(Debug, Clone, PartialEq)]
pub enum DocumentMessage {
    /// Drop all documents; a snapshot follows.
    Resync,
    /// A part of the documents.
    Snapshot(Vec<DocumentChange>),
    /// Everything up to here was sent.
    Live(DocumentCursor),
    /// What changed; everything up to the cursor, if there is one.
    Changes(DocumentChanges, Option<DocumentCursor>),
}

/// Follows documents for one page.
#[derive(Debug)]
pub struct DocumentFollower {
    log: Arc<EventLog>,
    tracker: ChangeTracker,
    draft: PageDraft,
    fingerprint: u32,
    head: watch::Receiver<LogCursor>,
    /// Everything up to here was sent.
    at: LogCursor,
    at_hash: u32,
    /// The position of the last changes.
    sent_at: LogCursor,
    phase: FollowerPhase,
}

#[derive(Debug)]
enum FollowerPhase {
    /// The snapshot is to be read.
    Start,
    /// Parts of the snapshot are to be sent.
    Snapshot(VecDeque<Vec<DocumentChange>>),
    /// What happened up to this event is to be sent before the page is live.
    CatchUp(LogCursor),
    Live,
}

impl DocumentFollower {
    pub(super) async fn start(
        log: Arc<EventLog>,
        drafts: &LiveDrafts,
        selection: AllowedSelection,
        after: Option<DocumentCursor>,
    ) -> Result<Self, GatewayError> {
        let head = log.store().watch_head();
        let mut follower = Self {
            fingerprint: selection.fingerprint(),
            draft: PageDraft::new(drafts, selection.session),
            tracker: ChangeTracker::new(selection),
            head,
            at: LogCursor::START,
            at_hash: 0,
            sent_at: LogCursor::START,
            phase: FollowerPhase::Start,
            log,
        };
        let Some(cursor) = after else {
            // Read now, so that a session that does not exist is an error of the request.
            follower.read_snapshot().await?;
            return Ok(follower);
        };
        if follower.can_resume(cursor).await? {
            (follower.at, follower.at_hash) = (cursor.at, cursor.hash);
            follower.phase = FollowerPhase::CatchUp(*follower.head.borrow());
            follower.draft.reset(true);
            follower.restore_tracker().await?;
        }
        Ok(follower)
    }

    /// Waits until there is something to send. Dropping the future loses nothing.
    pub async fn wait(&mut self) -> Result<(), GatewayError> {
        if let FollowerPhase::Live = self.phase {
            let at = self.at;
            tokio::select! {
                moved = self.head.wait_for(|head| !at.has_reached(*head)) => {
                    moved.map_err(|_| StoreError::Closed)?;
                }
                () = self.draft.changed() => {}
            }
        }
        Ok(())
    }

    /// Whether everything that is in the log or in the draft was sent.
    #[cfg(test)]
    pub(super) fn is_at_head(&mut self) -> bool {
        self.at.has_reached(*self.head.borrow())
            && self.draft.is_up_to_date(self.tracker.last_answer)
    }

    /// The next messages; none if there is nothing to send after all. Must not be dropped before
    /// it completes.
    pub async fn next(&mut self) -> Result<Vec<DocumentMessage>, GatewayError> {
        match &mut self.phase {
            FollowerPhase::Start => {
                self.read_snapshot().await?;
                Ok(vec![DocumentMessage::Resync])
            }
            FollowerPhase::Snapshot(parts) => {
                if let Some(part) = parts.pop_front() {
                    return Ok(vec![DocumentMessage::Snapshot(part)]);
                }
                // What happened while the snapshot was read is a part of it.
                let until = self.head.borrow().later_of(self.tracker.text_end());
                self.phase = FollowerPhase::CatchUp(until);
                Ok(Vec::new())
            }
            FollowerPhase::CatchUp(until)
                if self.at.has_reached(*until) && !self.draft.is_unknown() =>
            {
                self.phase = FollowerPhase::Live;
                Ok(vec![DocumentMessage::Live(self.cursor())])
            }
            FollowerPhase::CatchUp(_) | FollowerPhase::Live => self.next_changes().await,
        }
    }

    fn cursor(&self) -> DocumentCursor {
        DocumentCursor { at: self.at, hash: self.at_hash, selection: self.fingerprint }
    }

    /// Whether the log goes on from where the page is, and not too far.
    async fn can_resume(&self, cursor: DocumentCursor) -> Result<bool, GatewayError> {
        let head = *self.head.borrow();
        if cursor.selection != self.fingerprint
            || !head.has_reached(cursor.at)
            || head.events_since(cursor.at) > limits::MAX_RESUME_EVENTS
        {
            return Ok(false);
        }
        Ok(self.read_hash(cursor.at).await? == Some(cursor.hash))
    }

    /// The beginning of the hash of the event at a position; `None` if the log does not have it.
    async fn read_hash(&self, at: LogCursor) -> Result<Option<u32>, GatewayError> {
        if at == LogCursor::START {
            return Ok(Some(0));
        }
        let event = self.log.store().read_event_at(at).await?;
        Ok(event.map(|event| DocumentCursor::hash_prefix(&event.hash)))
    }

    async fn read_snapshot(&mut self) -> Result<(), GatewayError> {
        let head = *self.head.borrow();
        self.at_hash = self.read_hash(head).await?.unwrap_or(0);
        self.at = head;
        let selection = self.tracker.selection.clone();
        self.tracker = ChangeTracker::new(selection.clone());
        let reader = SnapshotReader::new(&self.log, &selection, &mut self.tracker);
        let mut documents = reader.read().await?;
        self.draft.reset(false);
        self.draft.refresh_current();
        documents.extend(self.draft.take_change(self.at, self.tracker.last_answer)?);
        self.phase = FollowerPhase::Snapshot(split_messages(documents).into());
        Ok(())
    }

    /// After a reconnect, learns which actions and messages the page shows, and with which actions
    /// agents are typing.
    async fn restore_tracker(&mut self) -> Result<(), GatewayError> {
        if let Some(session) = self.tracker.selection.session {
            let (shown, answer) = list_shown_actions(&**self.log.store(), session).await?;
            self.tracker.show_actions(&shown);
            self.tracker.last_answer = answer;
        }
        if !self.tracker.selection.has(PageView::AgentInput) {
            return Ok(());
        }
        let store = Arc::clone(self.log.store());
        let mut queries = Vec::new();
        for doc in store.list_documents(ViewKind::Projects).await? {
            if let ViewDocument::Project(project) = doc {
                let id = project.id.uuid();
                queries.push(provost_store::ListQuery::open(ViewKind::Actions, id));
            }
        }
        self.tracker.watch_typing(&store.list_under(queries).await?);
        Ok(())
    }

    async fn next_changes(&mut self) -> Result<Vec<DocumentMessage>, GatewayError> {
        let head = *self.head.borrow();
        if head.events_since(self.at) > limits::MAX_RESUME_EVENTS {
            self.phase = FollowerPhase::Start;
            return Ok(Vec::new());
        }
        let is_resuming = matches!(self.phase, FollowerPhase::CatchUp(_));
        let mut batch = ChangeBatch::default();
        while !self.at.has_reached(head) && batch.len() < MAX_BATCH_DOCUMENTS {
            self.read_changes(EVENTS_PER_READ, &mut batch).await?;
        }
        loop {
            self.load_pending(&mut batch).await?;
            let text_end = batch.text_end().later_of(self.draft.refresh_current());
            if self.at.has_reached(text_end) {
                break;
            }
            // A text that was read is newer: what else happened up to there must be sent with it.
            if self.head.wait_for(|head| head.has_reached(text_end)).await.is_err() {
                return Err(StoreError::Closed.into());
            }
            let missing = usize::try_from(text_end.events_since(self.at)).unwrap_or(usize::MAX);
            self.read_changes(missing.min(EVENTS_PER_READ), &mut batch).await?;
        }
        if is_resuming && self.tracker.selection.has(PageView::AgentInput) {
            self.add_typed_projects(&mut batch).await?;
        }
        self.build_messages(batch).await
    }

    /// An action that ended before the reconnect may have typed something.
    async fn add_typed_projects(&self, batch: &mut ChangeBatch) -> Result<(), GatewayError> {
        for doc in self.log.store().list_documents(ViewKind::Projects).await? {
            if let ViewDocument::Project(project) = doc
                && self.tracker.selection.has_project(project.id)
            {
                batch.typed.insert(project.id);
            }
        }
        Ok(())
    }

    async fn read_changes(
        &mut self,
        limit: usize,
        batch: &mut ChangeBatch,
    ) -> Result<(), GatewayError> {
        let page = self.log.store().read_events(EventScope::All, self.at, limit).await?;
        if page.events.is_empty() {
            let why = format!("the events after {} are missing", self.at);
            return Err(StoreError::Damaged(why).into());
        }
        for recorded in &page.events {
            self.collect_event(recorded, batch).await?;
        }
        Ok(())
    }

    async fn collect_event(
        &mut self,
        recorded: &RecordedEvent,
        batch: &mut ChangeBatch,
    ) -> Result<(), GatewayError> {
        let event = recorded.decode_event()?;
        let fact = self.log.hydrate_event_fact(&event).await?;
        self.tracker.collect(&event, fact.as_ref(), batch);
        (self.at, self.at_hash) = (recorded.cursor(), DocumentCursor::hash_prefix(&recorded.hash));
        Ok(())
    }

    async fn load_pending(&self, batch: &mut ChangeBatch) -> Result<(), GatewayError> {
        let keys: Vec<_> = std::mem::take(&mut batch.pending).into_iter().collect();
        if keys.is_empty() {
            return Ok(());
        }
        for key in &keys {
            batch.loaded.insert(*key, None);
        }
        for (key, stored) in self.log.store().get_documents(keys).await? {
            batch.loaded.insert(key, Some(stored));
        }
        Ok(())
    }

    async fn build_messages(
        &mut self,
        batch: ChangeBatch,
    ) -> Result<Vec<DocumentMessage>, GatewayError> {
        let ChangeBatch { loaded, appended, typed, commands, .. } = batch;
        // A page may be newer than the events that were read.
        let answer = loaded.values().flatten().filter_map(last_answer).max();
        self.tracker.last_answer = self.tracker.last_answer.max(answer);
        let mut changes = Vec::with_capacity(loaded.len() + appended.len());
        for (key, stored) in loaded {
            let change = self.build_change(key, stored)?;
            if is_text(key.view) {
                match &change {
                    Some(DocumentChange {
                        up_to,
                        content: DocumentContent::Document(Some(_)),
                        ..
                    }) => {
                        self.tracker.set_text_end(key, *up_to);
                    }
                    Some(_) | None => self.tracker.forget_text(&key),
                }
            }
            changes.extend(change);
        }
        for (key, (up_to, texts)) in appended {
            self.tracker.set_text_end(key, up_to);
            let (view, content) = (key.view.name().to_owned(), DocumentContent::Append(texts));
            changes.push(DocumentChange { view, key: key.key, up_to, content });
        }
        if let Some(change) = self.draft.take_change(self.at, self.tracker.last_answer)? {
            // A draft and the message that it became are one change for the page.
            let at = changes.iter().position(is_page).unwrap_or(changes.len());
            changes.insert(at, change);
        }
        for project in typed {
            changes.extend(read_agent_input(&**self.log.store(), project).await?);
        }
        if changes.is_empty() && commands.is_empty() && self.at == self.sent_at {
            return Ok(Vec::new());
        }
        self.sent_at = self.at;
        let mut messages: Vec<_> = split_messages(changes)
            .into_iter()
            .map(|changes| DocumentChanges { changes, commands: Vec::new() })
            .collect();
        // Only the last part is everything up to the cursor.
        let mut last = messages.pop().unwrap_or_default();
        last.commands = commands;
        let cursor = Some(self.cursor());
        let whole = messages.into_iter().map(|part| DocumentMessage::Changes(part, None));
        Ok(whole.chain([DocumentMessage::Changes(last, cursor)]).collect())
    }

    fn build_change(
        &self,
        key: DocumentKey,
        stored: Option<StoredDocument>,
    ) -> Result<Option<DocumentChange>, GatewayError> {
        let Some(view) = PageView::from_kind(key.view) else { return Ok(None) };
        let Some(stored) = stored else { return Ok(None) };
        let selection = &self.tracker.selection;
        let is_shown = self.tracker.shows_action(key.key);
        let is_visible = match document_project(&stored.doc) {
            Some(project) => selection.has_project(project) || is_shown,
            // Rules of all projects are not told in the stream of one.
            None => !selection.is_bound,
        };
        if !is_visible {
            return Ok(None);
        }
        let is_over = match &stored.doc {
            ViewDocument::Output(output) => output.text.is_empty(),
            ViewDocument::Action(action) => {
                !is_shown && (action.finished_at.is_some() || stored.doc.listing().is_none())
            }
            ViewDocument::Project(_)
            | ViewDocument::Token(_)
            | ViewDocument::Kernel(_)
            | ViewDocument::Mode(_)
            | ViewDocument::Approval(_)
            | ViewDocument::Grant(_)
            | ViewDocument::Trusted(_)
            | ViewDocument::Runtime(_)
            | ViewDocument::Session(_)
            | ViewDocument::Page(_)
            | ViewDocument::Draft(_)
            | ViewDocument::Usage(_)
            | ViewDocument::Look(_)
            | ViewDocument::Daemon(_)
            | ViewDocument::Governance(_)
            | ViewDocument::Turn(_)
            | ViewDocument::Notebook(_) => false,
        };
        Ok(Some(if is_over {
            removed_document(view, stored.key, stored.up_to)
        } else {
            whole_document(view, stored)?
        }))
    }
}

fn is_page(change: &DocumentChange) -> bool {
    change.view == PageView::Pages.name()
}

/// Distributes changes over messages of bounded size. The pages of a session stay with the draft
/// before them.
fn split_messages(changes: Vec<DocumentChange>) -> Vec<Vec<DocumentChange>> {
    let mut messages = Vec::new();
    let (mut message, mut bytes) = (Vec::new(), 0);
    for change in changes {
        let size = match &change.content {
            DocumentContent::Document(value) => {
                value.as_ref().map_or(0, |value| value.to_string().len())
            }
            DocumentContent::Append(texts) => texts.iter().map(|text| text.text.len()).sum(),
        };
        let is_full = bytes + size > limits::MAX_DOCUMENT_MESSAGE_BYTES;
        if is_full && !message.is_empty() && !is_page(&change) {
            messages.push(std::mem::take(&mut message));
            bytes = 0;
        }
        bytes += size + 128;
        message.push(change);
    }
    if !message.is_empty() {
        messages.push(message);
    }
    messages
}
