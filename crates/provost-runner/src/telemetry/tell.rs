//! What one fact says of its turn: the spans that end with it.

use provost_proto::session::{CompletionPurpose, TokenUsage, ToolCallStatus};
use provost_proto::{Fact, SessionId, TurnId, UnixMicros};
use serde_json::{Value, json};

use super::Contents;
use super::span::{Kind, Span, Spot};
use super::trace::{Agent, Answer, Tool, Turn};
use super::words::{cut, finish, provider_name, said_by, text, usage};

/// One fact of a turn.
pub(super) struct Teller<'a> {
    pub(super) session: SessionId,
    pub(super) agent: &'a Agent,
    pub(super) contents: Contents,
    pub(super) at: UnixMicros,
}

impl Teller<'_> {
    /// The spans that end, and whether the turn does.
    pub(super) fn tell(&self, turn: &mut Turn, fact: Fact) -> (Vec<Span>, bool) {
        let own = |id: TurnId| id == turn.id;
        if let Fact::MessageAdded(added) = fact {
            let text = text(&added.parts);
            turn.said = Some(text.clone());
            turn.answer = Some(Answer { text, native: added.answer });
            return (Vec::new(), false);
        } else if let Fact::UsageRecorded(used) = &fact {
            turn.usage = turn.usage.saturating_add(used.usage);
            let is_broken = used.purpose == CompletionPurpose::Answer
                && turn.answer.as_ref().is_none_or(|answer| answer.native.is_none());
            // Why it broke off is said next.
            let spans = if is_broken { None } else { self.chat(turn, Some(used.usage), None) };
            return (spans.into_iter().collect(), false);
        } else if let Fact::ToolCalled(called) = fact {
            turn.asking = None;
            let (name, call, began) = (called.tool, called.call, self.at);
            turn.tools.insert(called.item, Tool { name, call, arguments: called.arguments, began });
            return (Vec::new(), false);
        } else if let Fact::ToolReturned(returned) = fact {
            let spot = Spot { trace: turn.spot.trace.clone(), span: turn.tool(returned.item) };
            let Some(tool) = turn.tools.remove(&returned.item) else { return (Vec::new(), false) };
            if turn.tools.is_empty() {
                turn.asking = Some(self.at);
            }
            let span = self.tool(turn, spot, &tool, (returned.status, &returned.output));
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
            spans.extend(self.chat(turn, None, Some(error)));
        }
        spans.push(self.turn(turn, error));
        (spans, true)
    }

    /// What every span says.
    fn common(&self, operation: &str) -> Vec<(&'static str, Value)> {
        let (provider, model) = self.agent.model.split_once('/').unwrap_or(("", &self.agent.model));
        vec![
            ("gen_ai.operation.name", json!(operation)),
            ("gen_ai.provider.name", json!(provider_name(provider))),
            ("gen_ai.request.model", json!(model)),
            ("gen_ai.agent.name", json!(self.agent.role)),
            ("gen_ai.conversation.id", json!(self.session.uuid().to_string())),
        ]
    }

    fn turn(&self, turn: &mut Turn, error: Option<String>) -> Span {
        let mut attributes = self.common("invoke_agent");
        attributes.extend(usage(turn.usage));
        let (asked, said) = (turn.asked.take(), turn.said.take());
        self.content(
            &mut attributes,
            "gen_ai.input.messages",
            asked.map(|text| said_by("user", &text)),
        );
        self.content(
            &mut attributes,
            "gen_ai.output.messages",
            said.map(|text| said_by("assistant", &text)),
        );
        Span {
            spot: turn.spot.clone(),
            parent: turn.parent.clone(),
            name: format!("invoke_agent {}", self.agent.role),
            kind: Kind::Internal,
            began: turn.began,
            ended: self.at,
            attributes,
            error,
        }
    }

    /// An answer of the model; `None` if it was not asked.
    fn chat(&self, turn: &mut Turn, used: Option<TokenUsage>, error: Option<&str>) -> Option<Span> {
        let began = turn.asking.replace(self.at)?;
        turn.chats += 1;
        let span = turn.made_of("chat", turn.chats);
        let mut attributes = self.common("chat");
        attributes.extend(used.into_iter().flat_map(usage));
        if let Some(Answer { text, native }) = turn.answer.take() {
            let native = native.unwrap_or_default();
            if let Some(model) = native["answeredBy"].as_str() {
                attributes.push(("gen_ai.response.model", json!(model)));
            }
            if let Some(id) = native["response"].as_str() {
                attributes.push(("gen_ai.response.id", json!(id)));
            }
            if let Some(reason) = native["stop"]["reason"].as_str() {
                attributes.push(("gen_ai.response.finish_reasons", json!([finish(reason)])));
            }
            let said = Some(said_by("assistant", &text)).filter(|_| !text.is_empty());
            self.content(&mut attributes, "gen_ai.output.messages", said);
        }
        Some(Span {
            spot: Spot { trace: turn.spot.trace.clone(), span },
            parent: Some(turn.spot.span.clone()),
            name: format!(
                "chat {}",
                self.agent.model.split_once('/').map_or("", |(_, model)| model)
            ),
            kind: Kind::Client,
            began,
            ended: self.at,
            attributes,
            error: error.map(str::to_owned),
        })
    }

    fn tool(
        &self,
        turn: &Turn,
        spot: Spot,
        tool: &Tool,
        (status, output): (ToolCallStatus, &str),
    ) -> Span {
        let mut attributes = self.common("execute_tool");
        attributes.push(("gen_ai.tool.name", json!(tool.name)));
        attributes.push(("gen_ai.tool.call.id", json!(tool.call)));
        attributes.push(("gen_ai.tool.type", json!("function")));
        let (arguments, output) = (json!(cut(&tool.arguments)), json!(cut(output)));
        self.content(&mut attributes, "gen_ai.tool.call.arguments", Some(arguments));
        self.content(&mut attributes, "gen_ai.tool.call.result", Some(output));
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
            kind: Kind::Internal,
            began: tool.began,
            ended: self.at,
            attributes,
            error: error.map(str::to_owned),
        }
    }

    /// What only a second switch tells.
    fn content(
        &self,
        to: &mut Vec<(&'static str, Value)>,
        key: &'static str,
        value: Option<Value>,
    ) {
        match self.contents {
            Contents::LeftOut => {}
            Contents::Told => to.extend(value.map(|value| (key, value))),
        }
    }
}
