//! `provost approvals watch`: questions as they come, for people without a browser.

use std::io::BufRead as _;
use std::process::ExitCode;
use std::time::Duration;

use futures::StreamExt;
use provost_proto::{ApprovalAnswer, Event, Fact, Health};
use provost_store::Clock;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::ApprovalsCommandContext;
use super::prompt_queue::{ApprovalPromptQueue, PromptQueueEffect};
use crate::client::{DaemonClient, RequestRejected};
use crate::commands::audit::events::{drain_sse_events, fetch_latest_seq};
use crate::config::Config;
use crate::output::{faint, print_error, print_line, print_stderr, sanitize_text};

/// Lines that may wait to be read.
const LINE_CHANNEL_CAPACITY: usize = 8;

/// How often to look at the clock.
const REMINDER_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// How long to wait before looking for the daemon again.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(500);

pub(super) async fn run(
    mut here: ApprovalsCommandContext,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    let mut lines = spawn_line_reader();
    let mut desk = ApprovalPromptQueue::new();
    print_line(&faint("Watching; Ctrl-C ends."))?;
    loop {
        tokio::select! {
            ended = run_until_disconnected(&here, &mut desk, &mut lines) => match ended {
                Err(error) if error.is::<RequestRejected>() => return Err(error),
                Err(error) if error.is::<crate::output::OutputClosed>() => return Err(error),
                Ok(()) | Err(_) => {}
            },
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
        }
        print_stderr(&faint("Lost the daemon; waiting for it."));
        tokio::select! {
            client = wait_for_daemon(config) => here.client = client?,
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// What the person types. The thread ends with the process: a read from a
/// terminal cannot be called off.
fn spawn_line_reader() -> mpsc::Receiver<String> {
    let (send, lines) = mpsc::channel(LINE_CHANNEL_CAPACITY);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

async fn wait_for_daemon(config: &Config) -> anyhow::Result<DaemonClient> {
    loop {
        if let Some(client) = DaemonClient::connect_if_running(config)?
            && client.get::<Health>("/api/health").await.is_ok()
        {
            return Ok(client);
        }
        tokio::time::sleep(RECONNECT_INTERVAL).await;
    }
}

/// Shows what is asked and takes answers, until the daemon is gone.
async fn run_until_disconnected(
    here: &ApprovalsCommandContext,
    desk: &mut ApprovalPromptQueue,
    lines: &mut mpsc::Receiver<String>,
) -> anyhow::Result<()> {
    let clock = Clock::system();
    // The place comes first: what is asked in between is then met twice, never not at all.
    let place = fetch_latest_seq(&here.client).await?;
    let stream = here
        .only
        .as_ref()
        .map_or_else(String::new, |project| format!("&stream=project/{}", project.id.uuid()));
    let follow = here.client.get_stream(&format!("/api/events?after={place}{stream}")).await?;
    let open = here.fetch_approvals(false).await?;
    desk.set_project_names(here.fetch_project_names().await?);
    apply_effects(here, desk.retain_open(&open, clock.now()), desk).await?;
    for approval in open {
        apply_effects(here, desk.add_approval(approval, clock.now()), desk).await?;
    }
    let mut chunks = follow.bytes_stream();
    let mut rest = Vec::new();
    let mut tick = interval(REMINDER_CHECK_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut typing = true;
    loop {
        let effects = tokio::select! {
            chunk = chunks.next() => {
                let Some(chunk) = chunk else { return Ok(()) };
                rest.extend_from_slice(&chunk?);
                for event in drain_sse_events(&mut rest)? {
                    let effects = handle_event(here, desk, &event).await?;
                    apply_effects(here, effects, desk).await?;
                }
                Vec::new()
            }
            typed = lines.recv(), if typing => {
                typing = typed.is_some();
                typed.map(|line| desk.handle_line(&line, clock.now())).unwrap_or_default()
            }
            _ = tick.tick() => desk.remind_expiring(clock.now()),
        };
        apply_effects(here, effects, desk).await?;
    }
}

async fn handle_event(
    here: &ApprovalsCommandContext,
    desk: &mut ApprovalPromptQueue,
    event: &Event,
) -> anyhow::Result<Vec<PromptQueueEffect>> {
    let now = Clock::system().now();
    if event.kind == "APPROVAL_ASKED" {
        // Its body may be kept beside the log, so what is open is asked for.
        let mut effects = Vec::new();
        desk.set_project_names(here.fetch_project_names().await?);
        for approval in here.fetch_approvals(false).await? {
            effects.extend(desk.add_approval(approval, now));
        }
        return Ok(effects);
    }
    Ok(match event.fact() {
        Some(Fact::ApprovalAnswered { approval, decision, message, .. }) => {
            let how = match decision {
                ApprovalAnswer::Allow => "was allowed",
                ApprovalAnswer::Deny => "was denied",
            };
            let message =
                message.map(|text| format!(": {}", sanitize_text(&text))).unwrap_or_default();
            let how = format!("{how} by {}{message}", sanitize_text(&event.principal));
            desk.remove_resolved(approval, &how, now)
        }
        Some(Fact::ApprovalExpired { approval, .. }) => {
            desk.remove_resolved(approval, "expired: it was denied", now)
        }
        Some(Fact::ApprovalWithdrawn { approval, why, .. }) => {
            desk.remove_resolved(approval, &format!("fell away: {}", sanitize_text(&why)), now)
        }
        Some(_) | None => Vec::new(),
    })
}

async fn apply_effects(
    here: &ApprovalsCommandContext,
    effects: Vec<PromptQueueEffect>,
    desk: &mut ApprovalPromptQueue,
) -> anyhow::Result<()> {
    for effect in effects {
        match effect {
            PromptQueueEffect::Print(text) => print_line(&text)?,
            PromptQueueEffect::SendAnswer(approval, answer) => {
                match here.submit_answer(&approval, &answer).await {
                    Ok(resolved) => print_stderr(&faint(&resolved.describe_outcome())),
                    Err(error) if error.is::<RequestRejected>() => {
                        desk.mark_answer_rejected();
                        print_error(&error);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(())
}
