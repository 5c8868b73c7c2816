//! How the queue reacts to typed lines, new approvals and resolved ones.

use provost_proto::Approval;

use super::*;
use crate::approval_text::tests::approval;

/// The answers among the effects.
fn sent(effects: &[PromptQueueEffect]) -> Vec<(u128, ApprovalAnswer, Option<String>)> {
    let answer = |effect: &PromptQueueEffect| match effect {
        PromptQueueEffect::Print(_) | PromptQueueEffect::ShowFront(_) => None,
        PromptQueueEffect::SendAnswer(approval, answer) => {
            Some((approval.id.uuid().as_u128(), answer.decision, answer.message.clone()))
        }
    };
    effects.iter().filter_map(answer).collect()
}

fn text(effects: &[PromptQueueEffect]) -> String {
    let printed = |effect: &PromptQueueEffect| match effect {
        PromptQueueEffect::Print(text) | PromptQueueEffect::ShowFront(text) => text.clone(),
        PromptQueueEffect::SendAnswer(..) => String::new(),
    };
    effects.iter().map(printed).collect::<Vec<_>>().join("\n")
}

/// Types a line after the front approval was shown long enough.
fn type_line(queue: &mut ApprovalPromptQueue, text: &str) -> Vec<PromptQueueEffect> {
    let at = Instant::now();
    queue.open_for_answer(at);
    queue.handle_line(&TypedLine { text: text.to_owned(), at }, 0)
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
        let effects = type_line(&mut queue_with(&[10, 20]), typed);
        assert_eq!(sent(&effects), [(10, decision, message.map(str::to_owned))], "{typed}");
    }
    for typed in ["", "l", "?", "x", "m", "a 9", "allow everything 1"] {
        let effects = type_line(&mut queue_with(&[10, 20]), typed);
        let typo = typed == "allow everything 1";
        assert_eq!(sent(&effects).is_empty(), !typo, "{typed}");
    }
    assert!(
        text(&type_line(&mut ApprovalPromptQueue::new(), "a")).contains("No pending approvals")
    );
}

#[test]
fn an_approval_is_shown_in_full_only_at_the_front() {
    let mut queue = ApprovalPromptQueue::new();
    let first = text(&queue.add_approval(approval(10), 0));
    assert!(first.contains("[1] Approval") && first.contains("Hash: "), "{first}");
    let second = text(&queue.add_approval(approval(20), 0));
    assert!(second.contains("Approval 2 is queued") && !second.contains("Hash: "), "{second}");
    assert!(queue.add_approval(approval(20), 0).is_empty(), "it is added once");
    assert!(text(&type_line(&mut queue, "a 2")).contains("was not shown yet"));
    assert_eq!(sent(&type_line(&mut queue, "d 2")).len(), 1, "it may be denied unseen");
    type_line(&mut queue, "a");
    let next = text(&queue.remove_resolved(id(10), "was allowed", 0));
    assert!(next.contains("Approval 1 was allowed") && next.contains("Hash: "), "{next}");
}

#[test]
fn a_key_that_was_meant_for_another_question_answers_none() {
    let mut queue = queue_with(&[10, 20]);
    // Someone else answers the first while the person types.
    queue.remove_resolved(id(10), "was denied by local:bob", 0);
    let keys = text(&queue.open_for_answer(Instant::now()));
    assert!(keys.contains("a 2"), "{keys}");
    for typed in ["a", "s", "d", "m why"] {
        assert!(sent(&type_line(&mut queue, typed)).is_empty(), "{typed}");
    }
    assert_eq!(sent(&type_line(&mut queue, "a 2")).len(), 1);
    // After their own answer, the next one is the one they look at.
    queue.remove_resolved(id(20), "was allowed", 0);
    queue.add_approval(approval(30), 0);
    assert_eq!(sent(&type_line(&mut queue, "a")).len(), 1);
    // Someone else resolved the last one, and a new one arrived.
    queue.mark_answer_rejected();
    queue.remove_resolved(id(30), "expired", 0);
    queue.add_approval(approval(40), 0);
    assert!(sent(&type_line(&mut queue, "a")).is_empty());
}

#[test]
fn an_approval_is_answered_once_and_again_if_the_answer_was_rejected() {
    let mut queue = queue_with(&[10, 20]);
    assert_eq!(sent(&type_line(&mut queue, "a")).len(), 1);
    assert!(sent(&type_line(&mut queue, "a")).is_empty());
    queue.mark_answer_rejected();
    assert_eq!(sent(&type_line(&mut queue, "a")).len(), 1);
    assert!(sent(&type_line(&mut queue, "d")).is_empty());
    queue.remove_resolved(id(10), "was allowed", 0);
    let keys = text(&queue.open_for_answer(Instant::now()));
    assert!(keys.contains("a: allow once"), "the next one is expected: {keys}");
}

#[test]
fn a_scope_that_is_not_offered_is_not_sent() {
    let mut queue = ApprovalPromptQueue::new();
    let mut gated: Approval = approval(10);
    gated.question.choices.truncate(1);
    queue.add_approval(gated, 0);
    assert!(text(&type_line(&mut queue, "s")).contains("cannot be allowed with scope `session`"));
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
        queue.add_approval(offered, 0);
        let shown = text(&queue.open_for_answer(Instant::now()));
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
        match &type_line(&mut queue, typed)[..] {
            [PromptQueueEffect::SendAnswer(_, answer)] => {
                assert_eq!((answer.scope, answer.minutes), (Some(scope), minutes), "{typed}");
            }
            other => panic!("{typed}: {other:?}"),
        }
    }
    for typed in ["u", "u x", "u 1 x"] {
        assert!(
            text(&type_line(&mut offers(&all).0, typed)).contains("number of minutes"),
            "{typed}"
        );
    }
    let (mut queue, shown) = offers(&all[..1]);
    assert!(shown.contains("a:") && !shown.contains("w:") && !shown.contains("u 30"), "{shown}");
    assert!(
        sent(&type_line(&mut queue, "w")).is_empty()
            && sent(&type_line(&mut queue, "u 5")).is_empty()
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
    assert!(sent(&type_line(&mut queue, "a")).is_empty(), "the user did not answer it");
}

fn gated_approval(number: u128) -> Approval {
    let mut gated = approval(number);
    gated.question.gate = Some("it rewrites history".to_owned());
    gated
}

#[test]
fn what_was_typed_before_an_approval_could_be_read_answers_none() {
    let mut queue = queue_with(&[10]);
    queue.add_approval(gated_approval(20), 0);
    let typed_at = Instant::now();
    let early = |text: &str| TypedLine { text: text.to_owned(), at: typed_at };
    for text in ["a", "d", "dangerous", "a 1", "d 2"] {
        let effects = queue.handle_line(&early(text), 0);
        assert!(sent(&effects).is_empty(), "not printed yet: {text}");
    }
    queue.mark_front_shown(typed_at);
    assert!(sent(&queue.handle_line(&early("a"), 0)).is_empty(), "just printed");
    let opened = typed_at + std::time::Duration::from_millis(500);
    queue.open_for_answer(opened);
    assert!(sent(&queue.handle_line(&early("a"), 0)).is_empty(), "typed before");
    let line = TypedLine { text: "a".to_owned(), at: opened };
    assert_eq!(sent(&queue.handle_line(&line, 0)).len(), 1);
    // The next one is shown, and the second line was typed at the same time as the first.
    queue.remove_resolved(id(10), "was allowed", 0);
    assert!(sent(&queue.handle_line(&line, 0)).is_empty());
}

#[test]
fn a_hard_gate_is_allowed_by_its_own_word_only() {
    let mut queue = ApprovalPromptQueue::new();
    queue.add_approval(gated_approval(10), 0);
    for typed in ["a", "allow", "s", "u 5", "w", "a 1"] {
        let effects = type_line(&mut queue, typed);
        assert!(sent(&effects).is_empty() && text(&effects).contains("`dangerous`"), "{typed}");
    }
    assert_eq!(sent(&type_line(&mut queue, "dangerous 1")).len(), 1);
    let mut queue = queue_with(&[20]);
    assert!(sent(&type_line(&mut queue, "dangerous")).is_empty(), "it is a word for gates only");
}

#[test]
fn what_waits_is_ordered_by_gravity() {
    let mut queue = queue_with(&[10, 20]);
    let mut online = approval(30);
    online.question.network = true;
    queue.add_approval(online, 0);
    queue.add_approval(gated_approval(40), 0);
    queue.add_approval(approval(50), 0);
    let listed = text(&type_line(&mut queue, "l"));
    let numbers: Vec<_> = listed.lines().filter_map(|line| line.get(..3)).collect();
    assert_eq!(numbers, ["[1]", "[4]", "[3]", "[2]", "[5]"], "{listed}");
}
