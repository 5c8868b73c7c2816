//! Follows a turn: prints it, handles its approvals, cancels it on Ctrl-C.

use anyhow::Context as _;
use futures::StreamExt as _;
use provost_proto::LogCursor;
use tokio::signal::unix::Signal;

use super::chat_approvals::ChatApprovals;
use super::chat_input::ChatInput;
use super::chat_session::ChatSession;
use super::line_input::{LineInput, next_typed_or_pending};
use super::queued_messages::print_withdrawn;
use super::turn_outcome::{ChatTurnOutcome, ChatTurnSelector, EXIT_INTERRUPTED};
use super::turn_printer::TurnPrinter;
use crate::commands::audit::events::{SessionMessage, drain_session_messages, drain_sse_events};
use crate::output::{faint, print_stderr, sanitize_lines};
use crate::typed_answer::TypedLine;

impl ChatSession {
    /// Follows a turn to its end, from the events after `after`.
    pub(super) async fn follow_turn(
        &mut self,
        after: LogCursor,
        selector: &mut ChatTurnSelector,
        interrupts: &mut Signal,
    ) -> anyhow::Result<ChatTurnOutcome> {
        let session_path = self.session_path(&format!("/events?after={after}&bodies=whole"));
        let project = self.project.id.uuid();
        let project_path = format!("/api/events?stream=project/{project}&after={after}");
        let mut session_events = self.client.get_stream(&session_path).await?.bytes_stream();
        let mut project_events = self.client.get_stream(&project_path).await?.bytes_stream();
        let (mut session_rest, mut project_rest) = (Vec::new(), Vec::new());
        let mut printer = TurnPrinter::new(self.json);
        let mut approvals = ChatApprovals::new(self.session.id, self.json);
        let mut is_cancelled = false;
        loop {
            tokio::select! {
                chunk = session_events.next() => {
                    let Some(chunk) = chunk else { break };
                    session_rest.extend_from_slice(&chunk.context("the daemon closed the connection")?);
                    for message in drain_session_messages(&mut session_rest)? {
                        let end =
                            print_message(message, selector, &mut printer, &mut approvals)?;
                        if let Some(end) = end {
                            printer.finish_answer()?;
                            return Ok(if is_cancelled { end.with_interrupt_status() } else { end });
                        }
                    }
                }
                chunk = project_events.next() => {
                    let Some(Ok(chunk)) = chunk else { break };
                    project_rest.extend_from_slice(&chunk);
                    let events = drain_sse_events(&mut project_rest)?;
                    if events.iter().any(|event| event.kind.starts_with("APPROVAL_")) {
                        printer.end_line()?;
                        approvals.refresh_pending(&self.client, &self.project).await?;
                    }
                }
                () = approvals.wait_until_answerable() => approvals.open_for_answer()?,
                line = next_typed_or_pending(&mut self.keyboard) => {
                    if self.handle_typed_line(line, selector, &mut approvals).await? {
                        return Ok(ChatTurnOutcome::UserLeft(0));
                    }
                }
                _ = interrupts.recv() => {
                    printer.end_line()?;
                    let again = std::mem::replace(&mut is_cancelled, true);
                    if again || self.stop_turn(selector, interrupts).await? {
                        printer.finish_answer()?;
                        return Ok(ChatTurnOutcome::UserLeft(EXIT_INTERRUPTED));
                    }
                }
            }
        }
        printer.finish_answer()?;
        Ok(ChatTurnOutcome::from_failure(
            "lost the connection to the daemon; `provost sessions` shows the session",
        ))
    }

    /// Cancels the turn; returns whether the user leaves instead of waiting for it.
    async fn stop_turn(
        &self,
        selector: &ChatTurnSelector,
        interrupts: &mut Signal,
    ) -> anyhow::Result<bool> {
        print_stderr(&faint("Cancelling the turn. Press Ctrl-C again to leave."));
        tokio::select! {
            done = self.cancel_turn(selector) => done.map(|()| false),
            _ = interrupts.recv() => Ok(true),
        }
    }

    /// Handles a line that was typed during a turn; returns whether the user leaves.
    async fn handle_typed_line(
        &mut self,
        line: Option<TypedLine>,
        selector: &ChatTurnSelector,
        approvals: &mut ChatApprovals,
    ) -> anyhow::Result<bool> {
        let Some(line) = line else {
            // The end of the input takes effect after the turn.
            self.keyboard = None;
            return Ok(false);
        };
        if approvals.accepts_line(&line) {
            approvals.submit_answer(&self.client, &line.text).await?;
            return Ok(false);
        }
        match ChatInput::parse(&line.text) {
            ChatInput::Quit => {
                print_stderr(&faint(match selector.turn {
                    Some(_) => "The turn keeps running.",
                    None => "Your message stays queued.",
                }));
                return Ok(true);
            }
            ChatInput::Cancel => self.cancel_turn(selector).await?,
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
            ChatInput::Message(_) if approvals.is_too_soon(&line) => {
                print_stderr("Ignored: it was typed before the approval could be read.");
            }
            ChatInput::Message(_)
            | ChatInput::Continue
            | ChatInput::SwitchRole(_)
            | ChatInput::SwitchModel(_)
            | ChatInput::Unknown(_) => {
                if self.keyboard.as_mut().is_some_and(|keyboard| keyboard.try_defer(line.text)) {
                    print_stderr(&faint("Queued until this turn ends."));
                } else {
                    print_stderr("Too many queued lines; this one was dropped.");
                }
            }
        }
        // The output moved the approval up, so its prompt is repeated.
        approvals.print_prompt()?;
        Ok(false)
    }
}

/// Prints a message of the session's stream; returns how the turn ended, if it did.
fn print_message(
    message: SessionMessage,
    selector: &mut ChatTurnSelector,
    printer: &mut TurnPrinter,
    approvals: &mut ChatApprovals,
) -> anyhow::Result<Option<ChatTurnOutcome>> {
    let event = match message {
        SessionMessage::Event(event) => *event,
        SessionMessage::DraftBegun(message) => {
            printer.begin_draft(message);
            return Ok(None);
        }
        SessionMessage::Delta(delta) => {
            if selector.turn.is_some() {
                printer.print_delta(*delta)?;
            }
            return Ok(None);
        }
    };
    let end = selector.detect_outcome(&event);
    if selector.includes_event(&event) {
        printer.print_event(&event)?;
        approvals.record_handoff(&event);
    }
    Ok(end)
}
