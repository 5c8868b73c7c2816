//! From the facts of sessions to spans, by the conventions for generative AI:
//! `invoke_agent` for a turn, and in it `chat` for each answer of the model and
//! `execute_tool` for each call. Pure: times and ids are those of the log.

use std::collections::HashMap;

use provost_core::hash_chain;
use provost_proto::session::{ItemNumber, MessageAuthor, SessionView, TokenUsage};
use provost_proto::{Fact, MessageId, SessionId, TurnId, UnixMicros};
use serde_json::Value;

use super::ContentCapture;
use super::gen_ai_conventions::visible_text;
use super::span::{Span, SpanContext, SpanId, TraceId};
use super::span_builder::SpanBuilder;

/// The kinds that say something here.
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

/// Who speaks in a session.
#[derive(Debug, Clone)]
pub(super) struct TracedAgent {
    pub(super) role: String,
    pub(super) model: String,
    /// The turn that is open, and since when.
    turn: Option<(TurnId, UnixMicros)>,
}

impl From<&SessionView> for TracedAgent {
    fn from(view: &SessionView) -> Self {
        let turn = view.turn.as_ref().map(|turn| (turn.id, turn.started_at));
        Self { role: view.role.clone(), model: view.model.clone(), turn }
    }
}

/// The turns that are open.
#[derive(Debug)]
pub(super) struct SessionTracer {
    contents: ContentCapture,
    open: HashMap<SessionId, TracedSession>,
    /// What a person said before its turn began.
    heard: HashMap<MessageId, String>,
    /// Where the turns of sessions hang that were handed a task.
    given: HashMap<SessionId, SpanContext>,
}

#[derive(Debug)]
struct TracedSession {
    agent: TracedAgent,
    turn: Option<TracedTurn>,
}

#[derive(Debug)]
pub(super) struct TracedTurn {
    pub(super) id: TurnId,
    pub(super) spot: SpanContext,
    pub(super) parent: Option<SpanId>,
    pub(super) began: UnixMicros,
    pub(super) asked: Option<String>,
    pub(super) said: Option<String>,
    pub(super) usage: TokenUsage,
    /// Since when the model is asked.
    pub(super) asking: Option<UnixMicros>,
    pub(super) chats: u32,
    pub(super) answer: Option<TracedCompletion>,
    pub(super) tools: HashMap<ItemNumber, TracedToolCall>,
}

/// What the model answered, until it is known what it used.
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
    pub(super) began: UnixMicros,
}

impl SessionTracer {
    pub(super) fn new(contents: ContentCapture) -> Self {
        let (open, heard, given) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { contents, open, heard, given }
    }

    pub(super) fn has_session(&self, session: SessionId) -> bool {
        self.open.contains_key(&session)
    }

    /// Learns who speaks in a session.
    pub(super) fn add_session(&mut self, session: SessionId, agent: TracedAgent) {
        self.open.insert(session, TracedSession { agent, turn: None });
    }

    /// The spans that a fact ends.
    pub(super) fn process_fact(
        &mut self,
        session: SessionId,
        at: UnixMicros,
        fact: Fact,
    ) -> Vec<Span> {
        if let Fact::HandedOff(handed) = &fact {
            if let Some(turn) = self.open.get(&session).and_then(|open| open.turn.as_ref()) {
                let (trace, span) = (turn.spot.trace.clone(), turn.tool_span_id(handed.item));
                self.given.insert(handed.to, SpanContext { trace, span });
            }
            return Vec::new();
        }
        if let Fact::MessageAdded(added) = &fact
            && added.from == MessageAuthor::User
        {
            if self.contents == ContentCapture::Included {
                self.heard.insert(added.message, visible_text(&added.parts));
            }
            return Vec::new();
        }
        if let Fact::TurnStarted(started) = &fact {
            let asked = started.message.and_then(|message| self.heard.remove(&message));
            let given = self.given.remove(&session);
            if let Some(open) = self.open.get_mut(&session) {
                open.turn = Some(TracedTurn::new(started.turn, at, asked, given));
            }
            return Vec::new();
        }
        let Some(open) = self.open.get_mut(&session) else { return Vec::new() };
        if open.turn.is_none() {
            // It began under a daemon before this one.
            let Some((turn, began)) = open.agent.turn else { return Vec::new() };
            open.turn = Some(TracedTurn::new(turn, began, None, None));
        }
        let Some(turn) = open.turn.as_mut() else { return Vec::new() };
        let teller = SpanBuilder { session, agent: &open.agent, contents: self.contents, at };
        let (spans, is_over) = teller.apply_fact(turn, fact);
        if is_over {
            self.open.remove(&session);
        }
        spans
    }
}

impl TracedTurn {
    fn new(
        id: TurnId,
        began: UnixMicros,
        asked: Option<String>,
        given: Option<SpanContext>,
    ) -> Self {
        // The later half of an id is the random one.
        let all = id.uuid().simple().to_string();
        let own = SpanId(all.chars().skip(16).collect());
        let trace = TraceId(all);
        let (trace, parent) = match given {
            Some(given) => (given.trace, Some(given.span)),
            None => (trace, None),
        };
        Self {
            id,
            spot: SpanContext { trace, span: own },
            parent,
            began,
            asked,
            said: None,
            usage: TokenUsage::default(),
            asking: Some(began),
            chats: 0,
            answer: None,
            tools: HashMap::new(),
        }
    }

    pub(super) fn tool_span_id(&self, item: ItemNumber) -> SpanId {
        self.derive_span_id("tool", item)
    }

    /// The same id whenever it is told: it is made of what the log says.
    pub(super) fn derive_span_id(&self, what: &str, n: u32) -> SpanId {
        let digest = hash_chain::digest(format!("{}/{what}/{n}", self.id.uuid()).as_bytes());
        SpanId(digest.to_string().chars().take(16).collect())
    }
}
