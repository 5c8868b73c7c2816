//! The questions of a session, shown where the conversation is, and answered there.

use std::collections::{HashSet, VecDeque};

use provost_proto::{
    Answer, AnswerScope, Approval, ApprovalId, ApprovalList, Event, Fact, Project, ProjectList,
    SessionId,
};
use provost_store::Clock;

use super::command::Reply;
use crate::client::Client;
use crate::commands::place::short;
use crate::output::{self, bold, can_answer, faint, plain_lines, remark};
use crate::question::{Names, in_full};

/// What is asked and not answered; the first is the one that is answered next.
pub(super) struct Questions {
    open: VecDeque<Approval>,
    shown: HashSet<ApprovalId>,
    /// The session, and those that it handed tasks to.
    sessions: HashSet<SessionId>,
    json: bool,
}

impl Questions {
    pub(super) fn new(session: SessionId, json: bool) -> Self {
        let sessions = HashSet::from([session]);
        Self { open: VecDeque::new(), shown: HashSet::new(), sessions, json }
    }

    /// Learns to whom tasks are handed.
    pub(super) fn hear(&mut self, event: &Event) {
        if let Some(Fact::HandedOff(handed)) = event.fact() {
            self.sessions.insert(handed.to);
        }
    }

    /// Whether a line that is typed now is an answer.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Looks at what is asked now.
    pub(super) async fn look(&mut self, client: &Client, project: &Project) -> anyhow::Result<()> {
        let path = format!("/api/projects/{}/approvals", project.id.uuid());
        let ApprovalList { approvals } = client.get(&path).await?;
        let first = self.open.front().map(|open| open.id);
        self.open.retain(|open| approvals.iter().any(|still| still.id == open.id));
        if first.is_some() && self.open.front().map(|open| open.id) != first {
            remark(&faint("It was answered elsewhere."));
            self.prompt()?;
        }
        for approval in approvals {
            let ours = approval.session.is_some_and(|session| self.sessions.contains(&session));
            if !ours || !self.shown.insert(approval.id) {
                continue;
            }
            if self.json || !can_answer() {
                show(client, &approval).await?;
                let id = short(&approval.id.to_string());
                remark(&faint(&format!(
                    "It waits: `provost approvals allow {id}` or `deny {id}`."
                )));
                continue;
            }
            self.open.push_back(approval);
            if self.open.len() == 1 {
                self.next(client).await?;
            }
        }
        Ok(())
    }

    /// Shows the first, and asks.
    async fn next(&self, client: &Client) -> anyhow::Result<()> {
        if let Some(approval) = self.open.front() {
            show(client, approval).await?;
        }
        self.prompt()
    }

    fn prompt(&self) -> anyhow::Result<()> {
        let Some(approval) = self.open.front() else { return Ok(()) };
        let session = if can(approval, AnswerScope::Session) { "[s]ession, " } else { "" };
        let text = format!("Let it run? [y]es once, {session}[n]o, or say why not: ");
        output::bytes(bold(&text).as_bytes())
    }

    /// Takes a line as the answer to the first.
    pub(super) async fn answer(&mut self, client: &Client, line: &str) -> anyhow::Result<()> {
        let Some(approval) = self.open.front() else { return Ok(()) };
        let Some(reply) = Reply::read(line, |scope| can(approval, scope)) else {
            return self.prompt();
        };
        let Some(approval) = self.open.pop_front() else { return Ok(()) };
        let Reply { decision, scope, message } = reply;
        let action_hash = approval.action_hash;
        let answer = Answer { decision, scope, action_hash, message, minutes: None, rule: None };
        let path = format!("/api/approvals/{}", approval.id.uuid());
        let answered: anyhow::Result<Approval> = client.post(&path, &answer).await;
        if let Err(error) = answered {
            remark(&plain_lines(&error.to_string()));
        }
        if self.is_open() { self.next(client).await } else { Ok(()) }
    }
}

fn can(approval: &Approval, scope: AnswerScope) -> bool {
    approval.question.choices.iter().any(|choice| choice.scope == scope)
}

async fn show(client: &Client, approval: &Approval) -> anyhow::Result<()> {
    let ProjectList { projects } = client.get("/api/projects?all=true").await?;
    remark(&in_full(approval, &Names::new(&projects), Clock::system().now()));
    Ok(())
}
