//! A turn while it is read: what all wire formats have in common.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{CallId, Content, Item, ModelEvent, Origin, StopReason, ToolCall, Turn, Usage};

/// A turn that is not finished. What is told goes into `out` as events; what is
/// finished goes into `items`.
pub(super) struct Draft {
    pub(super) out: Vec<ModelEvent>,
    pub(super) items: Vec<Item>,
    /// The provider's id of the answer.
    pub(super) response: Option<String>,
    /// The model by the provider's account.
    pub(super) answered_by: Option<String>,
    origin: Origin,
    n_calls: u32,
    ids: BTreeSet<String>,
    usage: Usage,
    native_usage: Option<Value>,
}

/// A call that has begun.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    pub(super) index: u32,
    pub(super) id: CallId,
    pub(super) name: String,
}

impl Draft {
    pub(super) fn new(origin: Origin) -> Self {
        Self {
            out: Vec::new(),
            items: Vec::new(),
            response: None,
            answered_by: None,
            origin,
            n_calls: 0,
            ids: BTreeSet::new(),
            usage: Usage::default(),
            native_usage: None,
        }
    }

    /// Notes who answers, from the first event that says so.
    pub(super) fn answered(&mut self, id: &Value, model: &Value) {
        let text =
            |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        if self.response.is_none() {
            self.response = text(id);
        }
        if self.answered_by.is_none() {
            self.answered_by = text(model);
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.push(ModelEvent::TextDelta { text: text.to_owned() });
        }
    }

    pub(super) fn reasoning(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.push(ModelEvent::ReasoningDelta { text: text.to_owned() });
        }
    }

    pub(super) fn refusal(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.push(ModelEvent::Refusal { text: text.to_owned() });
        }
    }

    /// Begins a call. An id that is missing, or that another call of this turn has
    /// already, is replaced: results could not be told apart.
    pub(super) fn begin(&mut self, id: Option<&str>, name: &str) -> Begun {
        let index = self.n_calls;
        self.n_calls += 1;
        let mut chosen = id.filter(|id| !id.is_empty()).map(str::to_owned);
        if chosen.as_ref().is_none_or(|id| self.ids.contains(id)) {
            let seed = self.response.as_deref().unwrap_or("call");
            let mut made = format!("{seed}_{index}");
            while self.ids.contains(&made) {
                made.push('_');
            }
            chosen = Some(made);
        }
        let id = chosen.unwrap_or_default();
        self.ids.insert(id.clone());
        let begun = Begun { index, id: CallId::new(id), name: name.to_owned() };
        self.out.push(ModelEvent::ToolCallBegin {
            index,
            id: begun.id.clone(),
            name: begun.name.clone(),
        });
        begun
    }

    pub(super) fn arguments(&mut self, index: u32, delta: &str) {
        if !delta.is_empty() {
            self.out.push(ModelEvent::ToolCallArguments { index, delta: delta.to_owned() });
        }
    }

    /// Ends a call and keeps it.
    pub(super) fn end_call(&mut self, begun: &Begun) {
        self.out.push(ModelEvent::ToolCallEnd { index: begun.index });
    }

    /// Keeps an item.
    pub(super) fn keep(&mut self, content: Content, native: Value) {
        self.items.push(Item { content, native: Some(native) });
    }

    pub(super) fn usage(&mut self, usage: Usage, native: &Value) {
        if self.native_usage.as_ref() != Some(native) {
            self.usage = usage;
            self.native_usage = Some(native.clone());
            self.out.push(ModelEvent::Usage { usage });
        }
    }

    /// The usual end: what a model that has called tools waits for.
    pub(super) fn natural_stop(&self) -> StopReason {
        if self.n_calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn }
    }

    /// Whether there is neither text nor a call.
    pub(super) fn is_silent(&self) -> bool {
        let is_said = |item: &Item| match &item.content {
            Content::Text { text } | Content::Refusal { text } => !text.is_empty(),
            Content::ToolCall(_) | Content::Other { .. } => true,
            Content::Reasoning { .. } => false,
        };
        !self.items.iter().any(is_said)
    }

    pub(super) fn end(self, stop: StopReason) -> Turn {
        Turn {
            origin: self.origin,
            items: self.items,
            stop,
            usage: self.usage,
            answered_by: self.answered_by,
            response: self.response,
            native_usage: self.native_usage,
        }
    }
}

impl Begun {
    /// The call with its arguments.
    pub(super) fn with(&self, arguments: &str) -> ToolCall {
        ToolCall { id: self.id.clone(), name: self.name.clone(), arguments: arguments.to_owned() }
    }
}

/// A count in a provider's usage.
pub(super) fn count(value: &Value) -> u64 {
    // Some servers write whole numbers as `12.0`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts of tokens are small and not negative; `as` saturates"
    )]
    value.as_u64().or_else(|| value.as_f64().map(|count| count as u64)).unwrap_or(0)
}
