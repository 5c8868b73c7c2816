//! `provost chat`: talking with a model in a role.

mod cards;
mod command;
mod end;
mod follow;
mod input;
mod join;
mod keyboard;
mod leaving;
mod markdown;
mod piped;
mod print;
mod questions;
mod talk;
mod tour;
mod turn;
mod waiting;

use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use provost_proto::session::{FinishReason, OpenSessionRequest, SessionList, SessionView};
use provost_proto::{Project, RoleList};

use super::place::{pick, project, short};
use super::up;
use crate::args::ChatArgs;
use crate::client::Client;
use crate::config::Config;
use crate::output::{CLOSED, Closed, can_answer, error_line, faint, plain, plain_lines, remark};
use end::{End, FAILED, Which, lacks};
use keyboard::Keyboard;
use leaving::Leaving;
use turn::{Begin, Chat};

pub(crate) async fn run(args: ChatArgs, config: &Config) -> anyhow::Result<ExitCode> {
    // What cannot be said begins nothing.
    let message = input::message(args.prompt.as_deref()).await?;
    let client = daemon(&args, config).await?;
    let (session, project) = match session(&args, &client).await {
        Ok(found) => found,
        Err(error) => return Err(tour::hinted(error, &args, &client).await),
    };
    let mut chat = Chat { client, session, project, json: args.json, keyboard: None, joined: None };
    if let Some(text) = message {
        // Where a person can answer they are asked, and so must be heard.
        let heard = args.prompt.is_some_and(|prompt| prompt != "-") && !args.json && can_answer();
        chat.keyboard = heard.then(Keyboard::start);
        return once(&mut chat, text).await;
    }
    match talk::talk(chat, args.session.is_some()).await {
        Err(error) if error.is::<Closed>() => Ok(ExitCode::from(CLOSED)),
        ended => ended,
    }
}

/// The daemon that runs; for a person, or for the tour, one that is started.
async fn daemon(args: &ChatArgs, config: &Config) -> anyhow::Result<Client> {
    if let Some(client) = Client::find(config)? {
        return Ok(client);
    }
    if !can_answer() && !tour::is_named(args) {
        bail!(
            "no daemon is running\nhint: `provost up` in the folder of your project starts one; \
             the tour, `provost chat --model {}`, needs neither project nor model",
            tour::TOUR_MODEL
        );
    }
    let client = up::start(config).await?;
    remark(&faint("A daemon was started; `provost down` stops it."));
    Ok(client)
}

async fn once(chat: &mut Chat, text: String) -> anyhow::Result<ExitCode> {
    let mut leaving = Leaving::listen()?;
    match chat.turn(Begin::Say(text), &mut leaving).await? {
        End::Well(reason) => {
            if chat.session.model == tour::TOUR_MODEL {
                let id = short(&chat.session.id.to_string());
                remark(&faint(&format!("The tour goes on with `provost chat --session {id}`.")));
            }
            let Some((what, status)) = lacks(reason) else { return Ok(ExitCode::SUCCESS) };
            remark(what);
            if reason == FinishReason::MaxTokens {
                let id = short(&chat.session.id.to_string());
                remark(&faint(&format!("For the rest: `provost chat --session {id}`, /continue.")));
            }
            Ok(ExitCode::from(status))
        }
        End::Badly { why, status } | End::Stopped { why, status } => {
            error_line(&anyhow!("{}", plain_lines(&why)));
            Ok(ExitCode::from(status))
        }
        End::Held { message, status } => {
            // Nobody is there who could send it later, or hear what comes of it.
            let which = Which { turn: None, message: Some(message) };
            chat.cancel(&which).await.context("what you said waits, and cannot be taken back")?;
            error_line(&anyhow!(
                "the turn before was stopped, so that what you said was taken back (CANCELLED)"
            ));
            Ok(ExitCode::from(status))
        }
        End::CutOff { why } => {
            let id = short(&chat.session.id.to_string());
            error_line(&anyhow!(
                "{}\nhint: `provost chat --session {id}`, then /continue, goes on",
                plain_lines(&why)
            ));
            Ok(ExitCode::from(FAILED))
        }
        End::Left(status) => Ok(ExitCode::from(status)),
    }
}

/// The session to talk in, opened if none was named.
async fn session(args: &ChatArgs, client: &Client) -> anyhow::Result<(SessionView, Project)> {
    if let Some(name) = &args.session {
        let SessionList { sessions } = client.get("/api/sessions").await?;
        let session = pick("session", name, sessions, |session| session.id.to_string())?;
        let project = client.get(&format!("/api/projects/{}", session.project.uuid())).await?;
        return Ok((session, project));
    }
    if let Some(begun) = tour::wanted(args, client).await? {
        return Ok(begun);
    }
    let project = project(args.project.as_deref(), client).await?;
    let role = match &args.role {
        Some(role) => role.clone(),
        None => only_role(&project, client).await?,
    };
    let session = open(client, &project, role, args.model.clone()).await?;
    Ok((session, project))
}

async fn open(
    client: &Client,
    project: &Project,
    role: String,
    model: Option<String>,
) -> anyhow::Result<SessionView> {
    let project = project.id.uuid().to_string();
    client.post("/api/sessions", &OpenSessionRequest { project, role, model, budget: None }).await
}

async fn only_role(project: &Project, client: &Client) -> anyhow::Result<String> {
    let path = format!("/api/projects/{}/roles", project.id.uuid());
    let RoleList { roles, .. } = client.get(&path).await?;
    let mut trusted: Vec<_> = roles.into_iter().filter(|role| role.trusted).collect();
    match trusted.len() {
        0 => bail!(
            "no role of this project is trusted\nhint: write one in .provost/roles/, then \
             `provost roles trust`"
        ),
        1 => Ok(trusted.remove(0).name),
        _ => {
            let names: Vec<_> = trusted.iter().map(|role| plain(&role.name)).collect();
            bail!("which role?\nhint: --role {}", names.join(", --role "))
        }
    }
}
