//! `provost sessions`: lists sessions, shows the messages of one, closes it.

use std::process::ExitCode;

use provost_core::session::budget::format_dollars;
use provost_proto::session::{
    ItemContent, MessageAuthor, MessagePart, SessionDetail, SessionList, SessionStatus, SessionView,
};

use crate::args::SessionsArgs;
use crate::client::DaemonClient;
use crate::commands::lookup::{find_by_short_id, short_id};
use crate::config::Config;
use crate::output::{self, bold, faint, print_line, sanitize_lines, sanitize_text};

pub(crate) async fn run(args: SessionsArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let SessionList { sessions } = client.get("/api/sessions").await?;
    let Some(name) = &args.session else { return print_sessions(&sessions, args.json.json) };
    let session = find_by_short_id("session", name, sessions, |session| session.id.to_string())?;
    let path = format!("/api/sessions/{}", session.id.uuid());
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
