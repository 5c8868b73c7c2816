//! A chat and its turns: start one, follow it, cancel it when the user leaves.

use std::io;
use std::time::Duration;

use anyhow::Context as _;
use provost_proto::session::{ModelList, SendMessageRequest, SendMessageResponse, SessionView};
use provost_proto::{Code, Project, TurnId};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::line_input::LineInput;
use super::termination_signals::TerminationSignals;
use super::turn_outcome::{ChatTurnOutcome, ChatTurnSelector};
use crate::client::DaemonClient;
use crate::commands::audit::events::fetch_head_cursor;
use crate::commands::daemon::provider_keys::{describe_missing_key, find_missing_keys};
use crate::output::{EXIT_OUTPUT_CLOSED, OutputClosed, print_stderr};

/// How long a leaving user waits for the cancellation. The daemon completes it anyway.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// A chat with one session.
pub(super) struct ChatSession {
    pub(super) client: DaemonClient,
    pub(super) session: SessionView,
    pub(super) project: Project,
    pub(super) json: bool,
    /// The keyboard, if a person can type.
    pub(super) keyboard: Option<LineInput>,
    /// The turn that was running when this chat joined the session.
    pub(super) joined: Option<TurnId>,
    /// The providers that are ready by the configuration of the caller.
    pub(super) ready_here: Vec<String>,
}

/// What starts a turn.
pub(super) enum ChatTurnTrigger {
    Message(String),
    Continue,
}

/// The result of starting a turn.
enum ChatTurnStart {
    Started(ChatTurnSelector),
    /// The user left in the meantime; exit with this status.
    UserLeft(u8),
}

impl ChatSession {
    pub(super) fn session_path(&self, rest: &str) -> String {
        format!("/api/sessions/{}{rest}", self.session.id.uuid())
    }

    async fn start_turn(&self, trigger: ChatTurnTrigger) -> anyhow::Result<ChatTurnSelector> {
        match trigger {
            ChatTurnTrigger::Message(text) => {
                let sent: SendMessageResponse = self
                    .client
                    .post(&self.session_path("/messages"), &SendMessageRequest { text })
                    .await?;
                Ok(ChatTurnSelector { turn: sent.turn, message: Some(sent.message) })
            }
            ChatTurnTrigger::Continue => {
                let response: Value =
                    self.client.post(&self.session_path("/continue"), &json!({})).await?;
                let turn = serde_json::from_value(response["turn"].clone());
                Ok(ChatTurnSelector {
                    turn: Some(turn.context("the daemon returned no turn")?),
                    message: None,
                })
            }
        }
    }

    /// Cancels the selected turn, and no other; returns when nothing of it runs.
    pub(super) async fn cancel_turn(&self, selector: &ChatTurnSelector) -> anyhow::Result<()> {
        let Some(message) = selector.message else {
            let _response: Value =
                self.client.post(&self.session_path("/cancel"), &json!({})).await?;
            return Ok(());
        };
        let path = self.session_path(&format!("/messages/{}/cancel", message.uuid()));
        self.client.send_no_content(Method::POST, &path).await
    }

    /// Cancels with a time limit, for a user who leaves; returns whether it succeeded.
    async fn cancel_with_timeout(&self, selector: &ChatTurnSelector) -> bool {
        matches!(tokio::time::timeout(CANCEL_TIMEOUT, self.cancel_turn(selector)).await, Ok(Ok(())))
    }

    /// Cancels after a signal, and prints the result.
    async fn cancel_and_report(&self, selector: &ChatTurnSelector) {
        let is_done = self.cancel_with_timeout(selector).await;
        print_stderr(match (is_done, selector.turn) {
            (true, Some(_)) => "The turn was cancelled.",
            (true, None) => "Your message was withdrawn.",
            (false, _) => {
                "The daemon did not respond; `provost sessions` shows the state of the session."
            }
        });
    }

    /// Starts a turn, prints it, and handles its approvals. If the user leaves or closes
    /// the output before its end, the turn is cancelled.
    pub(super) async fn run_turn(
        &mut self,
        trigger: ChatTurnTrigger,
        signals: &mut TerminationSignals,
    ) -> anyhow::Result<ChatTurnOutcome> {
        let mut interrupts = subscribe_interrupts()?;
        let after = fetch_head_cursor(&self.client).await?;
        let mut selector = match self.start_turn_or_leave(trigger, signals).await? {
            ChatTurnStart::Started(selector) => selector,
            ChatTurnStart::UserLeft(status) => return Ok(ChatTurnOutcome::UserLeft(status)),
        };
        let status = tokio::select! {
            end = self.follow_turn(after, &mut selector, &mut interrupts) => match end {
                Err(error) if error.is::<OutputClosed>() => EXIT_OUTPUT_CLOSED,
                // The output cannot be written, so the rest of the answer is of no use.
                Err(error) if error.is::<io::Error>() => {
                    self.cancel_with_timeout(&selector).await;
                    return Err(error);
                }
                Ok(ChatTurnOutcome::NoKey { why }) => return Ok(self.explain_missing_key(why).await),
                end => return end,
            },
            status = signals.recv_exit_status() => {
                self.cancel_and_report(&selector).await;
                return Ok(ChatTurnOutcome::UserLeft(status));
            }
        };
        self.cancel_with_timeout(&selector).await;
        Ok(ChatTurnOutcome::UserLeft(status))
    }

    /// Says so if the key is configured here and only the daemon lacks it.
    async fn explain_missing_key(&self, why: String) -> ChatTurnOutcome {
        let provider = self.session.model.split('/').next().unwrap_or_default();
        let list = self.client.get::<ModelList>("/api/models").await;
        let providers = list.map(|list| list.providers).unwrap_or_default();
        let missing = find_missing_keys(&self.ready_here, &providers);
        let missing = missing.into_iter().find(|missing| missing.name == provider);
        ChatTurnOutcome::from_failure(match missing {
            Some(missing) => format!("{} ({})", describe_missing_key(missing), Code::ModelKey),
            None => why,
        })
    }

    /// Starts a turn unless a signal ends the chat. The start is awaited even then: the
    /// message must be known to be withdrawn.
    async fn start_turn_or_leave(
        &self,
        trigger: ChatTurnTrigger,
        signals: &mut TerminationSignals,
    ) -> anyhow::Result<ChatTurnStart> {
        let start = self.start_turn(trigger);
        tokio::pin!(start);
        let status = tokio::select! {
            selector = &mut start => return selector.map(ChatTurnStart::Started),
            status = signals.recv_exit_status() => status,
        };
        if let Ok(Ok(selector)) = tokio::time::timeout(CANCEL_TIMEOUT, start).await {
            self.cancel_and_report(&selector).await;
        }
        Ok(ChatTurnStart::UserLeft(status))
    }
}

/// Receives every Ctrl-C from now on, also those that arrive while nothing polls.
pub(super) fn subscribe_interrupts() -> anyhow::Result<Signal> {
    signal(SignalKind::interrupt()).context("cannot subscribe to SIGINT")
}
