//! Writes a request for Messages.
//!
//! Rules of the format that are kept here: messages of the two sides alternate, so
//! neighbors are joined; results come first in their message; no text is empty; the
//! blocks of a turn are sent back as they came, thoughts with their signatures; what
//! was declined is not sent again, with what asked for it.

use serde_json::{Value, json};

use super::super::history::{Said, Step, alternate, fit, steps};
use super::super::{Encoded, Ids};
use crate::model::{
    Content, Effort, ModelError, Origin, Request, StopReason, Thinking, ToolChoice,
};

const IDS: Ids = Ids::Short(64);

/// The longest answer if none is asked for; the format demands a number. Every
/// model since Claude 4 can write more, earlier ones cannot.
const MOST: u32 = 32_000;
const MOST_OF_OLD: u32 = 4096;

/// The least that may be thought, and what is left for the answer beside it.
const LEAST_THOUGHT: u32 = 1024;

/// Writes a request.
pub(in super::super) fn encode(request: &Request, origin: &Origin) -> Result<Encoded, ModelError> {
    let steps = accepted(steps(request, origin)?);
    let mut messages: Vec<Value> = Vec::new();
    for step in &steps {
        match step {
            Step::User(text) => {
                // An empty text is refused, and there must be something.
                let text = if text.trim().is_empty() { "(nothing)" } else { text };
                alternate(
                    &mut messages,
                    "user",
                    "content",
                    vec![json!({ "type": "text", "text": text })],
                );
            }
            Step::Turn(said) => {
                alternate(&mut messages, "assistant", "content", blocks(said));
                alternate(&mut messages, "user", "content", results(said));
            }
        }
    }
    let old = origin.model.starts_with("claude-3");
    let most = request.max_output_tokens.unwrap_or(if old { MOST_OF_OLD } else { MOST });
    let mut body = json!({ "model": origin.model, "max_tokens": most, "stream": true });
    if let Some(thinking) = request.thinking.filter(|_| may_think(&origin.model, &steps)) {
        think(&mut body, &origin.model, most, thinking);
    }
    cache(messages.last_mut().map(|message| &mut message["content"]));
    body["messages"] = json!(messages);
    if !request.instructions.is_empty() {
        body["system"] = json!([{ "type": "text", "text": request.instructions }]);
        cache(body.get_mut("system"));
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        if request.tool_choice == ToolChoice::None {
            body["tool_choice"] = json!({ "type": "none" });
        }
    }
    let headers = vec![("anthropic-version", "2023-06-01".to_owned())];
    Ok(Encoded { path: "/v1/messages".to_owned(), headers, body })
}

/// The conversation without what was declined. With it, the provider goes on to decline
/// whatever is said later, as its documentation warns.
fn accepted(steps: Vec<Step<'_>>) -> Vec<Step<'_>> {
    let mut kept: Vec<Step<'_>> = Vec::new();
    let n_steps = steps.len();
    for (n, step) in steps.into_iter().enumerate() {
        let is_declined = match &step {
            Step::User(_) => false,
            Step::Turn(said) => said.verbatim && said.turn.stop == StopReason::Refusal,
        };
        if is_declined && n + 1 < n_steps {
            let asked = kept.iter().rposition(|step| matches!(step, Step::User(_)));
            kept.truncate(asked.unwrap_or(0));
        } else {
            kept.push(step);
        }
    }
    kept
}

fn tool(tool: &crate::model::Tool) -> Value {
    json!({
        "name": tool.name(),
        "description": tool.description,
        "input_schema": tool.schema,
    })
}

/// Marks the end of what the provider may cache: everything up to the last block.
fn cache(content: Option<&mut Value>) {
    let last = content.and_then(Value::as_array_mut).and_then(|blocks| blocks.last_mut());
    // Thoughts cannot be marked.
    let markable =
        |block: &Value| ["text", "tool_result"].iter().any(|kind| block["type"] == *kind);
    if let Some(block) = last.filter(|block| markable(block)) {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

fn blocks(said: &Said<'_>) -> Vec<Value> {
    let mut blocks = Vec::new();
    for item in &said.turn.items {
        let native = item.native.as_ref().filter(|_| said.verbatim);
        let block = match (&item.content, native) {
            (Content::Text { text }, _) if text.trim().is_empty() => continue,
            // A thought that was cut off has no signature, and is refused without.
            (Content::Reasoning { .. }, Some(native)) if is_unsigned(native) => continue,
            (_, Some(native)) => native.clone(),
            (Content::Text { text }, None) => json!({ "type": "text", "text": text }),
            (Content::ToolCall(call), None) => json!({
                "type": "tool_use",
                "id": fit(call.id.as_str(), IDS),
                "name": call.name,
                "input": call.parsed().unwrap_or_default(),
            }),
            (Content::Refusal { text }, None) if !said.verbatim && !text.trim().is_empty() => {
                json!({ "type": "text", "text": text })
            }
            (Content::Refusal { .. } | Content::Reasoning { .. } | Content::Other { .. }, None) => {
                continue;
            }
        };
        blocks.push(block);
    }
    blocks
}

fn is_unsigned(native: &Value) -> bool {
    native["type"] == "thinking" && native["signature"].as_str().unwrap_or_default().is_empty()
}

fn results(said: &Said<'_>) -> Vec<Value> {
    let result = |answered: &super::super::history::Answered<'_>| {
        let id = answered.call.id.as_str();
        let id = if said.verbatim { id.into() } else { fit(id, IDS) };
        let failed = answered.status.is_failure();
        // A failure must say something.
        let empty = answered.output.is_empty() && failed;
        let output = if empty { "(no message)" } else { answered.output };
        json!({ "type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed })
    };
    said.results.iter().map(result).collect()
}

/// Models that are told a number of tokens to think. Later ones find it out.
const BY_BUDGET: [&str; 7] =
    ["claude-3", "-4-0", "-4-1", "-4-5", "-4-2025", "claude-sonnet-4@", "claude-opus-4@"];

fn think(body: &mut Value, model: &str, most: u32, thinking: Thinking) {
    let budget = match thinking.effort {
        Effort::Low => 2048,
        Effort::Medium => 8192,
        Effort::High => 24_000,
    };
    // The budget is a part of the whole answer.
    let budget = budget.min(most / 2);
    if !by_budget(model) {
        body["thinking"] = json!({ "type": "adaptive" });
        if thinking.summary {
            body["thinking"]["display"] = json!("summarized");
        }
        body["output_config"] = json!({ "effort": thinking.effort.word() });
    } else if budget >= LEAST_THOUGHT {
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
    }
}

fn by_budget(model: &str) -> bool {
    BY_BUDGET.iter().any(|part| model.contains(part))
}

/// Whether thinking can be asked for. With a budget, a turn that is going on must
/// have begun with thoughts; one that did not, or of another model, goes on without.
fn may_think(model: &str, steps: &[Step<'_>]) -> bool {
    let thoughtful = |said: &Said<'_>| {
        let first = said.turn.items.first();
        let thought = first.is_some_and(|item| matches!(item.content, Content::Reasoning { .. }));
        said.verbatim && thought
    };
    !by_budget(model)
        || steps.iter().all(|step| match step {
            Step::User(_) => true,
            Step::Turn(said) => !said.current || said.results.is_empty() || thoughtful(said),
        })
}
