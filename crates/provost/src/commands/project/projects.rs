//! `provost projects`: lists, opens and closes projects.

use std::process::ExitCode;

use anyhow::Context;
use provost_proto::{OpenProjectRequest, Project, ProjectList, ProjectStatus};

use crate::args::{JsonArgs, ProjectsCommand};
use crate::client::DaemonClient;
use crate::config::Config;
use crate::output::{self, bold, faint, print_line, sanitize_text};

pub(crate) async fn run(
    what: Option<ProjectsCommand>,
    json: &JsonArgs,
    all: bool,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let (label, project, own): (_, Project, _) = match what {
        None => {
            let ProjectList { projects } = client.get(&format!("/api/projects?all={all}")).await?;
            return print_projects(&projects, json);
        }
        Some(ProjectsCommand::Open { path, json }) => {
            let path = std::path::absolute(path)?;
            let path = path.to_str().context("the path is not UTF-8")?.to_owned();
            ("Opened:", client.post("/api/projects", &OpenProjectRequest { path }).await?, json)
        }
        Some(ProjectsCommand::Close { project, json }) => {
            let path = format!("/api/projects/{}", encode_path_segment(&project));
            ("Closed:", client.delete(&path).await?, json)
        }
    };
    if json.json || own.json {
        output::print_json(&project)?;
    } else {
        print_line(&format!("{label} {}", format_project_row(&project)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_projects(projects: &[Project], json: &JsonArgs) -> anyhow::Result<ExitCode> {
    if json.json {
        output::print_json(&projects)?;
    } else if projects.is_empty() {
        print_line("No open projects. `provost up PATH` opens one.")?;
    } else {
        for project in projects {
            print_line(&format_project_row(project))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn format_project_row(project: &Project) -> String {
    let state = match project.status {
        ProjectStatus::Open => "",
        ProjectStatus::Closed => " (closed)",
    };
    format!(
        "{}{state}  {}  {}",
        bold(&sanitize_text(&project.slug)),
        sanitize_text(&project.path),
        faint(&format!("{}  opened {}", project.id, output::format_time(project.opened_at)))
    )
}

/// Percent-encodes one segment of a URL path.
pub(crate) fn encode_path_segment(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
