//! `provost run`, `stop`, `restart`, `build`: a project's dev server and build.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use provost_proto::runtime::{
    BuildDiagnostic, BuildStatus, DiagnosticSeverity, PreviewStatus, RuntimeStatus,
    RuntimeStatusResponse,
};
use provost_proto::{ActionResponse, Code, ErrorResponse, Project};
use serde_json::{Value, json};

use super::logs;
use super::place::project;
use crate::args::{BuildArgs, RunArgs, StopArgs};
use crate::client::{Answered, Client};
use crate::config::Config;
use crate::output::{self, bold, error_line, faint, line, plain, plain_lines, remark};

/// The exit code of a build that failed.
const NOT_BUILT: u8 = 6;

/// The exit code of a dev server that did not come to run.
const CRASHED: u8 = 5;

/// How long a preview may take to answer before the address is printed without it.
const READY: Duration = Duration::from_secs(10);

/// How often to look.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) async fn run(args: RunArgs, again: bool, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let project = project(args.which.project.as_deref(), &client).await?;
    let after = if args.follow { logs::end(&client, &project).await? } else { 0 };
    let what = if again { "restart" } else { "run" };
    let result = match ask(&client, &project, what, json!({})).await? {
        Ok(result) => result,
        Err(problem) => return failed(&problem, args.json.json),
    };
    let state = until_seen(&client, &project).await?;
    if args.json.json {
        output::json(&state)?;
    } else {
        if result["started"] == false && !again {
            remark(&faint("It ran already."));
        }
        show(&state)?;
    }
    if args.follow {
        return logs::follow(config, client, &project, after).await;
    }
    Ok(code(&state))
}

pub(crate) async fn stop(args: StopArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let project = project(args.which.project.as_deref(), &client).await?;
    let asked = ask(&client, &project, "stop", json!({ "graceMs": args.grace })).await?;
    if let Err(problem) = asked {
        return failed(&problem, args.json.json);
    }
    if args.json.json {
        output::json(&status(&client, &project).await?)?;
    } else {
        line(&format!("{} is stopped; nothing of it is left.", bold(&plain(&project.slug))))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn build(args: BuildArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let project = project(args.which.project.as_deref(), &client).await?;
    let after = logs::end(&client, &project).await?;
    let asked = ask(&client, &project, "build", json!({}));
    let asked = if args.json.json {
        asked.await?
    } else {
        logs::while_it_prints(&client, &project, after, asked).await??
    };
    if let Err(problem) = asked {
        return failed(&problem, args.json.json);
    }
    let state = status(&client, &project).await?;
    if args.json.json {
        output::json(&state.build)?;
        return Ok(ExitCode::SUCCESS);
    }
    show_errors(&state.build.errors)?;
    let took = state.build.duration_ms.unwrap_or(0);
    line(&format!("Built in {}.{:03} s.", took / 1000, took % 1000))?;
    Ok(ExitCode::SUCCESS)
}

/// Asks for an action of the runtime; its result, or why not.
async fn ask(
    client: &Client,
    project: &Project,
    what: &str,
    params: Value,
) -> anyhow::Result<Result<Value, ErrorResponse>> {
    let path = format!("/api/projects/{}/runtime/{what}?wait=3600000", project.id.uuid());
    Ok(match client.post_or_problem::<ActionResponse>(&path, &params).await? {
        Answered::Well(answer) => {
            Ok(answer.result.map(|result| result.to_value()).unwrap_or_default())
        }
        Answered::Problem(problem) => Err(problem),
    })
}

async fn status(client: &Client, project: &Project) -> anyhow::Result<RuntimeStatusResponse> {
    client.get(&format!("/api/projects/{}/runtime/status", project.id.uuid())).await
}

/// Waits a while for the preview, as long as there is something to wait for.
async fn until_seen(client: &Client, project: &Project) -> anyhow::Result<RuntimeStatusResponse> {
    let began = std::time::Instant::now();
    loop {
        let state = status(client, project).await?;
        let waits =
            state.status == RuntimeStatus::Running && state.preview.status != PreviewStatus::Ready;
        if !waits || began.elapsed() > READY {
            return Ok(state);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn code(state: &RuntimeStatusResponse) -> ExitCode {
    match state.status {
        RuntimeStatus::Crashed => ExitCode::from(CRASHED),
        RuntimeStatus::Stopped
        | RuntimeStatus::Starting
        | RuntimeStatus::Building
        | RuntimeStatus::Running
        | RuntimeStatus::Stopping => ExitCode::SUCCESS,
    }
}

fn show(state: &RuntimeStatusResponse) -> anyhow::Result<()> {
    let dev = &state.dev_server;
    let command = plain(dev.command.as_deref().unwrap_or_default());
    match state.status {
        RuntimeStatus::Running => {
            let pid = dev.pid.map(|pid| format!("(pid {pid})")).unwrap_or_default();
            line(&format!("{} {} {}", bold("Running"), command, faint(&pid)))?;
            line(&preview_words(state))
        }
        RuntimeStatus::Crashed => show_crash(state),
        RuntimeStatus::Stopped => line(&format!("It ran to its end: {command}")),
        RuntimeStatus::Starting | RuntimeStatus::Building | RuntimeStatus::Stopping => {
            line(&format!("{:?}: {command}", state.status))
        }
    }
}

fn preview_words(state: &RuntimeStatusResponse) -> String {
    let preview = &state.preview;
    let port = preview.port.map(|port| format!("port {port}")).unwrap_or_default();
    match preview.status {
        PreviewStatus::Ready => {
            let url = preview.url.as_deref().unwrap_or_default();
            format!("{url} {}", faint(&format!("({port}; `provost preview` opens it)")))
        }
        PreviewStatus::Detected => format!("It listens on {port}, and has not answered yet."),
        PreviewStatus::Lost => format!("It listened on {port}, and does not any more."),
        PreviewStatus::None => {
            "It does not listen on any port yet; `provost logs -f` shows what it does.".to_owned()
        }
    }
}

fn show_crash(state: &RuntimeStatusResponse) -> anyhow::Result<()> {
    let Some(crash) = &state.dev_server.crash else { return line("Crashed.") };
    line(&plain_lines(&crash.last_lines.join("\n")))?;
    let how = match (crash.exit_code, crash.signal, &crash.why) {
        (_, _, Some(why)) => plain(why),
        (Some(code), ..) => format!("it ended with exit code {code}"),
        (None, Some(signal), None) => format!("it was ended by signal {signal}"),
        (None, None, None) => "it ended".to_owned(),
    };
    error_line(&anyhow!("the dev server crashed: {how}"));
    Ok(())
}

/// Says why it was not done; the exit code says what kind of failure it was.
fn failed(problem: &ErrorResponse, json: bool) -> anyhow::Result<ExitCode> {
    let built = problem.code == Code::BuildFailed;
    let crashed = problem.code == Code::RuntimeCrashed;
    if json {
        output::json(problem)?;
    } else {
        let details = problem.details.as_ref();
        let errors = details.and_then(|details| details.get("errors")).cloned();
        let errors: Vec<BuildDiagnostic> =
            errors.and_then(|errors| serde_json::from_value(errors).ok()).unwrap_or_default();
        show_errors(&errors)?;
        error_line(&anyhow!("{} ({})", plain(&problem.error), problem.code));
    }
    Ok(if built {
        ExitCode::from(NOT_BUILT)
    } else if crashed {
        ExitCode::from(CRASHED)
    } else {
        ExitCode::FAILURE
    })
}

fn show_errors(errors: &[BuildDiagnostic]) -> anyhow::Result<()> {
    for error in errors {
        let number = |n: Option<u32>| n.map(|n| format!(":{n}")).unwrap_or_default();
        let file = plain(error.file.as_deref().unwrap_or("?"));
        let place = format!("{file}{}{}", number(error.line), number(error.column));
        let kind = match error.severity {
            DiagnosticSeverity::Error => "\x1b[31merror\x1b[0m",
            DiagnosticSeverity::Warning => "\x1b[33mwarning\x1b[0m",
        };
        line(&format!("{} {kind} {}", bold(&place), plain_lines(&error.message)))?;
    }
    Ok(())
}

/// What a project's runtime is doing, in a few words, for lists.
pub(super) fn words(state: &RuntimeStatusResponse) -> Option<String> {
    let build = match state.build.status {
        BuildStatus::Failed => ", its last build failed",
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
