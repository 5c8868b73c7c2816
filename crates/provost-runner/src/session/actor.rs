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

use super::inbox::{Ask, Begun, Moment, Waiting};
use super::journal::Journal;
use super::turn::Turn;
use super::{Runner, RunnerError, Speaker, history};

pub(super) struct Actor {
    pub(super) runner: Arc<Runner>,
    pub(super) journal: Arc<Journal>,
    inbox: mpsc::Receiver<Ask>,
    pub(super) waiting: VecDeque<Waiting>,
    /// Whether what waits does so until somebody says something or goes on: a person
    /// stopped the turn before.
    pub(super) is_held: bool,
    is_closed: bool,
}

impl Actor {
    pub(super) fn new(runner: Arc<Runner>, view: &SessionView, inbox: mpsc::Receiver<Ask>) -> Self {
        let journal = Arc::new(Journal::new(Arc::clone(&runner.gateway), view));
        let by = Speaker { principal: view.opened_by.clone(), actor: provost_proto::Actor::Daemon };
        let waiting = view.queued.iter().map(|queued| Waiting {
            by: by.clone(),
            message: queued.message,
            item: queued.item,
            most: None,
        });
        let waiting = waiting.collect();
        let is_held = super::recover::is_stopped(view);
        Self { runner, journal, inbox, waiting, is_held, is_closed: false }
    }

    pub(super) async fn run(mut self) {
        while !self.is_closed {
            let Some(ask) = self.inbox.recv().await else { return };
            if let Some(begun) = self.hear(ask).await {
                self.turn(begun).await;
            }
            while !self.is_closed
                && !self.is_held
                && let Some(next) = self.waiting.pop_front()
            {
                if let Some(begun) = self.begin(next).await {
                    self.turn(begun).await;
                }
            }
        }
    }

    /// Begins the turn of a message that waited.
    async fn begin(&self, next: Waiting) -> Option<Begun> {
        let Waiting { by, message, item, most } = next;
        let turn = self.runner.gateway.clock().new_id();
        let facts = vec![self.started(turn, Some(message), Some(item))];
        match self.journal.person(&by, None, facts).await {
            Ok(_) => Some(Begun { turn, by, message: Some(message), most }),
            Err(error) => {
                tracing::error!(%error, "a turn could not begin");
                None
            }
        }
    }

    pub(super) fn started(
        &self,
        turn: TurnId,
        message: Option<MessageId>,
        item: Option<ItemNumber>,
    ) -> Fact {
        Fact::TurnStarted(TurnStarted { session: self.journal.session, turn, message, item })
    }

    /// Something while no turn goes on; the turn that it begins, if it does.
    async fn hear(&mut self, ask: Ask) -> Option<Begun> {
        match ask {
            Ask::Message { by, prompt, reply } => {
                let most = prompt.most;
                let taken = self.message(&by, prompt, Moment::Idle).await;
                let new = taken.as_ref().ok().filter(|(_, is_new)| *is_new);
                let begun = new.and_then(|(new, _)| Some((new.sent.turn?, new.sent.message)));
                drop(reply.send(taken.map(|(taken, _)| taken)));
                begun.map(|(turn, message)| Begun { turn, by, message: Some(message), most })
            }
            Ask::Cancel { reply } => {
                let _unheard = reply.send(false);
                None
            }
            Ask::Withdraw { message, reply } => {
                // Its turn is over, or it waits.
                self.withdraw(message).await;
                let _unheard = reply.send(());
                None
            }
            Ask::TakeBack { by, message, command, reply } => {
                drop(reply.send(self.take_back(&by, message, command).await));
                None
            }
            Ask::GoOn { by, reply } => {
                let begun = self.go_on(by).await;
                self.is_held = self.is_held && begun.is_err();
                let turn = begun.as_ref().map(|begun| begun.turn).map_err(Clone::clone);
                drop(reply.send(turn));
                begun.ok()
            }
            Ask::Close { by, reply } => {
                drop(reply.send(self.close(&by).await));
                None
            }
            Ask::TakeUp => self.left_open().await,
        }
    }

    /// Runs a turn to its end, and hears meanwhile.
    async fn turn(&mut self, begun: Begun) {
        let (cancel, stopped) = (CancellationToken::new(), CancellationToken::new());
        let (runner, journal) = (Arc::clone(&self.runner), Arc::clone(&self.journal));
        let Begun { turn: id, by, message, most } = begun;
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
                    Some(Ask::Message { by, prompt, reply }) => {
                        let sent = self.message(&by, prompt, Moment::Busy).await;
                        drop(reply.send(sent.map(|(sent, _)| sent)));
                    }
                    Some(Ask::Cancel { reply }) => {
                        self.is_held = true;
                        stopped.cancel();
                        cancel.cancel();
                        cancelled.push(reply);
                    }
                    Some(Ask::Withdraw { message: unwanted, reply }) => {
                        if message == Some(unwanted) {
                            cancel.cancel();
                            withdrawn.push(reply);
                        } else {
                            self.withdraw(unwanted).await;
                            let _unheard = reply.send(());
                        }
                    }
                    Some(Ask::TakeBack { by, message, command, reply }) => {
                        drop(reply.send(self.take_back(&by, message, command).await));
                    }
                    Some(Ask::GoOn { reply, .. }) => {
                        drop(reply.send(Err(RunnerError::NothingToContinue)));
                    }
                    Some(Ask::Close { by, reply }) => {
                        stopped.cancel();
                        cancel.cancel();
                        closing = Some((by, reply));
                    }
                    Some(Ask::TakeUp) => {}
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
            drop(reply.send(self.close(&by).await));
        }
    }

    /// Goes on with the last turn; if that is over, with what waits.
    async fn go_on(&mut self, by: Speaker) -> Result<Begun, RunnerError> {
        let view = self.runner.view(self.journal.session).await?;
        let can = view.turn.is_some_and(|turn| match turn.status {
            TurnStatus::Interrupted | TurnStatus::Failed | TurnStatus::Cancelled => true,
            TurnStatus::Finished => {
                turn.reason == Some(provost_proto::session::FinishReason::MaxTokens)
            }
            TurnStatus::Running => false,
        });
        if !can {
            let next = self.waiting.pop_front().ok_or(RunnerError::NothingToContinue)?;
            return self.begin(next).await.ok_or(RunnerError::Stopping);
        }
        let turn = self.runner.gateway.clock().new_id();
        self.journal.person(&by, None, vec![self.started(turn, None, None)]).await?;
        Ok(Begun { turn, by, message: None, most: None })
    }

    async fn close(&mut self, by: &Speaker) -> Result<(), RunnerError> {
        let session = self.journal.session;
        let closed = Fact::SessionClosed(SessionClosed { session });
        self.journal.person(by, None, vec![closed]).await?;
        self.is_closed = true;
        self.waiting.clear();
        Ok(())
    }

    /// The turn that a daemon before left open, if it did.
    async fn left_open(&self) -> Option<Begun> {
        let id = self.journal.session.uuid();
        let doc = self.runner.gateway.store().get_document(ViewKind::Sessions, id).await.ok()?;
        let view = doc.and_then(ViewDocument::into_session)?;
        let turn = view.turn.clone().filter(|_| view.status == SessionStatus::Running)?;
        let message = match history::asked(&**self.runner.gateway.store(), &view, turn.id).await {
            Ok(message) => message,
            Err(error) => {
                tracing::error!(%error, "a turn that was left open could not be read");
                return None;
            }
        };
        let by = Speaker { principal: turn.principal, actor: turn.actor };
        Some(Begun { turn: turn.id, by, message, most: None })
    }
}
