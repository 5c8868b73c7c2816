//! `provost policy`: the rules that decide.

mod files;

use std::process::ExitCode;

use anyhow::{Context, bail};
use provost_proto::{
    ExplainPolicyRequest, GovernanceFileKind, PolicyExplanation, PolicyLayer, PolicySimulation,
    PolicyView, Project, SimulatePolicyRequest,
};
use serde_json::json;

use super::act::read_params;
use super::place::{project, short};
use super::roles::{Shown, trust};
use crate::args::{ExplainArgs, Here, LayerArg, PolicyArgs, PolicyCommand};
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, bold, faint, line, plain, plain_lines};
use crate::question::demands;

pub(crate) async fn run(args: PolicyArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let PolicyArgs { what, here } = args;
    match what.unwrap_or(PolicyCommand::List) {
        // These two need no daemon.
        PolicyCommand::Check { files } => files::check(&files, here.json, config),
        PolicyCommand::Test { files } => files::test(&files, here.json, config),
        PolicyCommand::List => list(&At::find(here, config).await?).await,
        PolicyCommand::Explain(args) => explain(&At::find(here, config).await?, args).await,
        PolicyCommand::Simulate { file, layer, limit } => {
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            let layer = match layer {
                LayerArg::User => "user",
                LayerArg::Project => "project",
            };
            let wanted = SimulatePolicyRequest { layer: layer.to_owned(), text, limit };
            simulate(&At::find(here, config).await?, &wanted).await
        }
        PolicyCommand::Trust { yes } => trust_rules(&At::find(here, config).await?, yes).await,
    }
}

/// The project whose rules are meant.
struct At {
    client: Client,
    project: Project,
    json: bool,
}

impl At {
    async fn find(here: Here, config: &Config) -> anyhow::Result<Self> {
        let client = Client::connect(config)?;
        let project = project(here.project.as_deref(), &client).await?;
        Ok(Self { client, project, json: here.json })
    }

    fn path(&self, what: &str) -> String {
        format!("/api/projects/{}/policy{what}", self.project.id.uuid())
    }
}

async fn list(at: &At) -> anyhow::Result<ExitCode> {
    let view: PolicyView = at.client.get(&at.path("")).await?;
    if at.json {
        output::json(&view)?;
        return Ok(ExitCode::SUCCESS);
    }
    for layer in &view.layers {
        show(layer)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(layer: &PolicyLayer) -> anyhow::Result<()> {
    let file = layer.file.as_deref().map(|file| format!("  {file}")).unwrap_or_default();
    line(&format!("{}{}", bold(&plain(&layer.layer)), faint(&plain(&file))))?;
    if !layer.trusted {
        line("  NOT TRUSTED: what it allows has no effect; `provost policy trust` shows it")?;
    }
    for error in &layer.errors {
        line(&format!("  BROKEN, so everything asks: {}", plain_lines(error)))?;
    }
    for rule in &layer.rules {
        let active = if rule.active { "" } else { " (without effect)" };
        let reason = rule.reason.as_deref().map(|why| format!("  {why}")).unwrap_or_default();
        line(&format!(
            "  {:<5} {}{active}{}",
            plain(&rule.effect),
            plain(&rule.id),
            faint(&plain(&reason))
        ))?;
    }
    Ok(())
}

async fn explain(at: &At, args: ExplainArgs) -> anyhow::Result<ExitCode> {
    // Without an action, what is written without `--` can only be the command.
    let command = if args.command.is_empty() { &args.params } else { &args.command };
    let params = match (&args.action, &command[..]) {
        (Some(_), _) => read_params(None, &args.params)?,
        (None, []) => bail!(
            "there is nothing to explain\nhint: `provost policy explain 'git push'`, or \
             --action A key=value"
        ),
        (None, [one]) => json!({ "command": one }),
        (None, many) => json!({ "argv": many }),
    };
    let wanted = ExplainPolicyRequest {
        role: args.role,
        action: args.action,
        params,
        mode: args.mode.map(Into::into),
    };
    let told: PolicyExplanation = at.client.post(&at.path("/explain"), &wanted).await?;
    if at.json {
        output::json(&told)?;
        return Ok(ExitCode::SUCCESS);
    }
    line(&format!("{}: {}", bold(&plain(&told.verdict)), plain(&told.what)))?;
    line(&format!("because {}", plain(&told.why)))?;
    for rule in &told.rules {
        let reason = rule.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        line(&plain(&format!("{} rule {} says {}{reason}", rule.layer, rule.id, rule.effect)))?;
    }
    line(demands(&told.demands).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

async fn simulate(at: &At, wanted: &SimulatePolicyRequest) -> anyhow::Result<ExitCode> {
    let told: PolicySimulation = at.client.post(&at.path("/simulate"), wanted).await?;
    if at.json {
        output::json(&told)?;
        return Ok(ExitCode::SUCCESS);
    }
    line(&format!(
        "Of {} past requests, {} would be decided otherwise.",
        told.looked_at,
        told.differences.len()
    ))?;
    for difference in &told.differences {
        let id = short(&difference.action.to_string());
        let (now, then) = (plain(&difference.now), plain(&difference.then));
        line(&format!("{}  {now} → {}  {}", faint(&id), bold(&then), plain(&difference.what)))?;
        line(&format!("          {}", plain(&difference.why)))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn trust_rules(at: &At, yes: bool) -> anyhow::Result<ExitCode> {
    let view: PolicyView = at.client.get(&at.path("")).await?;
    let Some(layer) = view.layers.into_iter().find(|layer| layer.layer == "project") else {
        bail!("the project has no rules\nhint: they would be in .provost/policy.toml");
    };
    let (Some(file), Some(hash), false) = (layer.file, layer.hash, layer.trusted) else {
        line("Nothing is left to trust.")?;
        return Ok(ExitCode::SUCCESS);
    };
    let diff = layer.diff.unwrap_or_default();
    let shown = Shown { what: GovernanceFileKind::Policy, file, hash, diff };
    let trusted = trust(&at.client, &at.project, shown, yes).await?;
    Ok(if trusted { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
