//! `provost chat`: a chat with a model that acts in a role. Sessions and usage are in the
//! submodules.

mod chat_approvals;
mod chat_input;
mod chat_session;
mod follow_turn;
mod interactive;
mod line_input;
mod markdown;
mod piped_answer;
mod prompt_message;
mod queued_messages;
mod resume_session;
pub(crate) mod sessions;
mod termination_signals;
mod tool_summary;
mod tour;
mod turn_outcome;
mod turn_printer;
pub(crate) mod usage;

use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use provost_proto::session::{FinishReason, OpenSessionRequest, SessionDetail, SessionView};
use provost_proto::{Project, RoleList};

use super::daemon::up;
use super::lookup::{resolve_project, short_id};
use crate::args::ChatArgs;
use crate::client::DaemonClient;
use crate::config::Config;
use crate::output::{
    EXIT_OUTPUT_CLOSED, OutputClosed, faint, is_interactive, print_error, print_stderr,
    sanitize_lines, sanitize_text,
};
use chat_session::{ChatSession, ChatTurnTrigger};
use line_input::LineInput;
use termination_signals::TerminationSignals;
use turn_outcome::{ChatTurnOutcome, ChatTurnSelector, EXIT_FAILED, describe_incomplete_answer};

pub(crate) async fn run(args: ChatArgs, config: &Config) -> anyhow::Result<ExitCode> {
    // An invalid message must not open a session.
    let message = prompt_message::read_message(args.prompt.as_deref()).await?;
    let client = connect_or_start_daemon(&args, config).await?;
    let ready_here = config.models.ready.clone();
    let (session, project) = match resolve_session(&args, &client, &ready_here).await {
        Ok(found) => found,
        Err(error) => return Err(tour::add_tour_hint(error, &args, &client, &ready_here).await),
    };
    let (json, keyboard, joined) = (args.json, None, None);
    let mut chat = ChatSession { client, session, project, json, keyboard, joined, ready_here };
    if let Some(text) = message {
        // At a terminal the user can answer approvals, so the keyboard is read.
        let has_keyboard =
            args.prompt.is_some_and(|prompt| prompt != "-") && !args.json && is_interactive();
        chat.keyboard = has_keyboard.then(LineInput::spawn);
        return run_single_turn(&mut chat, text).await;
    }
    match interactive::run_interactive(chat, args.session.is_some()).await {
        Err(error) if error.is::<OutputClosed>() => Ok(ExitCode::from(EXIT_OUTPUT_CLOSED)),
        ended => ended,
    }
}

/// The running daemon; at a terminal or for the tour, one is started if needed.
async fn connect_or_start_daemon(args: &ChatArgs, config: &Config) -> anyhow::Result<DaemonClient> {
    if let Some(client) = DaemonClient::connect_if_running(config)? {
        return Ok(client);
    }
    if !is_interactive() && !tour::is_tour_requested(args) {
        bail!(
            "no daemon is running\nhint: `provost up` in the folder of your project starts one; \
             the tour, `provost chat --model {}`, needs neither project nor model",
            tour::TOUR_MODEL
        );
    }
    let client = up::start_daemon(config).await?;
    print_stderr(&faint("Started a daemon; `provost down` stops it."));
    Ok(client)
}

async fn run_single_turn(chat: &mut ChatSession, text: String) -> anyhow::Result<ExitCode> {
    let mut signals = TerminationSignals::subscribe()?;
    match chat.run_turn(ChatTurnTrigger::Message(text), &mut signals).await? {
        ChatTurnOutcome::Finished(reason) => {
            if chat.session.model == tour::TOUR_MODEL {
                let id = short_id(&chat.session.id.to_string());
                print_stderr(&faint(&format!(
                    "Continue the tour with `provost chat --session {id}`."
                )));
            }
            let Some((what, status)) = describe_incomplete_answer(reason) else {
                return Ok(ExitCode::SUCCESS);
            };
            print_stderr(what);
            if reason == FinishReason::MaxTokens {
                let id = short_id(&chat.session.id.to_string());
                print_stderr(&faint(&format!(
                    "`provost chat --session {id}` and /continue request the rest."
                )));
            }
            Ok(ExitCode::from(status))
        }
        ChatTurnOutcome::Failed { why, status } | ChatTurnOutcome::Cancelled { why, status } => {
            print_error(&anyhow!("{}", sanitize_lines(&why)));
            Ok(ExitCode::from(status))
        }
        ChatTurnOutcome::NoKey { why } => {
            print_error(&anyhow!("{}", sanitize_lines(&why)));
            Ok(ExitCode::from(EXIT_FAILED))
        }
        ChatTurnOutcome::MessageHeld { message, status } => {
            // A single call ends here, so nobody could send the message later.
            let selector = ChatTurnSelector { turn: None, message: Some(message) };
            chat.cancel_turn(&selector)
                .await
                .context("your message is queued and cannot be withdrawn")?;
            print_error(&anyhow!(
                "the previous turn was cancelled, so your message was withdrawn (CANCELLED)"
            ));
            Ok(ExitCode::from(status))
        }
        ChatTurnOutcome::Interrupted { why } => {
            let id = short_id(&chat.session.id.to_string());
            print_error(&anyhow!(
                "{}\nhint: `provost chat --session {id}` and /continue continue the turn",
                sanitize_lines(&why)
            ));
            Ok(ExitCode::from(EXIT_FAILED))
        }
        ChatTurnOutcome::UserLeft(status) => Ok(ExitCode::from(status)),
    }
}

/// The named session, or a new one.
async fn resolve_session(
    args: &ChatArgs,
    client: &DaemonClient,
    ready_here: &[String],
) -> anyhow::Result<(SessionView, Project)> {
    if let Some(name) = &args.session {
        let id = sessions::find_session(client, name).await?;
        let path = format!("/api/sessions/{}?before=0", id.uuid());
        let SessionDetail { session, .. } = client.get(&path).await?;
        let project = client.get(&format!("/api/projects/{}", session.project.uuid())).await?;
        return Ok((session, project));
    }
    if let Some(started) = tour::start_tour_if_wanted(args, client, ready_here).await? {
        return Ok(started);
    }
    let project = resolve_project(args.project.as_deref(), client).await?;
    let role = match &args.role {
        Some(role) => role.clone(),
        None => find_only_role(&project, client).await?,
    };
    let session = open_session(client, &project, role, args.model.clone()).await?;
    Ok((session, project))
}

async fn open_session(
    client: &DaemonClient,
    project: &Project,
    role: String,
    model: Option<String>,
) -> anyhow::Result<SessionView> {
    let project = project.id.uuid().to_string();
    client.post("/api/sessions", &OpenSessionRequest { project, role, model, budget: None }).await
}

async fn find_only_role(project: &Project, client: &DaemonClient) -> anyhow::Result<String> {
    let path = format!("/api/projects/{}/roles", project.id.uuid());
    let RoleList { roles, .. } = client.get(&path).await?;
    let mut trusted: Vec<_> = roles.into_iter().filter(|role| role.trusted).collect();
    match trusted.len() {
        0 => bail!(
            "the project has no trusted role\nhint: write one in .provost/roles/, then run \
             `provost roles trust`"
        ),
        1 => Ok(trusted.remove(0).name),
        _ => {
            let names: Vec<_> = trusted.iter().map(|role| sanitize_text(&role.name)).collect();
            bail!(
                "the project has several trusted roles\nhint: choose one with --role {}",
                names.join(" or --role ")
            )
        }
    }
}
