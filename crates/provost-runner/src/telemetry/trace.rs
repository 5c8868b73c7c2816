//! From the facts of sessions to spans, by the conventions for generative AI:
//! `invoke_agent` for a turn, and in it `chat` for each answer of the model and
//! `execute_tool` for each call. Pure: times and ids are those of the log.

use std::collections::HashMap;

use provost_core::hash_chain;
use provost_proto::session::{ItemNumber, MessageAuthor, SessionView, TokenUsage};
use provost_proto::{Fact, MessageId, SessionId, TurnId, UnixMicros};
use serde_json::Value;

use super::Contents;
use super::span::{Span, SpanId, Spot, TraceId};
use super::tell::Teller;
use super::words::text;

/// The kinds that say something here.
pub(super) const KINDS: [&str; 10] = [
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
pub(super) struct Agent {
    pub(super) role: String,
    pub(super) model: String,
    /// The turn that is open, and since when.
    turn: Option<(TurnId, UnixMicros)>,
}

impl From<&SessionView> for Agent {
    fn from(view: &SessionView) -> Self {
        let turn = view.turn.as_ref().map(|turn| (turn.id, turn.started_at));
        Self { role: view.role.clone(), model: view.model.clone(), turn }
    }
}

/// The turns that are open.
#[derive(Debug)]
pub(super) struct Trace {
    contents: Contents,
    open: HashMap<SessionId, Open>,
    /// What a person said before its turn began.
    heard: HashMap<MessageId, String>,
    /// Where the turns of sessions hang that were handed a task.
    given: HashMap<SessionId, Spot>,
}

#[derive(Debug)]
struct Open {
    agent: Agent,
    turn: Option<Turn>,
}

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) id: TurnId,
    pub(super) spot: Spot,
    pub(super) parent: Option<SpanId>,
    pub(super) began: UnixMicros,
    pub(super) asked: Option<String>,
    pub(super) said: Option<String>,
    pub(super) usage: TokenUsage,
    /// Since when the model is asked.
    pub(super) asking: Option<UnixMicros>,
    pub(super) chats: u32,
    pub(super) answer: Option<Answer>,
    pub(super) tools: HashMap<ItemNumber, Tool>,
}

/// What the model answered, until it is known what it used.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) native: Option<Value>,
}

#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) call: String,
    pub(super) arguments: String,
    pub(super) began: UnixMicros,
}

impl Trace {
    pub(super) fn new(contents: Contents) -> Self {
        let (open, heard, given) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { contents, open, heard, given }
    }

    pub(super) fn knows(&self, session: SessionId) -> bool {
        self.open.contains_key(&session)
    }

    /// Learns who speaks in a session.
    pub(super) fn meet(&mut self, session: SessionId, agent: Agent) {
        self.open.insert(session, Open { agent, turn: None });
    }

    /// The spans that a fact ends.
    pub(super) fn hear(&mut self, session: SessionId, at: UnixMicros, fact: Fact) -> Vec<Span> {
        if let Fact::HandedOff(handed) = &fact {
            if let Some(turn) = self.open.get(&session).and_then(|open| open.turn.as_ref()) {
                let (trace, span) = (turn.spot.trace.clone(), turn.tool(handed.item));
                self.given.insert(handed.to, Spot { trace, span });
            }
            return Vec::new();
        }
        if let Fact::MessageAdded(added) = &fact
            && added.from == MessageAuthor::User
        {
            if self.contents == Contents::Told {
                self.heard.insert(added.message, text(&added.parts));
            }
            return Vec::new();
        }
        if let Fact::TurnStarted(started) = &fact {
            let asked = started.message.and_then(|message| self.heard.remove(&message));
            let given = self.given.remove(&session);
            if let Some(open) = self.open.get_mut(&session) {
                open.turn = Some(Turn::new(started.turn, at, asked, given));
            }
            return Vec::new();
        }
        let Some(open) = self.open.get_mut(&session) else { return Vec::new() };
        if open.turn.is_none() {
            // It began under a daemon before this one.
            let Some((turn, began)) = open.agent.turn else { return Vec::new() };
            open.turn = Some(Turn::new(turn, began, None, None));
        }
        let Some(turn) = open.turn.as_mut() else { return Vec::new() };
        let teller = Teller { session, agent: &open.agent, contents: self.contents, at };
        let (spans, is_over) = teller.tell(turn, fact);
        if is_over {
            self.open.remove(&session);
        }
        spans
    }
}

impl Turn {
    fn new(id: TurnId, began: UnixMicros, asked: Option<String>, given: Option<Spot>) -> Self {
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
            spot: Spot { trace, span: own },
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

    pub(super) fn tool(&self, item: ItemNumber) -> SpanId {
        self.made_of("tool", item)
    }

    /// The same id whenever it is told: it is made of what the log says.
    pub(super) fn made_of(&self, what: &str, n: u32) -> SpanId {
        let digest = hash_chain::digest(format!("{}/{what}/{n}", self.id.uuid()).as_bytes());
        SpanId(digest.to_string().chars().take(16).collect())
    }
}
