//! `provost sessions`: the conversations, and what was said in one.

use std::process::ExitCode;

use provost_core::session::budget::format_dollars;
use provost_proto::session::{
    ItemContent, MessageAuthor, MessagePart, SessionDetail, SessionList, SessionStatus, SessionView,
};

use super::place::{pick, short};
use crate::args::SessionsArgs;
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, bold, faint, line, plain, plain_lines};

pub(crate) async fn run(args: SessionsArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let SessionList { sessions } = client.get("/api/sessions").await?;
    let Some(name) = &args.session else { return list(&sessions, args.json.json) };
    let session = pick("session", name, sessions, |session| session.id.to_string())?;
    let path = format!("/api/sessions/{}", session.id.uuid());
    if args.close {
        let closed: SessionView = client.delete(&path).await?;
        return list(&[closed], args.json.json);
    }
    let detail: SessionDetail = client.get(&path).await?;
    if args.json.json {
        output::json(&detail)?;
    } else {
        show(&detail)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(sessions: &[SessionView], json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::json(&sessions)?;
        return Ok(ExitCode::SUCCESS);
    }
    if sessions.is_empty() {
        line("There is no session; `provost chat` opens one.")?;
    }
    for session in sessions {
        let status = match session.status {
            SessionStatus::Idle => "idle",
            SessionStatus::Running => "running",
            SessionStatus::Interrupted => "interrupted",
            SessionStatus::Closed => "closed",
        };
        line(&format!(
            "{}  {status:<11}  {}  {}  {}",
            bold(&short(&session.id.to_string())),
            plain(&session.role),
            faint(&format!("{} {}", plain(&session.model), format_dollars(session.cost))),
            plain(&session.title),
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(detail: &SessionDetail) -> anyhow::Result<()> {
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
                            line(&format!("{}{}", bold(head), plain_lines(text)))?;
                        }
                        MessagePart::Reasoning { text } => line(&faint(&plain_lines(text)))?,
                    }
                }
            }
            ItemContent::Tool { tool, arguments, result, .. } => {
                let told = result.as_ref().map_or("…", |result| result.output.as_str());
                let told: String = told.chars().take(400).collect();
                line(&faint(&format!("· {} {}", plain(tool), plain(arguments))))?;
                line(&faint(&plain_lines(&told)))?;
            }
            ItemContent::Compacted { summary } => line(&faint(&plain_lines(summary)))?,
        }
    }
    if let Some(draft) = &detail.draft {
        line(&plain_lines(&draft.text))?;
    }
    Ok(())
}
