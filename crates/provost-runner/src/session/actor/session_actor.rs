//! One live session: hears what is said, runs one turn at a time.
//!
//! There is no lock. The task is the only one that begins and ends turns of its
//! session; what is said meanwhile is written down and waits.

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

pub(crate) struct SessionActor {
    pub(crate) runner: Arc<Runner>,
    pub(crate) journal: Arc<SessionLog>,
    inbox: mpsc::Receiver<SessionRequest>,
    pub(crate) waiting: VecDeque<PendingMessage>,
    /// Whether what waits does so until somebody says something or goes on: a person
    /// stopped the turn before.
    pub(crate) is_held: bool,
    is_closed: bool,
}

impl SessionActor {
    pub(crate) fn new(
        runner: Arc<Runner>,
        view: &SessionView,
        inbox: mpsc::Receiver<SessionRequest>,
    ) -> Self {
        let journal = Arc::new(SessionLog::new(Arc::clone(&runner.gateway), view));
        let by = CallerIdentity {
            principal: view.opened_by.clone(),
            actor: provost_proto::Actor::Daemon,
        };
        let waiting = view.queued.iter().map(|queued| PendingMessage {
            by: by.clone(),
            message: queued.message,
            item: queued.item,
            most: None,
        });
        let waiting = waiting.collect();
        let is_held = crate::session::recovery::resume_sessions::is_stopped_by_person(view);
        Self { runner, journal, inbox, waiting, is_held, is_closed: false }
    }

    pub(crate) async fn run(mut self) {
        while !self.is_closed {
            let Some(ask) = self.inbox.recv().await else { return };
            if let Some(begun) = self.handle_request(ask).await {
                self.run_turn(begun).await;
            }
            while !self.is_closed
                && !self.is_held
                && let Some(next) = self.waiting.pop_front()
            {
                if let Some(begun) = self.begin_pending_turn(next).await {
                    self.run_turn(begun).await;
                }
            }
        }
    }

    /// Begins the turn of a message that waited.
    async fn begin_pending_turn(&self, next: PendingMessage) -> Option<TurnParams> {
        let PendingMessage { by, message, item, most } = next;
        let turn = self.runner.gateway.clock().new_id();
        let facts = vec![self.turn_started_fact(turn, Some(message), Some(item))];
        match self.journal.append_as_person(&by, None, facts).await {
            Ok(_) => Some(TurnParams { turn, by, message: Some(message), most }),
            Err(error) => {
                tracing::error!(%error, "a turn could not begin");
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
        Fact::TurnStarted(TurnStarted { session: self.journal.session, turn, message, item })
    }

    /// Something while no turn goes on; the turn that it begins, if it does.
    async fn handle_request(&mut self, ask: SessionRequest) -> Option<TurnParams> {
        match ask {
            SessionRequest::SendMessage { by, prompt, reply } => {
                let most = prompt.most;
                let taken = self.accept_message(&by, prompt, SessionActivity::Idle).await;
                let new = taken.as_ref().ok().filter(|(_, is_new)| *is_new);
                let begun = new.and_then(|(new, _)| Some((new.sent.turn?, new.sent.message)));
                drop(reply.send(taken.map(|(taken, _)| taken)));
                begun.map(|(turn, message)| TurnParams { turn, by, message: Some(message), most })
            }
            SessionRequest::CancelTurn { reply } => {
                let _unheard = reply.send(false);
                None
            }
            SessionRequest::CancelMessage { message, reply } => {
                // Its turn is over, or it waits.
                self.cancel_pending_message(message).await;
                let _unheard = reply.send(());
                None
            }
            SessionRequest::WithdrawMessage { by, message, command, reply } => {
                drop(reply.send(self.withdraw_message(&by, message, command).await));
                None
            }
            SessionRequest::ContinueTurn { by, reply } => {
                let begun = self.continue_turn(by).await;
                self.is_held = self.is_held && begun.is_err();
                let turn = begun.as_ref().map(|begun| begun.turn).map_err(Clone::clone);
                drop(reply.send(turn));
                begun.ok()
            }
            SessionRequest::Close { by, reply } => {
                drop(reply.send(self.close_session(&by).await));
                None
            }
            SessionRequest::Resume => self.find_open_turn().await,
        }
    }

    /// Runs a turn to its end, and hears meanwhile.
    async fn run_turn(&mut self, begun: TurnParams) {
        let (cancel, stopped) = (CancellationToken::new(), CancellationToken::new());
        let (runner, journal) = (Arc::clone(&self.runner), Arc::clone(&self.journal));
        let TurnParams { turn: id, by, message, most } = begun;
        let (ends, is_stopped) = (cancel.clone(), stopped.clone());
        let work = Turn { runner, journal, id, by, most, cancel: ends, stopped: is_stopped }.run();
        tokio::pin!(work);
        let (mut cancelled, mut withdrawn, mut closing) = (Vec::new(), Vec::new(), None);
        let mut is_open = true;
        loop {
            tokio::select! {
                () = &mut work => break,
                ask = self.inbox.recv(), if is_open => match ask {
                    None => is_open = false,
                    Some(SessionRequest::SendMessage { by, prompt, reply }) => {
                        let sent = self.accept_message(&by, prompt, SessionActivity::Busy).await;
                        drop(reply.send(sent.map(|(sent, _)| sent)));
                    }
                    Some(SessionRequest::CancelTurn { reply }) => {
                        self.is_held = true;
                        stopped.cancel();
                        cancel.cancel();
                        cancelled.push(reply);
                    }
                    Some(SessionRequest::CancelMessage { message: unwanted, reply }) => {
                        if message == Some(unwanted) {
                            cancel.cancel();
                            withdrawn.push(reply);
                        } else {
                            self.cancel_pending_message(unwanted).await;
                            let _unheard = reply.send(());
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
        for reply in cancelled {
            let _unheard = reply.send(true);
        }
        for reply in withdrawn {
            let _unheard = reply.send(());
        }
        if let Some((by, reply)) = closing {
            drop(reply.send(self.close_session(&by).await));
        }
    }

    /// Goes on with the last turn; if that is over, with what waits.
    async fn continue_turn(&mut self, by: CallerIdentity) -> Result<TurnParams, RunnerError> {
        let view = self.runner.load_session(self.journal.session).await?;
        let can = view.turn.is_some_and(|turn| match turn.status {
            TurnStatus::Interrupted | TurnStatus::Failed | TurnStatus::Cancelled => true,
            TurnStatus::Finished => {
                turn.reason == Some(provost_proto::session::FinishReason::MaxTokens)
            }
            TurnStatus::Running => false,
        });
        if !can {
            let next = self.waiting.pop_front().ok_or(RunnerError::NothingToContinue)?;
            return self.begin_pending_turn(next).await.ok_or(RunnerError::Stopping);
        }
        let turn = self.runner.gateway.clock().new_id();
        self.journal
            .append_as_person(&by, None, vec![self.turn_started_fact(turn, None, None)])
            .await?;
        Ok(TurnParams { turn, by, message: None, most: None })
    }

    async fn close_session(&mut self, by: &CallerIdentity) -> Result<(), RunnerError> {
        let session = self.journal.session;
        let closed = Fact::SessionClosed(SessionClosed { session });
        self.journal.append_as_person(by, None, vec![closed]).await?;
        self.is_closed = true;
        self.waiting.clear();
        Ok(())
    }

    /// The turn that a daemon before left open, if it did.
    async fn find_open_turn(&self) -> Option<TurnParams> {
        let id = self.journal.session.uuid();
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
                tracing::error!(%error, "a turn that was left open could not be read");
                return None;
            }
        };
        let by = CallerIdentity { principal: turn.principal, actor: turn.actor };
        Some(TurnParams { turn: turn.id, by, message, most: None })
    }
}
