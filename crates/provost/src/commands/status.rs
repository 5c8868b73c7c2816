//! `provost status`.

use std::process::ExitCode;

use provost_proto::{Health, Project, ProjectList};
use serde::Serialize;

use crate::args::JsonArgs;
use crate::client::Client;
use crate::config::Config;
use crate::daemon::folder::Running;
use crate::output::{self, bold, faint, line, plain};

/// The exit code for "it does not run", as service managers use it.
const NOT_RUNNING: u8 = 3;

#[derive(Serialize)]
#[serde(rename_all = "camelCase", tag = "status")]
enum Status {
    Stopped,
    Running { daemon: Running, projects: Vec<Project> },
}

pub(crate) async fn run(args: &JsonArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let status = match Client::find(config)? {
        None => Status::Stopped,
        Some(client) => {
            client.get::<Health>("/api/health").await?;
            let ProjectList { projects } = client.get("/api/projects").await?;
            Status::Running { daemon: client.running, projects }
        }
    };
    if args.json {
        output::json(&status)?;
    } else {
        show(&status, config)?;
    }
    Ok(match status {
        Status::Stopped => ExitCode::from(NOT_RUNNING),
        Status::Running { .. } => ExitCode::SUCCESS,
    })
}

fn show(status: &Status, config: &Config) -> anyhow::Result<()> {
    match status {
        Status::Stopped => line("No daemon is running. `provost up` starts one.")?,
        Status::Running { daemon, projects } => {
            line(&format!(
                "Provost {} runs on http://{} {}",
                daemon.version,
                daemon.address,
                faint(&format!("(pid {}, since {})", daemon.pid, output::time(daemon.started_at)))
            ))?;
            for project in projects {
                line(&format!("  {}  {}", bold(&plain(&project.slug)), plain(&project.path)))?;
            }
            if projects.is_empty() {
                line("  No project is open. `provost up PATH` opens one.")?;
            }
        }
    }
    line(&faint(&format!("Data: {}", config.data.value.display())))
}
