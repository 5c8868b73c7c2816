//! The fold of actions.

use provost_proto::{ActionStatus, ActionView, Actor, AgentInput, Fact, limits};

use super::EventMetadata;

/// The action of an event that records a read.
pub fn read_action_view(metadata: EventMetadata<'_>, fact: &Fact) -> Option<ActionView> {
    if let Fact::ActionRead { .. } = fact { new_action(metadata, fact) } else { None }
}

pub(super) fn new_action(metadata: EventMetadata<'_>, fact: &Fact) -> Option<ActionView> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact creates an action")]
    let (id, project, name, what, action_hash, role, outcome) = match fact {
        Fact::ActionRequested { action, project, name, what, action_hash, role, .. } => {
            (action, project, name, what, action_hash, role, None)
        }
        Fact::ActionRead { action, project, name, what, action_hash, role, outcome, .. } => {
            (action, project, name, what, action_hash, role, Some(outcome.clone()))
        }
        _ => return None,
    };
    let read = outcome.is_some();
    Some(ActionView {
        id: *id,
        project: *project,
        name: name.clone(),
        what: what.clone(),
        principal: metadata.principal.to_owned(),
        status: if read { ActionStatus::Finished } else { ActionStatus::Requested },
        role: role.clone(),
        approval: None,
        action_hash: *action_hash,
        requested_at: metadata.at,
        finished_at: read.then_some(metadata.at),
        outcome,
        input: agent_input(metadata, fact),
        result: None,
        gone: None,
    })
}

/// What an agent types into the terminal with an action.
fn agent_input(metadata: EventMetadata<'_>, fact: &Fact) -> Option<AgentInput> {
    let Fact::ActionRequested { name, params, .. } = fact else { return None };
    let Actor::Agent(_) = metadata.actor else { return None };
    if name != "pty.write" {
        return None;
    }
    let text = params.get("text")?.as_str()?;
    let text = text.chars().take(limits::MAX_AGENT_INPUT_CHARS).collect();
    Some(AgentInput { actor: metadata.actor.clone(), text })
}

pub(super) fn update_action(action: &mut ActionView, metadata: EventMetadata<'_>, fact: &Fact) {
    // A denied or finished action does not change any more.
    if let ActionStatus::Denied | ActionStatus::Finished = action.status {
        return;
    }
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact changes an action")]
    match fact {
        Fact::ActionFinished { outcome, .. } => {
            action.status = ActionStatus::Finished;
            action.finished_at = Some(metadata.at);
            action.outcome = Some(outcome.clone());
        }
        Fact::ActionWaiting { approval, .. } => {
            action.status = ActionStatus::Waiting;
            action.approval = Some(*approval);
        }
        Fact::ActionDenied { .. } => action.status = ActionStatus::Denied,
        Fact::ActionAllowed { .. } => action.status = ActionStatus::Allowed,
        Fact::ActionStarted { .. } => action.status = ActionStatus::Running,
        _ => {}
    }
}
