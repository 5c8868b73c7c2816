//! `provost mode`: how much runs without asking.

use std::process::ExitCode;

use provost_proto::{ProjectMode, ProjectModeView, SetModeRequest};
use provost_store::Clock;

use super::place::project;
use crate::args::ModeArgs;
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, bold, faint, line, plain};
use crate::question::left;

pub(crate) async fn run(args: ModeArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let project = project(args.here.project.as_deref(), &client).await?;
    let path = format!("/api/projects/{}/mode", project.id.uuid());
    let mode: ProjectModeView = match args.mode {
        None => client.get(&path).await?,
        Some(mode) => {
            let wanted = SetModeRequest { mode: mode.into(), minutes: args.minutes };
            client.put(&path, &wanted).await?
        }
    };
    if args.here.json {
        output::json(&mode)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (name, meaning) = match mode.mode {
        ProjectMode::Sandbox => ("sandbox", "reads in the project pass, everything else asks"),
        ProjectMode::Auto => ("auto", "what stays inside the sandbox runs, crossing it asks"),
        ProjectMode::Full => ("FULL", "nothing asks but what is too dangerous"),
    };
    let end = mode.until.map_or_else(String::new, |end| {
        let left = left(end, Clock::system().now());
        format!(", until {} ({left} left)", output::time(end))
    });
    line(&format!("{}: {}{end}: {meaning}", plain(&project.slug), bold(name)))?;
    line(&faint(&format!("set by {} at {}", plain(&mode.by), output::time(mode.at))))?;
    Ok(ExitCode::SUCCESS)
}
