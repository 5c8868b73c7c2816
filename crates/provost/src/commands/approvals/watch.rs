//! `provost approvals watch`: questions as they come, for people without a browser.

use std::io::BufRead as _;
use std::process::ExitCode;
use std::time::Duration;

use futures::StreamExt;
use provost_proto::{ApprovalAnswer, Event, Fact, Health};
use provost_store::Clock;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::Here;
use super::desk::{Desk, Effect};
use crate::client::{Client, Refused};
use crate::commands::events::{newest, take_events};
use crate::config::Config;
use crate::output::{error_line, faint, line, plain, remark};

/// Lines that may wait to be read.
const TYPED: usize = 8;

/// How often to look at the clock.
const TICK: Duration = Duration::from_secs(5);

/// How long to wait before looking for the daemon again.
const AGAIN: Duration = Duration::from_millis(500);

pub(super) async fn run(mut here: Here, config: &Config) -> anyhow::Result<ExitCode> {
    let mut lines = typed();
    let mut desk = Desk::new();
    line(&faint("Watching; Ctrl-C ends."))?;
    loop {
        tokio::select! {
            ended = follow(&here, &mut desk, &mut lines) => match ended {
                Err(error) if error.is::<Refused>() => return Err(error),
                Err(error) if error.is::<crate::output::Closed>() => return Err(error),
                Ok(()) | Err(_) => {}
            },
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
        }
        remark(&faint("Lost the daemon; waiting for it."));
        tokio::select! {
            client = come_back(config) => here.client = client?,
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// What the person types. The thread ends with the process: a read from a
/// terminal cannot be called off.
fn typed() -> mpsc::Receiver<String> {
    let (send, lines) = mpsc::channel(TYPED);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

async fn come_back(config: &Config) -> anyhow::Result<Client> {
    loop {
        if let Some(client) = Client::find(config)?
            && client.get::<Health>("/api/health").await.is_ok()
        {
            return Ok(client);
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Shows what is asked and takes answers, until the daemon is gone.
async fn follow(
    here: &Here,
    desk: &mut Desk,
    lines: &mut mpsc::Receiver<String>,
) -> anyhow::Result<()> {
    let clock = Clock::system();
    // The place comes first: what is asked in between is then met twice, never not at all.
    let place = newest(&here.client).await?;
    let stream = here
        .only
        .as_ref()
        .map_or_else(String::new, |project| format!("&stream=project/{}", project.id.uuid()));
    let follow = here.client.stream(&format!("/api/events?after={place}{stream}")).await?;
    let open = here.approvals(false).await?;
    desk.learn(here.names().await?);
    carry_out(here, desk.still_open(&open, clock.now()), desk).await?;
    for approval in open {
        carry_out(here, desk.asked(approval, clock.now()), desk).await?;
    }
    let mut chunks = follow.bytes_stream();
    let mut rest = Vec::new();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut typing = true;
    loop {
        let effects = tokio::select! {
            chunk = chunks.next() => {
                let Some(chunk) = chunk else { return Ok(()) };
                rest.extend_from_slice(&chunk?);
                for event in take_events(&mut rest)? {
                    let effects = happened(here, desk, &event).await?;
                    carry_out(here, effects, desk).await?;
                }
                Vec::new()
            }
            typed = lines.recv(), if typing => {
                typing = typed.is_some();
                typed.map(|line| desk.typed(&line, clock.now())).unwrap_or_default()
            }
            _ = tick.tick() => desk.tick(clock.now()),
        };
        carry_out(here, effects, desk).await?;
    }
}

async fn happened(here: &Here, desk: &mut Desk, event: &Event) -> anyhow::Result<Vec<Effect>> {
    let now = Clock::system().now();
    if event.kind == "APPROVAL_ASKED" {
        // Its body may be kept beside the log, so what is open is asked for.
        let mut effects = Vec::new();
        desk.learn(here.names().await?);
        for approval in here.approvals(false).await? {
            effects.extend(desk.asked(approval, now));
        }
        return Ok(effects);
    }
    Ok(match event.fact() {
        Some(Fact::ApprovalAnswered { approval, decision, message, .. }) => {
            let how = match decision {
                ApprovalAnswer::Allow => "was allowed",
                ApprovalAnswer::Deny => "was denied",
            };
            let message = message.map(|text| format!(": {}", plain(&text))).unwrap_or_default();
            let how = format!("{how} by {}{message}", plain(&event.principal));
            desk.resolved(approval, &how, now)
        }
        Some(Fact::ApprovalExpired { approval, .. }) => {
            desk.resolved(approval, "expired: it was denied", now)
        }
        Some(Fact::ApprovalWithdrawn { approval, why, .. }) => {
            desk.resolved(approval, &format!("fell away: {}", plain(&why)), now)
        }
        Some(_) | None => Vec::new(),
    })
}

async fn carry_out(here: &Here, effects: Vec<Effect>, desk: &mut Desk) -> anyhow::Result<()> {
    for effect in effects {
        match effect {
            Effect::Say(text) => line(&text)?,
            Effect::Send(approval, answer) => match here.answer(&approval, &answer).await {
                Ok(resolved) => remark(&faint(&resolved.told())),
                Err(error) if error.is::<Refused>() => {
                    desk.refused();
                    error_line(&error);
                }
                Err(error) => return Err(error),
            },
        }
    }
    Ok(())
}
