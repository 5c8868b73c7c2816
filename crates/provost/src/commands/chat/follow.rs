//! A turn as it comes: shown, stopped by Ctrl-C, with its questions answered where they
//! come up.

use anyhow::Context as _;
use futures::StreamExt as _;
use provost_proto::{Event, Seq};
use tokio::signal::unix::Signal;

use super::command::Typed;
use super::end::{End, INTERRUPTED, Which};
use super::keyboard::{Keyboard, Line, typed};
use super::print::Printer;
use super::questions::Questions;
use super::turn::Chat;
use super::waiting::tell_taken;
use crate::commands::events::take_events;
use crate::output::{faint, plain_lines, remark};

impl Chat {
    /// Follows a turn from a place in the log to its end.
    pub(super) async fn follow(
        &mut self,
        after: Seq,
        which: &mut Which,
        interrupts: &mut Signal,
    ) -> anyhow::Result<End> {
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
                        let end = which.ends(&event);
                        if which.is_heard(&event) {
                            printer.event(kept.as_ref().unwrap_or(&event))?;
                            questions.hear(&event);
                        }
                        if let Some(end) = end {
                            printer.over()?;
                            return Ok(if is_stopped { end.interrupted() } else { end });
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
                () = questions.ripe() => questions.ask()?,
                line = typed(&mut self.keyboard) => {
                    if self.hear(line, which, &mut questions).await? {
                        return Ok(End::Left(0));
                    }
                }
                _ = interrupts.recv() => {
                    printer.end()?;
                    let again = std::mem::replace(&mut is_stopped, true);
                    if again || self.stop(which, interrupts).await? {
                        printer.over()?;
                        return Ok(End::Left(INTERRUPTED));
                    }
                }
            }
        }
        printer.over()?;
        Ok(End::failed("the daemon hung up; `provost sessions` shows what was said"))
    }

    /// The event with its body, also if that is long and kept beside the log.
    async fn whole(&self, mut event: Event) -> anyhow::Result<Event> {
        if let Some(hash) = event.body["$blob"].as_str() {
            event.body = self.client.get(&format!("/api/blobs/{hash}")).await?;
        }
        Ok(event)
    }

    /// Stops the turn; tells whether the person would not wait for that.
    async fn stop(&self, which: &Which, interrupts: &mut Signal) -> anyhow::Result<bool> {
        remark(&faint("Stopping. Ctrl-C again leaves."));
        tokio::select! {
            done = self.cancel(which) => done.map(|()| false),
            _ = interrupts.recv() => Ok(true),
        }
    }

    /// A line that was typed during a turn; tells whether the person leaves.
    async fn hear(
        &mut self,
        line: Option<Line>,
        which: &Which,
        questions: &mut Questions,
    ) -> anyhow::Result<bool> {
        let Some(line) = line else {
            // The end of the input is for after the turn.
            self.keyboard = None;
            return Ok(false);
        };
        if questions.takes(&line) {
            questions.answer(&self.client, &line.text).await?;
            return Ok(false);
        }
        match Typed::read(&line.text) {
            Typed::Quit => {
                remark(&faint(match which.turn {
                    Some(_) => "The turn goes on.",
                    None => "What you said waits for its turn.",
                }));
                return Ok(true);
            }
            Typed::Cancel => self.cancel(which).await?,
            Typed::Nothing => {}
            Typed::Help => remark(super::command::HELP),
            Typed::Drop => {
                tell_taken(&self.keyboard.as_mut().map(Keyboard::take).unwrap_or_default());
            }
            Typed::Cost => match self.cost().await {
                Ok(cost) => remark(&cost),
                Err(error) => remark(&plain_lines(&format!("{error:#}"))),
            },
            Typed::Say(_) if questions.is_too_soon(&line) => {
                remark("It was typed before the question could be read, and is no answer.");
            }
            Typed::Say(_)
            | Typed::Continue
            | Typed::Role(_)
            | Typed::Model(_)
            | Typed::Unknown(_) => {
                if self.keyboard.as_mut().is_some_and(|keyboard| keyboard.keep(line.text)) {
                    remark(&faint("It waits for the end of this turn."));
                } else {
                    remark("Too much waits for the end of this turn; this was left out.");
                }
            }
        }
        // What was said now stands below the question.
        questions.prompt()?;
        Ok(false)
    }
}
