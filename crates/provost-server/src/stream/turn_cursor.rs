//! Following one turn of a session to its end.

use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::session::{FinishReason, SessionStatus};
use provost_proto::{Code, ErrorResponse, Fact, MessageId, SessionId, Stream, TurnId};
use provost_runner::session::AcceptedMessage;
use provost_store::{EventScope, EventStore, LogTail, RecordedEvent, StoreError, hydrate_fact};

use crate::AppState;

/// A cursor that ends with a turn.
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

/// One event of it.
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
    /// From the message on, also if that was said before and its turn is over.
    pub(crate) fn new(door: &AppState, AcceptedMessage { sent, after }: &AcceptedMessage) -> Self {
        let scope = EventScope::Stream(Stream::Session(sent.session));
        let store = Arc::clone(door.gateway.store());
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

    /// Whether it ended because the message is held back: it waits until a person wants
    /// it to be sent.
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
            // The message waits, and this is of the turn before its own.
        }
    }

    fn is_own_message(&self, fact: Option<&Fact>) -> bool {
        matches!(fact, Some(Fact::MessageAdded(added)) if added.message == self.message)
    }

    /// The turn before was stopped: the end, if the message waits until somebody goes on.
    async fn find_held_end(&self) -> Result<Option<TurnEnd>, StoreError> {
        let doc = self.store.get_document(ViewKind::Sessions, self.session.uuid()).await?;
        let waits = doc.and_then(ViewDocument::into_session).is_some_and(|session| {
            let is_queued = session.queued.iter().any(|queued| queued.message == self.message);
            is_queued && session.status != SessionStatus::Running
        });
        let why = "the turn before was stopped, so that this message waits; continue the session \
                   to send it, or take it back";
        Ok(waits.then(|| failed_end(Code::Cancelled, why.to_owned())))
    }

    fn find_turn_end(&self, fact: &Fact) -> Option<TurnEnd> {
        let own = |turn: TurnId| self.turn == Some(turn);
        if let Fact::TurnFinished(end) = fact {
            own(end.turn).then_some(TurnEnd::Finished(end.reason))
        } else if let Fact::TurnFailed(end) = fact {
            own(end.turn).then(|| failed_end(end.fault.code, end.fault.message.clone()))
        } else if let Fact::TurnCancelled(end) = fact {
            let why = "the turn was cancelled".to_owned();
            own(end.turn).then(|| failed_end(Code::Cancelled, why))
        } else if let Fact::TurnInterrupted(end) = fact {
            own(end.turn).then(|| failed_end(Code::Unavailable, end.why.clone()))
        } else if let Fact::MessageWithdrawn(taken) = fact {
            let why = "the message was taken back".to_owned();
            (taken.message == self.message).then(|| failed_end(Code::Cancelled, why))
        } else if let Fact::SessionClosed(_) = fact {
            Some(failed_end(Code::SessionClosed, "the session was closed".to_owned()))
        } else {
            None
        }
    }
}

fn failed_end(code: Code, error: String) -> TurnEnd {
    let (status, details) = (code.status(), None);
    TurnEnd::Failed(Box::new(ErrorResponse { error, code, status, details }))
}

/// Whether what waits may go on waiting after this.
fn may_hold_queue(fact: &Fact) -> bool {
    if let Fact::TurnCancelled(cancelled) = fact {
        !cancelled.withdrawn
    } else {
        matches!(fact, Fact::TurnInterrupted(_))
    }
}
