//! One turn of a conversation: begun, followed to its end, and given up with the call
//! that began it.

use std::io;
use std::time::Duration;

use anyhow::Context as _;
use provost_proto::session::{SendMessageRequest, SendMessageResponse, SessionView};
use provost_proto::{Project, TurnId};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::line_input::LineInput;
use super::termination_signals::TerminationSignals;
use super::turn_outcome::{ChatTurnOutcome, ChatTurnSelector};
use crate::client::DaemonClient;
use crate::commands::audit::events::fetch_latest_seq;
use crate::output::{EXIT_OUTPUT_CLOSED, OutputClosed, print_stderr};

/// How long whoever leaves waits until the turn has ended. The daemon ends it anyway.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// A conversation.
pub(super) struct ChatSession {
    pub(super) client: DaemonClient,
    pub(super) session: SessionView,
    pub(super) project: Project,
    pub(super) json: bool,
    /// Where a person types, if one does.
    pub(super) keyboard: Option<LineInput>,
    /// The turn that went on when the person came, which somebody else began.
    pub(super) joined: Option<TurnId>,
}

/// What begins a turn.
pub(super) enum ChatTurnTrigger {
    Message(String),
    Continue,
}

/// What came of beginning one.
enum ChatTurnStart {
    Started(ChatTurnSelector),
    /// Somebody left meanwhile, with this status.
    UserLeft(u8),
}

impl ChatSession {
    pub(super) fn session_path(&self, rest: &str) -> String {
        format!("/api/sessions/{}{rest}", self.session.id.uuid())
    }

    async fn start_turn(&self, begin: ChatTurnTrigger) -> anyhow::Result<ChatTurnSelector> {
        match begin {
            ChatTurnTrigger::Message(text) => {
                let sent: SendMessageResponse = self
                    .client
                    .post(&self.session_path("/messages"), &SendMessageRequest { text })
                    .await?;
                Ok(ChatTurnSelector { turn: sent.turn, message: Some(sent.message) })
            }
            ChatTurnTrigger::Continue => {
                let told: Value =
                    self.client.post(&self.session_path("/continue"), &json!({})).await?;
                let turn = serde_json::from_value(told["turn"].clone());
                Ok(ChatTurnSelector {
                    turn: Some(turn.context("the daemon named no turn")?),
                    message: None,
                })
            }
        }
    }

    /// Ends the turn that this began, and no other; done when nothing of it runs.
    pub(super) async fn cancel_turn(&self, which: &ChatTurnSelector) -> anyhow::Result<()> {
        let Some(message) = which.message else {
            let _told: Value = self.client.post(&self.session_path("/cancel"), &json!({})).await?;
            return Ok(());
        };
        let path = self.session_path(&format!("/messages/{}/cancel", message.uuid()));
        self.client.send_no_content(Method::POST, &path).await
    }

    /// The same for who leaves, and does not wait for long; tells whether it was done.
    async fn cancel_with_timeout(&self, which: &ChatTurnSelector) -> bool {
        matches!(tokio::time::timeout(CANCEL_TIMEOUT, self.cancel_turn(which)).await, Ok(Ok(())))
    }

    /// The same for whom a signal ends, who reads what became of the turn.
    async fn cancel_and_report(&self, which: &ChatTurnSelector) {
        let is_done = self.cancel_with_timeout(which).await;
        print_stderr(match (is_done, which.turn) {
            (true, Some(_)) => "The turn was ended.",
            (true, None) => "What you said was taken back.",
            (false, _) => "The daemon did not answer; `provost sessions` shows what goes on.",
        });
    }

    /// Begins a turn, shows it as it comes, and answers what it asks. Whoever leaves
    /// before its end, or closes the output, wants no answer, and the turn ends too.
    pub(super) async fn run_turn(
        &mut self,
        begin: ChatTurnTrigger,
        leaving: &mut TerminationSignals,
    ) -> anyhow::Result<ChatTurnOutcome> {
        let mut interrupts = subscribe_interrupts()?;
        let after = fetch_latest_seq(&self.client).await?;
        let mut which = match self.start_turn_or_leave(begin, leaving).await? {
            ChatTurnStart::Started(which) => which,
            ChatTurnStart::UserLeft(status) => return Ok(ChatTurnOutcome::UserLeft(status)),
        };
        let status = tokio::select! {
            end = self.follow_turn(after, &mut which, &mut interrupts) => match end {
                Err(error) if error.is::<OutputClosed>() => EXIT_OUTPUT_CLOSED,
                // Nothing can be printed, so that nobody would hear the rest.
                Err(error) if error.is::<io::Error>() => {
                    self.cancel_with_timeout(&which).await;
                    return Err(error);
                }
                end => return end,
            },
            status = leaving.recv_exit_status() => {
                self.cancel_and_report(&which).await;
                return Ok(ChatTurnOutcome::UserLeft(status));
            }
        };
        self.cancel_with_timeout(&which).await;
        Ok(ChatTurnOutcome::UserLeft(status))
    }

    /// What was said when somebody leaves must be known, to be withdrawn.
    async fn start_turn_or_leave(
        &self,
        begin: ChatTurnTrigger,
        leaving: &mut TerminationSignals,
    ) -> anyhow::Result<ChatTurnStart> {
        let beginning = self.start_turn(begin);
        tokio::pin!(beginning);
        let status = tokio::select! {
            which = &mut beginning => return which.map(ChatTurnStart::Started),
            status = leaving.recv_exit_status() => status,
        };
        if let Ok(Ok(which)) = tokio::time::timeout(CANCEL_TIMEOUT, beginning).await {
            self.cancel_and_report(&which).await;
        }
        Ok(ChatTurnStart::UserLeft(status))
    }
}

/// Every Ctrl-C from now on, also one that comes while something else is done.
pub(super) fn subscribe_interrupts() -> anyhow::Result<Signal> {
    signal(SignalKind::interrupt()).context("cannot hear Ctrl-C")
}
