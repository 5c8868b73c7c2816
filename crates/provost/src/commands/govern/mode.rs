//! `provost mode`: what runs without an approval.

use std::process::ExitCode;

use provost_proto::{ProjectMode, ProjectModeView, SetModeRequest};
use provost_store::Clock;

use crate::approval_text::format_time_left;
use crate::args::ModeArgs;
use crate::client::DaemonClient;
use crate::commands::lookup::resolve_project;
use crate::config::Config;
use crate::output::{self, bold, faint, print_line, sanitize_text};

pub(crate) async fn run(args: ModeArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let project = resolve_project(args.here.project.as_deref(), &client).await?;
    let path = format!("/api/projects/{}/mode", project.id.uuid());
    let mode: ProjectModeView = match args.mode {
        None => client.get(&path).await?,
        Some(mode) => {
            let request = SetModeRequest { mode: mode.into(), minutes: args.minutes };
            client.put(&path, &request).await?
        }
    };
    if args.here.json {
        output::print_json(&mode)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (name, meaning) = match mode.mode {
        ProjectMode::Sandbox => {
            ("sandbox", "reads in the project run, everything else needs an approval")
        }
        ProjectMode::Auto => ("auto", "actions inside the sandbox run, others need an approval"),
        ProjectMode::Full => ("FULL", "only dangerous actions need an approval"),
    };
    let end = mode.until.map_or_else(String::new, |end| {
        let left = format_time_left(end, Clock::system().now());
        format!(", until {} ({left} left)", output::format_time(end))
    });
    print_line(&format!("{}: {}{end}: {meaning}", sanitize_text(&project.slug), bold(name)))?;
    print_line(&faint(&format!(
        "set by {} at {}",
        sanitize_text(&mode.by),
        output::format_time(mode.at)
    )))?;
    Ok(ExitCode::SUCCESS)
}
