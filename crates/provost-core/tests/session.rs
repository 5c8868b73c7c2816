//! Property tests of sessions, for any log.

use proptest::prelude::*;
use provost_core::fold::session::unpaid_bytes;
use provost_core::fold::{EventMetadata, MemoryViews, ViewKind};
use provost_proto::kernel::ErrorInfo;
use provost_proto::session::{
    AttemptFailed, AttemptRestarted, CompletionDraft, CompletionPurpose, ContentDelta,
    FinishReason, HandedOff, ItemContent, MessageAdded, MessageAuthor, MessagePart,
    MessageWithdrawn, SessionBudget, SessionClosed, SessionCompacted, SessionOpened, SessionStatus,
    SessionView, TaskUsed, TokenUsage, ToolCallStatus, ToolCalled, ToolDelta, ToolReturned,
    TurnCancelled, TurnFailed, TurnFinished, TurnInterrupted, TurnStarted, TurnStatus,
    UsageRecorded,
};
use provost_proto::{Actor, Code, Fact, LogCursor, SessionId, TurnId};
use uuid::Uuid;

fn stamp(at: u64) -> EventMetadata<'static> {
    EventMetadata {
        cursor: LogCursor::START,
        at,
        principal: "local:ann",
        actor: &Actor::Cli,
        command: None,
    }
}

fn session(n: u128) -> SessionId {
    Uuid::from_u128(n).into()
}

fn turn(n: u128) -> TurnId {
    Uuid::from_u128(n).into()
}

fn opened() -> Fact {
    Fact::SessionOpened(SessionOpened {
        session: session(1),
        project: Uuid::from_u128(9).into(),
        role: "backend".to_owned(),
        model: "script/x".to_owned(),
        budget: SessionBudget::default(),
        parent: None,
        depth: 0,
        only: None,
    })
}

fn message(n: u32, from: MessageAuthor, turn: Option<TurnId>, text: &str) -> Fact {
    Fact::MessageAdded(MessageAdded {
        session: session(1),
        item: n,
        message: Uuid::from_u128(n.into()).into(),
        turn,
        from,
        parts: vec![MessagePart::Text { text: text.to_owned() }],
        answer: None,
        answer_texts: Vec::new(),
        cut_calls: Vec::new(),
    })
}

fn withdrawn(item: u32) -> Fact {
    let message = Uuid::from_u128(item.into()).into();
    Fact::MessageWithdrawn(MessageWithdrawn { session: session(1), item, message })
}

fn restarted(turn: TurnId) -> Fact {
    let (session, streamed, calls) = (session(1), Vec::new(), Vec::new());
    Fact::AttemptRestarted(AttemptRestarted { session, turn, attempt: 2, streamed, calls })
}

fn text(turn: TurnId, text: &str) -> Fact {
    Fact::TextDelta(ContentDelta { session: session(1), turn, text: text.to_owned() })
}

fn started(turn: TurnId, item: Option<u32>) -> Fact {
    let message = item.map(|item| Uuid::from_u128(item.into()).into());
    Fact::TurnStarted(TurnStarted { session: session(1), turn, message, item })
}

fn fault() -> ErrorInfo {
    ErrorInfo { code: Code::ModelFailed, message: "it failed".to_owned(), details: None }
}

fn used(turn: TurnId, item: u32) -> Fact {
    Fact::UsageRecorded(UsageRecorded {
        session: session(1),
        project: Uuid::from_u128(9).into(),
        turn,
        model: "script/x".to_owned(),
        day: item % 2,
        purpose: CompletionPurpose::Answer,
        usage: TokenUsage { input: 1 << 40, output: 7, ..TokenUsage::default() },
        cost: item.is_multiple_of(2).then_some(5),
        estimated: false,
    })
}

fn task_used(turn: TurnId, item: u32) -> Fact {
    Fact::TaskUsed(TaskUsed {
        session: session(1),
        turn: Some(turn),
        by: session(2),
        usage: TokenUsage { input: 3, ..TokenUsage::default() },
        cost: item.is_multiple_of(2).then_some(5),
    })
}

/// Facts of one session with three turns, in any order, plausible or not.
fn any_fact() -> impl Strategy<Value = Fact> {
    (0..20_u8, 1..4_u128, 0..70_u32, "[a-z ]{0,6}").prop_map(|(which, n, item, words)| {
        let (session, turn) = (session(1), turn(n));
        match which {
            0 => opened(),
            1 => message(item, MessageAuthor::User, None, &words),
            2 => message(item, MessageAuthor::Assistant, Some(turn), &words),
            3 => started(turn, Some(item)),
            4 => text(turn, &words),
            5 => Fact::ReasoningDelta(ContentDelta { session, turn, text: words }),
            6 => Fact::ToolDelta(ToolDelta { session, turn, index: item, tool: None, text: words }),
            7 => Fact::AttemptFailed(AttemptFailed {
                session,
                turn,
                attempt: 2,
                retry_in_ms: 20_000,
                charged: item % 2 == 0,
                why: words,
            }),
            8 => restarted(turn),
            9 => Fact::ToolCalled(ToolCalled {
                session,
                turn,
                item,
                call: "call_1".to_owned(),
                tool: "fs.readFile".to_owned(),
                arguments: words,
                action: None,
            }),
            10 => Fact::ToolReturned(ToolReturned {
                session,
                turn,
                item,
                call: "call_1".to_owned(),
                status: ToolCallStatus::Ok,
                output: words,
            }),
            11 => used(turn, item),
            12 => Fact::TurnFinished(TurnFinished { session, turn, reason: FinishReason::Done }),
            13 => Fact::TurnFailed(TurnFailed { session, turn, fault: fault() }),
            14 => Fact::TurnCancelled(TurnCancelled { session, turn, withdrawn: item > 35 }),
            15 => Fact::TurnInterrupted(TurnInterrupted { session, turn, why: words }),
            16 => Fact::SessionCompacted(SessionCompacted { session, turn, item, summary: words }),
            17 => withdrawn(item),
            18 => task_used(turn, item),
            _ if item < 60 => {
                let to = Uuid::from_u128(2).into();
                Fact::HandedOff(HandedOff { session, turn, item, to, role: words })
            }
            _ => Fact::SessionClosed(SessionClosed { session }),
        }
    })
}

fn view(world: &MemoryViews) -> Option<SessionView> {
    world.docs(ViewKind::Sessions).find_map(|(_, doc)| doc.clone().into_session())
}

fn draft(world: &MemoryViews) -> Option<CompletionDraft> {
    world.docs(ViewKind::Drafts).find_map(|(_, doc)| doc.clone().into_draft())
}

fn folded(facts: &[Fact]) -> MemoryViews {
    let mut world = MemoryViews::default();
    for (at, fact) in (1..).zip(facts) {
        world.apply_fact(stamp(at), fact);
    }
    world
}

proptest! {
    #[test]
    fn no_log_makes_the_fold_fail_and_pages_stay_sorted(
        facts in prop::collection::vec(any_fact(), 0..60),
    ) {
        let mut world = MemoryViews::default();
        for (at, fact) in (1..).zip(&facts) {
            world.apply_fact(stamp(at), fact);
            for (_, doc) in world.docs(ViewKind::Pages) {
                let page = doc.clone().into_page().unwrap();
                prop_assert!(page.items.is_sorted_by(|a, b| a.item < b.item));
            }
            world.hash().unwrap();
        }
    }

    #[test]
    fn a_turn_ends_once_and_the_first_end_counts(
        facts in prop::collection::vec(any_fact(), 0..60),
    ) {
        let mut world = folded(&[opened()]);
        let mut before: Option<SessionView> = view(&world);
        for (at, fact) in (2..).zip(facts.iter().filter(|f| !matches!(f, Fact::SessionOpened(_)))) {
            world.apply_fact(stamp(at), fact);
            let now = view(&world);
            let turns = before.and_then(|b| b.turn).zip(now.as_ref().and_then(|n| n.turn.clone()));
            if let Some((old, new)) = turns
                && old.status != TurnStatus::Running
                && !matches!(fact, Fact::TurnStarted(_))
            {
                prop_assert_eq!(old.status, new.status);
                prop_assert_eq!(old.ended_at, new.ended_at);
            }
            before = now;
        }
    }

    #[test]
    fn what_a_restarted_attempt_had_shown_is_void(
        facts in prop::collection::vec(any_fact(), 0..40), words in "[a-z]{1,9}",
    ) {
        let mut world = folded(&facts);
        let turn = turn(1);
        world.apply_fact(stamp(98), &text(turn, "never seen again"));
        world.apply_fact(stamp(99), &restarted(turn));
        world.apply_fact(stamp(100), &text(turn, &words));
        let draft = draft(&world).unwrap();
        prop_assert_eq!((draft.text, draft.reasoning), (words, String::new()));
        prop_assert!(draft.calls.is_empty() && draft.retrying.is_none());
    }

    #[test]
    fn every_fact_of_a_session_is_read_back(fact in any_fact()) {
        prop_assert_eq!(Fact::from_kind_and_body(fact.kind(), &fact.body().unwrap()), Some(fact));
    }
}

#[test]
fn a_message_waits_until_its_turn_begins_and_names_the_session() {
    let long = format!("\n  Fix the build {}", "x".repeat(200));
    let long_message = message(0, MessageAuthor::User, None, &long);
    let world = folded(&[
        opened(),
        long_message.clone(),
        message(1, MessageAuthor::User, None, "and this"),
    ]);
    let now = view(&world).unwrap();
    assert_eq!(now.queued.len(), 2);
    assert_eq!(now.title.chars().count(), 80);
    assert!(now.title.starts_with("Fix the build"));
    assert_eq!(now.status, SessionStatus::Idle);

    let world = folded(&[opened(), long_message, started(turn(1), Some(0))]);
    let now = view(&world).unwrap();
    assert!(now.queued.is_empty());
    assert_eq!(now.status, SessionStatus::Running);
    let page = world.docs(ViewKind::Pages).next().unwrap().1.clone().into_page().unwrap();
    assert_eq!(page.items[0].turn, Some(turn(1)));
}

#[test]
fn a_message_that_is_taken_back_waits_no_more_and_was_never_said() {
    let messages = [
        opened(),
        message(0, MessageAuthor::User, None, "a"),
        message(1, MessageAuthor::User, None, "b"),
    ];
    let world = folded(&[&messages[..], &[withdrawn(1)]].concat());
    assert_eq!(view(&world).unwrap().queued.len(), 1);
    let items = |world: &MemoryViews| {
        let page = world.docs(ViewKind::Pages).next().unwrap().1.clone().into_page().unwrap();
        page.items.iter().map(|item| item.item).collect::<Vec<_>>()
    };
    assert_eq!(items(&world), [0]);
    // A message that a turn answers is part of the session.
    let world = folded(&[&messages[..], &[started(turn(1), Some(1)), withdrawn(1)]].concat());
    assert_eq!(items(&world), [0, 1]);
}

#[test]
fn what_was_said_leaves_the_draft_and_stays_as_an_item() {
    let facts = [
        opened(),
        started(turn(1), None),
        text(turn(1), "Hello "),
        text(turn(1), "you"),
        message(3, MessageAuthor::Assistant, Some(turn(1)), "Hello you"),
    ];
    assert_eq!(draft(&folded(&facts[..4])).unwrap().text, "Hello you");
    let world = folded(&facts);
    assert_eq!(draft(&world).unwrap().text, "");
    let page = world.docs(ViewKind::Pages).next().unwrap().1.clone().into_page().unwrap();
    assert!(matches!(&page.items[0].content, ItemContent::Message { parts, .. }
        if parts == &[MessagePart::Text { text: "Hello you".to_owned() }]));
    assert_eq!(view(&world).unwrap().items, 4);
}

/// After a crash, all attempts are paid for and not only the last.
#[test]
fn a_draft_counts_what_its_broken_attempts_streamed() {
    let failed = |charged| {
        let (session, turn, why) = (session(1), turn(1), "busy".to_owned());
        let (attempt, retry_in_ms) = (2, 500);
        Fact::AttemptFailed(AttemptFailed { session, turn, attempt, retry_in_ms, why, charged })
    };
    let restarted = restarted(turn(1));
    let facts = [
        opened(),
        started(turn(1), None),
        text(turn(1), "12345"),
        failed(true),
        restarted,
        // One that streamed nothing and is charged for, and one that is not.
        failed(true),
        failed(false),
        text(turn(1), "123"),
        used(turn(1), 1),
    ];
    let counted = |n| {
        let draft = draft(&folded(&facts[..n])).unwrap();
        (unpaid_bytes(&draft), draft.broken_attempts)
    };
    assert_eq!(counted(3), (5, vec![]));
    assert_eq!(counted(4), (0, vec![5]), "what is still shown is counted once");
    assert_eq!(counted(5), (0, vec![5]));
    assert_eq!(counted(7), (0, vec![5, 0]));
    assert_eq!(counted(8), (3, vec![5, 0]));
    assert_eq!(counted(9).1, Vec::<u64>::new(), "they are paid for");
}

#[test]
fn usage_adds_up_and_an_unknown_price_is_counted_not_guessed() {
    let used = |cost| {
        Fact::UsageRecorded(UsageRecorded {
            session: session(1),
            project: Uuid::from_u128(9).into(),
            turn: turn(1),
            model: "m".to_owned(),
            day: 3,
            purpose: CompletionPurpose::Answer,
            usage: TokenUsage { input: 10, output: 2, ..TokenUsage::default() },
            cost,
            estimated: false,
        })
    };
    let world = folded(&[opened(), started(turn(1), None), used(Some(5)), used(None)]);
    let now = view(&world).unwrap();
    assert_eq!((now.cost, now.unpriced, now.context), (5, 1, 12));
    assert_eq!(now.turn.unwrap().calls, 2);
    let row = world.docs(ViewKind::Usage).next().unwrap().1.clone().into_usage().unwrap();
    assert_eq!((row.calls, row.cost, row.unpriced, row.usage.input), (2, 5, 1, 20));
}
