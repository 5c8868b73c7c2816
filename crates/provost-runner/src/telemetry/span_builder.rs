//! What one fact says of its turn: the spans that end with it.

use provost_proto::session::{CompletionPurpose, TokenUsage, ToolCallStatus};
use provost_proto::{Fact, SessionId, TurnId, UnixMicros};
use serde_json::{Value, json};

use super::ContentCapture;
use super::gen_ai_conventions::{
    convention_finish_reason, encode_message, provider_name, truncate_content, usage_attributes,
    visible_text,
};
use super::session_tracer::{TracedAgent, TracedCompletion, TracedToolCall, TracedTurn};
use super::span::{Span, SpanContext, SpanKind};

/// One fact of a turn.
pub(super) struct SpanBuilder<'a> {
    pub(super) session: SessionId,
    pub(super) agent: &'a TracedAgent,
    pub(super) contents: ContentCapture,
    pub(super) at: UnixMicros,
}

impl SpanBuilder<'_> {
    /// The spans that end, and whether the turn does.
    pub(super) fn apply_fact(&self, turn: &mut TracedTurn, fact: Fact) -> (Vec<Span>, bool) {
        let own = |id: TurnId| id == turn.id;
        if let Fact::MessageAdded(added) = fact {
            let text = visible_text(&added.parts);
            turn.said = Some(text.clone());
            turn.answer = Some(TracedCompletion { text, native: added.answer });
            return (Vec::new(), false);
        } else if let Fact::UsageRecorded(used) = &fact {
            turn.usage = turn.usage.saturating_add(used.usage);
            let is_broken = used.purpose == CompletionPurpose::Answer
                && turn.answer.as_ref().is_none_or(|answer| answer.native.is_none());
            // Why it broke off is said next.
            let spans =
                if is_broken { None } else { self.build_chat_span(turn, Some(used.usage), None) };
            return (spans.into_iter().collect(), false);
        } else if let Fact::ToolCalled(called) = fact {
            turn.asking = None;
            let (name, call, began) = (called.tool, called.call, self.at);
            turn.tools.insert(
                called.item,
                TracedToolCall { name, call, arguments: called.arguments, began },
            );
            return (Vec::new(), false);
        } else if let Fact::ToolReturned(returned) = fact {
            let spot = SpanContext {
                trace: turn.spot.trace.clone(),
                span: turn.tool_span_id(returned.item),
            };
            let Some(tool) = turn.tools.remove(&returned.item) else { return (Vec::new(), false) };
            if turn.tools.is_empty() {
                turn.asking = Some(self.at);
            }
            let span = self.build_tool_span(turn, spot, &tool, (returned.status, &returned.output));
            return (vec![span], false);
        }
        let (id, error) = if let Fact::TurnFinished(end) = &fact {
            (end.turn, None)
        } else if let Fact::TurnFailed(end) = &fact {
            (end.turn, Some(end.fault.code.to_string()))
        } else if let Fact::TurnCancelled(end) = &fact {
            (end.turn, Some("cancelled".to_owned()))
        } else if let Fact::TurnInterrupted(end) = &fact {
            (end.turn, Some("interrupted".to_owned()))
        } else {
            return (Vec::new(), false);
        };
        if !own(id) {
            return (Vec::new(), false);
        }
        let mut spans = Vec::new();
        if let Some(error) = &error {
            spans.extend(self.build_chat_span(turn, None, Some(error)));
        }
        spans.push(self.build_turn_span(turn, error));
        (spans, true)
    }

    /// What every span says.
    fn common_attributes(&self, operation: &str) -> Vec<(&'static str, Value)> {
        let (provider, model) = self.agent.model.split_once('/').unwrap_or(("", &self.agent.model));
        vec![
            ("gen_ai.operation.name", json!(operation)),
            ("gen_ai.provider.name", json!(provider_name(provider))),
            ("gen_ai.request.model", json!(model)),
            ("gen_ai.agent.name", json!(self.agent.role)),
            ("gen_ai.conversation.id", json!(self.session.uuid().to_string())),
        ]
    }

    fn build_turn_span(&self, turn: &mut TracedTurn, error: Option<String>) -> Span {
        let mut attributes = self.common_attributes("invoke_agent");
        attributes.extend(usage_attributes(turn.usage));
        let (asked, said) = (turn.asked.take(), turn.said.take());
        self.add_content(
            &mut attributes,
            "gen_ai.input.messages",
            asked.map(|text| encode_message("user", &text)),
        );
        self.add_content(
            &mut attributes,
            "gen_ai.output.messages",
            said.map(|text| encode_message("assistant", &text)),
        );
        Span {
            spot: turn.spot.clone(),
            parent: turn.parent.clone(),
            name: format!("invoke_agent {}", self.agent.role),
            kind: SpanKind::Internal,
            began: turn.began,
            ended: self.at,
            attributes,
            error,
        }
    }

    /// An answer of the model; `None` if it was not asked.
    fn build_chat_span(
        &self,
        turn: &mut TracedTurn,
        used: Option<TokenUsage>,
        error: Option<&str>,
    ) -> Option<Span> {
        let began = turn.asking.replace(self.at)?;
        turn.chats += 1;
        let span = turn.derive_span_id("chat", turn.chats);
        let mut attributes = self.common_attributes("chat");
        attributes.extend(used.into_iter().flat_map(usage_attributes));
        if let Some(TracedCompletion { text, native }) = turn.answer.take() {
            let native = native.unwrap_or_default();
            if let Some(model) = native["answeredBy"].as_str() {
                attributes.push(("gen_ai.response.model", json!(model)));
            }
            if let Some(id) = native["response"].as_str() {
                attributes.push(("gen_ai.response.id", json!(id)));
            }
            if let Some(reason) = native["stop"]["reason"].as_str() {
                attributes.push((
                    "gen_ai.response.finish_reasons",
                    json!([convention_finish_reason(reason)]),
                ));
            }
            let said = Some(encode_message("assistant", &text)).filter(|_| !text.is_empty());
            self.add_content(&mut attributes, "gen_ai.output.messages", said);
        }
        Some(Span {
            spot: SpanContext { trace: turn.spot.trace.clone(), span },
            parent: Some(turn.spot.span.clone()),
            name: format!(
                "chat {}",
                self.agent.model.split_once('/').map_or("", |(_, model)| model)
            ),
            kind: SpanKind::Client,
            began,
            ended: self.at,
            attributes,
            error: error.map(str::to_owned),
        })
    }

    fn build_tool_span(
        &self,
        turn: &TracedTurn,
        spot: SpanContext,
        tool: &TracedToolCall,
        (status, output): (ToolCallStatus, &str),
    ) -> Span {
        let mut attributes = self.common_attributes("execute_tool");
        attributes.push(("gen_ai.tool.name", json!(tool.name)));
        attributes.push(("gen_ai.tool.call.id", json!(tool.call)));
        attributes.push(("gen_ai.tool.type", json!("function")));
        let (arguments, output) =
            (json!(truncate_content(&tool.arguments)), json!(truncate_content(output)));
        self.add_content(&mut attributes, "gen_ai.tool.call.arguments", Some(arguments));
        self.add_content(&mut attributes, "gen_ai.tool.call.result", Some(output));
        let error = match status {
            ToolCallStatus::Ok => None,
            ToolCallStatus::Error => Some("error"),
            ToolCallStatus::Denied => Some("denied"),
            ToolCallStatus::Cancelled => Some("cancelled"),
        };
        Span {
            spot,
            parent: Some(turn.spot.span.clone()),
            name: format!("execute_tool {}", tool.name),
            kind: SpanKind::Internal,
            began: tool.began,
            ended: self.at,
            attributes,
            error: error.map(str::to_owned),
        }
    }

    /// What only a second switch tells.
    fn add_content(
        &self,
        to: &mut Vec<(&'static str, Value)>,
        key: &'static str,
        value: Option<Value>,
    ) {
        match self.contents {
            ContentCapture::Omitted => {}
            ContentCapture::Included => to.extend(value.map(|value| (key, value))),
        }
    }
}
