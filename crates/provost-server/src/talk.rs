//! Following one turn of a session to its end.

use std::sync::Arc;

use provost_proto::session::{FinishReason, Sent};
use provost_proto::{Fact, MessageId, Problem, Seq, Stream, TurnId};
use provost_store::{Recorded, Scope, Store, StoreError, Tail, whole_fact};

use crate::Door;

/// A cursor that ends with a turn.
pub(crate) struct Talk {
    store: Arc<dyn Store>,
    tail: Tail,
    message: MessageId,
    turn: Option<TurnId>,
    page: std::vec::IntoIter<Arc<Recorded>>,
    is_over: bool,
}

/// One event of it.
pub(crate) struct Said {
    pub(crate) event: Arc<Recorded>,
    pub(crate) fact: Option<Fact>,
    /// How the turn ended, if it did.
    pub(crate) end: Option<Ended>,
}

/// How a turn ended.
pub(crate) enum Ended {
    Well(FinishReason),
    Badly(Box<Problem>),
}

impl Talk {
    /// From behind a place, which was read before the message was sent.
    pub(crate) fn new(door: &Door, after: Seq, sent: &Sent) -> Self {
        let scope = Scope::One(Stream::Session(sent.session));
        let store = Arc::clone(door.gateway.store());
        Self {
            tail: Tail::new(Arc::clone(&store), scope, after),
            store,
            message: sent.message,
            turn: sent.turn,
            page: Vec::new().into_iter(),
            is_over: false,
        }
    }

    /// The next event; `None` after the end of the turn.
    pub(crate) async fn next(&mut self) -> Result<Option<Said>, StoreError> {
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
            let fact = whole_fact(&*self.store, &event.event()?).await?;
            if let Some(Fact::TurnStarted(started)) = &fact
                && started.message == Some(self.message)
            {
                self.turn = Some(started.turn);
            }
            let end = fact.as_ref().and_then(|fact| self.ended(fact));
            self.is_over = end.is_some();
            if self.is_over || self.turn.is_some() || self.is_message(fact.as_ref()) {
                return Ok(Some(Said { event, fact, end }));
            }
            // The message waits, and this is of the turn before its own.
        }
    }

    fn is_message(&self, fact: Option<&Fact>) -> bool {
        matches!(fact, Some(Fact::MessageAdded(added)) if added.message == self.message)
    }

    fn ended(&self, fact: &Fact) -> Option<Ended> {
        let own = |turn: TurnId| self.turn == Some(turn);
        let bad = |code: provost_proto::Code, error: String| {
            let (status, details) = (code.status(), None);
            Some(Ended::Badly(Box::new(Problem { error, code, status, details })))
        };
        if let Fact::TurnFinished(end) = fact {
            own(end.turn).then_some(Ended::Well(end.reason))
        } else if let Fact::TurnFailed(end) = fact {
            own(end.turn).then(|| bad(end.fault.code, end.fault.message.clone())).flatten()
        } else if let Fact::TurnCancelled(end) = fact {
            let why = "the turn was cancelled".to_owned();
            own(end.turn).then(|| bad(provost_proto::Code::Cancelled, why)).flatten()
        } else if let Fact::TurnInterrupted(end) = fact {
            own(end.turn).then(|| bad(provost_proto::Code::Unavailable, end.why.clone())).flatten()
        } else if let Fact::SessionClosed(_) = fact {
            bad(provost_proto::Code::SessionClosed, "the session was closed".to_owned())
        } else {
            None
        }
    }
}
