//! Scripts: predefined conversations that are played as a model, without a network.
//!
//! A script is a TOML file of beats. A beat is one completion: its reasoning, its text and its
//! tool calls. The next beat follows the results of the calls, or the next message of the
//! person if there are none. After a denial or an error, the script may continue with another
//! beat.
//!
//! ```toml
//! title = "A short tour"
//! pace = 25                        # milliseconds between words; 0 if absent
//! over = "That was the tour."      # what is said when nothing is left; optional
//!
//! [[beat]]
//! think = "They greeted me."
//! say = "Hello! May I look at your README?"
//! call = [{ tool = "fs_read", arguments = { path = "README.md" } }]
//! denied = "sorry"                 # the beat after a denial; the next one if absent
//! error = "sorry"                  # the beat after an error; the next one if absent
//!
//! [[beat]]
//! say = "It says a lot."
//! next = "sorry"                   # the beat that follows; the next one if absent
//!
//! [[beat]]
//! name = "sorry"
//! say = "As you like."
//! ```
//!
//! Which beat is next is found from the conversation alone, by going through it from
//! the beginning: the same conversation always goes on the same way.

use std::time::Duration;

use futures::stream;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    CallId, Completion, CompletionContent, CompletionItem, CompletionUsage, ModelEvent,
    ModelMessage, ModelOrigin, ModelRequest, ModelStream, ModelToolResultStatus, StopReason,
    ToolCall,
};

/// The text after the last beat of a script that defines none.
const SCRIPT_OVER_TEXT: &str =
    "The script is over: this is not a model, and nothing more is written down.";

/// Why a script is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelScriptError {
    /// It is not valid TOML, or has unknown fields.
    #[error("cannot parse the script: {0}")]
    Unreadable(String),
    /// It refers to a beat that does not exist.
    #[error("the script refers to the beat `{0}`, which does not exist")]
    UnknownBeat(String),
    /// Two beats have one name.
    #[error("two beats of the script are named `{0}`")]
    DuplicateBeat(String),
    /// A beat is empty.
    #[error("beat {0} has neither `think`, `say` nor `call`")]
    EmptyBeat(usize),
}

/// A predefined conversation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelScript {
    /// Its title, for people.
    pub title: String,
    #[serde(default)]
    pace: u64,
    #[serde(default)]
    over: Option<String>,
    #[serde(default, rename = "beat")]
    beats: Vec<ScriptBeat>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptBeat {
    name: Option<String>,
    #[serde(default)]
    think: String,
    #[serde(default)]
    say: String,
    #[serde(default, rename = "call")]
    calls: Vec<ScriptedToolCall>,
    next: Option<String>,
    denied: Option<String>,
    error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedToolCall {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl ModelScript {
    /// Parses a script and checks that all beats it refers to exist.
    pub fn parse(text: &str) -> Result<Self, ModelScriptError> {
        let script: Self = toml::from_str(text)
            .map_err(|error| ModelScriptError::Unreadable(error.to_string()))?;
        for (at, beat) in script.beats.iter().enumerate() {
            if beat.think.is_empty() && beat.say.is_empty() && beat.calls.is_empty() {
                return Err(ModelScriptError::EmptyBeat(at + 1));
            }
            for name in [&beat.next, &beat.denied, &beat.error].into_iter().flatten() {
                if script.find_beat(name).is_none() {
                    return Err(ModelScriptError::UnknownBeat(name.clone()));
                }
            }
            if let Some(name) = beat.name.as_ref().filter(|name| script.find_beat(name) != Some(at))
            {
                return Err(ModelScriptError::DuplicateBeat(name.clone()));
            }
        }
        Ok(script)
    }

    fn find_beat(&self, name: &str) -> Option<usize> {
        self.beats.iter().position(|beat| beat.name.as_deref() == Some(name))
    }

    /// The beat after one whose calls had this result.
    fn next_beat(&self, at: usize, went: ModelToolResultStatus) -> usize {
        let Some(beat) = self.beats.get(at) else { return at };
        let next = beat.next.as_ref();
        let name = match went {
            ModelToolResultStatus::Ok => next,
            ModelToolResultStatus::Denied => beat.denied.as_ref().or(next),
            ModelToolResultStatus::Error => beat.error.as_ref().or(next),
        };
        name.and_then(|name| self.find_beat(name)).unwrap_or(at + 1)
    }

    /// The index of the next beat, and how many were played.
    fn locate_next_beat(&self, messages: &[ModelMessage], origin: &ModelOrigin) -> (usize, usize) {
        let (mut last, mut next, mut n_played) = (None, 0, 0);
        for message in messages {
            match message {
                ModelMessage::Assistant { turn } if turn.origin == *origin => {
                    last = Some(next);
                    next = self.next_beat(next, ModelToolResultStatus::Ok);
                    n_played += 1;
                }
                ModelMessage::Results { results } => {
                    let has = |status| results.iter().any(|result| result.status == status);
                    let went = match (
                        has(ModelToolResultStatus::Denied),
                        has(ModelToolResultStatus::Error),
                    ) {
                        (true, _) => ModelToolResultStatus::Denied,
                        (false, true) => ModelToolResultStatus::Error,
                        (false, false) => ModelToolResultStatus::Ok,
                    };
                    next = last.map_or(next, |last| self.next_beat(last, went));
                }
                ModelMessage::User { .. } | ModelMessage::Assistant { .. } => {}
            }
        }
        (next, n_played)
    }

    /// Plays the next beat.
    pub(super) fn play_next_beat(
        &self,
        request: &ModelRequest,
        origin: ModelOrigin,
    ) -> ModelStream {
        let (at, n_played) = self.locate_next_beat(&request.messages, &origin);
        let over = self.over.as_deref().unwrap_or(SCRIPT_OVER_TEXT);
        let (think, say, calls) = match self.beats.get(at) {
            Some(beat) => (beat.think.as_str(), beat.say.as_str(), beat.calls.as_slice()),
            None => ("", over, [].as_slice()),
        };
        let mut events = Vec::new();
        let mut items = Vec::new();
        let mut keep = |content| items.push(CompletionItem { content, native: None });
        for word in think.split_inclusive(' ') {
            events.push(ModelEvent::ReasoningDelta { text: word.to_owned() });
        }
        if !think.is_empty() {
            keep(CompletionContent::Reasoning { text: think.to_owned() });
        }
        for word in say.split_inclusive(' ') {
            events.push(ModelEvent::TextDelta { text: word.to_owned() });
        }
        if !say.is_empty() {
            keep(CompletionContent::Text { text: say.to_owned() });
        }
        for (index, call) in (0..).zip(calls) {
            let id = CallId::new(format!("script_{n_played}_{index}"));
            let arguments = Value::Object(call.arguments.clone()).to_string();
            let name = call.tool.clone();
            events.push(ModelEvent::ToolCallBegin { index, id: id.clone(), name: name.clone() });
            events.push(ModelEvent::ToolCallArguments { index, delta: arguments.clone() });
            events.push(ModelEvent::ToolCallEnd { index });
            keep(CompletionContent::ToolCall(ToolCall { id, name, arguments }));
        }
        let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        events.push(ModelEvent::End { turn: Box::new(build_completion(origin, items, stop)) });
        stream_with_delay(events, Duration::from_millis(self.pace))
    }
}

fn build_completion(
    origin: ModelOrigin,
    items: Vec<CompletionItem>,
    stop: StopReason,
) -> Completion {
    let (usage, answered_by, response, native_usage) =
        (CompletionUsage::default(), None, None, None);
    Completion { origin, items, stop, usage, answered_by, response, native_usage }
}

/// The events, with a delay before each.
fn stream_with_delay(events: Vec<ModelEvent>, delay: Duration) -> ModelStream {
    Box::pin(stream::unfold(events.into_iter(), move |mut events| async move {
        let event = events.next()?;
        if !delay.is_zero() && event.is_shown() {
            tokio::time::sleep(delay).await;
        }
        Some((Ok(event), events))
    }))
}
