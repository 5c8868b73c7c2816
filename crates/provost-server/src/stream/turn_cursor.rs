//! Follows a session until one of its turns ends: its events, and what the model writes.

use std::collections::VecDeque;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::session::{
    ContentDelta, FinishReason, MessageAdded, MessageAuthor, MessagePart, SessionStatus,
};
use provost_proto::{Code, ErrorResponse, Fact, MessageId, SessionId, Stream, TurnId};
use provost_runner::session::AcceptedMessage;
use provost_store::{EventScope, EventStore, RecordedEvent, StoreError, hydrate_fact};

use super::log_feed::{FeedItem, LogFeed};
use crate::AppState;

/// A cursor in a session's log that ends with the turn of one message.
pub(crate) struct TurnCursor {
    store: Arc<dyn EventStore>,
    feed: LogFeed,
    message: MessageId,
    turn: Option<TurnId>,
    session: SessionId,
    items: VecDeque<FeedItem>,
    text: StreamedText,
    is_over: bool,
    is_held: bool,
}

/// Whether the text of the next message was passed on before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamedText {
    /// No.
    Missing,
    /// From a draft, which becomes this message.
    FromDraft(MessageId),
    /// From events, which earlier versions recorded.
    FromEvents,
}

/// One event of the turn.
pub(crate) struct TurnEvent {
    /// The event as it was recorded; `None` for a delta.
    pub(crate) event: Option<Arc<RecordedEvent>>,
    pub(crate) fact: Option<Fact>,
    /// How the turn ended, if it did.
    pub(crate) end: Option<TurnEnd>,
}

/// How a turn ended.
pub(crate) enum TurnEnd {
    Finished(FinishReason),
    Failed(Box<ErrorResponse>),
}

impl TurnCursor {
    /// Starts at the message, which may be an earlier one whose turn is over.
    pub(crate) fn new(app: &AppState, AcceptedMessage { sent, after }: &AcceptedMessage) -> Self {
        let scope = EventScope::Stream(Stream::Session(sent.session));
        let store = Arc::clone(app.gateway.store());
        let drafts = app.gateway.drafts.follow(sent.session);
        Self {
            feed: LogFeed::new(Arc::clone(&store), scope, *after, Some(drafts)),
            store,
            message: sent.message,
            turn: sent.turn,
            session: sent.session,
            items: VecDeque::new(),
            text: StreamedText::Missing,
            is_over: false,
            is_held: false,
        }
    }

    /// Whether it ended because the message is held: it stays queued until a person continues
    /// the session.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    /// The next event or delta; `None` after the end of the turn. The text of every message comes
    /// as deltas before it.
    pub(crate) async fn next(&mut self) -> Result<Option<TurnEvent>, StoreError> {
        if self.is_over {
            return Ok(None);
        }
        loop {
            let event = match self.next_item().await? {
                FeedItem::Event(event) => event,
                FeedItem::DraftBegun(draft) => {
                    self.text = StreamedText::FromDraft(draft.message());
                    continue;
                }
                FeedItem::Delta(fact) if delta_turn(&fact) == self.turn => {
                    return Ok(Some(TurnEvent { event: None, fact: Some(*fact), end: None }));
                }
                FeedItem::Delta(_) => continue,
            };
            let fact = hydrate_fact(&*self.store, &event.decode_event()?).await?;
            if let Some(missing) = fact.as_ref().and_then(|fact| self.find_missing_text(fact)) {
                let deltas = missing.into_iter().map(Box::new).map(FeedItem::Delta);
                self.items.push_front(FeedItem::Event(event));
                deltas.rev().for_each(|delta| self.items.push_front(delta));
                continue;
            }
            if let Some(Fact::TurnStarted(started)) = &fact
                && started.message == Some(self.message)
            {
                self.turn = Some(started.turn);
            }
            let mut end = fact.as_ref().and_then(|fact| self.find_turn_end(fact));
            if end.is_none() && self.turn.is_none() && fact.as_ref().is_some_and(may_hold_queue) {
                end = self.find_held_end().await?;
                self.is_held = end.is_some();
            }
            self.is_over = end.is_some();
            if self.is_over || self.turn.is_some() || self.is_own_message(fact.as_ref()) {
                return Ok(Some(TurnEvent { event: Some(event), fact, end }));
            }
            // The message is queued, and this event belongs to the turn before.
        }
    }

    async fn next_item(&mut self) -> Result<FeedItem, StoreError> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Ok(item);
            }
            self.items = self.feed.next_available().await?.into();
            if self.items.is_empty() {
                self.feed.wait().await?;
            }
        }
    }

    /// The text of a message of the model that was not passed on before, as deltas.
    fn find_missing_text(&mut self, fact: &Fact) -> Option<Vec<Fact>> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "other facts have nothing to do with it"
        )]
        match fact {
            Fact::TextDelta(_) | Fact::ReasoningDelta(_) => self.text = StreamedText::FromEvents,
            Fact::AttemptRestarted(_) => self.text = StreamedText::Missing,
            Fact::MessageAdded(added) if added.from == MessageAuthor::Assistant => {
                let before = std::mem::replace(&mut self.text, StreamedText::Missing);
                let is_missing = match before {
                    StreamedText::Missing => true,
                    StreamedText::FromDraft(message) => message != added.message,
                    StreamedText::FromEvents => false,
                };
                let deltas = message_deltas(added);
                if is_missing && !deltas.is_empty() {
                    self.text = StreamedText::FromDraft(added.message);
                    return Some(deltas);
                }
            }
            _ => {}
        }
        None
    }

    fn is_own_message(&self, fact: Option<&Fact>) -> bool {
        matches!(fact, Some(Fact::MessageAdded(added)) if added.message == self.message)
    }

    /// After the previous turn was cancelled: the end of this cursor, if the message is held.
    async fn find_held_end(&self) -> Result<Option<TurnEnd>, StoreError> {
        let doc = self.store.get_document(ViewKind::Sessions, self.session.uuid()).await?;
        let is_held = doc.and_then(ViewDocument::into_session).is_some_and(|session| {
            let is_queued = session.queued.iter().any(|queued| queued.message == self.message);
            is_queued && session.status != SessionStatus::Running
        });
        let message = "the previous turn was cancelled, so this message stays queued; continue the \
        session to send it, or withdraw it";
        Ok(is_held.then(|| failed_end(Code::Cancelled, message.to_owned())))
    }

    fn find_turn_end(&self, fact: &Fact) -> Option<TurnEnd> {
        let is_own = |turn: TurnId| self.turn == Some(turn);
        #[expect(clippy::wildcard_enum_match_arm, reason = "other facts end no turn")]
        match fact {
            Fact::TurnFinished(end) => is_own(end.turn).then_some(TurnEnd::Finished(end.reason)),
            Fact::TurnFailed(end) => {
                is_own(end.turn).then(|| failed_end(end.fault.code, end.fault.message.clone()))
            }
            Fact::TurnCancelled(end) => is_own(end.turn)
                .then(|| failed_end(Code::Cancelled, "the turn was cancelled".to_owned())),
            Fact::TurnInterrupted(end) => {
                is_own(end.turn).then(|| failed_end(Code::Unavailable, end.why.clone()))
            }
            Fact::MessageWithdrawn(withdrawn) => (withdrawn.message == self.message)
                .then(|| failed_end(Code::Cancelled, "the message was withdrawn".to_owned())),
            Fact::SessionClosed(_) => {
                Some(failed_end(Code::SessionClosed, "the session was closed".to_owned()))
            }
            _ => None,
        }
    }
}

/// The turn that streams this text.
fn delta_turn(fact: &Fact) -> Option<TurnId> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact is a delta")]
    match fact {
        Fact::TextDelta(delta) | Fact::ReasoningDelta(delta) => Some(delta.turn),
        Fact::ToolDelta(delta) => Some(delta.turn),
        _ => None,
    }
}

/// The text and reasoning of a message as deltas.
fn message_deltas(added: &MessageAdded) -> Vec<Fact> {
    let Some(turn) = added.turn else { return Vec::new() };
    let delta = |text: &str| ContentDelta { session: added.session, turn, text: text.to_owned() };
    let deltas = added.parts.iter().map(|part| match part {
        MessagePart::Text { text } | MessagePart::Refusal { text } => Fact::TextDelta(delta(text)),
        MessagePart::Reasoning { text } => Fact::ReasoningDelta(delta(text)),
    });
    deltas.collect()
}

fn failed_end(code: Code, error: String) -> TurnEnd {
    let (status, details) = (code.status(), None);
    TurnEnd::Failed(Box::new(ErrorResponse { error, code, status, details }))
}

/// Whether queued messages may be held after this fact.
fn may_hold_queue(fact: &Fact) -> bool {
    #[expect(clippy::wildcard_enum_match_arm, reason = "other facts do not stop a turn")]
    match fact {
        Fact::TurnCancelled(cancelled) => !cancelled.withdrawn,
        Fact::TurnInterrupted(_) => true,
        _ => false,
    }
}
