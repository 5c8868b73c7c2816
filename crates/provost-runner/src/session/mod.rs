//! Sessions with models, durable to the last piece of text.
//!
//! ```text
//!   Runner ──▶ Actor, one per live session ──▶ Turn, one at a time
//!                                               │ ask: model ──▶ deltas ──▶ log
//!                                               │ tools: gateway ──▶ results ──▶ log
//! ```
//!
//! There is no state but the log's: a turn begins by reading what was said from the
//! documents of the session, and what a model answers is in the log with its calls
//! in one append. So a daemon that was killed finds out what was under way: calls
//! that have no result are followed to their end, an answer that was cut off is
//! marked as interrupted, with what had been said.

mod actor;
mod afford;
mod ask;
mod error;
mod handoff;
mod history;
mod inbox;
mod interrupt;
mod journal;
mod look;
mod money;
mod open;
mod pace;
mod pump;
mod queue;
mod recover;
mod render;
mod summary;
mod told;
mod tools;
mod tree;
mod turn;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::session::turn_step::TurnLimits;
use provost_gateway::{Gateway, Operator};
use provost_proto::session::{NanoDollars, SessionBudget, SessionStatus, SessionView};
use provost_proto::{Actor as Acting, MessageId, Principal, SessionId, TurnId};
use provost_store::Idempotency;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use error::RunnerError;
pub use inbox::{Prompt, Taken};
pub(crate) use render::cut;

use crate::model::{Models, Prices};
use actor::Actor;
use inbox::Ask;
use money::Ledger;
use pace::Pace;

/// What may wait for one session before senders do.
const INBOX: usize = 32;

/// How sessions are set up.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// What one turn may take.
    pub limits: TurnLimits,
    /// From how many tokens on a conversation is summarized; by its model if absent.
    pub compact_at: Option<u64>,
    /// What a session may use that names no budget of its own.
    pub budget: SessionBudget,
    /// What all sessions of one project may cost.
    pub project: Option<NanoDollars>,
    /// What all sessions may cost on one day.
    pub day: Option<NanoDollars>,
    /// The model that is taken where nobody names one.
    pub model: Option<String>,
}

/// Who speaks in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Speaker {
    pub(crate) principal: Principal,
    pub(crate) actor: Acting,
}

impl From<&Operator> for Speaker {
    fn from(operator: &Operator) -> Self {
        Self { principal: operator.principal().to_owned(), actor: operator.actor().clone() }
    }
}

/// All sessions.
#[derive(Debug)]
pub struct Runner {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) models: Models,
    pub(crate) prices: Prices,
    pub(crate) settings: Settings,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) pace: Pace,
    live: Mutex<HashMap<SessionId, mpsc::Sender<Ask>>>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl Runner {
    /// Takes the sessions of this log up. What a daemon before had under way goes on
    /// or is marked as interrupted.
    pub async fn open(
        gateway: Arc<Gateway>,
        models: Models,
        prices: Prices,
        settings: Settings,
    ) -> Result<Arc<Self>, RunnerError> {
        let rows = gateway.store().list_documents(ViewKind::Usage).await?;
        let sessions = gateway.store().list_documents(ViewKind::Sessions).await?;
        let ledger = Arc::new(Ledger::new(
            rows.into_iter().filter_map(ViewDocument::into_usage),
            sessions.into_iter().filter_map(ViewDocument::into_session),
        ));
        let runner = Arc::new(Self {
            gateway,
            models,
            prices,
            settings,
            ledger,
            pace: Pace::default(),
            live: Mutex::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        runner.take_up().await?;
        Ok(runner)
    }

    /// Ends all sessions' work as a crash would: at once, and to be taken up again.
    pub async fn stop(&self) {
        self.closing.cancel();
        self.live.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// The authority.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// The providers and scripts.
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// The prices of models.
    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// The model that is taken where nobody names one.
    pub fn default_model(&self) -> Option<&str> {
        self.settings.model.as_deref()
    }

    /// Says something in a session. A turn begins, or it waits for its turn.
    pub async fn send(
        self: &Arc<Self>,
        by: &Operator,
        session: SessionId,
        prompt: Prompt,
    ) -> Result<Taken, RunnerError> {
        self.send_as(by.into(), session, prompt).await
    }

    pub(crate) async fn send_as(
        self: &Arc<Self>,
        by: Speaker,
        session: SessionId,
        prompt: Prompt,
    ) -> Result<Taken, RunnerError> {
        error::check_text(&prompt.text)?;
        self.tell(session, |reply| Ask::Message { by, prompt, reply }).await?
    }

    /// Stops the turn of a session; done when nothing of it runs any more. What waits
    /// goes on waiting until somebody says something or goes on. Tells whether there was
    /// a turn.
    pub async fn cancel(self: &Arc<Self>, session: SessionId) -> Result<bool, RunnerError> {
        self.tell(session, |reply| Ask::Cancel { reply }).await
    }

    /// Nobody waits for the answer to this message any more: its turn is stopped, or
    /// will not begin. Every other turn of the session goes on.
    pub async fn withdraw(
        self: &Arc<Self>,
        session: SessionId,
        message: MessageId,
    ) -> Result<(), RunnerError> {
        self.tell(session, |reply| Ask::Withdraw { message, reply }).await
    }

    /// Takes back a message that waits for its turn.
    pub async fn take_back(
        self: &Arc<Self>,
        by: &Operator,
        (session, message): (SessionId, MessageId),
        command: Option<Idempotency>,
    ) -> Result<(), RunnerError> {
        let by = by.into();
        self.tell(session, |reply| Ask::TakeBack { by, message, command, reply }).await?
    }

    /// Goes on with a turn that was cut off, failed or cancelled, and then with what
    /// waits.
    pub async fn go_on(
        self: &Arc<Self>,
        by: &Operator,
        session: SessionId,
    ) -> Result<TurnId, RunnerError> {
        let by = by.into();
        self.tell(session, |reply| Ask::GoOn { by, reply }).await?
    }

    /// Closes a session. What was said stays to be read.
    pub async fn close(
        self: &Arc<Self>,
        by: &Operator,
        session: SessionId,
    ) -> Result<SessionView, RunnerError> {
        let by = by.into();
        self.tell(session, |reply| Ask::Close { by, reply }).await??;
        self.view(session).await
    }

    /// Asks the actor of a session something.
    async fn tell<T>(
        self: &Arc<Self>,
        session: SessionId,
        ask: impl FnOnce(oneshot::Sender<T>) -> Ask,
    ) -> Result<T, RunnerError> {
        let inbox = self.actor(session).await?;
        let (reply, answer) = oneshot::channel();
        inbox.send(ask(reply)).await.map_err(|_| RunnerError::Stopping)?;
        answer.await.map_err(|_| RunnerError::Stopping)
    }

    async fn actor(self: &Arc<Self>, session: SessionId) -> Result<mpsc::Sender<Ask>, RunnerError> {
        let view = self.view(session).await?;
        if view.status == SessionStatus::Closed {
            return Err(RunnerError::Closed);
        }
        Ok(self.wake(&view))
    }

    /// The actor of a session, begun if there is none.
    pub(crate) fn wake(self: &Arc<Self>, view: &SessionView) -> mpsc::Sender<Ask> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inbox) = live.get(&view.id).filter(|inbox| !inbox.is_closed()) {
            return inbox.clone();
        }
        let (inbox, asks) = mpsc::channel(INBOX);
        live.insert(view.id, inbox.clone());
        let actor = Actor::new(Arc::clone(self), view, asks);
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            // Dropping it where it stands is what a crash does, and must be safe.
            let _done = closing.run_until_cancelled(actor.run()).await;
        });
        inbox
    }
}
