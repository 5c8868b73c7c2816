//! Reads the log forward, together with the draft of a session: what a model wrote before an event
//! was recorded comes before that event.

use std::sync::Arc;

use provost_gateway::{DraftFollower, DraftPosition, DraftState, LiveDraft};
use provost_proto::{Fact, LogCursor};
use provost_store::{EventScope, EventStore, LogTail, RecordedEvent, StoreError};

/// A cursor in the log, and one in a draft.
///
/// A draft is passed on from its beginning to its end, or not at all: one that is over is in the
/// log.
pub(crate) struct LogFeed {
    tail: LogTail,
    drafts: Option<DraftFollower>,
    reading: Option<(Arc<LiveDraft>, DraftPosition)>,
}

/// What comes next.
pub(crate) enum FeedItem {
    Event(Arc<RecordedEvent>),
    /// A draft begins. What was passed on of another one is over or void.
    DraftBegun(Arc<LiveDraft>),
    /// What was added to the draft.
    Delta(Box<Fact>),
}

impl LogFeed {
    /// Starts after a position; with the draft of a session, if the scope is one.
    pub(crate) fn new(
        store: Arc<dyn EventStore>,
        scope: EventScope,
        after: LogCursor,
        drafts: Option<DraftFollower>,
    ) -> Self {
        Self { tail: LogTail::new(store, scope, after), drafts, reading: None }
    }

    /// Waits until there may be more. Dropping the future loses nothing.
    pub(crate) async fn wait(&mut self) -> Result<(), StoreError> {
        match &mut self.drafts {
            None => self.tail.wait().await,
            Some(drafts) => tokio::select! {
                moved = self.tail.wait() => moved,
                () = drafts.changed() => Ok(()),
            },
        }
    }

    /// What exists already; empty if there is nothing new.
    pub(crate) async fn next_available(&mut self) -> Result<Vec<FeedItem>, StoreError> {
        // Looked at before the log is read, so that the events before the draft are read too.
        let current = self.drafts.as_mut().and_then(DraftFollower::current);
        let mut items = Vec::new();
        for event in self.tail.next_available().await? {
            self.read_draft(current.as_ref(), Some(event.cursor()), &mut items);
            items.push(FeedItem::Event(event));
        }
        self.read_draft(current.as_ref(), None, &mut items);
        Ok(items)
    }

    /// Reads the draft as far as it was written before an event, or so far.
    fn read_draft(
        &mut self,
        current: Option<&Arc<LiveDraft>>,
        before: Option<LogCursor>,
        items: &mut Vec<FeedItem>,
    ) {
        if let Some((draft, position)) = &mut self.reading {
            let is_over = matches!(draft.state(), DraftState::Ended(_));
            items
                .extend(draft.read_deltas(position).into_iter().map(Box::new).map(FeedItem::Delta));
            if is_over {
                self.reading = None;
            }
        }
        let Some(draft) = current.filter(|_| self.reading.is_none()) else { return };
        let has_begun = match before {
            Some(event) => !draft.since().has_reached(event),
            None => self.tail.position().has_reached(draft.since()),
        };
        if has_begun && draft.state() == DraftState::Live {
            let mut position = DraftPosition::default();
            items.push(FeedItem::DraftBegun(Arc::clone(draft)));
            items.extend(
                draft.read_deltas(&mut position).into_iter().map(Box::new).map(FeedItem::Delta),
            );
            self.reading = Some((Arc::clone(draft), position));
        }
    }
}
