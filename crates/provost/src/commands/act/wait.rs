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

use crate::client::Client;
use crate::commands::events::{newest, take_events};
use crate::commands::place::short;
use crate::output::{faint, plain, remark};

/// How long the daemon may hold the answer back, in milliseconds.
const HOUR: u64 = 3_600_000;

/// What a person should know who waits for an action.
pub(super) fn told(id: ActionId, fact: &Fact) -> Option<String> {
    if let Fact::ActionWaiting { action, approval } = fact
        && *action == id
    {
        return Some(waits(*approval));
    }
    if let Fact::ActionAllowed { action, by, why, .. } = fact
        && *action == id
        && *why != Some(AllowedBy::Operator)
    {
        return Some(format!("Allowed by {}.", plain(by)));
    }
    None
}

/// That it waits, and how to answer.
pub(super) fn waits(approval: ApprovalId) -> String {
    let id = short(&approval.to_string());
    format!(
        "It waits for a person: {approval}\n`provost approvals allow {id}` shows it and lets it \
         run, `provost approvals deny {id}` refuses it. Ctrl-C takes it back."
    )
}

/// The outcome of an action that was denied.
pub(super) fn never_began(fault: ErrorInfo) -> ActionOutcome {
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
pub(super) async fn for_a_person(
    client: &Client,
    project: &Project,
    path: &str,
    wanted: &SubmitActionRequest,
) -> anyhow::Result<Option<ActionResponse>> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    // Our own events are known by the key under which we ask.
    let key = Clock::system().new_id::<ActionId>().to_string();
    let place = newest(client).await?;
    let stream = format!("/api/events?stream=project/{}&after={place}", project.id.uuid());
    let mut chunks = client.stream(&stream).await?.bytes_stream();
    let path = format!("{path}?wait={HOUR}");
    let asking = client.post_once::<ActionResponse>(&path, &key, wanted);
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
                for event in take_events(&mut rest)? {
                    let Some(fact) = event.fact() else { continue };
                    if let Fact::ActionWaiting { action, .. } = fact
                        && event.command.as_ref() == Some(&key)
                    {
                        ours = Some(action);
                        if cancelled {
                            cancel(client, action).await?;
                        }
                    }
                    if let Some(words) = ours.and_then(|id| told(id, &fact)) {
                        remark(&faint(&words));
                    }
                }
            }
            _ = interrupts.recv() => {
                if cancelled {
                    return Ok(None);
                }
                remark(&faint("Taking it back; press Ctrl-C again to leave."));
                cancelled = true;
                if let Some(id) = ours {
                    cancel(client, id).await?;
                }
            }
        }
    }
}

async fn cancel(client: &Client, id: ActionId) -> anyhow::Result<()> {
    client.tell(Method::POST, &format!("/api/actions/{}/cancel", id.uuid())).await
}
