//! Asking the model, and writing down what it answers.

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::session::budget::estimate_tokens;
use provost_core::session::instructions::{ProjectPromptContext as Place, build_instructions};
use provost_core::session::tools::{self, HANDOFF};
use provost_core::session::turn_step::TurnInput;
use provost_gateway::SessionRole as Role;
use provost_proto::session::{
    CompletionPurpose, FinishReason, MessageAdded, MessageAuthor, MessagePart, SessionView,
    ToolCalled,
};
use provost_proto::{Fact, Project, limits};

use super::delta_writer::{CompletionOutcome, DeltaWriter};
use super::tool_execution::ToolInvocation;
use super::{Turn, TurnState};
use crate::model::{
    Completion as Answered, CompletionUsage, ModelMessage, ModelRequest, StopReason, ToolChoice,
    ToolDefinition,
};
use crate::session::budget::completion_allowance::CompletionAllowance;
use crate::session::error::TurnError;
use crate::session::history::touched_paths::{self, TouchedPaths};

impl Turn {
    /// Asks the model once, and writes down what it says and calls.
    pub(crate) async fn run_completion_step(
        &self,
        state: &mut TurnState,
    ) -> Result<TurnInput, TurnError> {
        if self.is_output_limit_reached(state) {
            return Ok(TurnInput::ModelStopped(FinishReason::MaxTokens));
        }
        // The conversation is lent to the request, and not copied for it.
        let messages = std::mem::take(&mut state.history.messages);
        let mut request = self.build_request(&state.view, messages, &state.history.touched).await?;
        let answered =
            self.request_completion(state, &mut request, CompletionPurpose::Answer).await;
        state.history.messages = request.messages;
        let answer = answered?;
        let heard = classify_completion(&answer);
        let calls = self.persist_completion(state, &answer).await?;
        state.history.push_completion(answer);
        state.history.open = calls;
        Ok(if state.history.open.is_empty() { heard } else { TurnInput::ToolCalls })
    }

    /// Asks, and pays. What broke off is written down before the error is told.
    pub(crate) async fn request_completion(
        &self,
        state: &mut TurnState,
        request: &mut ModelRequest,
        purpose: CompletionPurpose,
    ) -> Result<Box<Answered>, TurnError> {
        let CompletionAllowance { most, reserved, day } =
            self.reserve_budget(state, request, purpose).await?;
        request.max_output_tokens = most;
        let stream =
            self.runner.models.stream_completion(request).map_err(TurnError::UnknownModel)?;
        let pump = DeltaWriter {
            journal: &self.journal,
            turn: self.id,
            by: &self.by,
            cancel: &self.cancel,
            pace: &self.runner.pace,
        };
        let CompletionOutcome { end, parts, written, usage } = match purpose {
            CompletionPurpose::Answer => pump.write_stream(stream).await,
            CompletionPurpose::Summary => {
                crate::session::history::compaction::read_stream_silently(stream, &self.cancel)
                    .await
            }
        };
        let is_told = usage != CompletionUsage::default();
        let said = end
            .as_deref()
            .map_or(written, |answer| written.max(touched_paths::completion_bytes(answer)));
        let usage = if is_told { usage } else { estimate_usage(request, said) };
        let estimated = !is_told && usage != CompletionUsage::default();
        match end {
            Ok(answer) => {
                let used = self.record_usage(state, (reserved, day), &usage, (purpose, estimated));
                state.pending_usage = used;
                Ok(answer)
            }
            Err(broken) => {
                let mut facts = self.partial_message_facts(parts, purpose);
                if usage != CompletionUsage::default() {
                    facts.extend(self.record_usage(
                        state,
                        (reserved, day),
                        &usage,
                        (purpose, estimated),
                    ));
                }
                if !facts.is_empty() {
                    self.journal.append_as_agent(&self.by, facts).await?;
                }
                Err(broken)
            }
        }
    }

    fn partial_message_facts(
        &self,
        parts: Vec<MessagePart>,
        purpose: CompletionPurpose,
    ) -> Vec<Fact> {
        if parts.is_empty() || purpose == CompletionPurpose::Summary {
            return Vec::new();
        }
        vec![self.assistant_message_fact(parts, None)]
    }

    fn assistant_message_fact(
        &self,
        parts: Vec<MessagePart>,
        answer: Option<serde_json::Value>,
    ) -> Fact {
        Fact::MessageAdded(MessageAdded {
            session: self.journal.session,
            item: self.journal.next_item_number(),
            message: self.runner.gateway.clock().new_id(),
            turn: Some(self.id),
            from: MessageAuthor::Assistant,
            parts,
            answer,
        })
    }

    /// Writes an answer with its calls and what it used, all or nothing: so that
    /// after a crash either it was never given, or all that it called is known.
    async fn persist_completion(
        &self,
        state: &mut TurnState,
        answer: &Answered,
    ) -> Result<Vec<ToolInvocation>, TurnError> {
        let kept = serde_json::to_value(answer).ok();
        let mut facts =
            vec![self.assistant_message_fact(touched_paths::completion_parts(answer), kept)];
        facts.append(&mut state.pending_usage);
        let mut calls = Vec::new();
        if answer.stop != StopReason::MaxTokens {
            for called in answer.tool_calls().take(limits::MAX_TOOL_CALLS) {
                let known = tools::action_for_tool(&called.name);
                let tool = known.map_or_else(|| called.name.clone(), str::to_owned);
                let call = ToolInvocation {
                    item: self.journal.next_item_number(),
                    id: called.id.as_str().to_owned(),
                    action: known.map(|_| self.runner.gateway.clock().new_id()),
                    tool,
                    arguments: called.arguments.clone(),
                    child: None,
                };
                facts.push(Fact::ToolCalled(ToolCalled {
                    session: self.journal.session,
                    turn: self.id,
                    item: call.item,
                    call: call.id.clone(),
                    tool: call.tool.clone(),
                    arguments: call.arguments.clone(),
                    action: call.action,
                }));
                calls.push(call);
            }
        }
        self.journal.append_as_agent(&self.by, facts).await?;
        Ok(calls)
    }

    /// The neutral request: role, project, tools, conversation.
    pub(crate) async fn build_request(
        &self,
        view: &SessionView,
        messages: Vec<ModelMessage>,
        touched: &TouchedPaths,
    ) -> Result<ModelRequest, TurnError> {
        let gateway = &self.runner.gateway;
        let project = gateway.get_project(&view.project.uuid().to_string()).await?;
        let roles = gateway.list_session_roles(&project).await?;
        let role = match roles.iter().find(|role| role.name == view.role) {
            Some(role) => role,
            // It tells why there is none.
            None => &gateway.find_session_role(&project, &view.role).await?,
        };
        let doc = gateway.store().get_document(ViewKind::Runtimes, project.id.uuid()).await?;
        let runs =
            touched_paths::describe_runtime(doc.and_then(ViewDocument::into_runtime).as_ref());
        let now = i64::try_from(gateway.clock().now()).unwrap_or(i64::MAX);
        let date = jiff::Timestamp::from_microsecond(now).unwrap_or_default();
        let date = date.strftime("%Y-%m-%d").to_string();
        let mode = gateway.current_mode(project.id);
        let place = Place { name: &project.name, mode, runs: &runs, date: &date };
        let touched = touched.paths();
        let guides = gateway.load_guides(&project, touched).await?;
        Ok(ModelRequest {
            model: view.model.clone(),
            instructions: build_instructions(
                (&role.name, &role.instructions),
                &place,
                &guides,
                touched,
            ),
            tools: build_tool_definitions(view, role, &roles, &project)?,
            tool_choice: ToolChoice::Auto,
            messages,
            max_output_tokens: None,
            thinking: None,
            cache_key: Some(view.id.uuid().to_string()),
        })
    }
}

/// How long something is in writing. Nothing is written.
pub(crate) fn serialized_size(what: &impl serde::Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, what).map_or(0, |()| count.0)
}

/// About what an answer of so many bytes used whose provider told nothing: one that was
/// stopped or cut off, or of a server that never does. It is paid for all the same.
pub(crate) fn estimate_usage(request: &ModelRequest, said: usize) -> CompletionUsage {
    if said == 0 || request.model.starts_with("script/") {
        return CompletionUsage::default();
    }
    CompletionUsage {
        input: estimate_tokens(serialized_size(request)),
        output: estimate_tokens(said),
        ..CompletionUsage::default()
    }
}

/// The skills that a session may use: its role's, and no more than it was given.
pub(crate) fn session_skills(view: &SessionView, role: &Role) -> Vec<String> {
    let own = role.skills.iter().map(str::to_owned);
    match &view.only {
        None => own.collect(),
        Some(only) => own.filter(|skill| only.contains(skill)).collect(),
    }
}

fn build_tool_definitions(
    view: &SessionView,
    role: &Role,
    roles: &[Role],
    _project: &Project,
) -> Result<Vec<ToolDefinition>, TurnError> {
    let own = session_skills(view, role);
    let mut all = tools::tools_for_skills(own.iter().map(String::as_str));
    if view.depth < limits::MAX_HANDOFF_DEPTH {
        let others = roles.iter().filter(|other| {
            other.name != view.role
                && other.skills.iter().any(|skill| own.iter().any(|o| o == skill))
        });
        let others = others.map(|other| (other.name.as_str(), other.description.as_str()));
        all.extend(tools::handoff_tool(others));
    }
    debug_assert!(
        all.iter().all(|tool| tool.name == HANDOFF || tools::action_for_tool(&tool.name).is_some())
    );
    let tools =
        all.into_iter().map(|tool| ToolDefinition::new(tool.name, tool.description, tool.schema));
    tools.collect::<Result<_, _>>().map_err(TurnError::Model)
}

/// What an answer means for the turn.
fn classify_completion(answer: &Answered) -> TurnInput {
    match &answer.stop {
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Other { .. } => TurnInput::ModelStopped(FinishReason::Done),
        StopReason::MaxTokens => TurnInput::ModelStopped(FinishReason::MaxTokens),
        StopReason::ContextWindow => TurnInput::ContextTooLong,
        StopReason::Refusal | StopReason::ContentFilter => {
            TurnInput::ModelStopped(FinishReason::Refused)
        }
        StopReason::Paused => TurnInput::Ready,
    }
}
