//! What the desk does with what is typed, asked and resolved.

use provost_proto::Approval;

use super::*;
use crate::approval_text::tests::approval;

/// What a desk did: `say` for each text, and the answers it sent.
fn sent(effects: &[PromptQueueEffect]) -> Vec<(u128, ApprovalAnswer, Option<String>)> {
    let of = |effect: &PromptQueueEffect| match effect {
        PromptQueueEffect::Print(_) => None,
        PromptQueueEffect::SendAnswer(approval, answer) => {
            Some((approval.id.uuid().as_u128(), answer.decision, answer.message.clone()))
        }
    };
    effects.iter().filter_map(of).collect()
}

fn text(effects: &[PromptQueueEffect]) -> String {
    let of = |effect: &PromptQueueEffect| match effect {
        PromptQueueEffect::Print(text) => text.clone(),
        PromptQueueEffect::SendAnswer(..) => String::new(),
    };
    effects.iter().map(of).collect::<Vec<_>>().join("\n")
}

fn desk(questions: &[u128]) -> ApprovalPromptQueue {
    let mut desk = ApprovalPromptQueue::new();
    for number in questions {
        desk.add_approval(approval(*number), 0);
    }
    desk
}

fn id(number: u128) -> ApprovalId {
    approval(number).id
}

#[test]
fn the_keys_answer_the_question_that_is_shown() {
    for (typed, decision, message) in [
        ("a", ApprovalAnswer::Allow, None),
        (" a ", ApprovalAnswer::Allow, None),
        ("s", ApprovalAnswer::Allow, None),
        ("a 1", ApprovalAnswer::Allow, None),
        ("d", ApprovalAnswer::Deny, None),
        ("m use npm ci", ApprovalAnswer::Deny, Some("use npm ci")),
        ("m 1 use npm ci", ApprovalAnswer::Deny, Some("use npm ci")),
    ] {
        let effects = desk(&[10, 20]).handle_line(typed, 0);
        assert_eq!(sent(&effects), [(10, decision, message.map(str::to_owned))], "{typed}");
    }
    for typed in ["", "l", "?", "x", "m", "a 9", "allow everything 1"] {
        let effects = desk(&[10, 20]).handle_line(typed, 0);
        let typo = typed == "allow everything 1";
        assert_eq!(sent(&effects).is_empty(), !typo, "{typed}");
    }
    assert!(text(&ApprovalPromptQueue::new().handle_line("a", 0)).contains("Nobody asks"));
}

#[test]
fn a_question_is_shown_in_full_only_when_its_turn_comes() {
    let mut desk = ApprovalPromptQueue::new();
    let first = text(&desk.add_approval(approval(10), 0));
    assert!(first.contains("[1] Question") && first.contains("Hash: "), "{first}");
    let second = text(&desk.add_approval(approval(20), 0));
    assert!(second.contains("Question 2 waits") && !second.contains("Hash: "), "{second}");
    assert!(desk.add_approval(approval(20), 0).is_empty(), "the same question comes once");
    assert!(text(&desk.handle_line("a 2", 0)).contains("was not shown yet"));
    assert_eq!(sent(&desk.handle_line("d 2", 0)).len(), 1, "refusing takes no reading");
    desk.handle_line("a", 0);
    let next = text(&desk.remove_resolved(id(10), "was allowed", 0));
    assert!(next.contains("Question 1 was allowed") && next.contains("Hash: "), "{next}");
}

#[test]
fn a_key_that_was_meant_for_another_question_answers_none() {
    let mut desk = desk(&[10, 20]);
    // Someone else answers the first while the person types.
    let shown = text(&desk.remove_resolved(id(10), "was denied by local:bob", 0));
    assert!(shown.contains("a 2"), "{shown}");
    for typed in ["a", "s", "d", "m why"] {
        assert!(sent(&desk.handle_line(typed, 0)).is_empty(), "{typed}");
    }
    assert_eq!(sent(&desk.handle_line("a 2", 0)).len(), 1);
    // Their own answer makes room, so the next is what they look at.
    desk.remove_resolved(id(20), "was allowed", 0);
    desk.add_approval(approval(30), 0);
    assert_eq!(sent(&desk.handle_line("a", 0)).len(), 1);
    // The desk was emptied by someone else, and another question came.
    desk.mark_answer_rejected();
    desk.remove_resolved(id(30), "expired", 0);
    desk.add_approval(approval(40), 0);
    assert!(sent(&desk.handle_line("a", 0)).is_empty());
}

#[test]
fn what_cannot_be_remembered_is_not_sent() {
    let mut desk = ApprovalPromptQueue::new();
    let mut gated: Approval = approval(10);
    gated.question.choices.truncate(1);
    desk.add_approval(gated, 0);
    assert!(text(&desk.handle_line("s", 0)).contains("cannot be allowed for `session`"));
}

#[test]
fn there_is_a_key_for_every_answer_that_is_offered() {
    let offers = |scopes: &[AnswerScope]| {
        let mut question: Approval = approval(10);
        let choice = |scope: &AnswerScope| provost_proto::ApprovalChoice {
            scope: *scope,
            remembers: "this".to_owned(),
            rule: None,
        };
        question.question.choices = scopes.iter().map(choice).collect();
        let mut desk = ApprovalPromptQueue::new();
        let shown = text(&desk.add_approval(question, 0));
        (desk, shown)
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
        let (mut desk, shown) = offers(&all);
        assert!(shown.contains("u 30:") && shown.contains("w:"), "{shown}");
        match &desk.handle_line(typed, 0)[..] {
            [PromptQueueEffect::SendAnswer(_, answer)] => {
                assert_eq!((answer.scope, answer.minutes), (Some(scope), minutes), "{typed}");
            }
            other => panic!("{typed}: {other:?}"),
        }
    }
    for typed in ["u", "u x", "u 1 x"] {
        assert!(
            text(&offers(&all).0.handle_line(typed, 0)).contains("how many minutes"),
            "{typed}"
        );
    }
    let (mut desk, shown) = offers(&all[..1]);
    assert!(shown.contains("a:") && !shown.contains("w:") && !shown.contains("u 30"), "{shown}");
    assert!(
        sent(&desk.handle_line("w", 0)).is_empty() && sent(&desk.handle_line("u 5", 0)).is_empty()
    );
}

#[test]
fn what_expires_soon_is_said_twice_and_no_more() {
    let mut desk = desk(&[10]);
    let at = |seconds: u64| seconds * 1_000_000;
    for (seconds, said) in [(0, 0), (500, 0), (601, 1), (605, 0), (841, 1), (850, 0), (899, 0)] {
        assert_eq!(desk.remind_expiring(at(seconds)).len(), said, "at {seconds} s");
    }
}

#[test]
fn after_a_time_without_news_what_is_not_open_is_gone() {
    let mut desk = desk(&[10, 20]);
    let told = text(&desk.retain_open(&[approval(20)], 0));
    assert!(told.contains("Question 1 was resolved meanwhile"), "{told}");
    assert!(sent(&desk.handle_line("a", 0)).is_empty(), "it was not the person's own answer");
}
