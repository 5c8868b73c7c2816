//! `provost projects`.

use std::process::ExitCode;

use anyhow::Context;
use provost_proto::{OpenProjectRequest, Project, ProjectList, ProjectStatus};

use crate::args::{JsonArgs, ProjectsCommand};
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, bold, faint, line, plain};

pub(crate) async fn run(
    what: Option<ProjectsCommand>,
    json: &JsonArgs,
    all: bool,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let (said, project, own): (_, Project, _) = match what {
        None => {
            let ProjectList { projects } = client.get(&format!("/api/projects?all={all}")).await?;
            return list(&projects, json);
        }
        Some(ProjectsCommand::Open { path, json }) => {
            let path = std::path::absolute(path)?;
            let path = path.to_str().context("the path is not UTF-8")?.to_owned();
            ("Open:", client.post("/api/projects", &OpenProjectRequest { path }).await?, json)
        }
        Some(ProjectsCommand::Close { project, json }) => {
            let path = format!("/api/projects/{}", segment(&project));
            ("Closed:", client.delete(&path).await?, json)
        }
    };
    if json.json || own.json {
        output::json(&project)?;
    } else {
        line(&format!("{said} {}", row(&project)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(projects: &[Project], json: &JsonArgs) -> anyhow::Result<ExitCode> {
    if json.json {
        output::json(&projects)?;
    } else if projects.is_empty() {
        line("No project is open. `provost up PATH` opens one.")?;
    } else {
        for project in projects {
            line(&row(project))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(project: &Project) -> String {
    let state = match project.status {
        ProjectStatus::Open => "",
        ProjectStatus::Closed => " (closed)",
    };
    format!(
        "{}{state}  {}  {}",
        bold(&plain(&project.slug)),
        plain(&project.path),
        faint(&format!("{}  opened {}", project.id, output::time(project.opened_at)))
    )
}

/// One segment of a path in a URL.
pub(crate) fn segment(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
