//! One turn: from a message until the model stops.

pub(crate) mod delta_writer;
mod handoff;
pub(crate) mod request_completion;
pub(crate) mod tool_execution;
pub(crate) mod tool_output;

use std::sync::Arc;
use std::time::Instant;

use provost_core::session::loop_detector::{CallRepetition, LoopDetector};
use provost_core::session::reservation_ledger::AccountKey;
use provost_core::session::turn_step::{
    TurnInput, TurnLimits, TurnProgress, TurnStep, compaction_threshold, next_turn_step,
};
use provost_gateway::DraftWriter;
use provost_proto::kernel::ErrorInfo;
use provost_proto::session::{FinishReason, SessionView, TurnCancelled, TurnFailed, TurnFinished};
use provost_proto::{Code, Fact, TurnId};
use tokio_util::sync::CancellationToken;

use crate::model::ModelError;
use crate::session::budget::session_lineage::SessionLineage;
use crate::session::error::{TurnError, fault_from_turn_error};
use crate::session::history::session_log::SessionLog;
use crate::session::history::{self, ConversationHistory};
use crate::session::{CallerIdentity, Runner};
use tool_execution::{ToolInvocation, ToolOutcome, strip_repeat_notice};

/// A running turn, and the caller on whose authority it acts.
pub(crate) struct Turn {
    pub(crate) runner: Arc<Runner>,
    pub(crate) log: Arc<SessionLog>,
    pub(crate) id: TurnId,
    pub(crate) by: CallerIdentity,
    /// Most output tokens of its completions together.
    pub(crate) max_output_tokens: Option<u32>,
    pub(crate) cancel: CancellationToken,
    /// Cancelled if a person stopped the turn, rather than its client disconnecting.
    pub(crate) stopped: CancellationToken,
}

/// The state of a turn in memory.
pub(crate) struct TurnState {
    pub(crate) view: SessionView,
    pub(crate) history: ConversationHistory,
    pub(crate) progress: TurnProgress,
    /// The usage of the last completion, to be appended with it.
    pub(crate) pending_usage: Vec<Fact>,
    /// The draft of the last completion, which ends when it is appended.
    pub(crate) pending_draft: Option<DraftWriter>,
    /// The sessions that its completions are charged to.
    pub(crate) lineage: SessionLineage,
    /// Output tokens of its completions under this daemon.
    pub(crate) output_tokens: u64,
    loop_detector: LoopDetector,
    compacted: bool,
    started: Instant,
    /// Milliseconds that the root turn had run when this state was loaded.
    earlier_millis: u64,
}

/// How a turn ended.
enum TurnOutcome {
    Finished(FinishReason),
    Failed(ErrorInfo),
    Cancelled,
}

impl Turn {
    /// Runs the turn and appends its end to the log.
    pub(crate) async fn run(self) {
        let end = match self.run_steps().await {
            Ok(end) => end,
            Err(error) => {
                fault_from_turn_error(&error).map_or(TurnOutcome::Cancelled, TurnOutcome::Failed)
            }
        };
        let (session, turn) = (self.log.session, self.id);
        let fact = match end {
            TurnOutcome::Finished(reason) => {
                Fact::TurnFinished(TurnFinished { session, turn, reason })
            }
            TurnOutcome::Failed(fault) => Fact::TurnFailed(TurnFailed { session, turn, fault }),
            TurnOutcome::Cancelled => {
                let withdrawn = !self.stopped.is_cancelled();
                Fact::TurnCancelled(TurnCancelled { session, turn, withdrawn })
            }
        };
        if let Err(error) = self.log.append_as_agent(&self.by, vec![fact]).await {
            tracing::error!(%error, "cannot append the end of a turn");
        }
        self.runner.ledger.lock_accounts().remove_account(AccountKey::Turn(self.id));
    }

    async fn run_steps(&self) -> Result<TurnOutcome, TurnError> {
        self.runner.record_unlogged_drafts(&self.log).await?;
        let mut state = self.load_state().await?;
        let mut input =
            if state.history.open.is_empty() { TurnInput::Ready } else { TurnInput::ToolCalls };
        let (settings, prices) = (&self.runner.settings, &self.runner.prices);
        let compact_at =
            compaction_threshold(settings.compact_at, prices.context_window(&state.view.model));
        let limits = TurnLimits { compact_at, ..settings.limits };
        loop {
            if self.cancel.is_cancelled() && input != TurnInput::ToolCalls {
                return Ok(TurnOutcome::Cancelled);
            }
            self.refresh_progress(&mut state);
            input = match next_turn_step(input, state.progress, &limits, state.compacted) {
                TurnStep::CallModel => match self.run_completion_step(&mut state).await {
                    Err(TurnError::Model(ModelError::ContextLength(_))) => {
                        TurnInput::ContextTooLong
                    }
                    result => {
                        let next_input = result?;
                        state.compacted = false;
                        next_input
                    }
                },
                TurnStep::RunTools => {
                    if let Some(fault) = self.execute_open_calls(&mut state).await? {
                        return Ok(TurnOutcome::Failed(fault));
                    }
                    TurnInput::Ready
                }
                TurnStep::Compact => {
                    self.compact_conversation(&mut state).await?;
                    state.compacted = true;
                    TurnInput::Compacted
                }
                TurnStep::Finish(reason) => return Ok(TurnOutcome::Finished(reason)),
                TurnStep::Fail(stop) => {
                    let (code, message) = (stop.code(), stop.to_string());
                    return Ok(TurnOutcome::Failed(ErrorInfo { code, message, details: None }));
                }
            };
        }
    }

    async fn load_state(&self) -> Result<TurnState, TurnError> {
        let view = self.runner.load_session(self.log.session).await?;
        let mut history = history::load_history(&**self.runner.gateway.store(), &view).await?;
        if history.open.is_empty() {
            history.ensure_awaiting_model();
        }
        let mut loop_detector = LoopDetector::default();
        for (tool, arguments, output) in history.done.drain(..) {
            loop_detector.record_call(&tool, &arguments, strip_repeat_notice(&output));
        }
        let lineage = self.runner.load_lineage(&view, self.id).await?;
        let turn = view.turn.as_ref().filter(|turn| turn.id == self.id);
        let now = self.runner.gateway.clock().now();
        let progress = TurnProgress { context: view.context, ..TurnProgress::default() };
        let root_started_at = lineage.root_turn_started_at().or(turn.map(|turn| turn.started_at));
        let earlier_millis = root_started_at.map_or(0, |at| now.saturating_sub(at) / 1000);
        Ok(TurnState {
            view,
            history,
            progress,
            pending_usage: Vec::new(),
            pending_draft: None,
            lineage,
            output_tokens: 0,
            loop_detector,
            compacted: false,
            started: Instant::now(),
            earlier_millis,
        })
    }

    /// Updates the progress that limits are checked against: that of the root turn.
    fn refresh_progress(&self, state: &mut TurnState) {
        let spent =
            self.runner.ledger.lock_accounts().spent(AccountKey::Turn(state.lineage.root_turn()));
        let elapsed = u64::try_from(state.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        state.progress = TurnProgress {
            calls: u32::try_from(spent.calls).unwrap_or(u32::MAX),
            tokens: spent.tokens,
            cost: spent.nanos,
            millis: state.earlier_millis.saturating_add(elapsed),
            context: state.progress.context,
        };
    }

    /// Executes the open calls; returns an error if the model repeats itself and the turn ends.
    async fn execute_open_calls(
        &self,
        state: &mut TurnState,
    ) -> Result<Option<ErrorInfo>, TurnError> {
        let calls: Vec<ToolInvocation> = std::mem::take(&mut state.history.open);
        let returned = self.execute_calls(&state.view, &state.loop_detector, &calls).await?;
        let mut looping = None;
        for (call, ToolOutcome { output, .. }) in calls.iter().zip(&returned) {
            if state.loop_detector.record_call(
                &call.tool,
                &call.arguments,
                strip_repeat_notice(output),
            ) == CallRepetition::Loop
            {
                looping = Some(call.tool.clone());
            }
        }
        for (call, ToolOutcome { status, output }) in calls.into_iter().zip(returned) {
            state.history.push_result(history::build_tool_result(call.id, status, output));
        }
        if self.cancel.is_cancelled() {
            return Err(TurnError::Cancelled);
        }
        Ok(looping.map(|tool| ErrorInfo {
            code: Code::LoopDetected,
            message: format!(
                "the model is in a loop: it repeated the same call of `{tool}` with the same \
                result; send a message that tells it what to do instead"
            ),
            details: None,
        }))
    }
}
