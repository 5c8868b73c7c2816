//! A project's runtime: `run`, `stop`, `restart` and `build` here, its logs, preview and
//! terminal in the submodules.

pub(crate) mod attach;
pub(crate) mod logs;
pub(crate) mod preview;
pub(crate) mod static_files;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use futures::StreamExt as _;
use provost_proto::runtime::{
    BuildDiagnostic, BuildStatus, DiagnosticSeverity, PreviewStatus, RuntimeStatus,
    RuntimeStatusResponse,
};
use provost_proto::{ActionResponse, Code, ErrorResponse, Project};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::audit::events::drain_sse_events;
use super::lookup::resolve_project;
use crate::args::{BuildArgs, RunArgs, StopArgs};
use crate::client::{ApiResponse, DaemonClient};
use crate::config::Config;
use crate::output::{
    self, bold, faint, print_error, print_line, print_stderr, sanitize_lines, sanitize_text,
};

/// Exit code of a failed build.
const EXIT_BUILD_FAILED: u8 = 6;

/// Exit code of a dev server that crashed.
const EXIT_CRASHED: u8 = 5;

/// How long to wait for the preview before the status is printed without it.
const PREVIEW_READY_TIMEOUT: Duration = Duration::from_secs(10);

/// The events after which the status may be another one.
const STATUS_EVENT_KINDS: &str = "PREVIEW_DETECTED,PREVIEW_READY,PREVIEW_LOST,RUNTIME_STARTING,\
                                  RUNTIME_STARTED,RUNTIME_RESTARTED,RUNTIME_STOPPING,\
                                  RUNTIME_STOPPED,RUNTIME_CRASHED,KERNEL_LOST,KERNEL_STOPPED";

pub(crate) async fn run(args: RunArgs, again: bool, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let project = resolve_project(args.which.project.as_deref(), &client).await?;
    let after = if args.follow { logs::fetch_end_offset(&client, &project).await? } else { 0 };
    let what = if again { "restart" } else { "run" };
    let result = match request_runtime_action(&client, &project, what, json!({})).await? {
        Ok(result) => result,
        Err(problem) => return report_problem(&problem, args.json.json),
    };
    let state = wait_for_preview(&client, &project).await?;
    if args.json.json {
        output::print_json(&state)?;
    } else {
        if result["started"] == false && !again {
            print_stderr(&faint("Already running."));
        }
        print_state(&state)?;
    }
    if args.follow {
        return logs::follow_logs(config, client, &project, after).await;
    }
    Ok(exit_code_from_state(&state))
}

pub(crate) async fn stop(args: StopArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let project = resolve_project(args.which.project.as_deref(), &client).await?;
    let result =
        request_runtime_action(&client, &project, "stop", json!({ "graceMs": args.grace })).await?;
    if let Err(problem) = result {
        return report_problem(&problem, args.json.json);
    }
    if args.json.json {
        output::print_json(&fetch_runtime_state(&client, &project).await?)?;
    } else {
        print_line(&format!(
            "{} is stopped, with all its processes.",
            bold(&sanitize_text(&project.slug))
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn build(args: BuildArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let project = resolve_project(args.which.project.as_deref(), &client).await?;
    let after = logs::fetch_end_offset(&client, &project).await?;
    let request = request_runtime_action(&client, &project, "build", json!({}));
    let result = if args.json.json {
        request.await?
    } else {
        logs::print_while_pending(&client, &project, after, request).await??
    };
    if let Err(problem) = result {
        return report_problem(&problem, args.json.json);
    }
    let state = fetch_runtime_state(&client, &project).await?;
    if args.json.json {
        output::print_json(&state.build)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_build_errors(&state.build.errors)?;
    let took = state.build.duration_ms.unwrap_or(0);
    print_line(&format!("Built in {}.{:03} s.", took / 1000, took % 1000))?;
    Ok(ExitCode::SUCCESS)
}

/// Requests a runtime action; returns its result, or the error response.
async fn request_runtime_action(
    client: &DaemonClient,
    project: &Project,
    what: &str,
    params: Value,
) -> anyhow::Result<Result<Value, ErrorResponse>> {
    let path = format!("/api/projects/{}/runtime/{what}?wait=3600000", project.id.uuid());
    Ok(match client.post_or_problem::<ActionResponse>(&path, &params).await? {
        ApiResponse::Success(answer) => {
            Ok(answer.result.map(|result| result.to_value()).unwrap_or_default())
        }
        ApiResponse::Problem(problem) => Err(problem),
    })
}

async fn fetch_runtime_state(
    client: &DaemonClient,
    project: &Project,
) -> anyhow::Result<RuntimeStatusResponse> {
    client.get(&format!("/api/projects/{}/runtime/status", project.id.uuid())).await
}

/// Waits for the preview of a running server, up to [`PREVIEW_READY_TIMEOUT`].
async fn wait_for_preview(
    client: &DaemonClient,
    project: &Project,
) -> anyhow::Result<RuntimeStatusResponse> {
    let deadline = Instant::now() + PREVIEW_READY_TIMEOUT;
    let mut state = fetch_runtime_state(client, project).await?;
    if !is_preview_pending(&state) {
        return Ok(state);
    }
    // What changes after the status was read is in the log after its position.
    let (id, after) = (project.id.uuid(), state.cursor);
    let path = format!("/api/events?stream=project/{id}&after={after}&kind={STATUS_EVENT_KINDS}");
    let mut chunks = client.get_stream(&path).await?.bytes_stream();
    let mut rest = Vec::new();
    while is_preview_pending(&state) {
        let Ok(chunk) = timeout_at(deadline, chunks.next()).await else { break };
        let Some(chunk) = chunk.transpose()? else { break };
        rest.extend_from_slice(&chunk);
        if !drain_sse_events(&mut rest)?.is_empty() {
            state = fetch_runtime_state(client, project).await?;
        }
    }
    Ok(state)
}

/// Whether the server runs, and its preview may still become ready.
fn is_preview_pending(state: &RuntimeStatusResponse) -> bool {
    state.status == RuntimeStatus::Running && state.preview.status != PreviewStatus::Ready
}

fn exit_code_from_state(state: &RuntimeStatusResponse) -> ExitCode {
    match state.status {
        RuntimeStatus::Crashed => ExitCode::from(EXIT_CRASHED),
        RuntimeStatus::Stopped
        | RuntimeStatus::Starting
        | RuntimeStatus::Building
        | RuntimeStatus::Running
        | RuntimeStatus::Stopping => ExitCode::SUCCESS,
    }
}

fn print_state(state: &RuntimeStatusResponse) -> anyhow::Result<()> {
    let dev = &state.dev_server;
    let command = sanitize_text(dev.command.as_deref().unwrap_or_default());
    match state.status {
        RuntimeStatus::Running => {
            let pid = dev.pid.map(|pid| format!("(pid {pid})")).unwrap_or_default();
            print_line(&format!("{} {} {}", bold("Running"), command, faint(&pid)))?;
            print_line(&describe_preview(state))
        }
        RuntimeStatus::Crashed => print_crash(state),
        RuntimeStatus::Stopped => print_line(&format!("Finished: {command}")),
        RuntimeStatus::Starting | RuntimeStatus::Building | RuntimeStatus::Stopping => {
            print_line(&format!("{:?}: {command}", state.status))
        }
    }
}

fn describe_preview(state: &RuntimeStatusResponse) -> String {
    let preview = &state.preview;
    let port = preview.port.map(|port| format!("port {port}")).unwrap_or_default();
    match preview.status {
        PreviewStatus::Ready => {
            let url = preview.url.as_deref().unwrap_or_default();
            format!("{url} {}", faint(&format!("({port}; `provost preview` opens it)")))
        }
        PreviewStatus::Detected => format!("Listening on {port}; no response yet."),
        PreviewStatus::Lost => format!("No longer listening on {port}."),
        PreviewStatus::None => {
            "Not listening on any port yet; `provost logs -f` shows its output.".to_owned()
        }
    }
}

fn print_crash(state: &RuntimeStatusResponse) -> anyhow::Result<()> {
    let Some(crash) = &state.dev_server.crash else { return print_line("Crashed.") };
    print_line(&sanitize_lines(&crash.last_lines.join("\n")))?;
    let how = match (crash.exit_code, crash.signal, &crash.why) {
        (_, _, Some(why)) => sanitize_text(why),
        (Some(code), ..) => format!("exit code {code}"),
        (None, Some(signal), None) => format!("killed by signal {signal}"),
        (None, None, None) => "unknown exit status".to_owned(),
    };
    print_error(&anyhow!("the dev server crashed: {how}"));
    Ok(())
}

/// Prints the error response; the exit code depends on its code.
fn report_problem(problem: &ErrorResponse, json: bool) -> anyhow::Result<ExitCode> {
    let built = problem.code == Code::BuildFailed;
    let crashed = problem.code == Code::RuntimeCrashed;
    if json {
        output::print_json(problem)?;
    } else {
        let details = problem.details.as_ref();
        let errors = details.and_then(|details| details.get("errors")).cloned();
        let errors: Vec<BuildDiagnostic> =
            errors.and_then(|errors| serde_json::from_value(errors).ok()).unwrap_or_default();
        print_build_errors(&errors)?;
        print_error(&anyhow!("{} ({})", sanitize_text(&problem.error), problem.code));
    }
    Ok(if built {
        ExitCode::from(EXIT_BUILD_FAILED)
    } else if crashed {
        ExitCode::from(EXIT_CRASHED)
    } else {
        ExitCode::FAILURE
    })
}

fn print_build_errors(errors: &[BuildDiagnostic]) -> anyhow::Result<()> {
    for error in errors {
        let number = |n: Option<u32>| n.map(|n| format!(":{n}")).unwrap_or_default();
        let file = sanitize_text(error.file.as_deref().unwrap_or("?"));
        let location = format!("{file}{}{}", number(error.line), number(error.column));
        let kind = match error.severity {
            DiagnosticSeverity::Error => "\x1b[31merror\x1b[0m",
            DiagnosticSeverity::Warning => "\x1b[33mwarning\x1b[0m",
        };
        print_line(&format!("{} {kind} {}", bold(&location), sanitize_lines(&error.message)))?;
    }
    Ok(())
}

/// The state of a project's runtime in a few words; `None` if it is stopped.
pub(crate) fn describe_runtime(state: &RuntimeStatusResponse) -> Option<String> {
    let build = match state.build.status {
        BuildStatus::Failed => ", last build failed",
        BuildStatus::None
        | BuildStatus::Running
        | BuildStatus::Succeeded
        | BuildStatus::Stopped => "",
    };
    let url = state.preview.url.as_deref().filter(|_| state.preview.status == PreviewStatus::Ready);
    let words = match state.status {
        RuntimeStatus::Stopped => return None,
        RuntimeStatus::Running => format!("running {}", url.unwrap_or_default()),
        RuntimeStatus::Starting => "starting".to_owned(),
        RuntimeStatus::Building => "building".to_owned(),
        RuntimeStatus::Stopping => "stopping".to_owned(),
        RuntimeStatus::Crashed => "crashed".to_owned(),
    };
    Some(words.trim_end().to_owned() + build)
}
