//! The fold of the completion that a model is streaming.

use provost_proto::session::{
    CompletionDraft, CompletionPurpose, DraftToolCall, PendingRetry, ToolDelta,
};
use provost_proto::{Fact, SessionId, TurnId, limits};

use crate::fold::EventMetadata;

pub(super) fn fold_draft(
    draft: Option<CompletionDraft>,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> Option<CompletionDraft> {
    let of_turn = |draft: Option<CompletionDraft>, session, turn| {
        draft.filter(|draft| draft.turn == turn).unwrap_or_else(|| empty_draft(session, turn))
    };
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact changes a draft")]
    match fact {
        Fact::TurnStarted(t) => Some(empty_draft(t.session, t.turn)),
        Fact::TextDelta(d) => {
            let mut draft = of_turn(draft, d.session, d.turn);
            draft.text.push_str(&d.text);
            Some(CompletionDraft { retrying: None, ..draft })
        }
        Fact::ReasoningDelta(d) => {
            let mut draft = of_turn(draft, d.session, d.turn);
            draft.reasoning.push_str(&d.text);
            Some(CompletionDraft { retrying: None, ..draft })
        }
        Fact::ToolDelta(d) => {
            let mut draft = of_turn(draft, d.session, d.turn);
            append_tool_delta(&mut draft.calls, d);
            Some(CompletionDraft { retrying: None, ..draft })
        }
        Fact::AttemptFailed(a) => {
            let at = metadata.at.saturating_add(a.retry_in_ms.saturating_mul(1000));
            let retrying = Some(PendingRetry { attempt: a.attempt, at, why: a.why.clone() });
            let mut draft = of_turn(draft, a.session, a.turn);
            let bytes = unpaid_bytes(&draft);
            if bytes > 0 || a.charged {
                draft.broken_attempts.push(bytes);
            }
            Some(CompletionDraft { retrying, ..draft })
        }
        Fact::AttemptRestarted(a) => {
            let mut draft = of_turn(draft, a.session, a.turn);
            let bytes = unpaid_bytes(&draft);
            if bytes > 0 {
                draft.broken_attempts.push(bytes);
            }
            let broken_attempts = draft.broken_attempts;
            Some(CompletionDraft { broken_attempts, ..empty_draft(a.session, a.turn) })
        }
        // All its attempts are paid for.
        Fact::UsageRecorded(u) if u.purpose == CompletionPurpose::Answer => {
            draft.map(|draft| CompletionDraft { broken_attempts: Vec::new(), ..draft })
        }
        // The complete message is an item now, so the draft is empty again.
        Fact::MessageAdded(m) => {
            draft.map(|draft| empty_draft(m.session, m.turn.unwrap_or(draft.turn)))
        }
        _ => draft,
    }
}

fn empty_draft(session: SessionId, turn: TurnId) -> CompletionDraft {
    let (reasoning, text, calls) = (String::new(), String::new(), Vec::new());
    let broken_attempts = Vec::new();
    CompletionDraft { session, turn, reasoning, text, calls, retrying: None, broken_attempts }
}

/// The bytes that the current attempt streamed. While a retry is pending there is no attempt:
/// what is shown is that of the last one, which is counted already.
pub fn unpaid_bytes(draft: &CompletionDraft) -> u64 {
    if draft.retrying.is_some() {
        return 0;
    }
    let calls = draft.calls.iter().map(|call| call.tool.len() + call.arguments.len());
    let bytes = draft.text.len() + draft.reasoning.len() + calls.sum::<usize>();
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn append_tool_delta(calls: &mut Vec<DraftToolCall>, delta: &ToolDelta) {
    let at = usize::try_from(delta.index).unwrap_or(usize::MAX).min(limits::MAX_TOOL_CALLS);
    while calls.len() <= at {
        calls.push(DraftToolCall { tool: String::new(), arguments: String::new() });
    }
    if let Some(call) = calls.get_mut(at) {
        call.arguments.push_str(&delta.text);
        if let Some(tool) = &delta.tool {
            call.tool.clone_from(tool);
        }
    }
}
