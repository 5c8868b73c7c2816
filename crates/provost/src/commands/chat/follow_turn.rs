//! A turn as it comes: shown, stopped by Ctrl-C, with its questions answered where they
//! come up.

use anyhow::Context as _;
use futures::StreamExt as _;
use provost_proto::{Event, Seq};
use tokio::signal::unix::Signal;

use super::chat_approvals::ChatApprovals;
use super::chat_input::ChatInput;
use super::chat_session::ChatSession;
use super::line_input::{LineInput, TypedLine, next_typed_or_pending};
use super::queued_messages::print_withdrawn;
use super::turn_outcome::{ChatTurnOutcome, ChatTurnSelector, EXIT_INTERRUPTED};
use super::turn_printer::TurnPrinter;
use crate::commands::audit::events::drain_sse_events;
use crate::output::{faint, print_stderr, sanitize_lines};

impl ChatSession {
    /// Follows a turn from a place in the log to its end.
    pub(super) async fn follow_turn(
        &mut self,
        after: Seq,
        which: &mut ChatTurnSelector,
        interrupts: &mut Signal,
    ) -> anyhow::Result<ChatTurnOutcome> {
        let said =
            self.client.get_stream(&self.session_path(&format!("/events?after={after}"))).await?;
        let stream = format!("project/{}", self.project.id.uuid());
        let asks =
            self.client.get_stream(&format!("/api/events?stream={stream}&after={after}")).await?;
        let (mut said, mut asks) = (said.bytes_stream(), asks.bytes_stream());
        let (mut said_rest, mut asks_rest) = (Vec::new(), Vec::new());
        let mut printer = TurnPrinter::new(self.json);
        let mut questions = ChatApprovals::new(self.session.id, self.json);
        let mut is_stopped = false;
        loop {
            tokio::select! {
                chunk = said.next() => {
                    let Some(chunk) = chunk else { break };
                    said_rest.extend_from_slice(&chunk.context("the daemon hung up")?);
                    for event in drain_sse_events(&mut said_rest)? {
                        // Whoever reads JSON gets the event as it is.
                        let kept = self.json.then(|| event.clone());
                        let event = self.hydrate_event(event).await?;
                        let end = which.detect_outcome(&event);
                        if which.includes_event(&event) {
                            printer.print_event(kept.as_ref().unwrap_or(&event))?;
                            questions.record_handoff(&event);
                        }
                        if let Some(end) = end {
                            printer.finish_answer()?;
                            return Ok(if is_stopped { end.with_interrupt_status() } else { end });
                        }
                    }
                }
                chunk = asks.next() => {
                    let Some(Ok(chunk)) = chunk else { break };
                    asks_rest.extend_from_slice(&chunk);
                    let events = drain_sse_events(&mut asks_rest)?;
                    if events.iter().any(|event| event.kind.starts_with("APPROVAL_")) {
                        printer.end_line()?;
                        questions.refresh_pending(&self.client, &self.project).await?;
                    }
                }
                () = questions.wait_until_answerable() => questions.open_for_answer()?,
                line = next_typed_or_pending(&mut self.keyboard) => {
                    if self.handle_typed_line(line, which, &mut questions).await? {
                        return Ok(ChatTurnOutcome::UserLeft(0));
                    }
                }
                _ = interrupts.recv() => {
                    printer.end_line()?;
                    let again = std::mem::replace(&mut is_stopped, true);
                    if again || self.stop_turn(which, interrupts).await? {
                        printer.finish_answer()?;
                        return Ok(ChatTurnOutcome::UserLeft(EXIT_INTERRUPTED));
                    }
                }
            }
        }
        printer.finish_answer()?;
        Ok(ChatTurnOutcome::from_failure(
            "the daemon hung up; `provost sessions` shows what was said",
        ))
    }

    /// The event with its body, also if that is long and kept beside the log.
    async fn hydrate_event(&self, mut event: Event) -> anyhow::Result<Event> {
        if let Some(hash) = event.body["$blob"].as_str() {
            event.body = self.client.get(&format!("/api/blobs/{hash}")).await?;
        }
        Ok(event)
    }

    /// Stops the turn; tells whether the person would not wait for that.
    async fn stop_turn(
        &self,
        which: &ChatTurnSelector,
        interrupts: &mut Signal,
    ) -> anyhow::Result<bool> {
        print_stderr(&faint("Stopping. Ctrl-C again leaves."));
        tokio::select! {
            done = self.cancel_turn(which) => done.map(|()| false),
            _ = interrupts.recv() => Ok(true),
        }
    }

    /// A line that was typed during a turn; tells whether the person leaves.
    async fn handle_typed_line(
        &mut self,
        line: Option<TypedLine>,
        which: &ChatTurnSelector,
        questions: &mut ChatApprovals,
    ) -> anyhow::Result<bool> {
        let Some(line) = line else {
            // The end of the input is for after the turn.
            self.keyboard = None;
            return Ok(false);
        };
        if questions.accepts_line(&line) {
            questions.submit_answer(&self.client, &line.text).await?;
            return Ok(false);
        }
        match ChatInput::parse(&line.text) {
            ChatInput::Quit => {
                print_stderr(&faint(match which.turn {
                    Some(_) => "The turn goes on.",
                    None => "What you said waits for its turn.",
                }));
                return Ok(true);
            }
            ChatInput::Cancel => self.cancel_turn(which).await?,
            ChatInput::Empty => {}
            ChatInput::Help => print_stderr(super::chat_input::CHAT_HELP),
            ChatInput::DropQueued => {
                print_withdrawn(
                    &self.keyboard.as_mut().map(LineInput::drain_all).unwrap_or_default(),
                );
            }
            ChatInput::ShowCost => match self.describe_cost().await {
                Ok(cost) => print_stderr(&cost),
                Err(error) => print_stderr(&sanitize_lines(&format!("{error:#}"))),
            },
            ChatInput::Message(_) if questions.is_too_soon(&line) => {
                print_stderr("It was typed before the question could be read, and is no answer.");
            }
            ChatInput::Message(_)
            | ChatInput::Continue
            | ChatInput::SwitchRole(_)
            | ChatInput::SwitchModel(_)
            | ChatInput::Unknown(_) => {
                if self.keyboard.as_mut().is_some_and(|keyboard| keyboard.try_defer(line.text)) {
                    print_stderr(&faint("It waits for the end of this turn."));
                } else {
                    print_stderr("Too much waits for the end of this turn; this was left out.");
                }
            }
        }
        // What was said now stands below the question.
        questions.print_prompt()?;
        Ok(false)
    }
}
