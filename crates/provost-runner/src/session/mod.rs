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
mod budget;
mod error;
mod history;
mod open_session;
mod recovery;
mod session_queries;
mod turn;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::session::turn_step::TurnLimits;
use provost_gateway::{Gateway, Operator};
use provost_proto::session::{NanoDollars, SessionBudget, SessionStatus, SessionView};
use provost_proto::{Actor as Acting, MessageId, Principal, SessionId, TurnId};
use provost_store::Idempotency;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use actor::{AcceptedMessage, TurnPrompt};
pub use error::RunnerError;
pub(crate) use turn::tool_output::truncate_middle;

use crate::model::{ModelClient, PriceTable};
use actor::{SessionActor, SessionRequest};
use budget::shared_ledger::SharedLedger;
use turn::write_throttle::WriteThrottle;

/// What may wait for one session before senders do.
const INBOX_CAPACITY: usize = 32;

/// How sessions are set up.
#[derive(Debug, Clone, Default)]
pub struct SessionSettings {
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
pub(crate) struct CallerIdentity {
    pub(crate) principal: Principal,
    pub(crate) actor: Acting,
}

impl From<&Operator> for CallerIdentity {
    fn from(operator: &Operator) -> Self {
        Self { principal: operator.principal().to_owned(), actor: operator.actor().clone() }
    }
}

/// All sessions.
#[derive(Debug)]
pub struct Runner {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) models: ModelClient,
    pub(crate) prices: PriceTable,
    pub(crate) settings: SessionSettings,
    pub(crate) ledger: Arc<SharedLedger>,
    pub(crate) pace: WriteThrottle,
    live: Mutex<HashMap<SessionId, mpsc::Sender<SessionRequest>>>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl Runner {
    /// Takes the sessions of this log up. What a daemon before had under way goes on
    /// or is marked as interrupted.
    pub async fn open(
        gateway: Arc<Gateway>,
        models: ModelClient,
        prices: PriceTable,
        settings: SessionSettings,
    ) -> Result<Arc<Self>, RunnerError> {
        let rows = gateway.store().list_documents(ViewKind::Usage).await?;
        let sessions = gateway.store().list_documents(ViewKind::Sessions).await?;
        let ledger = Arc::new(SharedLedger::new(
            rows.into_iter().filter_map(ViewDocument::into_usage),
            sessions.into_iter().filter_map(ViewDocument::into_session),
        ));
        let runner = Arc::new(Self {
            gateway,
            models,
            prices,
            settings,
            ledger,
            pace: WriteThrottle::default(),
            live: Mutex::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        runner.resume_sessions().await?;
        Ok(runner)
    }

    /// Ends all sessions' work as a crash would: at once, and to be taken up again.
    pub async fn stop(&self) {
        self.closing.cancel();
        self.live.lock().clear();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// The authority.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// The providers and scripts.
    pub fn models(&self) -> &ModelClient {
        &self.models
    }

    /// The prices of models.
    pub fn prices(&self) -> &PriceTable {
        &self.prices
    }

    /// The model that is taken where nobody names one.
    pub fn default_model(&self) -> Option<&str> {
        self.settings.model.as_deref()
    }

    /// Says something in a session. A turn begins, or it waits for its turn.
    pub async fn send_message(
        self: &Arc<Self>,
        by: &Operator,
        session: SessionId,
        prompt: TurnPrompt,
    ) -> Result<AcceptedMessage, RunnerError> {
        self.send_message_as(by.into(), session, prompt).await
    }

    pub(crate) async fn send_message_as(
        self: &Arc<Self>,
        by: CallerIdentity,
        session: SessionId,
        prompt: TurnPrompt,
    ) -> Result<AcceptedMessage, RunnerError> {
        error::check_text(&prompt.text)?;
        self.call_actor(session, |reply| SessionRequest::SendMessage { by, prompt, reply }).await?
    }

    /// Stops the turn of a session; done when nothing of it runs any more. What waits
    /// goes on waiting until somebody says something or goes on. Tells whether there was
    /// a turn.
    pub async fn cancel_turn(self: &Arc<Self>, session: SessionId) -> Result<bool, RunnerError> {
        self.call_actor(session, |reply| SessionRequest::CancelTurn { reply }).await
    }

    /// Nobody waits for the answer to this message any more: its turn is stopped, or
    /// will not begin. Every other turn of the session goes on.
    pub async fn cancel_message(
        self: &Arc<Self>,
        session: SessionId,
        message: MessageId,
    ) -> Result<(), RunnerError> {
        self.call_actor(session, |reply| SessionRequest::CancelMessage { message, reply }).await
    }

    /// Takes back a message that waits for its turn.
    pub async fn withdraw_message(
        self: &Arc<Self>,
        by: &Operator,
        (session, message): (SessionId, MessageId),
        command: Option<Idempotency>,
    ) -> Result<(), RunnerError> {
        let by = by.into();
        self.call_actor(session, |reply| SessionRequest::WithdrawMessage {
            by,
            message,
            command,
            reply,
        })
        .await?
    }

    /// Goes on with a turn that was cut off, failed or cancelled, and then with what
    /// waits.
    pub async fn continue_turn(
        self: &Arc<Self>,
        by: &Operator,
        session: SessionId,
    ) -> Result<TurnId, RunnerError> {
        let by = by.into();
        self.call_actor(session, |reply| SessionRequest::ContinueTurn { by, reply }).await?
    }

    /// Closes a session. What was said stays to be read.
    pub async fn close_session(
        self: &Arc<Self>,
        by: &Operator,
        session: SessionId,
    ) -> Result<SessionView, RunnerError> {
        let by = by.into();
        self.call_actor(session, |reply| SessionRequest::Close { by, reply }).await??;
        self.load_session(session).await
    }

    /// Asks the actor of a session something.
    async fn call_actor<T>(
        self: &Arc<Self>,
        session: SessionId,
        ask: impl FnOnce(oneshot::Sender<T>) -> SessionRequest,
    ) -> Result<T, RunnerError> {
        let inbox = self.actor_inbox(session).await?;
        let (reply, answer) = oneshot::channel();
        inbox.send(ask(reply)).await.map_err(|_| RunnerError::Stopping)?;
        answer.await.map_err(|_| RunnerError::Stopping)
    }

    async fn actor_inbox(
        self: &Arc<Self>,
        session: SessionId,
    ) -> Result<mpsc::Sender<SessionRequest>, RunnerError> {
        let view = self.load_session(session).await?;
        if view.status == SessionStatus::Closed {
            return Err(RunnerError::SessionClosed);
        }
        Ok(self.get_or_spawn_actor(&view))
    }

    /// The actor of a session, begun if there is none.
    pub(crate) fn get_or_spawn_actor(
        self: &Arc<Self>,
        view: &SessionView,
    ) -> mpsc::Sender<SessionRequest> {
        let mut live = self.live.lock();
        if let Some(inbox) = live.get(&view.id).filter(|inbox| !inbox.is_closed()) {
            return inbox.clone();
        }
        let (inbox, asks) = mpsc::channel(INBOX_CAPACITY);
        live.insert(view.id, inbox.clone());
        let actor = SessionActor::new(Arc::clone(self), view, asks);
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            // Dropping it where it stands is what a crash does, and must be safe.
            let _done = closing.run_until_cancelled(actor.run()).await;
        });
        inbox
    }
}
