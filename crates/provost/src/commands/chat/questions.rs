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

use super::command::Reply;
use super::keyboard::Line;
use crate::client::Client;
use crate::commands::place::short;
use crate::output::{self, bold, can_answer, faint, plain_lines, remark};
use crate::question::{Names, in_full};

/// How long a question is shown before it is answered, as in the page: what is typed
/// before was not meant for it.
const SHOWN: Duration = Duration::from_millis(500);

/// How far the first question has come.
#[derive(Debug, Clone, Copy)]
enum Asks {
    Nothing,
    /// It is shown since then.
    Shown(Instant),
    /// It takes an answer since then.
    Now(Instant),
}

impl Asks {
    /// Whether a line of that time can be meant as an answer.
    fn takes(self, at: Instant) -> bool {
        match self {
            Self::Nothing | Self::Shown(_) => false,
            Self::Now(since) => at >= since,
        }
    }
}

/// What is asked and not answered; the first is the one that is answered next.
pub(super) struct Questions {
    open: VecDeque<Approval>,
    asks: Asks,
    shown: HashSet<ApprovalId>,
    /// The session, and those that it handed tasks to.
    sessions: HashSet<SessionId>,
    json: bool,
}

impl Questions {
    pub(super) fn new(session: SessionId, json: bool) -> Self {
        let sessions = HashSet::from([session]);
        let (open, shown) = (VecDeque::new(), HashSet::new());
        Self { open, asks: Asks::Nothing, shown, sessions, json }
    }

    /// Learns to whom tasks are handed.
    pub(super) fn hear(&mut self, event: &Event) {
        if let Some(Fact::HandedOff(handed)) = event.fact() {
            self.sessions.insert(handed.to);
        }
    }

    /// Whether a line is an answer.
    pub(super) fn takes(&self, line: &Line) -> bool {
        self.asks.takes(line.at) && !line.text.trim_start().starts_with('/')
    }

    /// Whether a line came too soon for the answer that it seems to be.
    pub(super) fn is_too_soon(&self, line: &Line) -> bool {
        let is_asked = !self.open.is_empty() && !self.asks.takes(line.at);
        // Words are for the model, after the turn.
        is_asked && Reply::read(&line.text, |_| true).is_none_or(|reply| reply.message.is_none())
    }

    /// Ends when the first was shown long enough.
    pub(super) async fn ripe(&self) {
        match self.asks {
            Asks::Shown(since) => tokio::time::sleep_until((since + SHOWN).into()).await,
            Asks::Nothing | Asks::Now(_) => std::future::pending().await,
        }
    }

    /// Asks for the answer to the first. A line that was begun before is thrown away.
    pub(super) fn ask(&mut self) -> anyhow::Result<()> {
        let flushed = tcflush(io::stdin(), QueueSelector::IFlush);
        flushed.map_err(io::Error::from).context("cannot hear the terminal")?;
        self.asks = Asks::Now(Instant::now());
        self.prompt()
    }

    /// Looks at what is asked now.
    pub(super) async fn look(&mut self, client: &Client, project: &Project) -> anyhow::Result<()> {
        let path = format!("/api/projects/{}/approvals", project.id.uuid());
        let ApprovalList { approvals } = client.get(&path).await?;
        let first = self.open.front().map(|open| open.id);
        self.open.retain(|open| approvals.iter().any(|still| still.id == open.id));
        if first.is_some() && self.open.front().map(|open| open.id) != first {
            remark(&faint("It was answered elsewhere."));
            self.next(client).await?;
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

    /// Shows the first, if there is one.
    async fn next(&mut self, client: &Client) -> anyhow::Result<()> {
        self.asks = Asks::Nothing;
        if let Some(approval) = self.open.front() {
            show(client, approval).await?;
            self.asks = Asks::Shown(Instant::now());
        }
        Ok(())
    }

    /// Says what can be answered, if something can.
    pub(super) fn prompt(&self) -> anyhow::Result<()> {
        let (Some(approval), Asks::Now(_)) = (self.open.front(), self.asks) else { return Ok(()) };
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
            remark(&plain_lines(&error.to_string()));
        }
        self.next(client).await
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_typed_after_a_question_was_shown_for_a_while_answers_it() {
        let shown = Instant::now();
        let asked = shown + SHOWN;
        for (asks, at, takes) in [
            (Asks::Nothing, shown, false),
            (Asks::Shown(shown), asked, false),
            (Asks::Now(asked), shown, false),
            (Asks::Now(asked), asked, true),
            (Asks::Now(asked), asked + SHOWN, true),
        ] {
            assert_eq!(asks.takes(at), takes, "{asks:?} {at:?}");
        }
    }
}
