//! One turn as a person sees it: followed to its end, stopped by Ctrl-C, with its
//! questions answered where they come up.

use std::collections::VecDeque;
use std::io::BufRead as _;

use anyhow::Context as _;
use futures::StreamExt as _;
use provost_proto::session::{SendMessage, Sent, SessionView};
use provost_proto::{Event, Fact, MessageId, Project, TurnId};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::command::Typed;
use super::print::Printer;
use super::questions::Questions;
use crate::client::Client;
use crate::commands::events::{newest, take_events};
use crate::output::{faint, remark};

/// Lines that may wait. One that waits makes the keyboard wait.
const WAITING: usize = 16;

/// A conversation.
pub(super) struct Chat {
    pub(super) client: Client,
    pub(super) session: SessionView,
    pub(super) project: Project,
    pub(super) json: bool,
    /// Where a person types, if one does.
    pub(super) keyboard: Option<Keyboard>,
}

/// The lines that a person types.
pub(super) struct Keyboard {
    lines: mpsc::Receiver<String>,
    /// Those that were typed while something else went on.
    pub(super) early: VecDeque<String>,
    /// Those of them that a stop held back: they are said when the person goes on.
    pub(super) held: Vec<String>,
}

impl Keyboard {
    /// Reads in a thread of its own, which ends with us.
    pub(super) fn start() -> Self {
        let (to, lines) = mpsc::channel(WAITING);
        std::thread::spawn(move || {
            let mut stdin = std::io::stdin().lock();
            let mut line = String::new();
            while stdin.read_line(&mut line).is_ok_and(|n_read| n_read > 0) {
                if to.blocking_send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Self { lines, early: VecDeque::new(), held: Vec::new() }
    }

    /// A line that is typed now.
    async fn typed(&mut self) -> Option<String> {
        self.lines.recv().await
    }

    /// Holds back what was typed for after a turn that was stopped; what it was.
    pub(super) fn hold(&mut self) -> &[String] {
        self.held.extend(self.early.drain(..));
        &self.held
    }

    /// Lets what was held back be read next.
    pub(super) fn release(&mut self) {
        self.early.extend(self.held.drain(..));
    }

    /// The next line; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<String> {
        match self.early.pop_front() {
            Some(line) => Some(line),
            None => self.lines.recv().await,
        }
    }
}

/// What begins a turn.
pub(super) enum Begin {
    Say(String),
    GoOn,
}

/// How a turn ended.
pub(super) enum End {
    Well,
    Badly(String),
    /// Somebody stopped it, so that what waits goes on waiting.
    Stopped(String),
    /// The person left before, with this status.
    Left(u8),
}

/// The status of a program that was interrupted.
const INTERRUPTED: u8 = 130;

/// The turn that is meant: by its name, or by the message that begins it.
struct Which {
    turn: Option<TurnId>,
    message: Option<MessageId>,
}

impl Chat {
    fn path(&self, rest: &str) -> String {
        format!("/api/sessions/{}{rest}", self.session.id.uuid())
    }

    async fn begin(&self, begin: Begin) -> anyhow::Result<Which> {
        match begin {
            Begin::Say(text) => {
                let sent: Sent =
                    self.client.post(&self.path("/messages"), &SendMessage { text }).await?;
                Ok(Which { turn: sent.turn, message: Some(sent.message) })
            }
            Begin::GoOn => {
                let told: Value = self.client.post(&self.path("/continue"), &json!({})).await?;
                let turn = serde_json::from_value(told["turn"].clone());
                Ok(Which { turn: Some(turn.context("the daemon named no turn")?), message: None })
            }
        }
    }

    pub(super) async fn cancel(&self) -> anyhow::Result<()> {
        let _told: Value = self.client.post(&self.path("/cancel"), &json!({})).await?;
        Ok(())
    }

    /// Begins a turn, shows it as it comes, and answers what it asks.
    pub(super) async fn turn(&mut self, begin: Begin) -> anyhow::Result<End> {
        let mut interrupts = interrupts()?;
        let after = newest(&self.client).await?;
        let mut which = self.begin(begin).await?;
        let said = self.client.stream(&self.path(&format!("/events?after={after}"))).await?;
        let stream = format!("project/{}", self.project.id.uuid());
        let asks =
            self.client.stream(&format!("/api/events?stream={stream}&after={after}")).await?;
        let (mut said, mut asks) = (said.bytes_stream(), asks.bytes_stream());
        let (mut said_rest, mut asks_rest) = (Vec::new(), Vec::new());
        let mut printer = Printer::new(self.json);
        let mut questions = Questions::new(self.session.id, self.json);
        let mut is_stopped = false;
        loop {
            tokio::select! {
                chunk = said.next() => {
                    let Some(chunk) = chunk else { break };
                    said_rest.extend_from_slice(&chunk.context("the daemon hung up")?);
                    for event in take_events(&mut said_rest)? {
                        // Whoever reads JSON gets the event as it is.
                        let kept = self.json.then(|| event.clone());
                        let event = self.whole(event).await?;
                        printer.event(kept.as_ref().unwrap_or(&event))?;
                        questions.hear(&event);
                        if let Some(end) = which.ends(&event) {
                            printer.end()?;
                            return Ok(end);
                        }
                    }
                }
                chunk = asks.next() => {
                    let Some(Ok(chunk)) = chunk else { break };
                    asks_rest.extend_from_slice(&chunk);
                    let events = take_events(&mut asks_rest)?;
                    if events.iter().any(|event| event.kind.starts_with("APPROVAL_")) {
                        printer.end()?;
                        questions.look(&self.client, &self.project).await?;
                    }
                }
                line = typed(&mut self.keyboard) => {
                    if self.hear(line, &mut questions).await? {
                        return Ok(End::Left(0));
                    }
                }
                _ = interrupts.recv() => {
                    printer.end()?;
                    let again = std::mem::replace(&mut is_stopped, true);
                    if again || self.stop(&mut interrupts).await? {
                        return Ok(End::Left(INTERRUPTED));
                    }
                }
            }
        }
        printer.end()?;
        Ok(End::Badly("the daemon hung up; `provost sessions` shows what was said".to_owned()))
    }

    /// The event with its body, also if that is long and kept beside the log.
    async fn whole(&self, mut event: Event) -> anyhow::Result<Event> {
        if let Some(hash) = event.body["$blob"].as_str() {
            event.body = self.client.get(&format!("/api/blobs/{hash}")).await?;
        }
        Ok(event)
    }

    /// Stops the turn; tells whether the person would not wait for that.
    async fn stop(&self, interrupts: &mut Signal) -> anyhow::Result<bool> {
        remark(&faint("Stopping. Ctrl-C again leaves."));
        tokio::select! {
            done = self.cancel() => done.map(|()| false),
            _ = interrupts.recv() => Ok(true),
        }
    }

    /// A line that was typed during a turn; tells whether the person leaves.
    async fn hear(
        &mut self,
        line: Option<String>,
        questions: &mut Questions,
    ) -> anyhow::Result<bool> {
        let Some(line) = line else {
            // The end of the input is for after the turn.
            self.keyboard = None;
            return Ok(false);
        };
        if questions.is_open() && !line.trim_start().starts_with('/') {
            questions.answer(&self.client, &line).await?;
            return Ok(false);
        }
        match Typed::read(&line) {
            Typed::Quit => return Ok(true),
            Typed::Cancel => self.cancel().await?,
            Typed::Nothing => {}
            Typed::Help => remark(super::command::HELP),
            Typed::Say(_)
            | Typed::Continue
            | Typed::Drop
            | Typed::Role(_)
            | Typed::Model(_)
            | Typed::Cost
            | Typed::Unknown(_) => {
                if let Some(keyboard) = &mut self.keyboard
                    && keyboard.early.len() < WAITING
                {
                    keyboard.early.push_back(line);
                    remark(&faint("It waits for the end of this turn."));
                } else {
                    remark("Too much waits for the end of this turn; this was left out.");
                }
            }
        }
        Ok(false)
    }
}

/// Every Ctrl-C from now on, also one that comes while something else is done.
pub(super) fn interrupts() -> anyhow::Result<Signal> {
    signal(SignalKind::interrupt()).context("cannot hear Ctrl-C")
}

/// What is typed now; for ever nothing where nobody types.
async fn typed(keyboard: &mut Option<Keyboard>) -> Option<String> {
    match keyboard {
        Some(keyboard) => keyboard.typed().await,
        None => std::future::pending().await,
    }
}

impl Which {
    /// How the turn ended, if it did with this.
    fn ends(&mut self, event: &Event) -> Option<End> {
        let fact = event.fact()?;
        let own = |turn: TurnId| self.turn == Some(turn);
        if let Fact::TurnStarted(started) = &fact {
            if started.message.is_some() && started.message == self.message {
                self.turn = Some(started.turn);
            }
            None
        } else if let Fact::TurnFinished(end) = &fact {
            own(end.turn).then_some(End::Well)
        } else if let Fact::TurnFailed(end) = &fact {
            let why = format!("{} ({})", end.fault.message, end.fault.code);
            own(end.turn).then_some(End::Badly(why))
        } else if let Fact::TurnCancelled(end) = &fact {
            if own(end.turn) {
                return Some(End::Stopped("the turn was cancelled (CANCELLED)".to_owned()));
            }
            // What was said here waits for another turn, which was stopped.
            let waits = self.turn.is_none() && !end.withdrawn;
            let why = "the turn before was stopped, so that what you said waits (CANCELLED); \
                       /continue sends it, /drop takes it back";
            waits.then(|| End::Stopped(why.to_owned()))
        } else if let Fact::MessageWithdrawn(taken) = &fact {
            let own = self.message == Some(taken.message);
            own.then(|| End::Badly("what you said was taken back (CANCELLED)".to_owned()))
        } else if let Fact::TurnInterrupted(end) = &fact {
            own(end.turn).then(|| End::Badly(format!("{}; /continue goes on", end.why)))
        } else if let Fact::SessionClosed(_) = &fact {
            Some(End::Badly("the session was closed (SESSION_CLOSED)".to_owned()))
        } else {
            None
        }
    }
}
