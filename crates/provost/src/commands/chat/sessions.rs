//! `provost sessions`: lists sessions, shows the messages of one, closes it.

use std::process::ExitCode;

use provost_core::session::budget::format_dollars;
use provost_proto::SessionId;
use provost_proto::session::{
    ItemContent, MessageAuthor, MessagePart, SessionDetail, SessionList, SessionStatus, SessionView,
};

use crate::args::SessionsArgs;
use crate::client::DaemonClient;
use crate::commands::audit::events::encode_parameter;
use crate::commands::lookup::{SHORT_ID_SEARCH_LIMIT, find_by_short_id, short_id};
use crate::config::Config;
use crate::output::{self, bold, faint, print_line, print_stderr, sanitize_lines, sanitize_text};

pub(crate) async fn run(args: SessionsArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let Some(name) = &args.session else {
        let SessionList { sessions, next } = fetch_page(&client, args.before.as_deref()).await?;
        print_sessions(&sessions, args.json.json)?;
        if let Some(next) = next {
            let next = sanitize_text(&next);
            print_stderr(&faint(&format!("`provost sessions --before {next}` lists older ones.")));
        }
        return Ok(ExitCode::SUCCESS);
    };
    let path = format!("/api/sessions/{}", find_session(&client, name).await?.uuid());
    if args.close {
        let closed: SessionView = client.delete(&path).await?;
        return print_sessions(&[closed], args.json.json);
    }
    let detail: SessionDetail = client.get(&path).await?;
    if args.json.json {
        output::print_json(&detail)?;
    } else {
        print_session(&detail)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A page of the sessions, the most recently changed first.
async fn fetch_page(client: &DaemonClient, before: Option<&str>) -> anyhow::Result<SessionList> {
    let before = encode_parameter("before", before);
    client.get(&format!("/api/sessions?{}", before.trim_start_matches('&'))).await
}

/// The session with an id. A shortened one is looked for among the latest sessions.
pub(super) async fn find_session(client: &DaemonClient, name: &str) -> anyhow::Result<SessionId> {
    if let Ok(id) = name.trim().parse::<SessionId>() {
        return Ok(id);
    }
    let mut latest = Vec::new();
    let mut before = None;
    while latest.len() < SHORT_ID_SEARCH_LIMIT {
        let page = fetch_page(client, before.as_deref()).await?;
        latest.extend(page.sessions.into_iter().map(|session| session.id));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    find_by_short_id("session", name, latest, ToString::to_string)
}

fn print_sessions(sessions: &[SessionView], json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::print_json(&sessions)?;
        return Ok(ExitCode::SUCCESS);
    }
    if sessions.is_empty() {
        print_line("No sessions. `provost chat` opens one.")?;
    }
    for session in sessions {
        let status = match session.status {
            SessionStatus::Idle => "idle",
            SessionStatus::Running => "running",
            SessionStatus::Interrupted => "interrupted",
            SessionStatus::Closed => "closed",
        };
        print_line(&format!(
            "{}  {status:<11}  {}  {}  {}",
            bold(&short_id(&session.id.to_string())),
            sanitize_text(&session.role),
            faint(&format!("{} {}", sanitize_text(&session.model), format_dollars(session.cost))),
            sanitize_text(&session.title),
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_session(detail: &SessionDetail) -> anyhow::Result<()> {
    for item in &detail.items {
        match &item.content {
            ItemContent::Message { from, parts, .. } => {
                let head = match from {
                    MessageAuthor::User => "> ",
                    MessageAuthor::Assistant => "",
                };
                for part in parts {
                    match part {
                        MessagePart::Text { text } | MessagePart::Refusal { text } => {
                            print_line(&format!("{}{}", bold(head), sanitize_lines(text)))?;
                        }
                        MessagePart::Reasoning { text } => {
                            print_line(&faint(&sanitize_lines(text)))?;
                        }
                    }
                }
            }
            ItemContent::Tool { tool, arguments, result, .. } => {
                let output = result.as_ref().map_or("…", |result| result.output.as_str());
                let output: String = output.chars().take(400).collect();
                print_line(&faint(&format!(
                    "· {} {}",
                    sanitize_text(tool),
                    sanitize_text(arguments)
                )))?;
                print_line(&faint(&sanitize_lines(&output)))?;
            }
            ItemContent::Compacted { summary } => print_line(&faint(&sanitize_lines(summary)))?,
        }
    }
    if let Some(draft) = &detail.draft {
        print_line(&sanitize_lines(&draft.text))?;
    }
    Ok(())
}
