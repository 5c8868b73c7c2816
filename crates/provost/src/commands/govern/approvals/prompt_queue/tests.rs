//! How the queue reacts to typed lines, new approvals and resolved ones.

use provost_proto::Approval;

use super::*;
use crate::approval_text::tests::approval;

/// The answers among the effects.
fn sent(effects: &[PromptQueueEffect]) -> Vec<(u128, ApprovalAnswer, Option<String>)> {
    let answer = |effect: &PromptQueueEffect| match effect {
        PromptQueueEffect::Print(_) => None,
        PromptQueueEffect::SendAnswer(approval, answer) => {
            Some((approval.id.uuid().as_u128(), answer.decision, answer.message.clone()))
        }
    };
    effects.iter().filter_map(answer).collect()
}

fn text(effects: &[PromptQueueEffect]) -> String {
    let printed = |effect: &PromptQueueEffect| match effect {
        PromptQueueEffect::Print(text) => text.clone(),
        PromptQueueEffect::SendAnswer(..) => String::new(),
    };
    effects.iter().map(printed).collect::<Vec<_>>().join("\n")
}

fn queue_with(approvals: &[u128]) -> ApprovalPromptQueue {
    let mut queue = ApprovalPromptQueue::new();
    for number in approvals {
        queue.add_approval(approval(*number), 0);
    }
    queue
}

fn id(number: u128) -> ApprovalId {
    approval(number).id
}

#[test]
fn the_keys_answer_the_approval_that_is_shown() {
    for (typed, decision, message) in [
        ("a", ApprovalAnswer::Allow, None),
        (" a ", ApprovalAnswer::Allow, None),
        ("s", ApprovalAnswer::Allow, None),
        ("a 1", ApprovalAnswer::Allow, None),
        ("d", ApprovalAnswer::Deny, None),
        ("m use npm ci", ApprovalAnswer::Deny, Some("use npm ci")),
        ("m 1 use npm ci", ApprovalAnswer::Deny, Some("use npm ci")),
    ] {
        let effects = queue_with(&[10, 20]).handle_line(typed, 0);
        assert_eq!(sent(&effects), [(10, decision, message.map(str::to_owned))], "{typed}");
    }
    for typed in ["", "l", "?", "x", "m", "a 9", "allow everything 1"] {
        let effects = queue_with(&[10, 20]).handle_line(typed, 0);
        let typo = typed == "allow everything 1";
        assert_eq!(sent(&effects).is_empty(), !typo, "{typed}");
    }
    assert!(text(&ApprovalPromptQueue::new().handle_line("a", 0)).contains("No pending approvals"));
}

#[test]
fn an_approval_is_shown_in_full_only_at_the_front() {
    let mut queue = ApprovalPromptQueue::new();
    let first = text(&queue.add_approval(approval(10), 0));
    assert!(first.contains("[1] Approval") && first.contains("Hash: "), "{first}");
    let second = text(&queue.add_approval(approval(20), 0));
    assert!(second.contains("Approval 2 is queued") && !second.contains("Hash: "), "{second}");
    assert!(queue.add_approval(approval(20), 0).is_empty(), "it is added once");
    assert!(text(&queue.handle_line("a 2", 0)).contains("was not shown yet"));
    assert_eq!(sent(&queue.handle_line("d 2", 0)).len(), 1, "it may be denied unseen");
    queue.handle_line("a", 0);
    let next = text(&queue.remove_resolved(id(10), "was allowed", 0));
    assert!(next.contains("Approval 1 was allowed") && next.contains("Hash: "), "{next}");
}

#[test]
fn a_key_that_was_meant_for_another_question_answers_none() {
    let mut queue = queue_with(&[10, 20]);
    // Someone else answers the first while the person types.
    let shown = text(&queue.remove_resolved(id(10), "was denied by local:bob", 0));
    assert!(shown.contains("a 2"), "{shown}");
    for typed in ["a", "s", "d", "m why"] {
        assert!(sent(&queue.handle_line(typed, 0)).is_empty(), "{typed}");
    }
    assert_eq!(sent(&queue.handle_line("a 2", 0)).len(), 1);
    // After their own answer, the next one is the one they look at.
    queue.remove_resolved(id(20), "was allowed", 0);
    queue.add_approval(approval(30), 0);
    assert_eq!(sent(&queue.handle_line("a", 0)).len(), 1);
    // Someone else resolved the last one, and a new one arrived.
    queue.mark_answer_rejected();
    queue.remove_resolved(id(30), "expired", 0);
    queue.add_approval(approval(40), 0);
    assert!(sent(&queue.handle_line("a", 0)).is_empty());
}

#[test]
fn a_scope_that_is_not_offered_is_not_sent() {
    let mut queue = ApprovalPromptQueue::new();
    let mut gated: Approval = approval(10);
    gated.question.choices.truncate(1);
    queue.add_approval(gated, 0);
    assert!(text(&queue.handle_line("s", 0)).contains("cannot be allowed with scope `session`"));
}

#[test]
fn there_is_a_key_for_every_answer_that_is_offered() {
    let offers = |scopes: &[AnswerScope]| {
        let mut offered: Approval = approval(10);
        let choice = |scope: &AnswerScope| provost_proto::ApprovalChoice {
            scope: *scope,
            remembers: "this".to_owned(),
            rule: None,
        };
        offered.question.choices = scopes.iter().map(choice).collect();
        let mut queue = ApprovalPromptQueue::new();
        let shown = text(&queue.add_approval(offered, 0));
        (queue, shown)
    };
    let all = [AnswerScope::Once, AnswerScope::Session, AnswerScope::Until, AnswerScope::Always];
    for (typed, scope, minutes) in [
        ("a", AnswerScope::Once, None),
        ("s", AnswerScope::Session, None),
        ("u 30", AnswerScope::Until, Some(30)),
        ("u 1 30", AnswerScope::Until, Some(30)),
        ("w", AnswerScope::Always, None),
        ("w 1", AnswerScope::Always, None),
    ] {
        let (mut queue, shown) = offers(&all);
        assert!(shown.contains("u 30:") && shown.contains("w:"), "{shown}");
        match &queue.handle_line(typed, 0)[..] {
            [PromptQueueEffect::SendAnswer(_, answer)] => {
                assert_eq!((answer.scope, answer.minutes), (Some(scope), minutes), "{typed}");
            }
            other => panic!("{typed}: {other:?}"),
        }
    }
    for typed in ["u", "u x", "u 1 x"] {
        assert!(
            text(&offers(&all).0.handle_line(typed, 0)).contains("number of minutes"),
            "{typed}"
        );
    }
    let (mut queue, shown) = offers(&all[..1]);
    assert!(shown.contains("a:") && !shown.contains("w:") && !shown.contains("u 30"), "{shown}");
    assert!(
        sent(&queue.handle_line("w", 0)).is_empty()
            && sent(&queue.handle_line("u 5", 0)).is_empty()
    );
}

#[test]
fn an_expiring_approval_is_reminded_of_twice() {
    let mut queue = queue_with(&[10]);
    let at = |seconds: u64| seconds * 1_000_000;
    for (seconds, reminders) in [(0, 0), (500, 0), (601, 1), (605, 0), (841, 1), (850, 0), (899, 0)]
    {
        assert_eq!(queue.remind_expiring(at(seconds)).len(), reminders, "at {seconds} s");
    }
}

#[test]
fn after_a_reconnect_resolved_approvals_are_removed() {
    let mut queue = queue_with(&[10, 20]);
    let printed = text(&queue.retain_open(&[approval(20)], 0));
    assert!(printed.contains("Approval 1 was resolved in the meantime"), "{printed}");
    assert!(sent(&queue.handle_line("a", 0)).is_empty(), "the user did not answer it");
}
