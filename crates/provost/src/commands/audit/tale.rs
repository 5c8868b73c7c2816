//! Looking back: the latest actions, and the story of one.

use std::process::ExitCode;

use provost_proto::{ActionId, ActionStatus, ActionView, AuditPage, Event, Fact, Grant, GrantList};
use serde_json::Value;

use crate::client::Client;
use crate::commands::place::{pick, project, short};
use crate::config::Config;
use crate::output::{self, bold, faint, line, plain};
use crate::story::{Step, tell};

/// Where an action begins in the log.
const BEGINNINGS: [&str; 2] = ["ACTION_REQUESTED", "ACTION_READ"];

/// How many of the latest actions are looked through for a shortened id.
const LOOKED_THROUGH: usize = 1000;

/// Lists the latest actions, the newest first.
pub(super) async fn latest(
    named: Option<&str>,
    limit: usize,
    json: bool,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let stream = match named {
        Some(name) => format!("&stream=project/{}", project(Some(name), &client).await?.id.uuid()),
        None => String::new(),
    };
    let mut actions: Vec<ActionView> = Vec::new();
    for id in ids(&client, &stream, limit).await? {
        actions.push(client.get(&format!("/api/actions/{}", id.uuid())).await?);
    }
    if json {
        output::json(&actions)?;
    } else if actions.is_empty() {
        line("Nothing was asked for yet.")?;
    } else {
        for action in &actions {
            line(&row(action))?;
        }
        line(&faint("`provost audit --action ID` tells the whole story of one."))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(action: &ActionView) -> String {
    let fault = action.outcome.as_ref().and_then(|outcome| outcome.fault.as_ref());
    let exit = action.outcome.as_ref().and_then(|outcome| outcome.exit_code);
    let state = match (action.status, fault, exit) {
        (ActionStatus::Requested, _, _) => "asked".to_owned(),
        (ActionStatus::Waiting, _, _) => "waits for a person".to_owned(),
        (ActionStatus::Denied, Some(fault), _) => format!("denied ({})", fault.code),
        (ActionStatus::Denied, None, _) => "denied".to_owned(),
        (ActionStatus::Allowed, _, _) => "allowed".to_owned(),
        (ActionStatus::Running, _, _) => "runs".to_owned(),
        (ActionStatus::Finished, Some(fault), _) => format!("failed ({})", fault.code),
        (ActionStatus::Finished, None, Some(code)) => format!("exit {code}"),
        (ActionStatus::Finished, None, None) => "done".to_owned(),
    };
    let role = action.role.as_deref().map(|role| format!("{role}: ")).unwrap_or_default();
    format!(
        "{}  {}  {}{}  {}",
        bold(&short(&action.id.to_string())),
        output::time(action.requested_at),
        plain(&role),
        plain(&action.what),
        faint(&plain(&state))
    )
}

/// The latest actions, the newest first.
async fn ids(client: &Client, stream: &str, limit: usize) -> anyhow::Result<Vec<ActionId>> {
    let kinds = BEGINNINGS.join(",");
    let (mut found, mut before) = (Vec::new(), Some(u64::MAX >> 1));
    while let Some(place) = before.filter(|_| found.len() < limit) {
        let path =
            format!("/api/audit?before={place}&kind={kinds}&limit={}{stream}", limit.min(500));
        let page: AuditPage = client.get(&path).await?;
        for event in &page.events {
            found.extend(began(&whole(client, event).await?));
        }
        before = page.next;
    }
    found.truncate(limit);
    Ok(found)
}

/// The action that this is the beginning of.
fn began(event: &Event) -> Option<ActionId> {
    match event.fact() {
        Some(Fact::ActionRequested { action, .. } | Fact::ActionRead { action, .. }) => {
            Some(action)
        }
        Some(_) | None => None,
    }
}

/// Tells the whole story of one action.
pub(super) async fn of(wanted: &str, json: bool, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let id = if let Ok(id) = wanted.parse::<ActionId>() {
        id
    } else {
        let latest = ids(&client, "", LOOKED_THROUGH).await?;
        pick("action among the latest", wanted, latest, ToString::to_string)?
    };
    let action: ActionView = client.get(&format!("/api/actions/{}", id.uuid())).await?;
    let events = events(&client, id).await?;
    if json {
        output::json(&events)?;
        return Ok(ExitCode::SUCCESS);
    }
    let grants = grants(&client, &action, &events).await?;
    let step = |event: &Event| {
        let (principal, actor) = (event.principal.clone(), event.actor.clone());
        Some(Step { at: event.at, principal, actor, fact: event.fact()? })
    };
    let steps: Vec<_> = events.iter().filter_map(step).collect();
    line(&format!("{}  {}", bold(&plain(&action.what)), faint(&action.id.to_string())))?;
    for told in tell(&steps, &grants) {
        let mut time = output::time(told.at);
        for text in told.lines {
            line(&format!("{}  {text}", faint(&time)))?;
            time = " ".repeat(time.len());
        }
    }
    if action.status == ActionStatus::Waiting {
        line("It still waits for a person: `provost approvals`.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The events of an action in order. They are looked for from the newest back,
/// since nothing of an action comes before its beginning.
async fn events(client: &Client, id: ActionId) -> anyhow::Result<Vec<Event>> {
    let (mut found, mut before) = (Vec::new(), Some(u64::MAX >> 1));
    while let Some(place) = before {
        let path = format!("/api/audit?before={place}&action={}", id.uuid());
        let page: AuditPage = client.get(&path).await?;
        before = page.next;
        for event in &page.events {
            if BEGINNINGS.contains(&event.kind.as_str()) {
                before = None;
            }
            found.push(whole(client, event).await?);
        }
    }
    found.reverse();
    Ok(found)
}

/// The event with its body, wherever that is kept.
async fn whole(client: &Client, event: &Event) -> anyhow::Result<Event> {
    let mut event = event.clone();
    if let Some(hash) = event.body["$blob"].as_str() {
        let body: Value = client.get(&format!("/api/blobs/{hash}")).await?;
        event.body = body;
    }
    Ok(event)
}

/// What was granted in the project, if a grant allowed this.
async fn grants(
    client: &Client,
    action: &ActionView,
    events: &[Event],
) -> anyhow::Result<Vec<Grant>> {
    if !events.iter().any(|event| event.body["why"]["kind"] == "grant") {
        return Ok(Vec::new());
    }
    let path = format!("/api/projects/{}/grants?all=true", action.project.uuid());
    let GrantList { grants } = client.get(&path).await?;
    Ok(grants)
}
