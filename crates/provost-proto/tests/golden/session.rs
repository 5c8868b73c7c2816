//! The events of a session.

use provost_proto::Fact;
use provost_proto::session::{
    AnswerText, AttemptFailed, AttemptRestarted, CompletionPurpose, ContentDelta, DraftToolCall,
    FinishReason, HandedOff, MessageAdded, MessageAuthor, MessagePart, MessageWithdrawn,
    SessionBudget, SessionClosed, SessionCompacted, SessionOpened, TaskUsed, TokenUsage,
    ToolCallStatus, ToolCalled, ToolDelta, ToolReturned, TurnCancelled, TurnFailed, TurnFinished,
    TurnInterrupted, TurnStarted, UsageRecorded,
};
use serde_json::json;
use uuid::Uuid;

use crate::decodes_to;
use crate::samples::{faults, id, text, texts};

pub(crate) fn facts() -> Vec<Fact> {
    let mut facts = opened();
    facts.extend(messages());
    facts.extend(deltas());
    facts.extend(tools());
    facts.extend(usage_facts());
    facts.extend(turn_ends());
    facts.extend([
        Fact::SessionCompacted(SessionCompacted {
            session: id(2),
            turn: id(21),
            item: 6,
            summary: text("so far"),
        }),
        Fact::HandedOff(HandedOff {
            session: id(2),
            turn: id(21),
            item: 7,
            to: id(3),
            role: text("reviewer"),
        }),
        Fact::MessageWithdrawn(MessageWithdrawn { session: id(2), item: 8, message: id(22) }),
        Fact::SessionClosed(SessionClosed { session: id(2) }),
    ]);
    facts
}

pub(crate) fn budgets() -> Vec<SessionBudget> {
    let budget = |nanos, tokens| SessionBudget { nanos, tokens };
    vec![budget(Some(5_000_000_000), Some(100_000)), budget(None, None)]
}

pub(crate) fn usage() -> TokenUsage {
    TokenUsage { input: 100, output: 20, cached_input: 60, cache_write: 10, reasoning: 5 }
}

pub(crate) fn parts() -> Vec<MessagePart> {
    let parts = vec![
        MessagePart::Text { text: text("**hi** \u{1f44b}") },
        MessagePart::Reasoning { text: text("think") },
        MessagePart::Refusal { text: text("no") },
    ];
    crate::assert_every_variant!(parts, MessagePart { Text, Reasoning, Refusal });
    parts
}

fn opened() -> Vec<Fact> {
    let [full, empty] = budgets().try_into().unwrap();
    let opened = |budget, parent, depth, only| {
        Fact::SessionOpened(SessionOpened {
            session: id(2),
            project: id(1),
            role: text("tester"),
            model: text("anthropic/claude"),
            budget,
            parent,
            depth,
            only,
        })
    };
    vec![opened(full, Some(id(3)), 1, Some(texts(["fs.readFile"]))), opened(empty, None, 0, None)]
}

fn messages() -> Vec<Fact> {
    let added = |turn, from, answer: Option<serde_json::Value>, answer_texts, cut_calls| {
        Fact::MessageAdded(MessageAdded {
            session: id(2),
            item: 1,
            message: id(22),
            turn,
            from,
            parts: parts(),
            answer,
            answer_texts,
            cut_calls,
        })
    };
    let started = |message, item| {
        Fact::TurnStarted(TurnStarted { session: id(2), turn: id(21), message, item })
    };
    vec![
        added(
            Some(id(21)),
            MessageAuthor::Assistant,
            Some(json!({ "items": [""] })),
            vec![AnswerText { at: text("/items/0"), part: 1 }],
            cut_calls(),
        ),
        added(
            Some(id(21)),
            MessageAuthor::Assistant,
            Some(json!({ "items": [] })),
            Vec::new(),
            Vec::new(),
        ),
        added(None, MessageAuthor::User, None, Vec::new(), Vec::new()),
        started(Some(id(22)), Some(1)),
        started(None, None),
    ]
}

fn cut_calls() -> Vec<DraftToolCall> {
    vec![DraftToolCall { tool: text("fs.readFile"), arguments: text("{\"pa") }]
}

fn deltas() -> Vec<Fact> {
    let delta = || ContentDelta { session: id(2), turn: id(21), text: text("Hel") };
    let tool = |tool| {
        Fact::ToolDelta(ToolDelta {
            session: id(2),
            turn: id(21),
            index: 1,
            tool,
            text: text("{\"pa"),
        })
    };
    let restarted = |streamed, calls| {
        let (session, turn) = (id(2), id(21));
        Fact::AttemptRestarted(AttemptRestarted { session, turn, attempt: 2, streamed, calls })
    };
    vec![
        Fact::TextDelta(delta()),
        Fact::ReasoningDelta(delta()),
        tool(Some(text("fs.readFile"))),
        tool(None),
        Fact::AttemptFailed(AttemptFailed {
            session: id(2),
            turn: id(21),
            attempt: 2,
            retry_in_ms: 500,
            why: text("overloaded"),
            charged: false,
        }),
        restarted(parts(), cut_calls()),
        restarted(Vec::new(), Vec::new()),
    ]
}

fn tools() -> Vec<Fact> {
    let called = |tool, action| {
        Fact::ToolCalled(ToolCalled {
            session: id(2),
            turn: id(21),
            item: 4,
            call: text("call_1"),
            tool: text(tool),
            arguments: text("{\"path\":\"a\"}"),
            action,
        })
    };
    vec![
        called("fs.readFile", Some(id(4))),
        called("handoff", None),
        Fact::ToolReturned(ToolReturned {
            session: id(2),
            turn: id(21),
            item: 4,
            call: text("call_1"),
            status: ToolCallStatus::Ok,
            output: text("content"),
        }),
    ]
}

fn usage_facts() -> Vec<Fact> {
    let recorded = |purpose, cost, estimated| {
        Fact::UsageRecorded(UsageRecorded {
            session: id(2),
            project: id(1),
            turn: id(21),
            model: text("anthropic/claude"),
            day: 20_000,
            purpose,
            usage: usage(),
            cost,
            estimated,
        })
    };
    let used = |turn, cost| {
        Fact::TaskUsed(TaskUsed { session: id(2), turn, by: id(3), usage: usage(), cost })
    };
    vec![
        recorded(CompletionPurpose::Answer, Some(1_500), true),
        recorded(CompletionPurpose::Summary, None, false),
        used(Some(id(21)), Some(1_500)),
        used(None, None),
    ]
}

fn turn_ends() -> Vec<Fact> {
    let (session, turn) = (id(2), id(21));
    let fault = faults().remove(0);
    vec![
        Fact::TurnFinished(TurnFinished { session, turn, reason: FinishReason::MaxTokens }),
        Fact::TurnFailed(TurnFailed { session, turn, fault }),
        Fact::TurnCancelled(TurnCancelled { session, turn, withdrawn: true }),
        Fact::TurnCancelled(TurnCancelled { session, turn, withdrawn: false }),
        Fact::TurnInterrupted(TurnInterrupted { session, turn, why: text("the daemon stopped") }),
    ]
}

#[test]
fn fields_that_are_left_out_have_their_defaults() {
    let opened = SessionOpened {
        session: id(2),
        project: id(1),
        role: text("r"),
        model: text("m"),
        budget: SessionBudget::default(),
        parent: None,
        depth: 0,
        only: None,
    };
    let (session, project): (Uuid, Uuid) = (id(2), id(1));
    decodes_to(
        &format!(
            r#"{{"session":"{session}","project":"{project}","role":"r","model":"m","budget":{{}}}}"#
        ),
        &opened,
    );
    decodes_to("{}", &TokenUsage::default());
    decodes_to(r#"{"cachedInput":3}"#, &TokenUsage { cached_input: 3, ..TokenUsage::default() });
}
