//! `provost approvals`: lists and answers approvals.

mod prompt_queue;
mod watch;

use std::process::ExitCode;

use anyhow::bail;
use provost_proto::{
    ActionStatus, ActionView, AnswerApprovalRequest, AnswerScope, Approval, ApprovalAnswer,
    ApprovalId, ApprovalList, ApprovalStatus, Hash, Project, ProjectList,
};
use provost_store::Clock;

use crate::approval_text::{ProjectNames, format_approval, format_approval_line, scope_name};
use crate::args::{AllowArgs, ApprovalsArgs, ApprovalsCommand, DenyArgs};
use crate::client::DaemonClient;
use crate::commands::audit::events::encode_parameter;
use crate::commands::lookup::{SHORT_ID_SEARCH_LIMIT, find_by_short_id, resolve_project, short_id};
use crate::config::Config;
use crate::output::{
    self, ask_confirmation, ask_for_word, bold, faint, is_interactive, print_line, print_stderr,
    sanitize_text,
};
use crate::typed_answer::{HARD_GATE_WORD, has_hard_gate};

pub(crate) async fn run(args: ApprovalsArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let only = match &args.project {
        Some(name) => Some(resolve_project(Some(name), &client).await?),
        None => None,
    };
    let context = ApprovalsCommandContext { client, only, json: args.json };
    match args.what {
        None | Some(ApprovalsCommand::List { all: false, .. }) => list_pending(&context).await,
        Some(ApprovalsCommand::List { all: true, before }) => list_all(&context, before).await,
        Some(ApprovalsCommand::Show { id }) => show_approval(&context, &id).await,
        Some(ApprovalsCommand::Watch) => watch::run(context, config).await,
        Some(ApprovalsCommand::Allow(args)) => allow_action(&context, args).await,
        Some(ApprovalsCommand::Deny(args)) => deny_action(&context, args).await,
    }
}

/// The project of the command, if one was named, and the output format.
struct ApprovalsCommandContext {
    client: DaemonClient,
    only: Option<Project>,
    json: bool,
}

impl ApprovalsCommandContext {
    fn list_path(&self) -> String {
        match &self.only {
            Some(project) => format!("/api/projects/{}/approvals", project.id.uuid()),
            None => "/api/approvals".to_owned(),
        }
    }

    async fn fetch_pending(&self) -> anyhow::Result<Vec<Approval>> {
        let ApprovalList { mut approvals, truncated, .. } =
            self.client.get(&self.list_path()).await?;
        self.client.fetch_whole_approvals(&mut approvals, &truncated).await?;
        Ok(approvals)
    }

    /// A page of all approvals, the newest first.
    async fn fetch_page(&self, before: Option<&str>) -> anyhow::Result<ApprovalList> {
        let before = encode_parameter("before", before);
        self.client.get(&format!("{}?all=true{before}", self.list_path())).await
    }

    /// The names of all projects, the closed ones too.
    async fn fetch_project_names(&self) -> anyhow::Result<ProjectNames> {
        let ProjectList { projects } = self.client.get("/api/projects?all=true").await?;
        Ok(ProjectNames::new(&projects))
    }

    async fn find_pending(&self, id: &str) -> anyhow::Result<Approval> {
        let approvals = self.fetch_pending().await?;
        find_by_short_id("pending approval", id, approvals, |one| one.id.to_string())
    }

    /// An approval, pending or resolved. A shortened id is looked for among the latest ones.
    async fn find_any(&self, id: &str) -> anyhow::Result<Approval> {
        let id = if let Ok(id) = id.trim().parse::<ApprovalId>() {
            id
        } else {
            let mut latest = Vec::new();
            let mut before = None;
            while latest.len() < SHORT_ID_SEARCH_LIMIT {
                let page = self.fetch_page(before.as_deref()).await?;
                latest.extend(page.approvals.into_iter().map(|approval| approval.id));
                before = page.next;
                if before.is_none() {
                    break;
                }
            }
            find_by_short_id("approval among the latest", id, latest, ToString::to_string)?
        };
        // The list may have an excerpt only.
        self.client.get(&format!("/api/approvals/{}", id.uuid())).await
    }

    /// Sends the answer; returns the approval and the state of its action.
    async fn submit_answer(
        &self,
        approval: &Approval,
        answer: &AnswerApprovalRequest,
    ) -> anyhow::Result<AnsweredApproval> {
        let path = format!("/api/approvals/{}", approval.id.uuid());
        let approval: Approval = self.client.post(&path, answer).await?;
        let path = format!("/api/actions/{}", approval.action.uuid());
        let action: ActionView = self.client.get(&path).await?;
        Ok(AnsweredApproval { approval, status: action.status })
    }
}

/// An answered approval, and the state of its action.
struct AnsweredApproval {
    approval: Approval,
    status: ActionStatus,
}

impl AnsweredApproval {
    /// Whether the action was denied although the approval was allowed.
    fn is_forbidden(&self) -> bool {
        self.approval.status == ApprovalStatus::Allowed && self.status == ActionStatus::Denied
    }

    /// The result, for the user.
    fn describe_outcome(&self) -> String {
        if !self.is_forbidden() {
            return describe_resolution(&self.approval);
        }
        let what = sanitize_text(&self.approval.question.what);
        let action = self.approval.action;
        format!(
            "Denied: {what}\nYou allowed it, but it was denied afterwards; `provost audit \
             --action {action}` shows why."
        )
    }
}

async fn list_pending(context: &ApprovalsCommandContext) -> anyhow::Result<ExitCode> {
    let approvals = context.fetch_pending().await?;
    if approvals.is_empty() && !context.json {
        print_line("No pending approvals.")?;
        return Ok(ExitCode::SUCCESS);
    }
    print_approvals(context, &approvals).await?;
    Ok(ExitCode::SUCCESS)
}

async fn list_all(
    context: &ApprovalsCommandContext,
    before: Option<String>,
) -> anyhow::Result<ExitCode> {
    let ApprovalList { approvals, next, .. } = context.fetch_page(before.as_deref()).await?;
    if approvals.is_empty() && !context.json {
        print_line("No approvals.")?;
        return Ok(ExitCode::SUCCESS);
    }
    print_approvals(context, &approvals).await?;
    if let Some(next) = next {
        let next = sanitize_text(&next);
        print_stderr(&faint(&format!(
            "`provost approvals list --all --before {next}` lists older ones."
        )));
    }
    Ok(ExitCode::SUCCESS)
}

async fn print_approvals(
    context: &ApprovalsCommandContext,
    approvals: &[Approval],
) -> anyhow::Result<()> {
    if context.json {
        output::print_json(&approvals)?;
    } else {
        let (now, names) = (Clock::system().now(), context.fetch_project_names().await?);
        for approval in approvals {
            let id = bold(&short_id(&approval.id.to_string()));
            print_line(&format!("{id}  {}", format_approval_line(approval, &names, now)))?;
        }
        if approvals.iter().any(|approval| approval.status == ApprovalStatus::Pending) {
            print_line(&faint(
                "`provost approvals allow ID` shows an approval in full and allows it, `deny ID` denies it.",
            ))?;
        }
    }
    Ok(())
}

async fn show_approval(context: &ApprovalsCommandContext, id: &str) -> anyhow::Result<ExitCode> {
    let approval = context.find_any(id).await?;
    if context.json {
        output::print_json(&approval)?;
    } else {
        print_line(
            format_approval(
                &approval,
                &context.fetch_project_names().await?,
                Clock::system().now(),
            )
            .trim_end(),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn allow_action(
    context: &ApprovalsCommandContext,
    args: AllowArgs,
) -> anyhow::Result<ExitCode> {
    let approval = context.find_pending(&args.id).await?;
    let scope = AnswerScope::from(args.scope);
    if !approval.question.choices.iter().any(|choice| choice.scope == scope) {
        let scopes: Vec<_> =
            approval.question.choices.iter().map(|choice| scope_name(choice.scope)).collect();
        bail!(
            "this can only be allowed with --scope {}; not {}",
            scopes.join(" or "),
            scope_name(scope)
        );
    }
    if !context.json {
        print_line(&format_approval(
            &approval,
            &context.fetch_project_names().await?,
            Clock::system().now(),
        ))?;
    }
    let Some(action_hash) = confirm_action_hash(&args, &approval, context.json)? else {
        print_line("Not answered.")?;
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
    submit_and_print(context, &approval, &answer).await
}

/// The hash of the action that was shown, if the user confirms it.
fn confirm_action_hash(
    args: &AllowArgs,
    approval: &Approval,
    json: bool,
) -> anyhow::Result<Option<Hash>> {
    if let Some(hash) = args.hash {
        if hash != approval.action_hash {
            bail!(
                "the pending action is not the one that was shown: its hash is {}",
                approval.action_hash
            );
        }
        return Ok(Some(hash));
    }
    if args.yes {
        return Ok(Some(approval.action_hash));
    }
    if json || !is_interactive() {
        bail!(
            "cannot ask for confirmation without a terminal\nhint: confirm with --hash {} or --yes",
            approval.action_hash
        );
    }
    let confirmed = if has_hard_gate(approval) {
        ask_for_word("Allow it?", HARD_GATE_WORD)?
    } else {
        ask_confirmation("Allow it?")?
    };
    Ok(confirmed.then_some(approval.action_hash))
}

async fn deny_action(
    context: &ApprovalsCommandContext,
    args: DenyArgs,
) -> anyhow::Result<ExitCode> {
    let approval = context.find_pending(&args.id).await?;
    let answer = AnswerApprovalRequest {
        decision: ApprovalAnswer::Deny,
        scope: None,
        action_hash: approval.action_hash,
        message: args.message,
        minutes: None,
        rule: None,
    };
    submit_and_print(context, &approval, &answer).await
}

async fn submit_and_print(
    context: &ApprovalsCommandContext,
    approval: &Approval,
    answer: &AnswerApprovalRequest,
) -> anyhow::Result<ExitCode> {
    let resolved = context.submit_answer(approval, answer).await?;
    if context.json {
        output::print_json(&resolved.approval)?;
    } else {
        print_line(&resolved.describe_outcome())?;
    }
    Ok(if resolved.is_forbidden() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The state of an approval.
fn describe_resolution(approval: &Approval) -> String {
    let what = sanitize_text(&approval.question.what);
    match approval.status {
        ApprovalStatus::Allowed => {
            let scope = approval.scope.map_or("once", scope_name);
            format!("Allowed ({scope}): {what}")
        }
        ApprovalStatus::Denied => format!("Denied: {what}"),
        ApprovalStatus::Expired => format!("Expired: {what}"),
        ApprovalStatus::Withdrawn => format!("Withdrawn: {what}"),
        ApprovalStatus::Pending => format!("Still pending: {what}"),
    }
}
