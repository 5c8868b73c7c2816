//! The newest events in memory, for readers near the end of the log. The window is bounded:
//! readers further behind read from disk.

use parking_lot::RwLock;
use std::collections::VecDeque;
use std::sync::Arc;

use provost_proto::{LogCursor, Seq};

use crate::{EventPage, EventScope, RecordedEvent};

/// The most events in the window.
const MAX_WINDOW_EVENTS: usize = 4096;

/// The most bytes of records in the window.
const MAX_WINDOW_BYTES: usize = 2 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct RecentEvents(RwLock<EventWindow>);

#[derive(Debug, Default)]
struct EventWindow {
    events: VecDeque<Arc<RecordedEvent>>,
    bytes: usize,
}

impl RecentEvents {
    /// Adds events that were just committed.
    pub(crate) fn push(&self, events: impl IntoIterator<Item = Arc<RecordedEvent>>) {
        let mut window = self.0.write();
        for event in events {
            window.bytes += event.record_bytes().len();
            window.events.push_back(event);
        }
        while window.events.len() > MAX_WINDOW_EVENTS || window.bytes > MAX_WINDOW_BYTES {
            let Some(old) = window.events.pop_front() else { break };
            window.bytes -= old.record_bytes().len();
        }
    }

    /// Reads from the window; `None` if it begins after the reader's position.
    pub(crate) fn read_after(
        &self,
        scope: EventScope,
        after: Seq,
        limit: usize,
    ) -> Option<EventPage> {
        let window = self.0.read();
        let first = window.events.front()?.seq;
        let last = window.events.back()?.seq;
        let next = after.saturating_add(1);
        if next < first {
            return None;
        }
        // Positions have no gaps, so the index follows from the position.
        let start = usize::try_from(next.saturating_sub(first)).unwrap_or(usize::MAX);
        let mut page =
            EventPage { events: Vec::new(), up_to: LogCursor::from_seq(after.max(last)) };
        for event in window.events.iter().skip(start) {
            if !event.is_in(scope) {
                continue;
            }
            if page.events.len() == limit {
                page.up_to =
                    page.events.last().map_or(LogCursor::from_seq(after), |event| event.cursor());
                break;
            }
            page.events.push(Arc::clone(event));
        }
        Some(page)
    }
}
