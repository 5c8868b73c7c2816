//! `provost chat`: talking with a model in a role.

mod print;
mod tour;

use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use futures::StreamExt as _;
use provost_proto::session::{OpenSession, SendMessage, SessionList, SessionView};
use provost_proto::{
    Answer, AnswerScope, Approval, ApprovalList, Decision, Event, Fact, Problem, Project,
    ProjectList, RoleList, SessionId,
};
use provost_store::Clock;
use serde_json::json;

use super::events::newest;
use super::place::{pick, project, short};
use crate::args::ChatArgs;
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, bold, can_answer, faint, line, plain, remark};
use crate::question::{Names, in_full};
use print::Printer;

pub(crate) async fn run(args: ChatArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let (session, project) = session(&args, &client).await?;
    let chat = Chat { client, session: session.id, project, json: args.json };
    if let Some(prompt) = args.prompt {
        return chat.once(&text_of(prompt)?).await;
    }
    if !std::io::stdin().is_terminal() {
        return chat.once(&text_of("-".to_owned())?).await;
    }
    let id = short(&session.id.to_string());
    remark(&faint(&format!("{} as `{}`, session {id}. Ctrl-D ends.", session.model, session.role)));
    chat.talk().await
}

fn text_of(prompt: String) -> anyhow::Result<String> {
    if prompt != "-" {
        return Ok(prompt);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read the input")?;
    Ok(text)
}

/// The session to talk in, opened if none was named.
async fn session(args: &ChatArgs, client: &Client) -> anyhow::Result<(SessionView, Project)> {
    if let Some(name) = &args.session {
        let SessionList { sessions } = client.get("/api/sessions").await?;
        let session = pick("session", name, sessions, |session| session.id.to_string())?;
        let project = client.get(&format!("/api/projects/{}", session.project.uuid())).await?;
        return Ok((session, project));
    }
    if let Some(begun) = tour::wanted(args, client).await? {
        return Ok(begun);
    }
    let project = project(args.project.as_deref(), client).await?;
    let role = match &args.role {
        Some(role) => role.clone(),
        None => only_role(&project, client).await?,
    };
    let id = project.id.uuid().to_string();
    let wanted = OpenSession { project: id, role, model: args.model.clone(), budget: None };
    Ok((client.post("/api/sessions", &wanted).await?, project))
}

async fn only_role(project: &Project, client: &Client) -> anyhow::Result<String> {
    let path = format!("/api/projects/{}/roles", project.id.uuid());
    let RoleList { roles, .. } = client.get(&path).await?;
    let mut trusted: Vec<_> = roles.into_iter().filter(|role| role.trusted).collect();
    match trusted.len() {
        0 => bail!(
            "no role of this project is trusted\nhint: write one in .provost/roles/, then \
             `provost roles trust`"
        ),
        1 => Ok(trusted.remove(0).name),
        _ => {
            let names: Vec<_> = trusted.iter().map(|role| plain(&role.name)).collect();
            bail!("which role?\nhint: --role {}", names.join(", --role "))
        }
    }
}

struct Chat {
    client: Client,
    session: SessionId,
    project: Project,
    json: bool,
}

/// How a turn ended.
enum End {
    Well,
    Badly(String),
}

impl Chat {
    async fn once(&self, text: &str) -> anyhow::Result<ExitCode> {
        match self.turn(text).await? {
            End::Well => Ok(ExitCode::SUCCESS),
            End::Badly(why) => bail!("{why}"),
        }
    }

    async fn talk(&self) -> anyhow::Result<ExitCode> {
        loop {
            output::bytes(bold("> ").as_bytes())?;
            let mut text = String::new();
            // The runtime has other threads; nothing waits for this one.
            let n = std::io::stdin().lock().read_line(&mut text)?;
            if n == 0 {
                return Ok(ExitCode::SUCCESS);
            }
            if text.trim().is_empty() {
                continue;
            }
            if let End::Badly(why) = self.turn(text.trim_end()).await? {
                remark(&plain(&why));
            }
        }
    }

    /// Says something, shows the turn as it comes, and answers what it asks.
    async fn turn(&self, text: &str) -> anyhow::Result<End> {
        let after = newest(&self.client).await?;
        let path = format!("/api/sessions/{}/messages", self.session.uuid());
        let body = SendMessage { text: text.to_owned() };
        let said = self.client.post_stream(&path, &body).await?;
        let stream = format!("project/{}", self.project.id.uuid());
        let asks =
            self.client.stream(&format!("/api/events?stream={stream}&after={after}")).await?;
        let (mut said, mut asks) = (said.bytes_stream(), asks.bytes_stream());
        let (mut said_rest, mut asks_rest) = (Vec::new(), Vec::new());
        let mut printer = Printer::new(self.json);
        loop {
            tokio::select! {
                chunk = said.next() => {
                    let Some(chunk) = chunk else { break };
                    said_rest.extend_from_slice(&chunk.context("the daemon hung up")?);
                    if let Some(end) = show(&mut printer, &mut said_rest)? {
                        printer.end()?;
                        return Ok(end);
                    }
                }
                chunk = asks.next() => {
                    let Some(Ok(chunk)) = chunk else { continue };
                    asks_rest.extend_from_slice(&chunk);
                    let events = super::events::take_events(&mut asks_rest)?;
                    if events.iter().any(|event| event.kind == "APPROVAL_ASKED") {
                        printer.end()?;
                        self.answer().await?;
                    }
                }
                _ = tokio::signal::ctrl_c() => {
                    let path = format!("/api/sessions/{}/cancel", self.session.uuid());
                    let _told: serde_json::Value = self.client.post(&path, &json!({})).await?;
                }
            }
        }
        printer.end()?;
        Ok(End::Badly("the daemon hung up; `provost sessions` shows what was said".to_owned()))
    }

    /// Shows the questions of this session, and takes the answers.
    async fn answer(&self) -> anyhow::Result<()> {
        let path = format!("/api/projects/{}/approvals", self.project.id.uuid());
        let ApprovalList { approvals } = self.client.get(&path).await?;
        for approval in approvals.iter().filter(|open| open.session == Some(self.session)) {
            let ProjectList { projects } = self.client.get("/api/projects?all=true").await?;
            let shown = in_full(approval, &Names::new(&projects), Clock::system().now());
            remark(&shown);
            if self.json || !can_answer() {
                let id = short(&approval.id.to_string());
                remark(&faint(&format!(
                    "It waits: `provost approvals allow {id}` or `deny {id}`."
                )));
                continue;
            }
            self.decide(approval).await?;
        }
        Ok(())
    }

    async fn decide(&self, approval: &Approval) -> anyhow::Result<()> {
        output::bytes(bold("Let it run? [y]es, [s]ession, or why not: ").as_bytes())?;
        let mut said = String::new();
        std::io::stdin().lock().read_line(&mut said)?;
        let said = said.trim();
        let can = |scope| approval.question.choices.iter().any(|choice| choice.scope == scope);
        let (decision, scope, message) = match said {
            "y" | "yes" => (Decision::Allow, Some(AnswerScope::Once), None),
            "s" | "session" if can(AnswerScope::Session) => {
                (Decision::Allow, Some(AnswerScope::Session), None)
            }
            "" | "n" | "no" => (Decision::Deny, None, None),
            why => (Decision::Deny, None, Some(why.to_owned())),
        };
        let action_hash = approval.action_hash;
        let answer = Answer { decision, scope, action_hash, message, minutes: None, rule: None };
        let path = format!("/api/approvals/{}", approval.id.uuid());
        let answered: anyhow::Result<Approval> = self.client.post(&path, &answer).await;
        if let Err(error) = answered {
            remark(&plain(&error.to_string()));
        }
        line("")
    }
}

/// Shows what came; how the turn ended, if it did.
fn show(printer: &mut Printer, rest: &mut Vec<u8>) -> anyhow::Result<Option<End>> {
    let problem = problem(rest);
    let mut end = None;
    for event in super::events::take_events(rest)? {
        printer.event(&event)?;
        if is_end(&event) {
            end = Some(End::Well);
        }
    }
    Ok(problem.map(|problem| End::Badly(format!("{} ({})", problem.error, problem.code))).or(end))
}

fn is_end(event: &Event) -> bool {
    matches!(event.fact(), Some(Fact::TurnFinished(_)))
}

/// The problem that ends a stream, if it is there.
fn problem(rest: &[u8]) -> Option<Problem> {
    let text = std::str::from_utf8(rest).ok()?;
    let message = text.split("\n\n").find(|message| message.starts_with("event: error"))?;
    let data = message.lines().find_map(|line| line.strip_prefix("data: "))?;
    serde_json::from_str(data).ok()
}
