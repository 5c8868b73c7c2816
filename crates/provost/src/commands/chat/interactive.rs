//! The interactive chat: prompt, turn, prompt.

use std::process::ExitCode;

use provost_proto::session::{FinishReason, SessionDetail};
use provost_runner::model::Usd;

use super::chat_input::{CHAT_HELP, ChatInput};
use super::chat_session::{ChatSession, ChatTurnTrigger, subscribe_interrupts};
use super::line_input::LineInput;
use super::queued_messages::{print_held, print_unsent};
use super::termination_signals::TerminationSignals;
use super::turn_outcome::{ChatTurnOutcome, describe_incomplete_answer};
use crate::commands::lookup::short_id;
use crate::output::{self, bold, faint, print_line, print_stderr, sanitize_lines, sanitize_text};

/// What follows a typed line.
enum ChatPromptOutcome {
    StartTurn(ChatTurnTrigger),
    PromptAgain,
    Leave,
}

pub(super) async fn run_interactive(
    mut chat: ChatSession,
    is_resumed: bool,
) -> anyhow::Result<ExitCode> {
    chat.print_greeting();
    if is_resumed {
        chat.print_session_state().await?;
    }
    let mut keyboard = LineInput::spawn();
    let mut signals = TerminationSignals::subscribe()?;
    loop {
        let next = tokio::select! {
            biased;
            status = signals.recv_exit_status() => return Ok(ExitCode::from(status)),
            next = chat.prompt_user(&mut keyboard) => next?,
        };
        let trigger = match next {
            ChatPromptOutcome::Leave => {
                print_unsent(keyboard.hold_deferred());
                return Ok(ExitCode::SUCCESS);
            }
            ChatPromptOutcome::PromptAgain => continue,
            ChatPromptOutcome::StartTurn(trigger) => trigger,
        };
        chat.keyboard = Some(keyboard);
        let end = chat.run_turn(trigger, &mut signals).await;
        // `None` after the end of the input: nothing more can be typed.
        let mut returned = chat.keyboard.take();
        if let Some(status) = report_turn_outcome(end, returned.as_mut())? {
            return Ok(ExitCode::from(status));
        }
        let Some(returned) = returned else { return Ok(ExitCode::SUCCESS) };
        keyboard = returned;
    }
}

/// Prints how a turn ended; returns the exit status if the user left.
fn report_turn_outcome(
    end: anyhow::Result<ChatTurnOutcome>,
    keyboard: Option<&mut LineInput>,
) -> anyhow::Result<Option<u8>> {
    match end {
        Ok(ChatTurnOutcome::Finished(reason)) => {
            if let Some((what, _)) = describe_incomplete_answer(reason) {
                print_stderr(what);
            }
            if reason == FinishReason::MaxTokens {
                print_stderr(&faint("/continue requests the rest."));
            }
        }
        Ok(ChatTurnOutcome::Failed { why, .. } | ChatTurnOutcome::NoKey { why }) => {
            print_stderr(&sanitize_lines(&why));
        }
        Ok(ChatTurnOutcome::Cancelled { why, .. }) => {
            print_stderr(&sanitize_lines(&why));
            print_held(keyboard.map_or(&[], LineInput::hold_deferred));
        }
        Ok(ChatTurnOutcome::MessageHeld { .. }) => {
            print_stderr(
                "the previous turn was cancelled, so your message is held (CANCELLED); \
                 /continue sends it, /drop withdraws it",
            );
            print_held(keyboard.map_or(&[], LineInput::hold_deferred));
        }
        Ok(ChatTurnOutcome::Interrupted { why }) => {
            print_stderr(&format!("{}; /continue continues the turn", sanitize_text(&why)));
        }
        Ok(ChatTurnOutcome::UserLeft(status)) => {
            print_unsent(keyboard.map_or(&[], LineInput::hold_deferred));
            return Ok(Some(status));
        }
        Err(error) if error.is::<output::OutputClosed>() => return Err(error),
        Err(error) => print_stderr(&sanitize_lines(&format!("{error:#}"))),
    }
    Ok(None)
}

impl ChatSession {
    fn print_greeting(&self) {
        let id = short_id(&self.session.id.to_string());
        let (model, role) = (sanitize_text(&self.session.model), sanitize_text(&self.session.role));
        print_stderr(&faint(&format!("{model} as `{role}`, session {id}. /help lists commands.")));
    }

    /// Prompts for a line and handles it.
    async fn prompt_user(&mut self, keyboard: &mut LineInput) -> anyhow::Result<ChatPromptOutcome> {
        let mut interrupts = subscribe_interrupts()?;
        output::print_bytes(bold("> ").as_bytes())?;
        let typed = tokio::select! {
            typed = keyboard.next() => typed,
            _ = interrupts.recv() => {
                tokio::select! {
                    stopped = self.stop_joined_turn() => if stopped? { return Ok(ChatPromptOutcome::PromptAgain) },
                    _ = interrupts.recv() => return Ok(ChatPromptOutcome::Leave),
                }
                print_stderr(&faint("\nPress Ctrl-C again to leave."));
                tokio::select! {
                    typed = keyboard.next() => typed,
                    _ = interrupts.recv() => return Ok(ChatPromptOutcome::Leave),
                }
            }
        };
        let Some(typed) = typed else { return Ok(ChatPromptOutcome::Leave) };
        match ChatInput::parse(&typed) {
            ChatInput::Message(_) if !keyboard.held.is_empty() => {
                // Held lines are sent first.
                keyboard.release_held(Some(typed));
            }
            ChatInput::Message(text) => {
                return Ok(ChatPromptOutcome::StartTurn(ChatTurnTrigger::Message(text)));
            }
            ChatInput::Continue => {
                keyboard.release_held(None);
                return Ok(ChatPromptOutcome::StartTurn(ChatTurnTrigger::Continue));
            }
            ChatInput::DropQueued => self.withdraw_queued(keyboard).await?,
            ChatInput::Quit => return Ok(ChatPromptOutcome::Leave),
            ChatInput::Empty => {}
            ChatInput::Help => print_line(CHAT_HELP)?,
            ChatInput::Cancel => {
                if !self.stop_current_turn().await? {
                    print_stderr("No turn is running.");
                }
            }
            ChatInput::ShowCost => print_line(&self.describe_cost().await?)?,
            ChatInput::Unknown(why) => print_stderr(&sanitize_text(&why)),
            ChatInput::SwitchRole(role) => self.switch_session(role, None).await,
            ChatInput::SwitchModel(model) => {
                let role = self.session.role.clone();
                self.switch_session(role, Some(model)).await;
            }
        }
        Ok(ChatPromptOutcome::PromptAgain)
    }

    /// Opens a new session and switches to it; the old one stays open.
    async fn switch_session(&mut self, role: String, model: Option<String>) {
        match super::open_session(&self.client, &self.project, role, model).await {
            Ok(session) => {
                self.session = session;
                self.print_greeting();
            }
            Err(error) => print_stderr(&sanitize_lines(&format!("{error:#}"))),
        }
    }

    /// Tokens and cost of the session.
    pub(super) async fn describe_cost(&self) -> anyhow::Result<String> {
        let path = format!("/api/sessions/{}", self.session.id.uuid());
        let SessionDetail { session, .. } = self.client.get(&path).await?;
        let usage = session.usage;
        Ok(format!(
            "{} tokens in ({} from a cache), {} out ({} for reasoning): {}",
            usage.input,
            usage.cached_input,
            usage.output,
            usage.reasoning,
            Usd::from_nanos(session.cost)
        ))
    }
}
