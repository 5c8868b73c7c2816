//! Sessions with models. Everything that is done in one is in the log before a client sees it;
//! what a model is writing is in the journal of the session, and in the log when it is finished.
//!
//! ```text
//!   Runner ──▶ SessionActor, one per live session ──▶ Turn, one at a time
//!                                                      │ completion: model ──▶ draft ──▶ log
//!                                                      │ tool calls: gateway ──▶ results ──▶ log
//! ```
//!
//! - `actor`: the task that owns a session and the requests that reach it
//! - `turn`: one turn: completions, streamed text, tool calls, handoffs
//! - `history`: the conversation in the log and as the model gets it, and its compaction
//! - `budget`: reservations and spending of tokens and money
//! - `recovery`: what happens after a restart of the daemon
//!
//! The log is the only state: a turn starts by reading the conversation from the session's
//! documents, and a completion is appended together with its tool calls. After a crash the
//! next daemon therefore knows what was in progress: it waits for tool calls without a
//! result, and marks a completion that was cut off as interrupted and keeps its text, which it
//! reads from the journal.

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

use provost_core::session::turn_step::TurnLimits;
use provost_gateway::{Gateway, Operator};
use provost_proto::session::{NanoDollars, SessionBudget, SessionStatus, SessionView};
use provost_proto::{Actor, MessageId, Principal, SessionId, TurnId};
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

/// Requests that one session queues; then senders wait.
const INBOX_CAPACITY: usize = 32;

/// Defaults and limits of all sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionSettings {
    /// Limits of one turn: calls, tokens, cost, time.
    pub limits: TurnLimits,
    /// Tokens of context from which on a conversation is compacted; derived from the model's
    /// context window if absent.
    pub compact_at: Option<u64>,
    /// Budget of a session that is opened without one.
    pub budget: SessionBudget,
    /// Most that all sessions of one project may cost.
    pub project: Option<NanoDollars>,
    /// Most that all sessions may cost on one day (UTC).
    pub day: Option<NanoDollars>,
    /// Model of a session if neither its role nor the request names one.
    pub model: Option<String>,
}

/// On whose authority a session acts, and which component made the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallerIdentity {
    pub(crate) principal: Principal,
    pub(crate) actor: Actor,
}

impl From<&Operator> for CallerIdentity {
    fn from(operator: &Operator) -> Self {
        Self { principal: operator.principal().to_owned(), actor: operator.actor().clone() }
    }
}

/// Opens, runs and resumes all sessions of a daemon.
#[derive(Debug)]
pub struct Runner {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) models: ModelClient,
    pub(crate) prices: PriceTable,
    pub(crate) settings: SessionSettings,
    pub(crate) ledger: Arc<SharedLedger>,
    live: Mutex<HashMap<SessionId, mpsc::Sender<SessionRequest>>>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl Runner {
    /// Loads the sessions of this log. Turns that the previous daemon left open are resumed or
    /// marked as interrupted.
    pub async fn open(
        gateway: Arc<Gateway>,
        models: ModelClient,
        prices: PriceTable,
        settings: SessionSettings,
    ) -> Result<Arc<Self>, RunnerError> {
        let runner = Arc::new(Self {
            gateway,
            models,
            prices,
            settings,
            ledger: Arc::default(),
            live: Mutex::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        runner.resume_sessions().await?;
        Ok(runner)
    }

    /// Stops all sessions at once, as a crash would; the next daemon resumes them.
    pub async fn stop(&self) {
        self.closing.cancel();
        self.live.lock().clear();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// The gateway, which decides and executes all actions.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// The client of all model providers and scripts.
    pub fn models(&self) -> &ModelClient {
        &self.models
    }

    /// Prices of models, in dollars per token.
    pub fn prices(&self) -> &PriceTable {
        &self.prices
    }

    /// Model of a session if neither its role nor the request names one.
    pub fn default_model(&self) -> Option<&str> {
        self.settings.model.as_deref()
    }

    /// Sends a message to a session. It starts a turn, or is queued behind the running one.
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

    /// Cancels the running turn and waits until none of its actions runs any more. Queued
    /// messages stay queued until a message is sent or the session is continued. Returns
    /// whether there was a turn.
    pub async fn cancel_turn(self: &Arc<Self>, session: SessionId) -> Result<bool, RunnerError> {
        self.call_actor(session, |reply| SessionRequest::CancelTurn { reply }).await
    }

    /// The client that sent this message disconnected: cancels its turn, or removes it from the
    /// queue. Other turns of the session are not affected.
    pub async fn cancel_message(
        self: &Arc<Self>,
        session: SessionId,
        message: MessageId,
    ) -> Result<(), RunnerError> {
        self.call_actor(session, |reply| SessionRequest::CancelMessage { message, reply }).await
    }

    /// Withdraws a queued message.
    pub async fn withdraw_message(
        self: &Arc<Self>,
        by: &Operator,
        session: SessionId,
        message: MessageId,
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

    /// Continues a turn that was interrupted, failed, was cancelled or reached its token limit,
    /// and then starts the queued messages.
    pub async fn continue_turn(
        self: &Arc<Self>,
        by: &Operator,
        session: SessionId,
    ) -> Result<TurnId, RunnerError> {
        let by = by.into();
        self.call_actor(session, |reply| SessionRequest::ContinueTurn { by, reply }).await?
    }

    /// Closes a session. Its conversation stays readable.
    pub async fn close_session(
        self: &Arc<Self>,
        by: &Operator,
        session: SessionId,
    ) -> Result<SessionView, RunnerError> {
        let by = by.into();
        self.call_actor(session, |reply| SessionRequest::Close { by, reply }).await??;
        self.load_session(session).await
    }

    /// Sends a request to the actor of a session and waits for its reply.
    async fn call_actor<T>(
        self: &Arc<Self>,
        session: SessionId,
        build_request: impl FnOnce(oneshot::Sender<T>) -> SessionRequest,
    ) -> Result<T, RunnerError> {
        let inbox = self.actor_inbox(session).await?;
        let (reply, response) = oneshot::channel();
        inbox.send(build_request(reply)).await.map_err(|_| RunnerError::Stopping)?;
        response.await.map_err(|_| RunnerError::Stopping)
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

    /// The inbox of a session's actor, which is spawned if there is none.
    pub(crate) fn get_or_spawn_actor(
        self: &Arc<Self>,
        view: &SessionView,
    ) -> mpsc::Sender<SessionRequest> {
        let mut live = self.live.lock();
        if let Some(inbox) = live.get(&view.id).filter(|inbox| !inbox.is_closed()) {
            return inbox.clone();
        }
        let (inbox, requests) = mpsc::channel(INBOX_CAPACITY);
        live.insert(view.id, inbox.clone());
        let actor = SessionActor::new(Arc::clone(self), view, requests);
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            // Dropping the task at any await point is equivalent to a crash, and must be safe.
            let _done = closing.run_until_cancelled(actor.run()).await;
        });
        inbox
    }
}
