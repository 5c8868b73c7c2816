//! `provost approvals`: what agents ask, and the answers.

mod desk;
mod watch;

use std::process::ExitCode;

use anyhow::bail;
use provost_proto::{
    ActionStatus, ActionView, AnswerApprovalRequest, AnswerScope, Approval, ApprovalAnswer,
    ApprovalList, ApprovalStatus, Hash, Project, ProjectList,
};
use provost_store::Clock;

use super::place::{pick, project, short};
use crate::args::{AnswerArgs, ApprovalsArgs, ApprovalsCommand, DenyArgs};
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, bold, can_answer, confirmed, faint, line, plain};
use crate::question::{Names, brief, in_full, scope_name};

pub(crate) async fn run(args: ApprovalsArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let only = match &args.project {
        Some(name) => Some(project(Some(name), &client).await?),
        None => None,
    };
    let here = Here { client, only, json: args.json };
    match args.what {
        None => list(&here, false).await,
        Some(ApprovalsCommand::List { all }) => list(&here, all).await,
        Some(ApprovalsCommand::Show { id }) => show(&here, &id).await,
        Some(ApprovalsCommand::Watch) => watch::run(here, config).await,
        Some(ApprovalsCommand::Allow(args)) => allow(&here, args).await,
        Some(ApprovalsCommand::Deny(args)) => deny(&here, args).await,
    }
}

/// Where we look.
struct Here {
    client: Client,
    only: Option<Project>,
    json: bool,
}

impl Here {
    async fn approvals(&self, all: bool) -> anyhow::Result<Vec<Approval>> {
        let path = match &self.only {
            Some(project) => format!("/api/projects/{}/approvals?all={all}", project.id.uuid()),
            None => format!("/api/approvals?all={all}"),
        };
        let ApprovalList { approvals } = self.client.get(&path).await?;
        Ok(approvals)
    }

    /// The names of all projects, the closed ones too.
    async fn names(&self) -> anyhow::Result<Names> {
        let ProjectList { projects } = self.client.get("/api/projects?all=true").await?;
        Ok(Names::new(&projects))
    }

    async fn find(&self, id: &str, all: bool) -> anyhow::Result<Approval> {
        let open = self.approvals(all).await?;
        pick("open question", id, open, |approval| approval.id.to_string())
    }

    /// Answers: what became of the question, and of the action.
    async fn answer(
        &self,
        approval: &Approval,
        answer: &AnswerApprovalRequest,
    ) -> anyhow::Result<Resolved> {
        let path = format!("/api/approvals/{}", approval.id.uuid());
        let approval: Approval = self.client.post(&path, answer).await?;
        let path = format!("/api/actions/{}", approval.action.uuid());
        let action: ActionView = self.client.get(&path).await?;
        Ok(Resolved { approval, status: action.status })
    }
}

/// An answered question, and how far its action came by that.
struct Resolved {
    approval: Approval,
    status: ActionStatus,
}

impl Resolved {
    /// Whether a person said yes, and something forbids it all the same.
    fn is_forbidden(&self) -> bool {
        self.approval.status == ApprovalStatus::Allowed && self.status == ActionStatus::Denied
    }

    /// In a line.
    fn told(&self) -> String {
        if !self.is_forbidden() {
            return outcome(&self.approval);
        }
        let what = plain(&self.approval.question.what);
        let action = self.approval.action;
        format!(
            "Not done: {what}\nYou allowed it, but something forbids it by now; `provost audit \
             --action {action}` tells what."
        )
    }
}

async fn list(here: &Here, all: bool) -> anyhow::Result<ExitCode> {
    let approvals = here.approvals(all).await?;
    if here.json {
        output::json(&approvals)?;
    } else if approvals.is_empty() {
        line("Nobody asks anything.")?;
    } else {
        let (now, names) = (Clock::system().now(), here.names().await?);
        for approval in &approvals {
            let id = bold(&short(&approval.id.to_string()));
            line(&format!("{id}  {}", brief(approval, &names, now)))?;
        }
        if approvals.iter().any(|approval| approval.status == ApprovalStatus::Pending) {
            line(&faint(
                "`provost approvals allow ID` shows all of it and lets it run, `deny ID` refuses.",
            ))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(here: &Here, id: &str) -> anyhow::Result<ExitCode> {
    let approval = here.find(id, true).await?;
    if here.json {
        output::json(&approval)?;
    } else {
        line(in_full(&approval, &here.names().await?, Clock::system().now()).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn allow(here: &Here, args: AnswerArgs) -> anyhow::Result<ExitCode> {
    let approval = here.find(&args.id, false).await?;
    let scope = AnswerScope::from(args.scope);
    if !approval.question.choices.iter().any(|choice| choice.scope == scope) {
        let can: Vec<_> =
            approval.question.choices.iter().map(|choice| scope_name(choice.scope)).collect();
        bail!("this can be allowed for: {}; not for {}", can.join(", "), scope_name(scope));
    }
    if !here.json {
        line(&in_full(&approval, &here.names().await?, Clock::system().now()))?;
    }
    let Some(action_hash) = agreed(&args, &approval, here.json)? else {
        line("Not answered.")?;
        return Ok(ExitCode::FAILURE);
    };
    let answer = AnswerApprovalRequest {
        decision: ApprovalAnswer::Allow,
        scope: Some(scope),
        action_hash,
        message: None,
        minutes: args.minutes,
        rule: None,
    };
    finish(here, &approval, &answer).await
}

/// The hash of what was seen, if whoever runs us agrees to it.
fn agreed(args: &AnswerArgs, approval: &Approval, json: bool) -> anyhow::Result<Option<Hash>> {
    if let Some(hash) = args.hash {
        if hash != approval.action_hash {
            bail!("what waits is not what was seen: its hash is {}", approval.action_hash);
        }
        return Ok(Some(hash));
    }
    if args.yes {
        return Ok(Some(approval.action_hash));
    }
    if json || !can_answer() {
        bail!(
            "nobody is there to agree\nhint: say what was seen with --hash {}, or agree with --yes",
            approval.action_hash
        );
    }
    Ok(confirmed("Let it run?")?.then_some(approval.action_hash))
}

async fn deny(here: &Here, args: DenyArgs) -> anyhow::Result<ExitCode> {
    let approval = here.find(&args.id, false).await?;
    let answer = AnswerApprovalRequest {
        decision: ApprovalAnswer::Deny,
        scope: None,
        action_hash: approval.action_hash,
        message: args.message,
        minutes: None,
        rule: None,
    };
    finish(here, &approval, &answer).await
}

async fn finish(
    here: &Here,
    approval: &Approval,
    answer: &AnswerApprovalRequest,
) -> anyhow::Result<ExitCode> {
    let resolved = here.answer(approval, answer).await?;
    if here.json {
        output::json(&resolved.approval)?;
    } else {
        line(&resolved.told())?;
    }
    Ok(if resolved.is_forbidden() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What became of a question.
fn outcome(approval: &Approval) -> String {
    let what = plain(&approval.question.what);
    match approval.status {
        ApprovalStatus::Allowed => {
            let scope = approval.scope.map_or("once", scope_name);
            format!("Allowed ({scope}): {what}")
        }
        ApprovalStatus::Denied => format!("Denied: {what}"),
        ApprovalStatus::Expired => format!("Expired: {what}"),
        ApprovalStatus::Withdrawn => format!("Fell away: {what}"),
        ApprovalStatus::Pending => format!("Still open: {what}"),
    }
}
