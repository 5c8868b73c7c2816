//! One completion: building the request, streaming it, and appending it with its calls.

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::session::budget::estimate_tokens;
use provost_core::session::instructions::{ProjectPromptContext, build_instructions};
use provost_core::session::tools::{self, HANDOFF};
use provost_core::session::turn_step::TurnInput;
use provost_gateway::{DraftWriter, SessionRole};
use provost_proto::runtime::RuntimeView;
use provost_proto::session::{
    CompletionPurpose, FinishReason, MessageAdded, MessageAuthor, SessionView, ToolCalled,
};
use provost_proto::{Fact, MessageId, limits};

use super::delta_writer::{ChargeAttempt, CompletionOutcome, DeltaWriter, StreamedCompletion};
use super::tool_execution::ToolInvocation;
use super::{Turn, TurnState};
use crate::model::{
    Completion, CompletionUsage, ModelMessage, ModelRequest, ModelStream, StopReason, ToolChoice,
    ToolDefinition,
};
use crate::session::budget::attempt_meter::AttemptMeter;
use crate::session::budget::completion_allowance::{CompletionAllowance, UsedAttempts};
use crate::session::error::TurnError;
use crate::session::history::answer_texts::share_texts;
use crate::session::history::touched_paths::TouchedPaths;
use crate::session::history::{compaction, completion_parts};

impl Turn {
    /// Requests one completion and appends it with its tool calls.
    pub(crate) async fn run_completion_step(
        &self,
        state: &mut TurnState,
    ) -> Result<TurnInput, TurnError> {
        if self.is_output_limit_reached(state) {
            return Ok(TurnInput::ModelStopped(FinishReason::MaxTokens));
        }
        // The conversation is moved into the request and back, not copied.
        let messages = std::mem::take(&mut state.history.messages);
        let mut request = self.build_request(&state.view, messages, &state.history.touched).await?;
        let completed =
            self.request_completion(state, &mut request, CompletionPurpose::Answer).await;
        state.history.messages = request.messages;
        let answer = completed?;
        let input = classify_completion(&answer);
        let calls = self.persist_completion(state, &answer).await?;
        state.history.push_completion(answer);
        state.history.open = calls;
        Ok(if state.history.open.is_empty() { input } else { TurnInput::ToolCalls })
    }

    /// Requests a completion and charges it. The part of a completion that broke off is
    /// appended before the error is returned.
    pub(crate) async fn request_completion(
        &self,
        state: &mut TurnState,
        request: &mut ModelRequest,
        purpose: CompletionPurpose,
    ) -> Result<Box<Completion>, TurnError> {
        let CompletionAllowance { max_output_tokens, reserved, day } =
            self.reserve_budget(state, request, purpose).await?;
        request.max_output_tokens = max_output_tokens;
        let stream =
            self.runner.models.stream_completion(request).map_err(TurnError::UnknownModel)?;
        let charge_attempt =
            |used: &CompletionUsage| self.charge_broken_attempt(&state.view, &reserved, used);
        let CompletionOutcome { end, streamed, attempts, is_estimated } =
            self.read_completion(stream, request, purpose, &charge_attempt).await?;
        match end {
            Ok(answer) => {
                let used = UsedAttempts { attempts: &attempts, is_estimated, purpose, day };
                state.pending_usage = self.record_usage(state, reserved, &used);
                state.pending_draft = streamed.map(|streamed| streamed.draft);
                Ok(answer)
            }
            Err(error) => {
                let (draft, mut facts) = self.partial_message_facts(streamed);
                if !attempts.is_empty() {
                    let used = UsedAttempts { attempts: &attempts, is_estimated, purpose, day };
                    facts.extend(self.record_usage(state, reserved, &used));
                }
                let mut appended = None;
                if !facts.is_empty() {
                    appended = Some(self.log.append_as_agent(&self.by, facts).await?);
                }
                if let Some(draft) = draft {
                    draft.finish(appended)?;
                }
                Err(error)
            }
        }
    }

    async fn read_completion(
        &self,
        stream: ModelStream,
        request: &ModelRequest,
        purpose: CompletionPurpose,
        charge_attempt: &ChargeAttempt<'_>,
    ) -> Result<CompletionOutcome, TurnError> {
        let meter = AttemptMeter::new(request);
        let delta_writer = DeltaWriter {
            log: &self.log,
            turn: self.id,
            by: &self.by,
            cancel: &self.cancel,
            charge_attempt,
        };
        match purpose {
            CompletionPurpose::Answer => {
                let gateway = &self.runner.gateway;
                let message = gateway.clock().new_id();
                let draft = gateway.drafts.begin(self.log.session, self.id, message)?;
                Ok(delta_writer.write_stream(stream, meter, draft).await)
            }
            CompletionPurpose::Summary => {
                let cancel = &self.cancel;
                Ok(compaction::read_stream_silently(stream, cancel, meter, charge_attempt).await)
            }
        }
    }

    /// What was streamed of a completion that broke off, as a message, and its draft.
    fn partial_message_facts(
        &self,
        streamed: Option<StreamedCompletion>,
    ) -> (Option<DraftWriter>, Vec<Fact>) {
        let Some(mut streamed) = streamed else { return (None, Vec::new()) };
        let (parts, cut_calls) = streamed.take_content();
        let draft = streamed.draft;
        if parts.is_empty() && cut_calls.is_empty() {
            return (Some(draft), Vec::new());
        }
        let fact = Fact::MessageAdded(MessageAdded {
            session: self.log.session,
            item: self.log.next_item_number(),
            message: draft.message(),
            turn: Some(self.id),
            from: MessageAuthor::Assistant,
            parts,
            answer: None,
            answer_texts: Vec::new(),
            cut_calls,
        });
        (Some(draft), vec![fact])
    }

    fn completed_message_fact(&self, message: MessageId, answer: &Completion) -> Fact {
        let parts = completion_parts::visible_parts(answer);
        let mut native = serde_json::to_value(answer).ok();
        let answer_texts =
            native.as_mut().map(|native| share_texts(native, &parts)).unwrap_or_default();
        Fact::MessageAdded(MessageAdded {
            session: self.log.session,
            item: self.log.next_item_number(),
            message,
            turn: Some(self.id),
            from: MessageAuthor::Assistant,
            parts,
            answer: native,
            answer_texts,
            cut_calls: Vec::new(),
        })
    }

    /// Appends a completion with its calls and usage in one transaction: after a crash either
    /// nothing of it is in the log, or all its calls are.
    async fn persist_completion(
        &self,
        state: &mut TurnState,
        answer: &Completion,
    ) -> Result<Vec<ToolInvocation>, TurnError> {
        let draft = state.pending_draft.take();
        let message = draft.as_ref().map(DraftWriter::message);
        let message = message.unwrap_or_else(|| self.runner.gateway.clock().new_id());
        let mut facts = vec![self.completed_message_fact(message, answer)];
        facts.append(&mut state.pending_usage);
        let mut calls = Vec::new();
        if answer.stop != StopReason::MaxTokens {
            for called in answer.tool_calls().take(limits::MAX_TOOL_CALLS) {
                let known = tools::action_for_tool(&called.name);
                let tool = known.map_or_else(|| called.name.clone(), str::to_owned);
                let call = ToolInvocation {
                    item: self.log.next_item_number(),
                    id: called.id.as_str().to_owned(),
                    action: known.map(|_| self.runner.gateway.clock().new_id()),
                    tool,
                    arguments: called.arguments.clone(),
                    child: None,
                };
                facts.push(Fact::ToolCalled(ToolCalled {
                    session: self.log.session,
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
        let appended = self.log.append_as_agent(&self.by, facts).await?;
        if let Some(draft) = draft {
            draft.finish(Some(appended))?;
        }
        Ok(calls)
    }

    /// Builds the provider-neutral request: instructions, tools and conversation.
    pub(crate) async fn build_request(
        &self,
        view: &SessionView,
        messages: Vec<ModelMessage>,
        touched: &TouchedPaths,
    ) -> Result<ModelRequest, TurnError> {
        let gateway = &self.runner.gateway;
        let project = gateway.projects.get_project(&view.project.uuid().to_string()).await?;
        let roles = gateway.sessions.list_session_roles(&project).await?;
        let role = match roles.iter().find(|role| role.name == view.role) {
            Some(role) => role,
            // Returns the error that says why there is no such role.
            None => &gateway.sessions.find_session_role(&project, &view.role).await?,
        };
        let doc = gateway.store().get_document(ViewKind::Runtimes, project.id.uuid()).await?;
        let runs = describe_runtime(doc.and_then(ViewDocument::into_runtime).as_ref());
        let now = i64::try_from(gateway.clock().now()).unwrap_or(i64::MAX);
        let date = jiff::Timestamp::from_microsecond(now).unwrap_or_default();
        let date = date.strftime("%Y-%m-%d").to_string();
        let mode = gateway.governance.current_mode(project.id);
        let prompt_context =
            ProjectPromptContext { name: &project.name, mode, runs: &runs, date: &date };
        let touched = touched.paths();
        let guides = gateway.sessions.load_guides(&project, touched).await?;
        Ok(ModelRequest {
            model: view.model.clone(),
            instructions: build_instructions(
                &role.name,
                &role.instructions,
                &prompt_context,
                &guides,
                touched,
            ),
            tools: build_tool_definitions(view, role, &roles)?,
            tool_choice: ToolChoice::Auto,
            messages,
            max_output_tokens: None,
            thinking: None,
            cache_key: Some(view.id.uuid().to_string()),
        })
    }
}

/// The state of the project's dev server, for the instructions.
fn describe_runtime(runtime: Option<&RuntimeView>) -> String {
    let Some(runtime) = runtime else { return "its dev server does not run".to_owned() };
    let status = serde_json::to_value(runtime.status).unwrap_or_default();
    let status = status.as_str().unwrap_or("stopped").to_owned();
    match runtime.preview.port {
        Some(port) => format!("its dev server is {status}, seen on port {port}"),
        None => format!("its dev server is {status}"),
    }
}

/// The size of a value as JSON, in bytes, without building the text.
pub(crate) fn serialized_size(value: &impl serde::Serialize) -> usize {
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
    serde_json::to_writer(&mut count, value).map_or(0, |()| count.0)
}

/// Estimates the usage of an attempt whose provider reported none, because it was cut off. It
/// is charged all the same, unless the model is one that no provider charges for.
pub(crate) fn estimate_usage(
    request: &ModelRequest,
    output_bytes: usize,
) -> Option<CompletionUsage> {
    let is_script = request.model.starts_with("script/");
    (!is_script).then(|| CompletionUsage {
        input: estimate_tokens(serialized_size(request)),
        output: estimate_tokens(output_bytes),
        ..CompletionUsage::default()
    })
}

/// The skills that a session may use: those of its role, limited to those of its handoff.
pub(crate) fn session_skills(view: &SessionView, role: &SessionRole) -> Vec<String> {
    let own = role.skills.iter().map(str::to_owned);
    match &view.only {
        None => own.collect(),
        Some(only) => own.filter(|skill| only.contains(skill)).collect(),
    }
}

fn build_tool_definitions(
    view: &SessionView,
    role: &SessionRole,
    roles: &[SessionRole],
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

/// The input that a completion is for the turn's state machine.
fn classify_completion(answer: &Completion) -> TurnInput {
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
