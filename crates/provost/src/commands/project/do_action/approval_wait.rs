//! Waiting for a person who decides about an action in a role.

use futures::StreamExt;
use provost_proto::kernel::{ActionOutcome, ErrorInfo};
use provost_proto::{
    ActionId, ActionResponse, ActionStatus, AllowedBy, ApprovalId, Fact, Project,
    SubmitActionRequest,
};
use provost_store::Clock;
use reqwest::Method;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use crate::client::DaemonClient;
use crate::commands::audit::events::{drain_sse_events, fetch_latest_seq};
use crate::commands::lookup::short_id;
use crate::output::{faint, print_stderr, sanitize_text};

/// How long the daemon may hold the answer back, in milliseconds.
const MAX_WAIT_MS: u64 = 3_600_000;

/// What a person should know who waits for an action.
pub(super) fn describe_progress(id: ActionId, fact: &Fact) -> Option<String> {
    if let Fact::ActionWaiting { action, approval } = fact
        && *action == id
    {
        return Some(describe_pending_approval(*approval));
    }
    if let Fact::ActionAllowed { action, by, why, .. } = fact
        && *action == id
        && *why != Some(AllowedBy::Operator)
    {
        return Some(format!("Allowed by {}.", sanitize_text(by)));
    }
    None
}

/// That it waits, and how to answer.
pub(super) fn describe_pending_approval(approval: ApprovalId) -> String {
    let id = short_id(&approval.to_string());
    format!(
        "It waits for a person: {approval}\n`provost approvals allow {id}` shows it and lets it \
         run, `provost approvals deny {id}` refuses it. Ctrl-C takes it back."
    )
}

/// The outcome of an action that was denied.
pub(super) fn outcome_from_denial(fault: ErrorInfo) -> ActionOutcome {
    ActionOutcome {
        exit_code: None,
        signal: None,
        duration_ms: 0,
        fault: Some(fault),
        summary: Value::Null,
    }
}

/// Asks for an action that is answered when it has ended, and tells meanwhile
/// what it waits for. None if the person gave up.
pub(super) async fn request_and_await_outcome(
    client: &DaemonClient,
    project: &Project,
    path: &str,
    wanted: &SubmitActionRequest,
) -> anyhow::Result<Option<ActionResponse>> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    // Our own events are known by the key under which we ask.
    let key = Clock::system().new_id::<ActionId>().to_string();
    let place = fetch_latest_seq(client).await?;
    let stream = format!("/api/events?stream=project/{}&after={place}", project.id.uuid());
    let mut chunks = client.get_stream(&stream).await?.bytes_stream();
    let path = format!("{path}?wait={MAX_WAIT_MS}");
    let asking = client.post_idempotent::<ActionResponse>(&path, &key, wanted);
    tokio::pin!(asking);
    let (mut rest, mut ours, mut following, mut cancelled) = (Vec::new(), None, true, false);
    loop {
        tokio::select! {
            answer = &mut asking => {
                let answer = answer?;
                if answer.status == ActionStatus::Waiting {
                    anyhow::bail!("nobody answered for an hour; {} still waits", answer.action_id);
                }
                return Ok(Some(answer));
            }
            chunk = chunks.next(), if following => {
                let Some(Ok(chunk)) = chunk else { following = false; continue };
                rest.extend_from_slice(&chunk);
                for event in drain_sse_events(&mut rest)? {
                    let Some(fact) = event.fact() else { continue };
                    if let Fact::ActionWaiting { action, .. } = fact
                        && event.command.as_ref() == Some(&key)
                    {
                        ours = Some(action);
                        if cancelled {
                            cancel_action(client, action).await?;
                        }
                    }
                    if let Some(words) = ours.and_then(|id| describe_progress(id, &fact)) {
                        print_stderr(&faint(&words));
                    }
                }
            }
            _ = interrupts.recv() => {
                if cancelled {
                    return Ok(None);
                }
                print_stderr(&faint("Taking it back; press Ctrl-C again to leave."));
                cancelled = true;
                if let Some(id) = ours {
                    cancel_action(client, id).await?;
                }
            }
        }
    }
}

async fn cancel_action(client: &DaemonClient, id: ActionId) -> anyhow::Result<()> {
    client.send_no_content(Method::POST, &format!("/api/actions/{}/cancel", id.uuid())).await
}
