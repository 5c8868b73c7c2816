//! One live session: hears what is said, runs one turn at a time.
//!
//! There is no lock. The task is the only one that begins and ends turns of its
//! session; what is said meanwhile is written down and waits.

use std::collections::VecDeque;
use std::sync::Arc;

use provost_core::fold::{Doc, View};
use provost_proto::session::{
    Author, MessageAdded, Part, Place, Sent, SessionClosed, SessionStatus, SessionView,
    TurnCancelled, TurnStarted, TurnStatus,
};
use provost_proto::{Fact, MessageId, TurnId, limits};
use provost_store::Appended;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::inbox::{Ask, Begun, Moment, Prompt, Waiting};
use super::journal::Journal;
use super::turn::Turn;
use super::{Runner, RunnerError, Speaker};

pub(super) struct Actor {
    runner: Arc<Runner>,
    journal: Arc<Journal>,
    inbox: mpsc::Receiver<Ask>,
    waiting: VecDeque<Waiting>,
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
            is_withdrawn: false,
        });
        let waiting = waiting.collect();
        Self { runner, journal, inbox, waiting, is_closed: false }
    }

    pub(super) async fn run(mut self) {
        while !self.is_closed {
            let Some(ask) = self.inbox.recv().await else { return };
            if let Some(begun) = self.hear(ask).await {
                self.turn(begun).await;
            }
            while !self.is_closed
                && let Some(next) = self.waiting.pop_front()
            {
                if let Some(begun) = self.begin(next).await {
                    self.turn(begun).await;
                }
            }
        }
    }

    /// Begins the turn of a message that waited; of one that was withdrawn, ends it too.
    async fn begin(&self, next: Waiting) -> Option<Begun> {
        let Waiting { by, message, item, most, is_withdrawn } = next;
        let (session, turn) = (self.journal.session, self.runner.gateway.clock().id());
        let mut facts = vec![self.started(turn, Some(message), Some(item))];
        if is_withdrawn {
            facts.push(Fact::TurnCancelled(TurnCancelled { session, turn }));
        }
        match self.journal.person(&by, None, facts).await {
            Ok(_) => (!is_withdrawn).then_some(Begun { turn, by, message: Some(message), most }),
            Err(error) => {
                tracing::error!(%error, "a turn could not begin");
                None
            }
        }
    }

    fn started(&self, turn: TurnId, message: Option<MessageId>, item: Option<Place>) -> Fact {
        Fact::TurnStarted(TurnStarted { session: self.journal.session, turn, message, item })
    }

    /// Something while no turn goes on; the turn that it begins, if it does.
    async fn hear(&mut self, ask: Ask) -> Option<Begun> {
        match ask {
            Ask::Message { by, prompt, reply } => {
                let most = prompt.most;
                let sent = self.message(&by, prompt, Moment::Idle).await;
                let new = sent.as_ref().ok().filter(|(_, is_new)| *is_new).map(|(sent, _)| sent);
                let begun = new.and_then(|sent| Some((sent.turn?, sent.message)));
                drop(reply.send(sent.map(|(sent, _)| sent)));
                begun.map(|(turn, message)| Begun { turn, by, message: Some(message), most })
            }
            Ask::Cancel { reply } => {
                let _unheard = reply.send(false);
                None
            }
            Ask::Withdraw { reply, .. } => {
                // Its turn is over.
                let _unheard = reply.send(());
                None
            }
            Ask::GoOn { by, reply } => {
                let begun = self.go_on(&by).await;
                let turn = begun.as_ref().ok().copied();
                drop(reply.send(begun));
                turn.map(|turn| Begun { turn, by, message: None, most: None })
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
        let cancel = CancellationToken::new();
        let (runner, journal) = (Arc::clone(&self.runner), Arc::clone(&self.journal));
        let Begun { turn, by, message, most } = begun;
        let work = Turn { runner, journal, id: turn, by, most, cancel: cancel.clone() }.run();
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
                        cancel.cancel();
                        cancelled.push(reply);
                    }
                    Some(Ask::Withdraw { message: unwanted, reply }) => {
                        if message == Some(unwanted) {
                            cancel.cancel();
                            withdrawn.push(reply);
                        } else {
                            self.withdraw(unwanted);
                            let _unheard = reply.send(());
                        }
                    }
                    Some(Ask::GoOn { reply, .. }) => {
                        drop(reply.send(Err(RunnerError::NothingToContinue)));
                    }
                    Some(Ask::Close { by, reply }) => {
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

    /// Lets a message that waits have no answer.
    fn withdraw(&mut self, message: MessageId) {
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.message == message) {
            waiting.is_withdrawn = true;
        }
    }

    /// Writes a message down. Tells whether it is new.
    async fn message(
        &mut self,
        by: &Speaker,
        prompt: Prompt,
        moment: Moment,
    ) -> Result<(Sent, bool), RunnerError> {
        let Prompt { text, command, most } = prompt;
        let moment = if self.waiting.is_empty() { moment } else { Moment::Busy };
        if self.waiting.len() >= limits::QUEUED_MESSAGES {
            return Err(RunnerError::QueueFull);
        }
        let clock = self.runner.gateway.clock();
        let (session, item) = (self.journal.session, self.journal.place());
        let (message, turn) = (clock.id(), clock.id());
        let (parts, answer, from) = (vec![Part::Text { text }], None, Author::User);
        let said = MessageAdded { session, item, message, turn: None, from, parts, answer };
        let mut facts = vec![Fact::MessageAdded(said)];
        if moment == Moment::Idle {
            facts.push(self.started(turn, Some(message), Some(item)));
        }
        let appended = self.journal.person(by, command, facts).await?;
        if let Appended::Repeated(_) = appended {
            return Ok((self.sent_before(&appended)?, false));
        }
        if moment == Moment::Busy {
            let (by, is_withdrawn) = (by.clone(), false);
            self.waiting.push_back(Waiting { by, message, item, most, is_withdrawn });
        }
        let is_queued = moment == Moment::Busy;
        let turn = (!is_queued).then_some(turn);
        Ok((Sent { session, message, turn, queued: is_queued }, true))
    }

    fn sent_before(&self, appended: &Appended) -> Result<Sent, RunnerError> {
        let (mut message, mut turn) = (None, None);
        for event in appended.events() {
            let fact = event.event()?.fact();
            if let Some(Fact::MessageAdded(said)) = &fact {
                message = Some(said.message);
            } else if let Some(Fact::TurnStarted(started)) = &fact {
                turn = Some(started.turn);
            }
        }
        // A long message is kept beside the log, and its name with it.
        let message = message.unwrap_or_else(|| self.runner.gateway.clock().id());
        Ok(Sent { session: self.journal.session, message, turn, queued: turn.is_none() })
    }

    async fn go_on(&self, by: &Speaker) -> Result<TurnId, RunnerError> {
        let view = self.runner.view(self.journal.session).await?;
        let can = view.turn.is_some_and(|turn| match turn.status {
            TurnStatus::Interrupted | TurnStatus::Failed | TurnStatus::Cancelled => true,
            TurnStatus::Finished => {
                turn.reason == Some(provost_proto::session::FinishReason::MaxTokens)
            }
            TurnStatus::Running => false,
        });
        if !can {
            return Err(RunnerError::NothingToContinue);
        }
        let turn = self.runner.gateway.clock().id();
        self.journal.person(by, None, vec![self.started(turn, None, None)]).await?;
        Ok(turn)
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
        let doc = self.runner.gateway.store().doc(View::Sessions, id).await.ok()?;
        let view = doc.and_then(Doc::into_session)?;
        let turn = view.turn.filter(|_| view.status == SessionStatus::Running)?;
        let by = Speaker { principal: turn.principal, actor: turn.actor };
        Some(Begun { turn: turn.id, by, message: None, most: None })
    }
}
