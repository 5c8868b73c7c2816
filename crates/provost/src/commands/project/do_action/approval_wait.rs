//! Waits for the approval of an action in a role.

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
use crate::commands::audit::events::{drain_sse_events, fetch_head_cursor};
use crate::commands::lookup::short_id;
use crate::output::{faint, print_stderr, sanitize_text};

/// How long the daemon may delay its response, in milliseconds.
const MAX_WAIT_MS: u64 = 3_600_000;

/// A message about the progress of an action, if the event is one.
pub(super) fn describe_progress(id: ActionId, fact: &Fact) -> Option<String> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all other facts are no progress of a waiting action"
    )]
    match fact {
        Fact::ActionWaiting { action, approval } if *action == id => {
            Some(describe_pending_approval(*approval))
        }
        Fact::ActionAllowed { action, by, why, .. }
            if *action == id && *why != Some(AllowedBy::Operator) =>
        {
            Some(format!("Allowed by {}.", sanitize_text(by)))
        }
        _ => None,
    }
}

/// Says that the action waits for an approval, and how to answer it.
pub(super) fn describe_pending_approval(approval: ApprovalId) -> String {
    let id = short_id(&approval.to_string());
    format!(
        "Waiting for approval: {approval}\n`provost approvals allow {id}` shows and allows it, \
         `provost approvals deny {id}` denies it. Ctrl-C cancels the action."
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

/// Requests an action and waits for its end; prints what it waits for. `None` if the
/// user stopped waiting.
pub(super) async fn request_and_await_outcome(
    client: &DaemonClient,
    project: &Project,
    path: &str,
    request: &SubmitActionRequest,
) -> anyhow::Result<Option<ActionResponse>> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    // The idempotency key identifies the events of this request.
    let key = Clock::system().new_id::<ActionId>().to_string();
    let after = fetch_head_cursor(client).await?;
    let stream = format!("/api/events?stream=project/{}&after={after}", project.id.uuid());
    let mut chunks = client.get_stream(&stream).await?.bytes_stream();
    let path = format!("{path}?wait={MAX_WAIT_MS}");
    let response = client.post_idempotent::<ActionResponse>(&path, &key, request);
    tokio::pin!(response);
    let (mut rest, mut ours, mut following, mut cancelled) = (Vec::new(), None, true, false);
    loop {
        tokio::select! {
            answer = &mut response => {
                let answer = answer?;
                if answer.status == ActionStatus::Waiting {
                    anyhow::bail!("no answer for an hour; {} is still waiting for approval", answer.action_id);
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
                    if let Some(progress) = ours.and_then(|id| describe_progress(id, &fact)) {
                        print_stderr(&faint(&progress));
                    }
                }
            }
            _ = interrupts.recv() => {
                if cancelled {
                    return Ok(None);
                }
                print_stderr(&faint("Cancelling the action; press Ctrl-C again to stop waiting."));
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
