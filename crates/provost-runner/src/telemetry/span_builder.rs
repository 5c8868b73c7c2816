//! Applies one fact to its turn and builds the spans that end with it.

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

/// Builds the spans of one fact.
pub(super) struct SpanBuilder<'a> {
    pub(super) session: SessionId,
    pub(super) agent: &'a TracedAgent,
    pub(super) contents: ContentCapture,
    pub(super) at: UnixMicros,
}

impl SpanBuilder<'_> {
    /// Returns the spans that end, and whether the turn does.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other facts end no span")]
    pub(super) fn apply_fact(&self, turn: &mut TracedTurn, fact: Fact) -> (Vec<Span>, bool) {
        match fact {
            Fact::MessageAdded(added) => {
                let text = visible_text(&added.parts);
                turn.output_text = Some(text.clone());
                turn.completion = Some(TracedCompletion { text, native: added.answer });
                (Vec::new(), false)
            }
            Fact::UsageRecorded(used) => {
                turn.usage = turn.usage.saturating_add(used.usage);
                let is_broken_off = used.purpose == CompletionPurpose::Answer
                    && turn.completion.as_ref().is_none_or(|it| it.native.is_none());
                // The span of one that broke off is built with the end of the turn, which has the
                // error.
                let span = if is_broken_off {
                    None
                } else {
                    self.build_chat_span(turn, Some(used.usage), None)
                };
                (span.into_iter().collect(), false)
            }
            Fact::ToolCalled(called) => {
                turn.completion_start = None;
                let (name, call, start) = (called.tool, called.call, self.at);
                let tool = TracedToolCall { name, call, arguments: called.arguments, start };
                turn.tools.insert(called.item, tool);
                (Vec::new(), false)
            }
            Fact::ToolReturned(returned) => {
                let span = turn.tool_span_id(returned.item);
                let context = SpanContext { trace: turn.context.trace.clone(), span };
                let Some(tool) = turn.tools.remove(&returned.item) else {
                    return (Vec::new(), false);
                };
                if turn.tools.is_empty() {
                    turn.completion_start = Some(self.at);
                }
                let (status, output) = (returned.status, &returned.output);
                (vec![self.build_tool_span(turn, context, &tool, status, output)], false)
            }
            Fact::TurnFinished(end) => self.end_turn(turn, end.turn, None),
            Fact::TurnFailed(end) => {
                self.end_turn(turn, end.turn, Some(end.fault.code.to_string()))
            }
            Fact::TurnCancelled(end) => self.end_turn(turn, end.turn, Some("cancelled".to_owned())),
            Fact::TurnInterrupted(end) => {
                self.end_turn(turn, end.turn, Some("interrupted".to_owned()))
            }
            _ => (Vec::new(), false),
        }
    }

    /// Ends the turn if it is the one with this id.
    fn end_turn(
        &self,
        turn: &mut TracedTurn,
        id: TurnId,
        error: Option<String>,
    ) -> (Vec<Span>, bool) {
        if id != turn.id {
            return (Vec::new(), false);
        }
        let mut spans = Vec::new();
        if let Some(error) = &error {
            spans.extend(self.build_chat_span(turn, None, Some(error)));
        }
        spans.push(self.build_turn_span(turn, error));
        (spans, true)
    }

    /// Attributes of every span.
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
        let (input, output) = (turn.input_text.take(), turn.output_text.take());
        self.add_content(
            &mut attributes,
            "gen_ai.input.messages",
            input.map(|text| encode_message("user", &text)),
        );
        self.add_content(
            &mut attributes,
            "gen_ai.output.messages",
            output.map(|text| encode_message("assistant", &text)),
        );
        Span {
            context: turn.context.clone(),
            parent: turn.parent.clone(),
            name: format!("invoke_agent {}", self.agent.role),
            kind: SpanKind::Internal,
            start: turn.start,
            end: self.at,
            attributes,
            error,
        }
    }

    /// The span of a completion; `None` if no request to the model was open.
    fn build_chat_span(
        &self,
        turn: &mut TracedTurn,
        used: Option<TokenUsage>,
        error: Option<&str>,
    ) -> Option<Span> {
        let start = turn.completion_start.replace(self.at)?;
        turn.chat_count += 1;
        let span = turn.derive_span_id("chat", turn.chat_count);
        let mut attributes = self.common_attributes("chat");
        attributes.extend(used.into_iter().flat_map(usage_attributes));
        if let Some(TracedCompletion { text, native }) = turn.completion.take() {
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
            let output = Some(encode_message("assistant", &text)).filter(|_| !text.is_empty());
            self.add_content(&mut attributes, "gen_ai.output.messages", output);
        }
        Some(Span {
            context: SpanContext { trace: turn.context.trace.clone(), span },
            parent: Some(turn.context.span.clone()),
            name: format!(
                "chat {}",
                self.agent.model.split_once('/').map_or("", |(_, model)| model)
            ),
            kind: SpanKind::Client,
            start,
            end: self.at,
            attributes,
            error: error.map(str::to_owned),
        })
    }

    fn build_tool_span(
        &self,
        turn: &TracedTurn,
        context: SpanContext,
        tool: &TracedToolCall,
        status: ToolCallStatus,
        output: &str,
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
            context,
            parent: Some(turn.context.span.clone()),
            name: format!("execute_tool {}", tool.name),
            kind: SpanKind::Internal,
            start: tool.start,
            end: self.at,
            attributes,
            error: error.map(str::to_owned),
        }
    }

    /// Adds an attribute that is exported only if content capture is on.
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
