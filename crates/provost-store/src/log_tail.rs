//! Follows the log: history from disk, then live.

use std::sync::Arc;

use provost_proto::LogCursor;
use tokio::sync::watch;

use crate::{EventScope, EventStore, RecordedEvent, StoreError};

/// The most events of one batch.
const MAX_BATCH_EVENTS: usize = 512;

/// A cursor in the log.
///
/// It holds only a position, so it neither misses nor repeats an event, however slow its reader
/// is and however fast the log grows.
#[derive(Debug)]
pub struct LogTail {
    store: Arc<dyn EventStore>,
    scope: EventScope,
    after: LogCursor,
    head: watch::Receiver<LogCursor>,
}

impl LogTail {
    /// Follows the scope from after a position.
    pub fn new(store: Arc<dyn EventStore>, scope: EventScope, after: LogCursor) -> Self {
        let head = store.watch_head();
        Self { store, scope, after, head }
    }

    /// Everything up to here was read.
    pub fn position(&self) -> LogCursor {
        self.after
    }

    /// The next events that exist already; empty if there are none.
    pub async fn next_available(&mut self) -> Result<Vec<Arc<RecordedEvent>>, StoreError> {
        let page = self.store.read_events(self.scope, self.after, MAX_BATCH_EVENTS).await?;
        self.after = page.up_to;
        Ok(page.events)
    }

    /// The next events, at least one; waits for them if necessary. Dropping the future loses
    /// nothing.
    pub async fn next(&mut self) -> Result<Vec<Arc<RecordedEvent>>, StoreError> {
        loop {
            let events = self.next_available().await?;
            if !events.is_empty() {
                return Ok(events);
            }
            self.wait().await?;
        }
    }

    /// Waits until there may be further events. Dropping the future loses nothing.
    pub async fn wait(&mut self) -> Result<(), StoreError> {
        let after = self.after;
        let moved = self.head.wait_for(|head| !after.has_reached(*head)).await;
        moved.map(|_| ()).map_err(|_| StoreError::Closed)
    }
}
