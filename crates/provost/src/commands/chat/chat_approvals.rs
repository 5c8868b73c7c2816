//! Approvals of a session, shown and answered in the chat.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use provost_proto::{
    AnswerApprovalRequest, AnswerScope, Approval, ApprovalId, ApprovalList, Event, Fact, Project,
    ProjectList, SessionId,
};
use provost_store::Clock;

use super::chat_input::TypedAnswer;
use crate::approval_text::{ProjectNames, format_approval, trust_answer};
use crate::client::DaemonClient;
use crate::commands::lookup::short_id;
use crate::output::{self, bold, faint, is_interactive, print_stderr, sanitize_lines};
use crate::typed_answer::{
    AnswerWindow, HARD_GATE_WORD, TypedLine, discard_typed_input, has_hard_gate,
};

/// The pending approvals of a session; the front one is answered next.
pub(super) struct ChatApprovals {
    pending: VecDeque<Approval>,
    state: AnswerWindow,
    shown: HashSet<ApprovalId>,
    /// The session, and those it handed tasks to.
    sessions: HashSet<SessionId>,
    json: bool,
}

impl ChatApprovals {
    pub(super) fn new(session: SessionId, json: bool) -> Self {
        let sessions = HashSet::from([session]);
        let (pending, shown) = (VecDeque::new(), HashSet::new());
        Self { pending, state: AnswerWindow::Closed, shown, sessions, json }
    }

    /// Adds a session that a task was handed to.
    pub(super) fn record_handoff(&mut self, event: &Event) {
        if let Some(Fact::HandedOff(handoff)) = event.fact() {
            self.sessions.insert(handoff.to);
        }
    }

    /// Whether a line is an answer to the front approval.
    pub(super) fn accepts_line(&self, line: &TypedLine) -> bool {
        self.state.accepts_line_at(line.at) && !line.text.trim_start().starts_with('/')
    }

    /// Whether a line looks like an answer, but was typed before one was accepted.
    pub(super) fn is_too_soon(&self, line: &TypedLine) -> bool {
        let is_early = !self.pending.is_empty() && !self.state.accepts_line_at(line.at);
        // Words are a message to the model, sent after the turn.
        is_early
            && TypedAnswer::parse(&line.text, false, |_| true)
                .is_none_or(|answer| answer.message.is_none())
    }

    /// Resolves when the front approval can be answered.
    pub(super) async fn wait_until_answerable(&self) {
        self.state.wait_until_answerable().await;
    }

    /// Accepts an answer from now on. A line that was started before is discarded.
    pub(super) fn open_for_answer(&mut self) -> anyhow::Result<()> {
        discard_typed_input()?;
        self.state = AnswerWindow::Accepting(Instant::now());
        self.print_prompt()
    }

    /// Fetches the pending approvals, and shows new ones.
    pub(super) async fn refresh_pending(
        &mut self,
        client: &DaemonClient,
        project: &Project,
    ) -> anyhow::Result<()> {
        let path = format!("/api/projects/{}/approvals", project.id.uuid());
        let ApprovalList { mut approvals, truncated, .. } = client.get(&path).await?;
        client.fetch_whole_approvals(&mut approvals, &truncated).await?;
        let first = self.pending.front().map(|approval| approval.id);
        self.pending.retain(|known| approvals.iter().any(|approval| approval.id == known.id));
        if first.is_some() && self.pending.front().map(|approval| approval.id) != first {
            print_stderr(&faint("The approval was answered elsewhere."));
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
                    "Waiting for approval: `provost approvals allow {id}` or `deny {id}`."
                )));
                continue;
            }
            self.pending.push_back(approval);
            if self.pending.len() == 1 {
                self.show_next(client).await?;
            }
        }
        Ok(())
    }

    /// Shows the front approval, if there is one.
    async fn show_next(&mut self, client: &DaemonClient) -> anyhow::Result<()> {
        self.state = AnswerWindow::Closed;
        if let Some(approval) = self.pending.front() {
            print_approval(client, approval).await?;
            self.state = AnswerWindow::Shown(Instant::now());
        }
        Ok(())
    }

    /// Prints the possible answers, if one is accepted.
    pub(super) fn print_prompt(&self) -> anyhow::Result<()> {
        let (Some(approval), AnswerWindow::Accepting(_)) = (self.pending.front(), self.state)
        else {
            return Ok(());
        };
        let session = if offers_scope(approval, AnswerScope::Session) { "[s]ession, " } else { "" };
        let text = if has_hard_gate(approval) {
            format!("Type `{HARD_GATE_WORD}` to allow it; [n]o, or a reason to deny: ")
        } else if let Some(answer) = trust_answer(&approval.question) {
            format!("[y]es: {answer}; [n]o, or a reason to deny: ")
        } else {
            format!("Allow it? [y]es once, {session}[n]o, or a reason to deny: ")
        };
        output::print_bytes(bold(&text).as_bytes())
    }

    /// Sends a line as the answer to the front approval.
    pub(super) async fn submit_answer(
        &mut self,
        client: &DaemonClient,
        line: &str,
    ) -> anyhow::Result<()> {
        let Some(approval) = self.pending.front() else { return Ok(()) };
        let offered = |scope| offers_scope(approval, scope);
        let Some(typed) = TypedAnswer::parse(line, has_hard_gate(approval), offered) else {
            return self.print_prompt();
        };
        let Some(approval) = self.pending.pop_front() else { return Ok(()) };
        let TypedAnswer { decision, scope, message } = typed;
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
