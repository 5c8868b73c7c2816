//! `provost do`: executes one action.

mod approval_wait;

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures::StreamExt;
use provost_proto::kernel::{ActionOutcome, OutputChunk, OutputData};
use provost_proto::{
    ActionId, ActionResponse, ActionView, Event, Fact, Health, LogCursor, SubmitActionRequest,
};
use reqwest::Method;
use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};

use crate::action_report::describe_sandbox_notes;
use crate::args::DoActionArgs;
use crate::client::DaemonClient;
use crate::commands::audit::events::{drain_sse_events, fetch_head_cursor};
use crate::commands::lookup::resolve_project;
use crate::config::Config;
use crate::output::{self, faint, print_error, print_line, print_stderr};
use crate::program_output::print_program_output;

/// How long to wait for a daemon that restarts while a command is followed.
const RECONNECT_TIMEOUT: Duration = Duration::from_mins(1);

/// Interval between checks for the daemon.
const RECONNECT_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Parameters that stay text even if they parse as JSON.
const TEXT_PARAMS: &[&str] =
    &["path", "from", "to", "content", "command", "id", "text", "stdin", "pattern", "glob"];

pub(crate) async fn run(args: &DoActionArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let params = parse_params(args.json.as_deref(), &args.params)?;
    let project = resolve_project(args.project.as_deref(), &client).await?;
    let role = args.role.clone();
    let request =
        SubmitActionRequest { action: args.action.clone(), params, role, session_id: None };
    let path = format!("/api/projects/{}/actions", project.id.uuid());
    if args.action == "terminal.runCommand" {
        return follow_command(client, config, &path, &request).await;
    }
    let answer: ActionResponse = if request.role.is_some() {
        match approval_wait::request_and_await_outcome(&client, &project, &path, &request).await? {
            Some(answer) => answer,
            None => return Ok(ExitCode::from(130)),
        }
    } else {
        client.post(&path, &request).await?
    };
    print_result(&answer.result.map(|result| result.to_value()).unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints text content to a terminal as text, everything else as JSON.
fn print_result(result: &Value) -> anyhow::Result<()> {
    let text = result["encoding"] == "utf-8" && output::is_stdout_terminal();
    match result["content"].as_str().filter(|_| text) {
        Some(content) => print_line(&output::sanitize_lines(content)),
        None => output::print_json(result),
    }
}

/// Parses the parameters of an action from `--json` and `key=value` pairs.
pub(crate) fn parse_params(json: Option<&str>, pairs: &[String]) -> anyhow::Result<Value> {
    let mut params = match json {
        None => Map::new(),
        Some(text) => {
            let value: Value = serde_json::from_str(text).context("--json is not JSON")?;
            let Value::Object(members) = value else { bail!("--json needs a JSON object") };
            members
        }
    };
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=') else {
            bail!("`{pair}` is not a parameter\nhint: write key=value, such as path=README.md");
        };
        let read = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        let text = TEXT_PARAMS.contains(&key) && !read.is_string();
        params.insert(key.to_owned(), if text { Value::from(value) } else { read });
    }
    Ok(Value::Object(params))
}

/// Runs a command and streams its output.
async fn follow_command(
    mut client: DaemonClient,
    config: &Config,
    path: &str,
    request: &SubmitActionRequest,
) -> anyhow::Result<ExitCode> {
    // From now on Ctrl-C cancels the action instead of ending this process.
    let mut interrupts = signal(SignalKind::interrupt())?;
    // All events of the action come after this one.
    let mut seen = fetch_head_cursor(&client).await?;
    let answer: ActionResponse = client.post(&format!("{path}?wait=0"), request).await?;
    let id = answer.action_id;
    if request.params["background"] == true {
        if let Some(approval) = answer.approval_id {
            print_stderr(&faint(&approval_wait::describe_pending_approval(approval)));
        }
        print_line(&id.uuid().to_string())?;
        print_stderr(&faint(&format!(
            "Running in the background; `provost do terminal.read id={}` reads its output.",
            id.uuid()
        )));
        return Ok(ExitCode::SUCCESS);
    }
    let mut cancelled = false;
    loop {
        tokio::select! {
            ended = watch_action(&client, id, &mut seen) => match ended? {
                ActionWatchOutcome::Ended(outcome) => return report_outcome(&outcome),
                // The command runs in its kernel, which keeps the output.
                ActionWatchOutcome::DaemonLost => client = wait_for_daemon(config, id).await?,
            },
            _ = interrupts.recv() => {
                if cancelled {
                    print_stderr(&faint(&format!("Stopped waiting; {id} may still be running.")));
                    return Ok(ExitCode::from(130));
                }
                print_stderr(&faint("Stopping the command; press Ctrl-C again to stop waiting."));
                cancelled = true;
                client.send_no_content(Method::POST, &format!("/api/actions/{}/cancel", id.uuid())).await?;
            }
        }
    }
}

/// How following an action ended.
enum ActionWatchOutcome {
    Ended(ActionOutcome),
    /// The connection was lost; the action may still run.
    DaemonLost,
}

/// Prints the output of an action after the event `seen`, until it ends.
async fn watch_action(
    client: &DaemonClient,
    id: ActionId,
    seen: &mut LogCursor,
) -> anyhow::Result<ActionWatchOutcome> {
    match stream_output_until_end(client, id, seen).await {
        Ok(Some(outcome)) => Ok(ActionWatchOutcome::Ended(outcome)),
        Ok(None) => Ok(ActionWatchOutcome::DaemonLost),
        Err(error) if error.chain().any(<dyn Error>::is::<reqwest::Error>) => {
            Ok(ActionWatchOutcome::DaemonLost)
        }
        Err(error) => Err(error),
    }
}

async fn stream_output_until_end(
    client: &DaemonClient,
    id: ActionId,
    seen: &mut LogCursor,
) -> anyhow::Result<Option<ActionOutcome>> {
    let action: ActionView = client.get(&format!("/api/actions/{}", id.uuid())).await?;
    let stream =
        format!("/api/events?stream=project/{}&after={seen}&bodies=whole", action.project.uuid());
    let mut chunks = client.get_stream(&stream).await?.bytes_stream();
    let mut rest = Vec::new();
    while let Some(chunk) = chunks.next().await {
        rest.extend_from_slice(&chunk?);
        for event in drain_sse_events(&mut rest)? {
            let ended = handle_action_event(id, &event)?;
            *seen = event.cursor();
            if ended.is_some() {
                return Ok(ended);
            }
        }
    }
    Ok(None)
}

/// Waits for a daemon, up to [`RECONNECT_TIMEOUT`].
async fn wait_for_daemon(config: &Config, id: ActionId) -> anyhow::Result<DaemonClient> {
    print_stderr(&faint("Lost the connection to the daemon; waiting for it."));
    let began = Instant::now();
    while began.elapsed() < RECONNECT_TIMEOUT {
        if let Some(client) = DaemonClient::connect_if_running(config)?
            && client.get::<Health>("/api/health").await.is_ok()
        {
            return Ok(client);
        }
        tokio::time::sleep(RECONNECT_POLL_INTERVAL).await;
    }
    bail!(
        "lost the connection to the daemon\nhint: after `provost up`, `provost audit --action {id}` shows the outcome"
    )
}

/// Prints output of this action; returns its outcome if it has ended.
fn handle_action_event(id: ActionId, event: &Event) -> anyhow::Result<Option<ActionOutcome>> {
    let Some(fact) = event.fact() else { return Ok(None) };
    if let Some(progress) = approval_wait::describe_progress(id, &fact) {
        print_stderr(&faint(&progress));
    }
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all other facts neither print nor end an action"
    )]
    match fact {
        Fact::ActionFinished { action, outcome, .. } if action == id => Ok(Some(outcome)),
        Fact::ActionDenied { action, fault } if action == id => {
            Ok(Some(approval_wait::outcome_from_denial(fault)))
        }
        Fact::ActionOutput { action, output, .. } if action == id => {
            print_output(&output)?;
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Prints a chunk of output to the stream it came from.
fn print_output(output: &OutputChunk) -> anyhow::Result<()> {
    if output.dropped > 0 {
        print_stderr(&faint(&format!("… {} bytes were dropped here …", output.dropped)));
    }
    match &output.data {
        OutputData::Bytes(bytes) => print_program_output(output.stream, bytes),
        // The daemon puts output back, unless it is missing in the log.
        OutputData::Blob(lost) => {
            print_stderr(&faint(&format!("… {} bytes are missing in the log …", lost.size)));
            Ok(())
        }
    }
}

fn report_outcome(outcome: &ActionOutcome) -> anyhow::Result<ExitCode> {
    std::io::stdout().flush()?;
    for note in describe_sandbox_notes(outcome) {
        print_stderr(&faint(&note));
    }
    if let Some(fault) = &outcome.fault {
        print_error(&anyhow::anyhow!("{} ({})", fault.message, fault.code));
        return Ok(ExitCode::FAILURE);
    }
    let signal = outcome.signal.map(|signal| 128 + signal);
    let code = outcome.exit_code.or(signal).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
