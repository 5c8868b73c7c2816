//! One live session: handles requests and runs one turn at a time.
//!
//! There is no lock. The task is the only one that starts and ends turns of its session;
//! messages that arrive during a turn are appended to the log and queued.

use std::collections::VecDeque;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::session::{
    ItemNumber, SessionClosed, SessionStatus, SessionView, TurnStarted, TurnStatus,
};
use provost_proto::{Fact, MessageId, TurnId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::inbox::{PendingMessage, SessionActivity, SessionRequest, TurnParams};
use crate::session::history::session_log::SessionLog;
use crate::session::turn::Turn;
use crate::session::{CallerIdentity, Runner, RunnerError, history};

/// The task of one live session.
pub(crate) struct SessionActor {
    pub(crate) runner: Arc<Runner>,
    pub(crate) log: Arc<SessionLog>,
    inbox: mpsc::Receiver<SessionRequest>,
    pub(crate) queue: VecDeque<PendingMessage>,
    /// Whether queued messages wait until a message is sent or the session is continued,
    /// because a person cancelled the previous turn.
    pub(crate) is_held: bool,
    is_closed: bool,
}

impl SessionActor {
    pub(crate) fn new(
        runner: Arc<Runner>,
        view: &SessionView,
        inbox: mpsc::Receiver<SessionRequest>,
    ) -> Self {
        let log = Arc::new(SessionLog::new(Arc::clone(&runner.gateway), view));
        let by = CallerIdentity {
            principal: view.opened_by.clone(),
            actor: provost_proto::Actor::Daemon,
        };
        let queue = view.queued.iter().map(|queued| PendingMessage {
            by: by.clone(),
            message: queued.message,
            item: queued.item,
            max_output_tokens: None,
        });
        let queue = queue.collect();
        let is_held = crate::session::recovery::resume_sessions::must_wait_for_person(view);
        Self { runner, log, inbox, queue, is_held, is_closed: false }
    }

    pub(crate) async fn run(mut self) {
        while !self.is_closed {
            let Some(request) = self.inbox.recv().await else { return };
            if let Some(params) = self.handle_request(request).await {
                self.run_turn(params).await;
            }
            while !self.is_closed
                && !self.is_held
                && let Some(next) = self.queue.pop_front()
            {
                if let Some(params) = self.begin_pending_turn(next).await {
                    self.run_turn(params).await;
                }
            }
        }
    }

    /// Starts the turn of a queued message.
    async fn begin_pending_turn(&self, next: PendingMessage) -> Option<TurnParams> {
        let PendingMessage { by, message, item, max_output_tokens } = next;
        let turn = self.runner.gateway.clock().new_id();
        let facts = vec![self.turn_started_fact(turn, Some(message), Some(item))];
        match self.log.append_as_person(&by, None, facts).await {
            Ok(_) => Some(TurnParams { turn, by, message: Some(message), max_output_tokens }),
            Err(error) => {
                tracing::error!(%error, "cannot start the turn of a queued message");
                None
            }
        }
    }

    pub(crate) fn turn_started_fact(
        &self,
        turn: TurnId,
        message: Option<MessageId>,
        item: Option<ItemNumber>,
    ) -> Fact {
        Fact::TurnStarted(TurnStarted { session: self.log.session, turn, message, item })
    }

    /// Handles a request while no turn runs; returns the turn that it starts, if any.
    async fn handle_request(&mut self, request: SessionRequest) -> Option<TurnParams> {
        match request {
            SessionRequest::SendMessage { by, prompt, reply } => {
                let max_output_tokens = prompt.max_output_tokens;
                let accepted = self.accept_message(&by, prompt, SessionActivity::Idle).await;
                let new = accepted.as_ref().ok().filter(|(_, is_new)| *is_new);
                let started = new.and_then(|(new, _)| Some((new.sent.turn?, new.sent.message)));
                drop(reply.send(accepted.map(|(accepted, _)| accepted)));
                started.map(|(turn, message)| TurnParams {
                    turn,
                    by,
                    message: Some(message),
                    max_output_tokens,
                })
            }
            SessionRequest::CancelTurn { reply } => {
                let _ignored = reply.send(false);
                None
            }
            SessionRequest::CancelMessage { message, reply } => {
                // Its turn is over, or it is queued.
                self.cancel_pending_message(message).await;
                let _ignored = reply.send(());
                None
            }
            SessionRequest::WithdrawMessage { by, message, command, reply } => {
                drop(reply.send(self.withdraw_message(&by, message, command).await));
                None
            }
            SessionRequest::ContinueTurn { by, reply } => {
                let params = self.continue_turn(by).await;
                self.is_held = self.is_held && params.is_err();
                let turn = params.as_ref().map(|params| params.turn).map_err(Clone::clone);
                drop(reply.send(turn));
                params.ok()
            }
            SessionRequest::Close { by, reply } => {
                drop(reply.send(self.close_session(&by).await));
                None
            }
            SessionRequest::Resume => self.find_open_turn().await,
        }
    }

    fn build_turn(
        &self,
        params: TurnParams,
        cancel: CancellationToken,
        stopped: CancellationToken,
    ) -> Turn {
        let (runner, log) = (Arc::clone(&self.runner), Arc::clone(&self.log));
        let TurnParams { turn: id, by, max_output_tokens, .. } = params;
        Turn { runner, log, id, by, max_output_tokens, cancel, stopped }
    }

    /// Runs a turn to its end and handles requests meanwhile.
    async fn run_turn(&mut self, params: TurnParams) {
        let (cancel, stopped) = (CancellationToken::new(), CancellationToken::new());
        let message = params.message;
        let work = self.build_turn(params, cancel.clone(), stopped.clone()).run();
        tokio::pin!(work);
        let (mut cancel_replies, mut message_replies, mut closing) = (Vec::new(), Vec::new(), None);
        let mut is_open = true;
        loop {
            tokio::select! {
                () = &mut work => break,
                request = self.inbox.recv(), if is_open => match request {
                    None => is_open = false,
                    Some(SessionRequest::SendMessage { by, prompt, reply }) => {
                        let sent = self.accept_message(&by, prompt, SessionActivity::Busy).await;
                        drop(reply.send(sent.map(|(sent, _)| sent)));
                    }
                    Some(SessionRequest::CancelTurn { reply }) => {
                        self.is_held = true;
                        stopped.cancel();
                        cancel.cancel();
                        cancel_replies.push(reply);
                    }
                    Some(SessionRequest::CancelMessage { message: unwanted, reply }) => {
                        if message == Some(unwanted) {
                            cancel.cancel();
                            message_replies.push(reply);
                        } else {
                            self.cancel_pending_message(unwanted).await;
                            let _ignored = reply.send(());
                        }
                    }
                    Some(SessionRequest::WithdrawMessage { by, message, command, reply }) => {
                        drop(reply.send(self.withdraw_message(&by, message, command).await));
                    }
                    Some(SessionRequest::ContinueTurn { reply, .. }) => {
                        drop(reply.send(Err(RunnerError::NothingToContinue)));
                    }
                    Some(SessionRequest::Close { by, reply }) => {
                        stopped.cancel();
                        cancel.cancel();
                        closing = Some((by, reply));
                    }
                    Some(SessionRequest::Resume) => {}
                },
            }
        }
        for reply in cancel_replies {
            let _ignored = reply.send(true);
        }
        for reply in message_replies {
            let _ignored = reply.send(());
        }
        if let Some((by, reply)) = closing {
            drop(reply.send(self.close_session(&by).await));
        }
    }

    /// Continues the last turn; if that is finished, starts the first queued message.
    async fn continue_turn(&mut self, by: CallerIdentity) -> Result<TurnParams, RunnerError> {
        let view = self.runner.load_session(self.log.session).await?;
        let can_continue = view.turn.is_some_and(|turn| match turn.status {
            TurnStatus::Interrupted | TurnStatus::Failed | TurnStatus::Cancelled => true,
            TurnStatus::Finished => {
                turn.reason == Some(provost_proto::session::FinishReason::MaxTokens)
            }
            TurnStatus::Running => false,
        });
        if !can_continue {
            let next = self.queue.pop_front().ok_or(RunnerError::NothingToContinue)?;
            return self.begin_pending_turn(next).await.ok_or(RunnerError::Stopping);
        }
        let turn = self.runner.gateway.clock().new_id();
        self.log
            .append_as_person(&by, None, vec![self.turn_started_fact(turn, None, None)])
            .await?;
        Ok(TurnParams { turn, by, message: None, max_output_tokens: None })
    }

    async fn close_session(&mut self, by: &CallerIdentity) -> Result<(), RunnerError> {
        let session = self.log.session;
        let closed = Fact::SessionClosed(SessionClosed { session });
        self.log.append_as_person(by, None, vec![closed]).await?;
        self.is_closed = true;
        self.queue.clear();
        Ok(())
    }

    /// The turn that the previous daemon left open, if any.
    async fn find_open_turn(&self) -> Option<TurnParams> {
        let id = self.log.session.uuid();
        let doc = self.runner.gateway.store().get_document(ViewKind::Sessions, id).await.ok()?;
        let view = doc.and_then(ViewDocument::into_session)?;
        let turn = view.turn.clone().filter(|_| view.status == SessionStatus::Running)?;
        let message = match history::find_turn_message(
            &**self.runner.gateway.store(),
            &view,
            turn.id,
        )
        .await
        {
            Ok(message) => message,
            Err(error) => {
                tracing::error!(%error, "cannot read a turn that the previous daemon left open");
                return None;
            }
        };
        let by = CallerIdentity { principal: turn.principal, actor: turn.actor };
        Some(TurnParams { turn: turn.id, by, message, max_output_tokens: None })
    }
}
