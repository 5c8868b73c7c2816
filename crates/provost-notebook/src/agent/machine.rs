//! The state machine of an agent.

mod adoption;

use provost_proto::notebook::{
    Execution, ExecutionOutcome, ExecutionStatus, Fence, InputRequest, NotebookCommand,
    OutputContent, RuntimeEndReason, RuntimeSessionStatus, StreamName,
};
use provost_proto::{Code, ExecutionId, OutputId, RuntimeSessionId, limits};

use super::outbox::{InFlight, Outbox};
use super::types::{
    AgentEffect, AgentEvent, AgentOptions, AgentOutput, ExecutionRequest, MonotonicMs, PriorSession,
};
use crate::decide::{can_execute, next_execution};
use crate::state::NotebookState;

/// How long to wait before claiming again, where no race was the reason for the refusal.
const CLAIM_PAUSE_MS: u64 = 1000;

/// Why a batch was refused.
struct RefusedBatch {
    index: usize,
    code: Code,
    error: String,
}

/// A runtime in one slot of one notebook, from its start to its end.
#[derive(Debug)]
pub struct RuntimeAgent {
    options: AgentOptions,
    /// What an earlier process of the runtime may have left.
    prior: Option<PriorSession>,
    phase: Phase,
    outbox: Outbox,
    is_connected: bool,
    /// What the language process reported last.
    status: RuntimeSessionStatus,
    current: Option<Current>,
    /// When the lease is renewed next.
    renew_at: MonotonicMs,
    /// When it may claim next, after a claim was refused.
    claim_at: MonotonicMs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// Not started.
    Idle,
    /// The daemon was asked whether the session of an earlier process still is the active one.
    Adopting(PriorSession, Fence),
    /// The start was sent. With what to end it, if it must stop at once.
    Starting(Option<End>),
    Active(Fence),
    /// The end was sent.
    Stopping(End),
    Stopped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct End {
    reason: RuntimeEndReason,
    why: Option<String>,
}

/// What the agent claimed, from the claim to the report of the end.
#[derive(Debug)]
struct Current {
    id: ExecutionId,
    /// Its number in the notebook.
    count: u32,
    is_executing: bool,
    /// Whether an earlier process of the runtime started it.
    is_resumed: bool,
    is_interrupted: bool,
    /// The last output, if text can be appended: with its stream, or none for Markdown.
    appendable: Option<(OutputId, Option<StreamName>)>,
}

impl RuntimeAgent {
    /// An agent that has not started.
    pub fn new(options: AgentOptions) -> Self {
        Self::with_prior_session(options, None)
    }

    /// An agent that goes on with the session of an earlier process of the same runtime, if that
    /// is still the active one of its slot. Else it starts the session of its options.
    pub fn with_prior_session(options: AgentOptions, prior: Option<PriorSession>) -> Self {
        Self {
            // The keys of commands are of this process, whichever session it reports for.
            outbox: Outbox::new(options.session),
            options,
            prior,
            phase: Phase::Idle,
            is_connected: false,
            status: RuntimeSessionStatus::Starting,
            current: None,
            renew_at: 0,
            claim_at: 0,
        }
    }

    /// How many bytes wait to be sent: while there are many, the platform should read no more.
    pub const fn backlog_bytes(&self) -> usize {
        self.outbox.waiting_bytes()
    }

    /// The session that the agent asks about or reports for.
    pub const fn session(&self) -> RuntimeSessionId {
        match &self.phase {
            Phase::Adopting(prior, _) => prior.session,
            Phase::Idle
            | Phase::Starting(_)
            | Phase::Active(_)
            | Phase::Stopping(_)
            | Phase::Stopped => self.options.session,
        }
    }

    /// Whether the session is active.
    pub const fn is_active(&self) -> bool {
        matches!(self.phase, Phase::Active(_))
    }

    /// Whether it has ended.
    pub const fn is_stopped(&self) -> bool {
        matches!(self.phase, Phase::Stopped)
    }

    /// What it executes.
    pub fn current(&self) -> Option<ExecutionId> {
        self.current.as_ref().filter(|current| current.is_executing).map(|current| current.id)
    }

    /// Takes an input, and returns what to do, in order. `state` is what the store has now.
    pub fn step(
        &mut self,
        state: &NotebookState,
        now: MonotonicMs,
        input: AgentEvent,
    ) -> Vec<AgentEffect> {
        let mut effects = Vec::new();
        if self.phase == Phase::Stopped {
            return effects;
        }
        match input {
            AgentEvent::Connected => self.connect(state, &mut effects),
            AgentEvent::Disconnected => {
                self.is_connected = false;
                // Its lease ends it, if the end did not arrive.
                if let Phase::Stopping(end) = &self.phase {
                    let End { reason, why } = end.clone();
                    self.stop(reason, why, &mut effects);
                }
            }
            AgentEvent::StateChanged | AgentEvent::Tick => {}
            AgentEvent::Accepted(id) => drop(self.outbox.answered(&id)),
            AgentEvent::Refused { id, index, code, error } => {
                let refused = RefusedBatch { index, code, error };
                self.take_refused(&id, refused, now, &mut effects);
            }
            AgentEvent::LeaseRenewed { valid_ms } => {
                self.adopt_session(state, now);
                self.renew_at = self.renew_at.min(now + u64::from(valid_ms) / 2);
            }
            AgentEvent::Fenced { why: _ } if matches!(self.phase, Phase::Adopting(..)) => {
                self.start_session();
            }
            AgentEvent::Fenced { why } => {
                let displaced = End { reason: RuntimeEndReason::Displaced, why: Some(why) };
                // Its own end is told like that of another.
                let own = if let Phase::Stopping(end) = &self.phase { Some(end) } else { None };
                let End { reason, why } = own.cloned().unwrap_or(displaced);
                self.stop(reason, why, &mut effects);
            }
            AgentEvent::StatusChanged(status) => self.report_status(status),
            AgentEvent::Output(execution, output) => self.report_output(execution, output),
            AgentEvent::DisplayUpdated { display, data, metadata } => {
                if let Phase::Active(fence) = self.phase {
                    let session = self.options.session;
                    let replace =
                        NotebookCommand::ReplaceDisplay { session, fence, display, data, metadata };
                    self.outbox.push(replace);
                }
            }
            AgentEvent::InputAsked(execution, input) => self.ask_input(execution, input),
            AgentEvent::Finished { execution, outcome, why } => {
                self.finish(execution, outcome, why);
            }
            AgentEvent::Interrupt => self.interrupt(&mut effects),
            AgentEvent::Shutdown { reason, why } => {
                self.shut_down(End { reason, why }, &mut effects);
            }
        }
        self.follow_state(state, &mut effects);
        self.claim_next(state, now);
        self.renew_lease(now, &mut effects);
        if self.is_connected {
            effects.extend(self.outbox.take_next());
        }
        effects
    }

    fn connect(&mut self, state: &NotebookState, effects: &mut Vec<AgentEffect>) {
        if self.is_connected {
            return;
        }
        self.is_connected = true;
        effects.extend(self.outbox.resend());
        // After a pause the daemon is asked at once whether the session is still the active one.
        self.renew_at = 0;
        if let Phase::Idle | Phase::Adopting(..) = self.phase {
            match self.find_prior_session(state) {
                Some((prior, fence)) => {
                    let session = prior.session;
                    self.phase = Phase::Adopting(prior, fence);
                    effects.push(AgentEffect::RenewLease { session, fence });
                }
                None => self.start_session(),
            }
        }
    }

    fn start_session(&mut self) {
        self.phase = Phase::Starting(None);
        let options = self.options.clone();
        self.outbox.push_alone(vec![NotebookCommand::StartSession {
            session: options.session,
            slot: options.slot,
            runtime_id: options.runtime_id,
            runtime_type: options.runtime_type,
            place: options.place,
            capabilities: options.capabilities,
        }]);
    }

    fn take_refused(
        &mut self,
        id: &str,
        RefusedBatch { index, code, error }: RefusedBatch,
        now: MonotonicMs,
        effects: &mut Vec<AgentEffect>,
    ) {
        let Some(InFlight { mut commands, .. }) = self.outbox.answered(id) else { return };
        if code == Code::StaleFence {
            return self.stop(RuntimeEndReason::Displaced, Some(error), effects);
        }
        if let Phase::Starting(_) | Phase::Stopping(_) = self.phase {
            return self.stop(RuntimeEndReason::Error, Some(error), effects);
        }
        if let Some(NotebookCommand::ClaimExecution { .. }) = commands.first() {
            // Somebody cancelled it, or was first. The next state says what there is to do.
            self.current = None;
            if code != Code::ExecutionState {
                // The project may be closed: nothing tells when it is open again.
                self.claim_at = now + CLAIM_PAUSE_MS;
            }
            return;
        }
        // All or none were applied: the others are sent again.
        let refused = (index < commands.len()).then(|| commands.remove(index));
        if let Some(NotebookCommand::AddOutput { execution, fence, output, content }) = refused
            && code == Code::TooLarge
            && !matches!(content, OutputContent::Stream { name: StreamName::Stderr, .. })
        {
            let text = format!("[{error}]\n");
            let content = OutputContent::Stream { name: StreamName::Stderr, text };
            commands
                .insert(index, NotebookCommand::AddOutput { execution, fence, output, content });
        }
        self.outbox.push_front(commands);
    }

    fn report_status(&mut self, status: RuntimeSessionStatus) {
        // Whether it is busy is known from what it claimed.
        let status = match status {
            RuntimeSessionStatus::Busy => RuntimeSessionStatus::Ready,
            RuntimeSessionStatus::Ended => return,
            RuntimeSessionStatus::Starting
            | RuntimeSessionStatus::Ready
            | RuntimeSessionStatus::Restarting
            | RuntimeSessionStatus::Unresponsive => status,
        };
        if self.status == status {
            return;
        }
        self.status = status;
        if let Phase::Active(fence) = self.phase {
            self.push_status(fence);
        }
    }

    fn push_status(&mut self, fence: Fence) {
        if self.status != RuntimeSessionStatus::Starting {
            let (session, status) = (self.options.session, self.status);
            self.outbox.push(NotebookCommand::SetSessionStatus { session, fence, status });
        }
    }

    fn report_output(&mut self, execution: ExecutionId, output: AgentOutput) {
        let Phase::Active(fence) = self.phase else { return };
        let Some(current) = self.current.as_mut().filter(|current| current.id == execution) else {
            return;
        };
        let (output, content) = match output {
            AgentOutput::Clear { wait } => {
                current.appendable = None;
                return self.outbox.push(NotebookCommand::ClearOutputs { execution, fence, wait });
            }
            AgentOutput::AppendMarkdown { output, text } => {
                let is_last = current.appendable == Some((output, None));
                if is_last {
                    self.append(execution, fence, output, text);
                }
                return;
            }
            AgentOutput::Stream { text, .. } if text.is_empty() => return,
            AgentOutput::Stream { output, name, text } => {
                if let Some((last, stream)) = current.appendable
                    && stream == Some(name)
                {
                    return self.append(execution, fence, last, text);
                }
                (output, OutputContent::Stream { name, text })
            }
            AgentOutput::Display { output, data, metadata, display } => {
                (output, OutputContent::Display { data, metadata, display })
            }
            AgentOutput::Result { output, data, metadata, display } => {
                let count = current.count;
                (output, OutputContent::Result { data, metadata, display, count })
            }
            AgentOutput::Error { output, name, value, traceback } => {
                (output, OutputContent::Error { name, value, traceback })
            }
            AgentOutput::Markdown { output, text } => (output, OutputContent::Markdown { text }),
        };
        self.add(execution, fence, output, content);
    }

    /// Adds an output. Of a long text, the rest is appended.
    fn add(
        &mut self,
        execution: ExecutionId,
        fence: Fence,
        output: OutputId,
        mut content: OutputContent,
    ) {
        let (stream, rest) = match &mut content {
            OutputContent::Stream { name, text } => (Some(Some(*name)), split_rest(text)),
            OutputContent::Markdown { text } => (Some(None), split_rest(text)),
            OutputContent::Display { .. }
            | OutputContent::Result { .. }
            | OutputContent::Error { .. } => (None, String::new()),
        };
        if let Some(current) = &mut self.current {
            current.appendable = stream.map(|stream| (output, stream));
        }
        self.outbox.push(NotebookCommand::AddOutput { execution, fence, output, content });
        self.append(execution, fence, output, rest);
    }

    fn append(&mut self, execution: ExecutionId, fence: Fence, output: OutputId, mut text: String) {
        while !text.is_empty() {
            let rest = split_rest(&mut text);
            self.outbox.push(NotebookCommand::AppendOutput { execution, fence, output, text });
            text = rest;
        }
    }

    fn ask_input(&mut self, execution: ExecutionId, input: InputRequest) {
        if let Phase::Active(fence) = self.phase
            && self.current() == Some(execution)
        {
            self.outbox.push(NotebookCommand::AskInput { execution, fence, input });
        }
    }

    fn finish(&mut self, execution: ExecutionId, outcome: ExecutionOutcome, why: Option<String>) {
        let Phase::Active(fence) = self.phase else { return };
        let Some(current) = self.current.take_if(|current| current.id == execution) else {
            return;
        };
        let outcome = match outcome {
            // What an interrupt does to a program looks like an error to its handler.
            ExecutionOutcome::Error if current.is_interrupted => ExecutionOutcome::Cancelled,
            ExecutionOutcome::Lost => ExecutionOutcome::Error,
            ExecutionOutcome::Ok | ExecutionOutcome::Error | ExecutionOutcome::Cancelled => outcome,
        };
        let why = why.map(|why| truncate(why, limits::MAX_REASON_BYTES));
        self.outbox.push(NotebookCommand::FinishExecution { execution, fence, outcome, why });
    }

    fn shut_down(&mut self, end: End, effects: &mut Vec<AgentEffect>) {
        match &self.phase {
            Phase::Idle => self.stop(end.reason, end.why, effects),
            // Without a connection its lease ends it.
            Phase::Adopting(..) | Phase::Starting(_) | Phase::Active(_) if !self.is_connected => {
                self.stop(end.reason, end.why, effects);
            }
            Phase::Adopting(prior, fence) => {
                let fence = *fence;
                self.options.session = prior.session;
                self.end_session(fence, end, effects);
            }
            Phase::Starting(_) => self.phase = Phase::Starting(Some(end)),
            Phase::Active(fence) => {
                let fence = *fence;
                self.end_session(fence, end, effects);
            }
            Phase::Stopping(_) | Phase::Stopped => {}
        }
    }

    fn end_session(&mut self, fence: Fence, end: End, effects: &mut Vec<AgentEffect>) {
        self.interrupt(effects);
        self.current = None;
        let (session, reason) = (self.options.session, end.reason);
        let why = end.why.clone().map(|why| truncate(why, limits::MAX_REASON_BYTES));
        self.outbox.push(NotebookCommand::EndSession { session, fence, reason, why });
        self.phase = Phase::Stopping(end);
    }

    fn interrupt(&mut self, effects: &mut Vec<AgentEffect>) {
        if let Some(current) = &mut self.current
            && current.is_executing
            && !current.is_interrupted
        {
            current.is_interrupted = true;
            effects.push(AgentEffect::Interrupt(current.id));
        }
    }

    /// Ends at once. What was not sent would be refused.
    fn stop(
        &mut self,
        reason: RuntimeEndReason,
        why: Option<String>,
        effects: &mut Vec<AgentEffect>,
    ) {
        self.interrupt(effects);
        self.current = None;
        self.outbox.clear();
        self.phase = Phase::Stopped;
        effects.push(AgentEffect::Stopped { reason, why });
    }

    /// What the log says about the session and what it claimed.
    fn follow_state(&mut self, state: &NotebookState, effects: &mut Vec<AgentEffect>) {
        let Some(session) = state.session(self.options.session) else { return };
        if self.phase == Phase::Stopped {
            return;
        }
        if session.status == RuntimeSessionStatus::Ended {
            let reason = session.end_reason.unwrap_or(RuntimeEndReason::Shutdown);
            return self.stop(reason, session.why.clone(), effects);
        }
        if let Phase::Starting(end) = &mut self.phase {
            let end = end.take();
            self.phase = Phase::Active(session.fence);
            self.push_status(session.fence);
            if let Some(end) = end {
                self.end_session(session.fence, end, effects);
            }
        }
        let claimed = self.current.as_ref().and_then(|current| state.execution(current.id));
        if let Some(execution) = claimed {
            self.follow_execution(execution, effects);
        }
    }

    fn follow_execution(&mut self, execution: &Execution, effects: &mut Vec<AgentEffect>) {
        let is_own = execution.session == Some(self.options.session);
        let Some(current) = &mut self.current else { return };
        match execution.status {
            ExecutionStatus::Running if is_own && !current.is_executing => {
                current.is_executing = true;
                effects.push(AgentEffect::Execute(ExecutionRequest {
                    execution: execution.id,
                    cell: execution.cell,
                    kind: execution.kind,
                    count: execution.count,
                    source: execution.source.clone(),
                    is_resumed: current.is_resumed,
                }));
            }
            // What was adopted before it started, and cancelled since.
            ExecutionStatus::Assigned
                if is_own && execution.cancelling && self.outbox.is_empty() =>
            {
                let id = execution.id;
                self.current = None;
                return self.finish_unstarted(id);
            }
            ExecutionStatus::Finished if self.outbox.is_empty() => {
                // Somebody else ended it, such as with the notebook.
                self.interrupt(effects);
                self.current = None;
                return;
            }
            ExecutionStatus::Queued
            | ExecutionStatus::Assigned
            | ExecutionStatus::Running
            | ExecutionStatus::Finished => {}
        }
        if execution.cancelling && is_own {
            self.interrupt(effects);
        }
    }

    /// Claims what was requested first. Claim and start are one transaction: no state in between
    /// can be interrupted.
    fn claim_next(&mut self, state: &NotebookState, now: MonotonicMs) {
        let Phase::Active(fence) = self.phase else { return };
        let is_ready = self.status == RuntimeSessionStatus::Ready && now >= self.claim_at;
        if !is_ready || !self.is_connected || self.current.is_some() || !self.outbox.is_empty() {
            return;
        }
        let Some(session) = state.session(self.options.session) else { return };
        let capabilities = self.options.capabilities;
        let Some(next) = next_execution(state, &session.slot, capabilities) else { return };
        if session.execution.is_some() || !can_execute(capabilities, next.kind) {
            return;
        }
        let execution = next.id;
        self.outbox.push_alone(vec![
            NotebookCommand::ClaimExecution { execution, session: session.id, fence },
            NotebookCommand::StartExecution { execution, fence },
        ]);
        self.current = Some(Current {
            id: execution,
            count: next.count,
            is_executing: false,
            is_resumed: false,
            is_interrupted: false,
            appendable: None,
        });
    }

    fn renew_lease(&mut self, now: MonotonicMs, effects: &mut Vec<AgentEffect>) {
        if let Phase::Active(fence) = self.phase
            && self.is_connected
            && now >= self.renew_at
        {
            self.renew_at = now + limits::LEASE_RENEWAL_MS;
            effects.push(AgentEffect::RenewLease { session: self.options.session, fence });
        }
    }
}

/// Takes what is beyond the longest text of one command.
fn split_rest(text: &mut String) -> String {
    let end = text.floor_char_boundary(limits::MAX_APPENDED_BYTES / 4);
    text.split_off(end)
}

fn truncate(mut text: String, limit: usize) -> String {
    text.truncate(text.floor_char_boundary(limit));
    text
}
