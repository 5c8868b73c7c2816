//! `provost approvals watch`: shows approvals as they are requested, and reads answers.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures::StreamExt;
use provost_proto::{Approval, ApprovalAnswer, Event, Fact, Health};
use provost_store::Clock;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::ApprovalsCommandContext;
use super::prompt_queue::{ApprovalPromptQueue, PromptQueueEffect, gravity_order};
use crate::client::{DaemonClient, RequestRejected};
use crate::commands::audit::events::{drain_sse_events, fetch_head_cursor};
use crate::config::Config;
use crate::output::{faint, print_error, print_line, print_stderr, sanitize_text};
use crate::typed_answer::{TypedLine, discard_typed_input, spawn_line_reader};

/// Typed lines that are buffered.
const LINE_CHANNEL_CAPACITY: usize = 8;

/// Interval between checks for approvals that expire soon.
const REMINDER_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Interval between attempts to reconnect.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(500);

pub(super) async fn run(
    mut context: ApprovalsCommandContext,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    let mut lines = spawn_line_reader(LINE_CHANNEL_CAPACITY);
    let mut queue = ApprovalPromptQueue::new();
    print_line(&faint("Waiting for approvals; Ctrl-C exits."))?;
    loop {
        tokio::select! {
            ended = run_until_disconnected(&context, &mut queue, &mut lines) => match ended {
                Err(error) if error.is::<RequestRejected>() => return Err(error),
                Err(error) if error.is::<crate::output::OutputClosed>() => return Err(error),
                Ok(()) | Err(_) => {}
            },
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
        }
        print_stderr(&faint("Lost the connection to the daemon; waiting for it."));
        tokio::select! {
            client = wait_for_daemon(config) => context.client = client?,
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
        }
    }
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

/// Shows approvals and sends answers until the connection is lost.
async fn run_until_disconnected(
    context: &ApprovalsCommandContext,
    queue: &mut ApprovalPromptQueue,
    lines: &mut mpsc::Receiver<TypedLine>,
) -> anyhow::Result<()> {
    let clock = Clock::system();
    // The cursor is read first: an approval in between is then seen twice, never missed.
    let after = fetch_head_cursor(&context.client).await?;
    let stream = context
        .only
        .as_ref()
        .map_or_else(String::new, |project| format!("&stream=project/{}", project.id.uuid()));
    let follow = context.client.get_stream(&format!("/api/events?after={after}{stream}")).await?;
    let open = fetch_by_gravity(context).await?;
    queue.set_project_names(context.fetch_project_names().await?);
    apply_effects(context, queue.retain_open(&open, clock.now()), queue).await?;
    for approval in open {
        apply_effects(context, queue.add_approval(approval, clock.now()), queue).await?;
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
                    let effects = handle_event(context, queue, &event).await?;
                    apply_effects(context, effects, queue).await?;
                }
                Vec::new()
            }
            typed = lines.recv(), if typing => {
                typing = typed.is_some();
                typed.map(|line| queue.handle_line(&line, clock.now())).unwrap_or_default()
            }
            () = queue.window().wait_until_answerable() => {
                discard_typed_input()?;
                queue.open_for_answer(Instant::now())
            }
            _ = tick.tick() => queue.remind_expiring(clock.now()),
        };
        apply_effects(context, effects, queue).await?;
    }
}

/// The pending approvals, the gravest first.
async fn fetch_by_gravity(context: &ApprovalsCommandContext) -> anyhow::Result<Vec<Approval>> {
    let mut approvals = context.fetch_pending().await?;
    approvals.sort_by_key(gravity_order);
    Ok(approvals)
}

async fn handle_event(
    context: &ApprovalsCommandContext,
    queue: &mut ApprovalPromptQueue,
    event: &Event,
) -> anyhow::Result<Vec<PromptQueueEffect>> {
    let now = Clock::system().now();
    if event.kind == "APPROVAL_ASKED" {
        // The event may be sent without its body, so the pending approvals are fetched.
        let mut effects = Vec::new();
        queue.set_project_names(context.fetch_project_names().await?);
        for approval in fetch_by_gravity(context).await? {
            effects.extend(queue.add_approval(approval, now));
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
            queue.remove_resolved(approval, &how, now)
        }
        Some(Fact::ApprovalExpired { approval, .. }) => {
            queue.remove_resolved(approval, "expired, so the action was denied", now)
        }
        Some(Fact::ApprovalWithdrawn { approval, why, .. }) => {
            queue.remove_resolved(approval, &format!("was withdrawn: {}", sanitize_text(&why)), now)
        }
        Some(_) | None => Vec::new(),
    })
}

async fn apply_effects(
    context: &ApprovalsCommandContext,
    effects: Vec<PromptQueueEffect>,
    queue: &mut ApprovalPromptQueue,
) -> anyhow::Result<()> {
    for effect in effects {
        match effect {
            PromptQueueEffect::Print(text) => print_line(&text)?,
            PromptQueueEffect::ShowFront(text) => {
                print_line(&text)?;
                queue.mark_front_shown(Instant::now());
            }
            PromptQueueEffect::SendAnswer(approval, answer) => {
                match context.submit_answer(&approval, &answer).await {
                    Ok(resolved) => print_stderr(&faint(&resolved.describe_outcome())),
                    Err(error) if error.is::<RequestRejected>() => {
                        queue.mark_answer_rejected();
                        print_error(&error);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(())
}
