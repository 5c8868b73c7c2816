//! `provost status`.

use std::process::ExitCode;

use provost_proto::runtime::RuntimeState;
use provost_proto::{Health, Project, ProjectList};
use serde::{Deserialize, Serialize};

use super::projects::segment;
use super::runtime;
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
    Running { daemon: Running, projects: Vec<Shown> },
}

/// A project, how its kernel is, and what runs there.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    project: Project,
    kernel: Kernel,
    runtime: RuntimeState,
}

/// How a kernel is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "status")]
enum Kernel {
    None,
    Connected { pid: u32, heartbeat_ms: u64 },
    Unresponsive { pid: u32 },
}

impl Kernel {
    fn words(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Connected { pid, .. } => Some(faint(&format!("(kernel {pid})"))),
            Self::Unresponsive { pid } => {
                Some(bold(&format!("its kernel does not answer (unresponsive, pid {pid})")))
            }
        }
    }
}

pub(crate) async fn run(args: &JsonArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let status = match Client::find(config)? {
        None => Status::Stopped,
        Some(client) => {
            client.get::<Health>("/api/health").await?;
            let list: ProjectList = client.get("/api/projects").await?;
            let mut projects = Vec::new();
            for project in list.projects {
                let path = format!("/api/projects/{}", segment(&project.slug));
                let kernel = client.get(&format!("{path}/kernel")).await?;
                let runtime = client.get(&format!("{path}/runtime/status")).await?;
                projects.push(Shown { project, kernel, runtime });
            }
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
            for Shown { project, kernel, runtime } in projects {
                let kernel = kernel.words().map(|words| format!("  {words}")).unwrap_or_default();
                let (name, path) = (bold(&plain(&project.slug)), plain(&project.path));
                let runs = runtime::words(runtime).map(|words| format!("  {words}"));
                line(&format!("  {name}  {path}{kernel}{}", runs.unwrap_or_default()))?;
            }
            if projects.is_empty() {
                line("  No project is open. `provost up PATH` opens one.")?;
            }
        }
    }
    line(&faint(&format!("Data: {}", config.data.value.display())))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_printed_status_keeps_its_fields() {
        let json = |value: &Status| serde_json::to_string(value).unwrap();
        expect![[r#"{"status":"stopped"}"#]].assert_eq(&json(&Status::Stopped));
        let daemon = Running {
            pid: 7,
            address: "127.0.0.1:3001".parse().unwrap(),
            version: "0.1.0".to_owned(),
            started_at: 9,
        };
        expect![[r#"{"status":"running","daemon":{"pid":7,"address":"127.0.0.1:3001","version":"0.1.0","startedAt":9},"projects":[]}"#]].assert_eq(&json(&Status::Running { daemon, projects: Vec::new() }));
        let kernels = [
            Kernel::None,
            Kernel::Connected { pid: 7, heartbeat_ms: 1 },
            Kernel::Unresponsive { pid: 7 },
        ];
        expect![[r#"[{"status":"none"},{"status":"connected","pid":7,"heartbeatMs":1},{"status":"unresponsive","pid":7}]"#]].assert_eq(&serde_json::to_string(&kernels).unwrap());
    }
}
