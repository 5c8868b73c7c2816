//! A completion while it is decoded: what all wire formats have in common.

use std::collections::BTreeSet;

use provost_core::exact_json;
use serde_json::Value;

use super::super::{
    CallId, Completion, CompletionContent, CompletionItem, CompletionUsage, ModelEvent,
    ModelOrigin, StopReason, ToolCall,
};

/// An unfinished completion. Events go into `out`, finished items into `items`.
pub(super) struct CompletionBuilder {
    pub(super) out: Vec<ModelEvent>,
    pub(super) items: Vec<CompletionItem>,
    /// The provider's id of the answer.
    pub(super) response: Option<String>,
    /// The model by the provider's account.
    pub(super) answered_by: Option<String>,
    origin: ModelOrigin,
    n_calls: u32,
    ids: BTreeSet<String>,
    usage: CompletionUsage,
    native_usage: Option<Value>,
}

/// A call in progress.
#[derive(Debug, Clone)]
pub(super) struct StartedToolCall {
    pub(super) index: u32,
    pub(super) id: CallId,
    pub(super) name: String,
}

impl CompletionBuilder {
    pub(super) fn new(origin: ModelOrigin) -> Self {
        Self {
            out: Vec::new(),
            items: Vec::new(),
            response: None,
            answered_by: None,
            origin,
            n_calls: 0,
            ids: BTreeSet::new(),
            usage: CompletionUsage::default(),
            native_usage: None,
        }
    }

    /// Sets the response id and model from the first event that has them.
    pub(super) fn set_response_metadata(&mut self, id: &Value, model: &Value) {
        let text =
            |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        if self.response.is_none() {
            self.response = text(id);
        }
        if self.answered_by.is_none() {
            self.answered_by = text(model);
        }
    }

    pub(super) fn push_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.push(ModelEvent::TextDelta { text: text.to_owned() });
        }
    }

    pub(super) fn push_reasoning(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.push(ModelEvent::ReasoningDelta { text: text.to_owned() });
        }
    }

    pub(super) fn push_refusal(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.push(ModelEvent::Refusal { text: text.to_owned() });
        }
    }

    /// Starts a call. A missing id, or one that another call of this completion has, is replaced,
    /// so that results can be matched to calls.
    pub(super) fn begin_call(&mut self, id: Option<&str>, name: &str) -> StartedToolCall {
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
        let started = StartedToolCall { index, id: CallId::new(id), name: name.to_owned() };
        self.out.push(ModelEvent::ToolCallBegin {
            index,
            id: started.id.clone(),
            name: started.name.clone(),
        });
        started
    }

    pub(super) fn push_arguments(&mut self, index: u32, delta: &str) {
        if !delta.is_empty() {
            self.out.push(ModelEvent::ToolCallArguments { index, delta: delta.to_owned() });
        }
    }

    /// Ends a call and keeps it.
    pub(super) fn end_call(&mut self, started: &StartedToolCall) {
        self.out.push(ModelEvent::ToolCallEnd { index: started.index });
    }

    /// Keeps an item.
    pub(super) fn push_item(&mut self, content: CompletionContent, native: Value) {
        self.items.push(CompletionItem { content, native: Some(native) });
    }

    pub(super) fn set_usage(&mut self, usage: CompletionUsage, native: &Value) {
        if self.native_usage.as_ref() != Some(native) {
            self.usage = usage;
            self.native_usage = Some(native.clone());
            self.out.push(ModelEvent::Usage { usage });
        }
    }

    /// The usual stop reason: `ToolUse` after a call, else `EndTurn`.
    pub(super) fn default_stop_reason(&self) -> StopReason {
        if self.n_calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn }
    }

    /// Whether there is neither text nor a call.
    pub(super) fn has_no_output(&self) -> bool {
        let is_said = |item: &CompletionItem| match &item.content {
            CompletionContent::Text { text } | CompletionContent::Refusal { text } => {
                !text.is_empty()
            }
            CompletionContent::ToolCall(_) | CompletionContent::Other { .. } => true,
            CompletionContent::Reasoning { .. } => false,
        };
        !self.items.iter().any(is_said)
    }

    pub(super) fn into_completion(self, stop: StopReason) -> Completion {
        Completion {
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

impl StartedToolCall {
    /// The call with its arguments.
    pub(super) fn to_tool_call(&self, arguments: &str) -> ToolCall {
        ToolCall { id: self.id.clone(), name: self.name.clone(), arguments: arguments.to_owned() }
    }
}

/// A count in a provider's usage.
pub(super) fn parse_count(value: &Value) -> u64 {
    // Some servers write whole numbers as `12.0`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts of tokens are small and not negative; `as` saturates"
    )]
    value.as_u64().or_else(|| exact_json::as_f64(value).map(|count| count as u64)).unwrap_or(0)
}

/// Whether a value is a number, which may be held as text.
pub(super) fn is_number(value: &Value) -> bool {
    exact_json::as_f64(value).is_some()
}
