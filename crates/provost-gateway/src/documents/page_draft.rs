//! The draft that a page shows: it follows the live draft of the page's session.
//!
//! A draft and the message that it becomes are never shown both, nor is neither of them: the draft
//! is removed by the same changes that bring its message.

use std::sync::Arc;

use provost_proto::{DocumentChange, DocumentContent, LogCursor, MessageId, SessionId};
use provost_store::StoreError;
use uuid::Uuid;

use super::page_document::removed_document;
use super::selection::PageView;
use crate::live_drafts::{DraftFollower, DraftPosition, DraftState, LiveDraft, LiveDrafts};

/// What a page shows of its session's draft.
#[derive(Debug)]
pub(super) struct PageDraft {
    /// None if the page shows no session.
    follower: Option<(SessionId, DraftFollower)>,
    shown: ShownDraft,
    /// What is being written, as of the last refresh.
    current: Option<Arc<LiveDraft>>,
}

#[derive(Debug)]
enum ShownDraft {
    /// The page was connected before, and may show a draft.
    Unknown,
    None,
    UpTo(Arc<LiveDraft>, DraftPosition),
}

impl PageDraft {
    pub(super) fn new(drafts: &LiveDrafts, session: Option<SessionId>) -> Self {
        let follower = session.map(|session| (session, drafts.follow(session)));
        Self { follower, shown: ShownDraft::None, current: None }
    }

    /// The page starts with a snapshot, or continues with what it has.
    pub(super) fn reset(&mut self, is_resuming: bool) {
        let is_unknown = is_resuming && self.follower.is_some();
        self.shown = if is_unknown { ShownDraft::Unknown } else { ShownDraft::None };
    }

    /// Whether it is not known what the page shows.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self.shown, ShownDraft::Unknown)
    }

    /// Waits for a change. Dropping the future loses nothing.
    pub(super) async fn changed(&mut self) {
        match &mut self.follower {
            Some((_, follower)) => follower.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Reads what is being written. Returns the event up to which the page must be told the
    /// log before it is told of the draft.
    pub(super) fn refresh_current(&mut self) -> LogCursor {
        let Some((_, follower)) = &mut self.follower else { return LogCursor::START };
        let current = follower.current();
        self.current = current.filter(|draft| !matches!(draft.state(), DraftState::Ended(_)));
        let begun = self.current.as_ref().map_or(LogCursor::START, |draft| draft.since());
        let ended = match &self.shown {
            ShownDraft::UpTo(draft, _) => match draft.state() {
                DraftState::Ended(Some(at)) => at,
                DraftState::Ended(None) | DraftState::Live | DraftState::Closing => {
                    LogCursor::START
                }
            },
            ShownDraft::Unknown | ShownDraft::None => LogCursor::START,
        };
        begun.later_of(ended)
    }

    /// What the page is to be told, with the log up to `at`. It has this message of the model as
    /// its last one.
    pub(super) fn take_change(
        &mut self,
        at: LogCursor,
        last_answer: Option<MessageId>,
    ) -> Result<Option<DocumentChange>, StoreError> {
        let Some((session, _)) = &self.follower else { return Ok(None) };
        let key = session.uuid();
        let current = self.current.take().filter(|draft| Some(draft.message()) != last_answer);
        let shown = std::mem::replace(&mut self.shown, ShownDraft::None);
        let Some(draft) = current else {
            return Ok(match shown {
                ShownDraft::None => None,
                ShownDraft::Unknown | ShownDraft::UpTo(..) => {
                    Some(removed_document(PageView::Drafts, key, at))
                }
            });
        };
        if let ShownDraft::UpTo(before, mut position) = shown
            && Arc::ptr_eq(&before, &draft)
            && let Some(pieces) = draft.read_from(&mut position)
        {
            self.shown = ShownDraft::UpTo(draft, position);
            if pieces.is_empty() {
                return Ok(None);
            }
            return Ok(Some(draft_change(key, at, DocumentContent::Append(pieces))));
        }
        let (document, position) = draft.to_document();
        self.shown = ShownDraft::UpTo(draft, position);
        let value = serde_json::to_value(document)
            .map_err(|error| StoreError::NotCanonical(error.to_string()))?;
        Ok(Some(draft_change(key, at, DocumentContent::Document(Some(value)))))
    }

    /// Whether the page was told everything.
    #[cfg(test)]
    pub(super) fn is_up_to_date(&mut self, last_answer: Option<MessageId>) -> bool {
        self.refresh_current();
        self.current = self.current.take().filter(|draft| Some(draft.message()) != last_answer);
        match (&self.current, &self.shown) {
            (None, ShownDraft::None) => true,
            (Some(draft), ShownDraft::UpTo(shown, position)) => {
                let mut position = *position;
                Arc::ptr_eq(draft, shown)
                    && draft.read_from(&mut position).is_some_and(|pieces| pieces.is_empty())
            }
            (Some(_) | None, _) => false,
        }
    }
}

fn draft_change(key: Uuid, up_to: LogCursor, content: DocumentContent) -> DocumentChange {
    DocumentChange { view: PageView::Drafts.name().to_owned(), key, up_to, content }
}
