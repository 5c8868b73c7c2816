//! `provost status`: the daemon, its projects and their runtimes.

use std::process::ExitCode;

use provost_proto::runtime::RuntimeStatusResponse;
use provost_proto::{Health, KernelHealth, Project, ProjectList};
use serde::Serialize;

use crate::args::JsonArgs;
use crate::client::DaemonClient;
use crate::commands::project::projects::encode_path_segment;
use crate::commands::runtime;
use crate::config::Config;
use crate::daemon::data_folder::RunningDaemon;
use crate::output::{self, bold, faint, print_line, sanitize_text};

/// Exit code for a daemon that is not running, as service managers use it.
const EXIT_NOT_RUNNING: u8 = 3;

#[derive(Serialize)]
#[serde(rename_all = "camelCase", tag = "status")]
enum DaemonOverview {
    Stopped,
    Running { daemon: RunningDaemon, projects: Vec<ProjectOverview> },
}

/// A project with the state of its kernel and runtime.
#[derive(Serialize)]
struct ProjectOverview {
    #[serde(flatten)]
    project: Project,
    kernel: KernelHealth,
    runtime: RuntimeStatusResponse,
}

/// What there is to say about a kernel process, if anything.
fn describe_kernel(kernel: &KernelHealth) -> Option<String> {
    match kernel {
        KernelHealth::None => None,
        KernelHealth::Connected { pid, .. } => Some(faint(&format!("(kernel {pid})"))),
        KernelHealth::Unresponsive { pid } => {
            Some(bold(&format!("its kernel is unresponsive (pid {pid})")))
        }
    }
}

pub(crate) async fn run(args: &JsonArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let status = match DaemonClient::connect_if_running(config)? {
        None => DaemonOverview::Stopped,
        Some(client) => {
            client.get::<Health>("/api/health").await?;
            let list: ProjectList = client.get("/api/projects").await?;
            let mut projects = Vec::new();
            for project in list.projects {
                let path = format!("/api/projects/{}", encode_path_segment(&project.slug));
                let kernel = client.get(&format!("{path}/kernel")).await?;
                let runtime = client.get(&format!("{path}/runtime/status")).await?;
                projects.push(ProjectOverview { project, kernel, runtime });
            }
            DaemonOverview::Running { daemon: client.running, projects }
        }
    };
    if args.json {
        output::print_json(&status)?;
    } else {
        print_status(&status, config)?;
    }
    Ok(match status {
        DaemonOverview::Stopped => ExitCode::from(EXIT_NOT_RUNNING),
        DaemonOverview::Running { .. } => ExitCode::SUCCESS,
    })
}

fn print_status(status: &DaemonOverview, config: &Config) -> anyhow::Result<()> {
    match status {
        DaemonOverview::Stopped => print_line("No daemon is running. `provost up` starts one.")?,
        DaemonOverview::Running { daemon, projects } => {
            print_line(&format!(
                "Provost {} is running on http://{} {}",
                daemon.version,
                daemon.address,
                faint(&format!(
                    "(pid {}, since {})",
                    daemon.pid,
                    output::format_time(daemon.started_at)
                ))
            ))?;
            for ProjectOverview { project, kernel, runtime } in projects {
                let kernel =
                    describe_kernel(kernel).map(|words| format!("  {words}")).unwrap_or_default();
                let (name, path) =
                    (bold(&sanitize_text(&project.slug)), sanitize_text(&project.path));
                let runs = runtime::describe_runtime(runtime).map(|words| format!("  {words}"));
                print_line(&format!("  {name}  {path}{kernel}{}", runs.unwrap_or_default()))?;
            }
            if projects.is_empty() {
                print_line("  No open projects. `provost up PATH` opens one.")?;
            }
        }
    }
    print_line(&faint(&format!("Data: {}", config.data.value.display())))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_printed_status_keeps_its_fields() {
        let json = |value: &DaemonOverview| serde_json::to_string(value).unwrap();
        expect![[r#"{"status":"stopped"}"#]].assert_eq(&json(&DaemonOverview::Stopped));
        let daemon = RunningDaemon {
            pid: 7,
            address: "127.0.0.1:3001".parse().unwrap(),
            version: "0.1.0".to_owned(),
            started_at: 9,
            config: None,
        };
        expect![[r#"{"status":"running","daemon":{"pid":7,"address":"127.0.0.1:3001","version":"0.1.0","startedAt":9},"projects":[]}"#]].assert_eq(&json(&DaemonOverview::Running { daemon, projects: Vec::new() }));
        let kernels = [
            KernelHealth::None,
            KernelHealth::Connected { pid: 7, heartbeat_ms: 1 },
            KernelHealth::Unresponsive { pid: 7 },
        ];
        expect![[r#"[{"status":"none"},{"status":"connected","pid":7,"heartbeatMs":1},{"status":"unresponsive","pid":7}]"#]].assert_eq(&serde_json::to_string(&kernels).unwrap());
    }
}
