//! The fold of turns: of a session's last one, and of each as a document of its own.

use provost_proto::Fact;
use provost_proto::session::{
    NanoDollars, SessionTurn, TokenUsage, TurnStarted, TurnStatus, TurnView,
};

use crate::fold::EventMetadata;

pub(super) fn fold_turn(
    known: Option<SessionTurn>,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> Option<SessionTurn> {
    if let Fact::TurnStarted(started) = fact {
        // A turn starts once.
        return known.or_else(|| {
            Some(SessionTurn { session: started.session, turn: new_turn(metadata, started) })
        });
    }
    let mut known = known?;
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others end a turn")]
    match fact {
        Fact::UsageRecorded(used) => add_turn_usage(&mut known.turn, used.usage, used.cost),
        Fact::TaskUsed(used) => add_turn_usage(&mut known.turn, used.usage, used.cost),
        _ => {
            let ends_this = super::ended_turn(fact).is_some_and(|(_, turn)| turn == known.turn.id);
            if ends_this && known.turn.status == TurnStatus::Running {
                end_turn(&mut known.turn, metadata, fact);
            }
        }
    }
    Some(known)
}

pub(super) fn new_turn(metadata: EventMetadata<'_>, started: &TurnStarted) -> TurnView {
    TurnView {
        id: started.turn,
        status: TurnStatus::Running,
        started_at: metadata.at,
        ended_at: None,
        principal: metadata.principal.to_owned(),
        actor: metadata.actor.clone(),
        calls: 0,
        usage: TokenUsage::default(),
        cost: 0,
        reason: None,
        fault: None,
    }
}

pub(super) fn add_turn_usage(turn: &mut TurnView, usage: TokenUsage, cost: Option<NanoDollars>) {
    turn.calls = turn.calls.saturating_add(1);
    turn.usage = turn.usage.saturating_add(usage);
    turn.cost = turn.cost.saturating_add(cost.unwrap_or(0));
}

/// Ends a running turn, with a fact that ends turns.
pub(super) fn end_turn(turn: &mut TurnView, metadata: EventMetadata<'_>, fact: &Fact) {
    turn.ended_at = Some(metadata.at);
    #[expect(clippy::wildcard_enum_match_arm, reason = "the fourth fact that ends a turn")]
    match fact {
        Fact::TurnFinished(finished) => {
            (turn.status, turn.reason) = (TurnStatus::Finished, Some(finished.reason));
        }
        Fact::TurnFailed(failed) => {
            (turn.status, turn.fault) = (TurnStatus::Failed, Some(failed.fault.clone()));
        }
        Fact::TurnCancelled(_) => turn.status = TurnStatus::Cancelled,
        _ => turn.status = TurnStatus::Interrupted,
    }
}
