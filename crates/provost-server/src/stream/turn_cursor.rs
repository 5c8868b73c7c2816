//! Follows the log until one turn of a session ends.

use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::session::{FinishReason, SessionStatus};
use provost_proto::{Code, ErrorResponse, Fact, MessageId, SessionId, Stream, TurnId};
use provost_runner::session::AcceptedMessage;
use provost_store::{EventScope, EventStore, LogTail, RecordedEvent, StoreError, hydrate_fact};

use crate::AppState;

/// A cursor in a session's log that ends with the turn of one message.
pub(crate) struct TurnCursor {
    store: Arc<dyn EventStore>,
    tail: LogTail,
    message: MessageId,
    turn: Option<TurnId>,
    session: SessionId,
    page: std::vec::IntoIter<Arc<RecordedEvent>>,
    is_over: bool,
    is_held: bool,
}

/// One event of the turn.
pub(crate) struct TurnEvent {
    pub(crate) event: Arc<RecordedEvent>,
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
        Self {
            tail: LogTail::new(Arc::clone(&store), scope, *after),
            store,
            message: sent.message,
            turn: sent.turn,
            session: sent.session,
            page: Vec::new().into_iter(),
            is_over: false,
            is_held: false,
        }
    }

    /// Whether it ended because the message is held: it stays queued until a person continues
    /// the session.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    /// The next event; `None` after the end of the turn.
    pub(crate) async fn next(&mut self) -> Result<Option<TurnEvent>, StoreError> {
        if self.is_over {
            return Ok(None);
        }
        loop {
            let event = loop {
                match self.page.next() {
                    Some(event) => break event,
                    None => self.page = self.tail.next().await?.into_iter(),
                }
            };
            let fact = hydrate_fact(&*self.store, &event.decode_event()?).await?;
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
                return Ok(Some(TurnEvent { event, fact, end }));
            }
            // The message is queued, and this event belongs to the turn before.
        }
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
