//! The questions of a session, shown where the conversation is, and answered there.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use provost_proto::{
    AnswerApprovalRequest, AnswerScope, Approval, ApprovalId, ApprovalList, Event, Fact, Project,
    ProjectList, SessionId,
};
use provost_store::Clock;
use rustix::termios::{QueueSelector, tcflush};

use super::chat_input::TypedAnswer;
use super::line_input::TypedLine;
use crate::approval_text::{ProjectNames, format_approval};
use crate::client::DaemonClient;
use crate::commands::lookup::short_id;
use crate::output::{self, bold, faint, is_interactive, print_stderr, sanitize_lines};

/// How long a question is shown before it is answered, as in the page: what is typed
/// before was not meant for it.
const MIN_SHOWN_TIME: Duration = Duration::from_millis(500);

/// How far the first question has come.
#[derive(Debug, Clone, Copy)]
enum ApprovalPromptState {
    Idle,
    /// It is shown since then.
    Shown(Instant),
    /// It takes an answer since then.
    Accepting(Instant),
}

impl ApprovalPromptState {
    /// Whether a line of that time can be meant as an answer.
    fn accepts_line_at(self, at: Instant) -> bool {
        match self {
            Self::Idle | Self::Shown(_) => false,
            Self::Accepting(since) => at >= since,
        }
    }
}

/// What is asked and not answered; the first is the one that is answered next.
pub(super) struct ChatApprovals {
    open: VecDeque<Approval>,
    asks: ApprovalPromptState,
    shown: HashSet<ApprovalId>,
    /// The session, and those that it handed tasks to.
    sessions: HashSet<SessionId>,
    json: bool,
}

impl ChatApprovals {
    pub(super) fn new(session: SessionId, json: bool) -> Self {
        let sessions = HashSet::from([session]);
        let (open, shown) = (VecDeque::new(), HashSet::new());
        Self { open, asks: ApprovalPromptState::Idle, shown, sessions, json }
    }

    /// Learns to whom tasks are handed.
    pub(super) fn record_handoff(&mut self, event: &Event) {
        if let Some(Fact::HandedOff(handed)) = event.fact() {
            self.sessions.insert(handed.to);
        }
    }

    /// Whether a line is an answer.
    pub(super) fn accepts_line(&self, line: &TypedLine) -> bool {
        self.asks.accepts_line_at(line.at) && !line.text.trim_start().starts_with('/')
    }

    /// Whether a line came too soon for the answer that it seems to be.
    pub(super) fn is_too_soon(&self, line: &TypedLine) -> bool {
        let is_asked = !self.open.is_empty() && !self.asks.accepts_line_at(line.at);
        // Words are for the model, after the turn.
        is_asked
            && TypedAnswer::parse(&line.text, |_| true).is_none_or(|reply| reply.message.is_none())
    }

    /// Ends when the first was shown long enough.
    pub(super) async fn wait_until_answerable(&self) {
        match self.asks {
            ApprovalPromptState::Shown(since) => {
                tokio::time::sleep_until((since + MIN_SHOWN_TIME).into()).await
            }
            ApprovalPromptState::Idle | ApprovalPromptState::Accepting(_) => {
                std::future::pending().await
            }
        }
    }

    /// Asks for the answer to the first. A line that was begun before is thrown away.
    pub(super) fn open_for_answer(&mut self) -> anyhow::Result<()> {
        let flushed = tcflush(io::stdin(), QueueSelector::IFlush);
        flushed.map_err(io::Error::from).context("cannot hear the terminal")?;
        self.asks = ApprovalPromptState::Accepting(Instant::now());
        self.print_prompt()
    }

    /// Looks at what is asked now.
    pub(super) async fn refresh_pending(
        &mut self,
        client: &DaemonClient,
        project: &Project,
    ) -> anyhow::Result<()> {
        let path = format!("/api/projects/{}/approvals", project.id.uuid());
        let ApprovalList { approvals } = client.get(&path).await?;
        let first = self.open.front().map(|open| open.id);
        self.open.retain(|open| approvals.iter().any(|still| still.id == open.id));
        if first.is_some() && self.open.front().map(|open| open.id) != first {
            print_stderr(&faint("It was answered elsewhere."));
            self.show_next(client).await?;
        }
        for approval in approvals {
            let ours = approval.session.is_some_and(|session| self.sessions.contains(&session));
            if !ours || !self.shown.insert(approval.id) {
                continue;
            }
            if self.json || !is_interactive() {
                print_approval(client, &approval).await?;
                let id = short_id(&approval.id.to_string());
                print_stderr(&faint(&format!(
                    "It waits: `provost approvals allow {id}` or `deny {id}`."
                )));
                continue;
            }
            self.open.push_back(approval);
            if self.open.len() == 1 {
                self.show_next(client).await?;
            }
        }
        Ok(())
    }

    /// Shows the first, if there is one.
    async fn show_next(&mut self, client: &DaemonClient) -> anyhow::Result<()> {
        self.asks = ApprovalPromptState::Idle;
        if let Some(approval) = self.open.front() {
            print_approval(client, approval).await?;
            self.asks = ApprovalPromptState::Shown(Instant::now());
        }
        Ok(())
    }

    /// Says what can be answered, if something can.
    pub(super) fn print_prompt(&self) -> anyhow::Result<()> {
        let (Some(approval), ApprovalPromptState::Accepting(_)) = (self.open.front(), self.asks)
        else {
            return Ok(());
        };
        let session = if offers_scope(approval, AnswerScope::Session) { "[s]ession, " } else { "" };
        let text = format!("Let it run? [y]es once, {session}[n]o, or say why not: ");
        output::print_bytes(bold(&text).as_bytes())
    }

    /// Takes a line as the answer to the first.
    pub(super) async fn submit_answer(
        &mut self,
        client: &DaemonClient,
        line: &str,
    ) -> anyhow::Result<()> {
        let Some(approval) = self.open.front() else { return Ok(()) };
        let Some(reply) = TypedAnswer::parse(line, |scope| offers_scope(approval, scope)) else {
            return self.print_prompt();
        };
        let Some(approval) = self.open.pop_front() else { return Ok(()) };
        let TypedAnswer { decision, scope, message } = reply;
        let action_hash = approval.action_hash;
        let answer = AnswerApprovalRequest {
            decision,
            scope,
            action_hash,
            message,
            minutes: None,
            rule: None,
        };
        let path = format!("/api/approvals/{}", approval.id.uuid());
        let answered: anyhow::Result<Approval> = client.post(&path, &answer).await;
        if let Err(error) = answered {
            print_stderr(&sanitize_lines(&error.to_string()));
        }
        self.show_next(client).await
    }
}

fn offers_scope(approval: &Approval, scope: AnswerScope) -> bool {
    approval.question.choices.iter().any(|choice| choice.scope == scope)
}

async fn print_approval(client: &DaemonClient, approval: &Approval) -> anyhow::Result<()> {
    let ProjectList { projects } = client.get("/api/projects?all=true").await?;
    print_stderr(&format_approval(approval, &ProjectNames::new(&projects), Clock::system().now()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_typed_after_a_question_was_shown_for_a_while_answers_it() {
        let shown = Instant::now();
        let asked = shown + MIN_SHOWN_TIME;
        for (asks, at, takes) in [
            (ApprovalPromptState::Idle, shown, false),
            (ApprovalPromptState::Shown(shown), asked, false),
            (ApprovalPromptState::Accepting(asked), shown, false),
            (ApprovalPromptState::Accepting(asked), asked, true),
            (ApprovalPromptState::Accepting(asked), asked + MIN_SHOWN_TIME, true),
        ] {
            assert_eq!(asks.accepts_line_at(at), takes, "{asks:?} {at:?}");
        }
    }
}
