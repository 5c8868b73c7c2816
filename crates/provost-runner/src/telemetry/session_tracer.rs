//! Turns the facts of sessions into spans by the conventions for generative AI:
//! `invoke_agent` for a turn, with children `chat` for each completion and `execute_tool` for
//! each tool call. Pure: times and ids are those of the log.

use std::collections::HashMap;

use provost_core::hash_chain;
use provost_proto::session::{ItemNumber, MessageAuthor, SessionView, TokenUsage};
use provost_proto::{Fact, MessageId, SessionId, TurnId, UnixMicros};
use serde_json::Value;

use super::ContentCapture;
use super::gen_ai_conventions::visible_text;
use super::span::{Span, SpanContext, SpanId, TraceId};
use super::span_builder::SpanBuilder;

/// The event kinds that are traced.
pub(super) const TRACED_EVENT_KINDS: [&str; 10] = [
    "MESSAGE_ADDED",
    "TURN_STARTED",
    "USAGE_RECORDED",
    "TOOL_CALLED",
    "TOOL_RETURNED",
    "HANDED_OFF",
    "TURN_FINISHED",
    "TURN_FAILED",
    "TURN_CANCELLED",
    "TURN_INTERRUPTED",
];

/// The role and model of a session.
#[derive(Debug, Clone)]
pub(super) struct TracedAgent {
    pub(super) role: String,
    pub(super) model: String,
    /// The open turn and its start.
    turn: Option<(TurnId, UnixMicros)>,
}

impl From<&SessionView> for TracedAgent {
    fn from(view: &SessionView) -> Self {
        let turn = view.turn.as_ref().map(|turn| (turn.id, turn.started_at));
        Self { role: view.role.clone(), model: view.model.clone(), turn }
    }
}

/// The open turns of all sessions.
#[derive(Debug)]
pub(super) struct SessionTracer {
    contents: ContentCapture,
    open: HashMap<SessionId, TracedSession>,
    /// Texts of user messages whose turns have not started.
    user_messages: HashMap<MessageId, String>,
    /// The tool spans that turns of sessions opened by a handoff are children of.
    handoff_parents: HashMap<SessionId, SpanContext>,
}

#[derive(Debug)]
struct TracedSession {
    agent: TracedAgent,
    turn: Option<TracedTurn>,
}

#[derive(Debug)]
pub(super) struct TracedTurn {
    pub(super) id: TurnId,
    pub(super) context: SpanContext,
    pub(super) parent: Option<SpanId>,
    pub(super) start: UnixMicros,
    pub(super) input_text: Option<String>,
    pub(super) output_text: Option<String>,
    pub(super) usage: TokenUsage,
    /// Start of the current request to the model; none while tools run.
    pub(super) completion_start: Option<UnixMicros>,
    pub(super) chat_count: u32,
    pub(super) completion: Option<TracedCompletion>,
    pub(super) tools: HashMap<ItemNumber, TracedToolCall>,
}

/// A completion whose usage is not known yet.
#[derive(Debug)]
pub(super) struct TracedCompletion {
    pub(super) text: String,
    pub(super) native: Option<Value>,
}

#[derive(Debug)]
pub(super) struct TracedToolCall {
    pub(super) name: String,
    pub(super) call: String,
    pub(super) arguments: String,
    pub(super) start: UnixMicros,
}

impl SessionTracer {
    pub(super) fn new(contents: ContentCapture) -> Self {
        Self {
            contents,
            open: HashMap::new(),
            user_messages: HashMap::new(),
            handoff_parents: HashMap::new(),
        }
    }

    pub(super) fn has_session(&self, session: SessionId) -> bool {
        self.open.contains_key(&session)
    }

    /// Starts to trace a session.
    pub(super) fn add_session(&mut self, session: SessionId, agent: TracedAgent) {
        self.open.insert(session, TracedSession { agent, turn: None });
    }

    /// Applies a fact; returns the spans that end with it.
    pub(super) fn process_fact(
        &mut self,
        session: SessionId,
        at: UnixMicros,
        fact: Fact,
    ) -> Vec<Span> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other facts are of an open turn")]
        match &fact {
            Fact::HandedOff(handed) => {
                let open = self.open.get(&session);
                if let Some(turn) = open.and_then(|open| open.turn.as_ref()) {
                    let (trace, span) =
                        (turn.context.trace.clone(), turn.tool_span_id(handed.item));
                    self.handoff_parents.insert(handed.to, SpanContext { trace, span });
                }
                return Vec::new();
            }
            Fact::MessageAdded(added) if added.from == MessageAuthor::User => {
                if self.contents == ContentCapture::Included {
                    self.user_messages.insert(added.message, visible_text(&added.parts));
                }
                return Vec::new();
            }
            Fact::TurnStarted(started) => {
                let input = started.message.and_then(|message| self.user_messages.remove(&message));
                let parent = self.handoff_parents.remove(&session);
                if let Some(open) = self.open.get_mut(&session) {
                    open.turn = Some(TracedTurn::new(started.turn, at, input, parent));
                }
                return Vec::new();
            }
            _ => {}
        }
        let Some(open) = self.open.get_mut(&session) else { return Vec::new() };
        if open.turn.is_none() {
            // The turn started under a previous daemon.
            let Some((turn, start)) = open.agent.turn else { return Vec::new() };
            open.turn = Some(TracedTurn::new(turn, start, None, None));
        }
        let Some(turn) = open.turn.as_mut() else { return Vec::new() };
        let builder = SpanBuilder { session, agent: &open.agent, contents: self.contents, at };
        let (spans, is_over) = builder.apply_fact(turn, fact);
        if is_over {
            self.open.remove(&session);
        }
        spans
    }
}

impl TracedTurn {
    fn new(
        id: TurnId,
        start: UnixMicros,
        input_text: Option<String>,
        handoff_parent: Option<SpanContext>,
    ) -> Self {
        // The second half of a UUIDv7 is the random one.
        let hex = id.uuid().simple().to_string();
        let span = SpanId(hex.chars().skip(16).collect());
        let (trace, parent) = match handoff_parent {
            Some(parent) => (parent.trace, Some(parent.span)),
            None => (TraceId(hex), None),
        };
        Self {
            id,
            context: SpanContext { trace, span },
            parent,
            start,
            input_text,
            output_text: None,
            usage: TokenUsage::default(),
            completion_start: Some(start),
            chat_count: 0,
            completion: None,
            tools: HashMap::new(),
        }
    }

    pub(super) fn tool_span_id(&self, item: ItemNumber) -> SpanId {
        self.derive_span_id("tool", item)
    }

    /// A stable id: exporting the same part of the log again yields the same ids.
    pub(super) fn derive_span_id(&self, what: &str, n: u32) -> SpanId {
        let digest = hash_chain::digest(format!("{}/{what}/{n}", self.id.uuid()).as_bytes());
        SpanId(digest.to_string().chars().take(16).collect())
    }
}
