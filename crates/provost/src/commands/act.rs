//! `provost do`: an action by hand.

mod wait;

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures::StreamExt;
use provost_proto::kernel::{ActionOutcome, OutputData, OutputStream};
use provost_proto::{
    ActionId, ActionResponse, ActionView, BlobRef, Event, Fact, Health, SubmitActionRequest,
};
use reqwest::Method;
use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};

use super::events::{newest, take_events};
use super::place::project;
use crate::args::ActArgs;
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, error_line, faint, line, remark};

/// How long a daemon may be away, for an upgrade or after a crash, while we follow a command.
const COMES_BACK: Duration = Duration::from_mins(1);

/// How often to look whether it is back.
const LOOK: Duration = Duration::from_millis(50);

/// Parameters that are text even if they read as a number.
const TEXTS: &[&str] =
    &["path", "from", "to", "content", "command", "id", "text", "stdin", "pattern", "glob"];

pub(crate) async fn run(args: &ActArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let params = read_params(args.json.as_deref(), &args.params)?;
    let project = project(args.project.as_deref(), &client).await?;
    let role = args.role.clone();
    let wanted =
        SubmitActionRequest { action: args.action.clone(), params, role, session_id: None };
    let path = format!("/api/projects/{}/actions", project.id.uuid());
    if args.action == "terminal.runCommand" {
        return follow(client, config, &path, &wanted).await;
    }
    let answer: ActionResponse = if wanted.role.is_some() {
        match wait::for_a_person(&client, &project, &path, &wanted).await? {
            Some(answer) => answer,
            None => return Ok(ExitCode::from(130)),
        }
    } else {
        client.post(&path, &wanted).await?
    };
    show(&answer.result.map(|result| result.to_value()).unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}

/// Text as it is for a person, everything else as JSON.
fn show(result: &Value) -> anyhow::Result<()> {
    let text = result["encoding"] == "utf-8" && output::on_terminal();
    match result["content"].as_str().filter(|_| text) {
        Some(content) => line(&output::plain_lines(content)),
        None => output::json(result),
    }
}

/// The parameters of an action, as they are written on the command line.
pub(super) fn read_params(json: Option<&str>, pairs: &[String]) -> anyhow::Result<Value> {
    let mut params = match json {
        None => Map::new(),
        Some(text) => {
            let value: Value = serde_json::from_str(text).context("--json is not JSON")?;
            let Value::Object(members) = value else { bail!("--json takes an object") };
            members
        }
    };
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=') else {
            bail!("`{pair}` is no parameter\nhint: write key=value, such as path=README.md");
        };
        let read = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        let text = TEXTS.contains(&key) && !read.is_string();
        params.insert(key.to_owned(), if text { Value::from(value) } else { read });
    }
    Ok(Value::Object(params))
}

/// Runs a command and shows what it prints, as it comes.
async fn follow(
    mut client: Client,
    config: &Config,
    path: &str,
    wanted: &SubmitActionRequest,
) -> anyhow::Result<ExitCode> {
    // From now on Ctrl-C takes back what we ask for.
    let mut interrupts = signal(SignalKind::interrupt())?;
    // What happens to it comes after this place.
    let mut seen = newest(&client).await?;
    let answer: ActionResponse = client.post(&format!("{path}?wait=0"), wanted).await?;
    let id = answer.action_id;
    if wanted.params["background"] == true {
        if let Some(approval) = answer.approval_id {
            remark(&faint(&wait::waits(approval)));
        }
        let look = format!("`provost do terminal.read id={}` looks at it", id.uuid());
        line(&id.uuid().to_string())?;
        remark(&faint(&format!("It goes on; {look}.")));
        return Ok(ExitCode::SUCCESS);
    }
    let mut cancelled = false;
    loop {
        tokio::select! {
            ended = watch(&client, id, &mut seen) => match ended? {
                Watched::Ended(outcome) => return show_end(&outcome),
                // The command lives in its kernel, and what it prints waits there.
                Watched::Lost => client = come_back(config, id).await?,
            },
            _ = interrupts.recv() => {
                if cancelled {
                    remark(&faint(&format!("Left; {id} may still be ending.")));
                    return Ok(ExitCode::from(130));
                }
                remark(&faint("Stopping it; press Ctrl-C again to leave."));
                cancelled = true;
                client.tell(Method::POST, &format!("/api/actions/{}/cancel", id.uuid())).await?;
            }
        }
    }
}

/// What became of watching an action.
enum Watched {
    Ended(ActionOutcome),
    /// The daemon is gone; the action may live on.
    Lost,
}

/// Shows what an action prints after the event `seen`, until it ends.
async fn watch(client: &Client, id: ActionId, seen: &mut u64) -> anyhow::Result<Watched> {
    match show_until_end(client, id, seen).await {
        Ok(Some(outcome)) => Ok(Watched::Ended(outcome)),
        Ok(None) => Ok(Watched::Lost),
        Err(error) if error.chain().any(<dyn Error>::is::<reqwest::Error>) => Ok(Watched::Lost),
        Err(error) => Err(error),
    }
}

async fn show_until_end(
    client: &Client,
    id: ActionId,
    seen: &mut u64,
) -> anyhow::Result<Option<ActionOutcome>> {
    let action: ActionView = client.get(&format!("/api/actions/{}", id.uuid())).await?;
    let stream = format!("/api/events?stream=project/{}&after={seen}", action.project.uuid());
    let mut chunks = client.stream(&stream).await?.bytes_stream();
    let mut rest = Vec::new();
    while let Some(chunk) = chunks.next().await {
        rest.extend_from_slice(&chunk?);
        for event in take_events(&mut rest)? {
            let ended = print(client, id, &event).await?;
            *seen = event.seq;
            if ended.is_some() {
                return Ok(ended);
            }
        }
    }
    Ok(None)
}

/// Waits for a daemon to be there again, but not for ever.
async fn come_back(config: &Config, id: ActionId) -> anyhow::Result<Client> {
    remark(&faint("The daemon is gone; waiting for it to come back."));
    let began = Instant::now();
    while began.elapsed() < COMES_BACK {
        if let Some(client) = Client::find(config)?
            && client.get::<Health>("/api/health").await.is_ok()
        {
            return Ok(client);
        }
        tokio::time::sleep(LOOK).await;
    }
    bail!("lost the daemon\nhint: after `provost up`, `provost events` shows what became of {id}")
}

/// Prints output of this action; returns how it ended, if it has.
async fn print(
    client: &Client,
    id: ActionId,
    event: &Event,
) -> anyhow::Result<Option<ActionOutcome>> {
    let fact = match event.body["$blob"].as_str() {
        Some(hash) if event.kind == "ACTION_OUTPUT" => {
            let body: Value = client.get(&format!("/api/blobs/{hash}")).await?;
            Fact::from_kind_and_body(&event.kind, &body)
        }
        Some(_) | None => event.fact(),
    };
    if let Some(Fact::ActionFinished { action, outcome, .. }) = fact {
        return Ok((action == id).then_some(outcome));
    }
    if let Some(Fact::ActionDenied { action, fault }) = fact {
        return Ok((action == id).then_some(wait::never_began(fault)));
    }
    if let Some(words) = fact.as_ref().and_then(|fact| wait::told(id, fact)) {
        remark(&faint(&words));
    }
    if let Some(Fact::ActionOutput { action, output, .. }) = fact
        && action == id
    {
        if output.dropped > 0 {
            remark(&faint(&format!("… {} bytes were dropped here …", output.dropped)));
        }
        let bytes = match output.data {
            OutputData::Bytes(bytes) => bytes,
            OutputData::Blob(BlobRef { hash, .. }) => {
                client.bytes(&format!("/api/blobs/{hash}")).await?
            }
        };
        match output.stream {
            OutputStream::Stdout => std::io::stdout().write_all(&bytes)?,
            OutputStream::Stderr => std::io::stderr().write_all(&bytes)?,
        }
    }
    Ok(None)
}

fn show_end(outcome: &ActionOutcome) -> anyhow::Result<ExitCode> {
    std::io::stdout().flush()?;
    if let Some(fault) = &outcome.fault {
        error_line(&anyhow::anyhow!("{} ({})", fault.message, fault.code));
        return Ok(ExitCode::FAILURE);
    }
    let signal = outcome.signal.map(|signal| 128 + signal);
    let code = outcome.exit_code.or(signal).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
