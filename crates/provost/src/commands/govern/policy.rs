//! `provost policy`: lists, checks, explains and simulates rules.

mod rule_files;

use std::process::ExitCode;

use anyhow::{Context, bail};
use provost_proto::{
    ExplainPolicyRequest, GovernanceFileKind, PolicyExplanation, PolicyLayer, PolicySimulation,
    PolicyView, Project, SimulatePolicyRequest,
};
use serde_json::json;

use super::roles::{TrustCandidate, confirm_and_trust};
use crate::approval_text::format_command_effects;
use crate::args::{ExplainArgs, LayerArg, PolicyArgs, PolicyCommand, ProjectScopeArgs};
use crate::client::DaemonClient;
use crate::commands::lookup::{resolve_project, short_id};
use crate::commands::project::do_action::parse_params;
use crate::config::Config;
use crate::output::{self, bold, faint, print_line, sanitize_lines, sanitize_text};

pub(crate) async fn run(args: PolicyArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let PolicyArgs { what, here } = args;
    match what.unwrap_or(PolicyCommand::List) {
        // These two need no daemon.
        PolicyCommand::Check { files } => rule_files::check_rule_files(&files, here.json, config),
        PolicyCommand::Test { files } => rule_files::test_rule_examples(&files, here.json, config),
        PolicyCommand::List => {
            list_rules(&PolicyCommandContext::connect(here, config).await?).await
        }
        PolicyCommand::Explain(args) => {
            explain_decision(&PolicyCommandContext::connect(here, config).await?, args).await
        }
        PolicyCommand::Simulate { file, layer, limit } => {
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            let layer = match layer {
                LayerArg::User => "user",
                LayerArg::Project => "project",
            };
            let request = SimulatePolicyRequest { layer: layer.to_owned(), text, limit };
            simulate_rules(&PolicyCommandContext::connect(here, config).await?, &request).await
        }
        PolicyCommand::Trust { yes } => {
            trust_rules(&PolicyCommandContext::connect(here, config).await?, yes).await
        }
    }
}

/// The project of the command, and the output format.
struct PolicyCommandContext {
    client: DaemonClient,
    project: Project,
    json: bool,
}

impl PolicyCommandContext {
    async fn connect(here: ProjectScopeArgs, config: &Config) -> anyhow::Result<Self> {
        let client = DaemonClient::connect(config)?;
        let project = resolve_project(here.project.as_deref(), &client).await?;
        Ok(Self { client, project, json: here.json })
    }

    fn policy_path(&self, what: &str) -> String {
        format!("/api/projects/{}/policy{what}", self.project.id.uuid())
    }
}

async fn list_rules(context: &PolicyCommandContext) -> anyhow::Result<ExitCode> {
    let view: PolicyView = context.client.get(&context.policy_path("")).await?;
    if context.json {
        output::print_json(&view)?;
        return Ok(ExitCode::SUCCESS);
    }
    for layer in &view.layers {
        print_layer(layer)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_layer(layer: &PolicyLayer) -> anyhow::Result<()> {
    let file = layer.file.as_deref().map(|file| format!("  {file}")).unwrap_or_default();
    print_line(&format!("{}{}", bold(&sanitize_text(&layer.layer)), faint(&sanitize_text(&file))))?;
    if !layer.trusted {
        print_line(
            "  NOT TRUSTED: rules that allow have no effect; `provost policy trust` shows them",
        )?;
    }
    for error in &layer.errors {
        print_line(&format!(
            "  INVALID, so everything needs an approval: {}",
            sanitize_lines(error)
        ))?;
    }
    for rule in &layer.rules {
        let active = if rule.active { "" } else { " (no effect)" };
        let reason = rule.reason.as_deref().map(|why| format!("  {why}")).unwrap_or_default();
        print_line(&format!(
            "  {:<5} {}{active}{}",
            sanitize_text(&rule.effect),
            sanitize_text(&rule.id),
            faint(&sanitize_text(&reason))
        ))?;
    }
    Ok(())
}

async fn explain_decision(
    context: &PolicyCommandContext,
    args: ExplainArgs,
) -> anyhow::Result<ExitCode> {
    // Without --action, the arguments before `--` are the command as well.
    let command = if args.command.is_empty() { &args.params } else { &args.command };
    let params = match (&args.action, &command[..]) {
        (Some(_), _) => parse_params(None, &args.params)?,
        (None, []) => bail!(
            "no action to explain\nhint: `provost policy explain 'git push'`, or \
             --action A key=value"
        ),
        (None, [one]) => json!({ "command": one }),
        (None, many) => json!({ "argv": many }),
    };
    let request = ExplainPolicyRequest {
        role: args.role,
        action: args.action,
        params,
        mode: args.mode.map(Into::into),
    };
    let explanation: PolicyExplanation =
        context.client.post(&context.policy_path("/explain"), &request).await?;
    if context.json {
        output::print_json(&explanation)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(&format!(
        "{}: {}",
        bold(&sanitize_text(&explanation.verdict)),
        sanitize_text(&explanation.what)
    ))?;
    print_line(&format!("because {}", sanitize_text(&explanation.why)))?;
    for rule in &explanation.rules {
        let reason = rule.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        print_line(&sanitize_text(&format!(
            "{} rule {} says {}{reason}",
            rule.layer, rule.id, rule.effect
        )))?;
    }
    print_line(format_command_effects(&explanation.demands).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

async fn simulate_rules(
    context: &PolicyCommandContext,
    request: &SimulatePolicyRequest,
) -> anyhow::Result<ExitCode> {
    let simulation: PolicySimulation =
        context.client.post(&context.policy_path("/simulate"), request).await?;
    if context.json {
        output::print_json(&simulation)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(&format!(
        "Of {} past requests, {} would be decided differently.",
        simulation.looked_at,
        simulation.differences.len()
    ))?;
    for difference in &simulation.differences {
        let id = short_id(&difference.action.to_string());
        let (now, then) = (sanitize_text(&difference.now), sanitize_text(&difference.then));
        print_line(&format!(
            "{}  {now} → {}  {}",
            faint(&id),
            bold(&then),
            sanitize_text(&difference.what)
        ))?;
        print_line(&format!("          {}", sanitize_text(&difference.why)))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn trust_rules(context: &PolicyCommandContext, yes: bool) -> anyhow::Result<ExitCode> {
    let view: PolicyView = context.client.get(&context.policy_path("")).await?;
    let Some(layer) = view.layers.into_iter().find(|layer| layer.layer == "project") else {
        bail!("the project has no rules\nhint: write them in .provost/policy.toml");
    };
    let (Some(file), Some(hash), false) = (layer.file, layer.hash, layer.trusted) else {
        print_line("Everything is trusted already.")?;
        return Ok(ExitCode::SUCCESS);
    };
    let diff = layer.diff.unwrap_or_default();
    let shown = TrustCandidate { what: GovernanceFileKind::Policy, file, hash, diff };
    let trusted = confirm_and_trust(&context.client, &context.project, shown, yes).await?;
    Ok(if trusted { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
