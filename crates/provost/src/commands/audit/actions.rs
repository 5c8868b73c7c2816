//! The latest actions, and the report of one.

use std::process::ExitCode;

use provost_proto::{
    ActionId, ActionStatus, ActionView, AllowedBy, AuditPage, Event, Fact, Grant, LogCursor,
};
use serde::Deserialize as _;

use crate::action_report::{ActionReportStep, build_action_report};
use crate::client::DaemonClient;
use crate::commands::lookup::{SHORT_ID_SEARCH_LIMIT, find_by_short_id, short_id};
use crate::config::Config;
use crate::output::{self, bold, faint, print_line, sanitize_text};

/// Kinds of the first event of an action.
const FIRST_EVENT_KINDS: [&str; 2] = ["ACTION_REQUESTED", "ACTION_READ"];

/// Lists the latest actions that match a filter, the newest first.
pub(super) async fn list_recent_actions(
    filter: &str,
    limit: usize,
    json: bool,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let mut actions: Vec<ActionView> = Vec::new();
    for id in fetch_recent_action_ids(&client, filter, limit).await? {
        actions.push(client.get(&format!("/api/actions/{}", id.uuid())).await?);
    }
    if json {
        output::print_json(&actions)?;
    } else if actions.is_empty() {
        print_line("No actions yet.")?;
    } else {
        for action in &actions {
            print_line(&format_action_row(action))?;
        }
        print_line(&faint("`provost audit --action ID` shows the report of one."))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn format_action_row(action: &ActionView) -> String {
    let fault = action.outcome.as_ref().and_then(|outcome| outcome.fault.as_ref());
    let exit = action.outcome.as_ref().and_then(|outcome| outcome.exit_code);
    let state = match (action.status, fault, exit) {
        (ActionStatus::Requested, _, _) => "requested".to_owned(),
        (ActionStatus::Waiting, _, _) => "waiting for approval".to_owned(),
        (ActionStatus::Denied, Some(fault), _) => format!("denied ({})", fault.code),
        (ActionStatus::Denied, None, _) => "denied".to_owned(),
        (ActionStatus::Allowed, _, _) => "allowed".to_owned(),
        (ActionStatus::Running, _, _) => "running".to_owned(),
        (ActionStatus::Finished, Some(fault), _) => format!("failed ({})", fault.code),
        (ActionStatus::Finished, None, Some(code)) => format!("exit {code}"),
        (ActionStatus::Finished, None, None) => "done".to_owned(),
    };
    let role = action.role.as_deref().map(|role| format!("{role}: ")).unwrap_or_default();
    format!(
        "{}  {}  {}{}  {}",
        bold(&short_id(&action.id.to_string())),
        output::format_time(action.requested_at),
        sanitize_text(&role),
        sanitize_text(&action.what),
        faint(&sanitize_text(&state))
    )
}

/// The latest actions, the newest first.
async fn fetch_recent_action_ids(
    client: &DaemonClient,
    filter: &str,
    limit: usize,
) -> anyhow::Result<Vec<ActionId>> {
    let kinds = FIRST_EVENT_KINDS.join(",");
    let (mut found, mut before) = (Vec::new(), Some(LogCursor::END));
    while let Some(cursor) = before.filter(|_| found.len() < limit) {
        let path = format!(
            "/api/audit?before={cursor}&kind={kinds}&limit={}{filter}&bodies=whole",
            limit.min(500)
        );
        let page: AuditPage = client.get(&path).await?;
        for event in &page.events {
            found.extend(extract_action_id(event));
        }
        before = page.next;
    }
    found.truncate(limit);
    Ok(found)
}

/// The action whose first event this is.
fn extract_action_id(event: &Event) -> Option<ActionId> {
    match event.fact() {
        Some(Fact::ActionRequested { action, .. } | Fact::ActionRead { action, .. }) => {
            Some(action)
        }
        Some(_) | None => None,
    }
}

/// Prints the report of one action.
pub(super) async fn show_action_report(
    wanted: &str,
    json: bool,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let id = if let Ok(id) = wanted.parse::<ActionId>() {
        id
    } else {
        let latest = fetch_recent_action_ids(&client, "", SHORT_ID_SEARCH_LIMIT).await?;
        find_by_short_id("action among the latest", wanted, latest, ToString::to_string)?
    };
    let action: ActionView = client.get(&format!("/api/actions/{}", id.uuid())).await?;
    let events = fetch_action_events(&client, id).await?;
    if json {
        output::print_json(&events)?;
        return Ok(ExitCode::SUCCESS);
    }
    let grants = fetch_referenced_grants(&client, &events).await?;
    let step = |event: &Event| {
        let (principal, actor) = (event.principal.clone(), event.actor.clone());
        Some(ActionReportStep { at: event.at, principal, actor, fact: event.fact()? })
    };
    let steps: Vec<_> = events.iter().filter_map(step).collect();
    print_line(&format!(
        "{}  {}",
        bold(&sanitize_text(&action.what)),
        faint(&action.id.to_string())
    ))?;
    for entry in build_action_report(&steps, &grants) {
        let mut time = output::format_time(entry.at);
        for text in entry.lines {
            print_line(&format!("{}  {text}", faint(&time)))?;
            time = " ".repeat(time.len());
        }
    }
    if action.status == ActionStatus::Waiting {
        print_line("It is still waiting for approval: `provost approvals`.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The events of an action in order. Pages are read from the newest backwards, until
/// the first event of the action.
async fn fetch_action_events(client: &DaemonClient, id: ActionId) -> anyhow::Result<Vec<Event>> {
    let (mut found, mut before) = (Vec::new(), Some(LogCursor::END));
    while let Some(cursor) = before {
        let path = format!("/api/audit?before={cursor}&action={}&bodies=whole", id.uuid());
        let page: AuditPage = client.get(&path).await?;
        before = page.next;
        if page.events.iter().any(|event| FIRST_EVENT_KINDS.contains(&event.kind.as_str())) {
            before = None;
        }
        found.extend(page.events);
    }
    found.reverse();
    Ok(found)
}

/// The grants that allowed the action.
async fn fetch_referenced_grants(
    client: &DaemonClient,
    events: &[Event],
) -> anyhow::Result<Vec<Grant>> {
    let mut grants = Vec::new();
    for event in events {
        if let Ok(AllowedBy::Grant { grant }) = AllowedBy::deserialize(&event.body["why"]) {
            grants.push(client.get(&format!("/api/grants/{}", grant.uuid())).await?);
        }
    }
    Ok(grants)
}
