//! One turn: from what a person said until the model stops.

pub(crate) mod delta_writer;
mod handoff;
pub(crate) mod request_completion;
pub(crate) mod tool_execution;
pub(crate) mod tool_output;
pub(crate) mod write_throttle;

use std::sync::Arc;
use std::time::Instant;

use provost_core::session::loop_detector::{CallRepetition, LoopDetector};
use provost_core::session::reservation_ledger::AccountKey;
use provost_core::session::turn_step::{
    TurnInput, TurnLimits, TurnProgress, TurnStep, compaction_threshold, next_turn_step,
};
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

/// A turn, and on whose behalf it is.
pub(crate) struct Turn {
    pub(crate) runner: Arc<Runner>,
    pub(crate) journal: Arc<SessionLog>,
    pub(crate) id: TurnId,
    pub(crate) by: CallerIdentity,
    /// The most tokens that its answers may have together.
    pub(crate) most: Option<u32>,
    pub(crate) cancel: CancellationToken,
    /// Whether a person stopped it, and not only the client that it was for.
    pub(crate) stopped: CancellationToken,
}

/// How far the turn has come, in memory.
pub(crate) struct TurnState {
    pub(crate) view: SessionView,
    pub(crate) history: ConversationHistory,
    pub(crate) progress: TurnProgress,
    /// What the last answer used, to be written with it.
    pub(crate) pending_usage: Vec<Fact>,
    /// Who pays.
    pub(crate) line: SessionLineage,
    /// How many tokens its answers had, as far as this daemon heard them.
    pub(crate) answered: u64,
    guard: LoopDetector,
    compacted: bool,
    began: Instant,
    /// What it lasted before this daemon took it up, or the one that it is a part of.
    before: u64,
}

/// How a turn ended.
enum TurnOutcome {
    Finished(FinishReason),
    Failed(ErrorInfo),
    Cancelled,
}

impl Turn {
    /// Runs to the end, which is in the log when this is done.
    pub(crate) async fn run(self) {
        let end = match self.run_steps().await {
            Ok(end) => end,
            Err(broken) => {
                fault_from_turn_error(&broken).map_or(TurnOutcome::Cancelled, TurnOutcome::Failed)
            }
        };
        let (session, turn) = (self.journal.session, self.id);
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
        if let Err(error) = self.journal.append_as_agent(&self.by, vec![fact]).await {
            tracing::error!(%error, "the end of a turn could not be written");
        }
        self.runner.ledger.lock_accounts().remove_account(AccountKey::Turn(self.id));
    }

    async fn run_steps(&self) -> Result<TurnOutcome, TurnError> {
        let mut state = self.load_state().await?;
        let mut heard =
            if state.history.open.is_empty() { TurnInput::Ready } else { TurnInput::ToolCalls };
        let (settings, prices) = (&self.runner.settings, &self.runner.prices);
        let compact_at =
            compaction_threshold(settings.compact_at, prices.context_window(&state.view.model));
        let limits = TurnLimits { compact_at, ..settings.limits };
        loop {
            if self.cancel.is_cancelled() && heard != TurnInput::ToolCalls {
                return Ok(TurnOutcome::Cancelled);
            }
            self.refresh_progress(&mut state);
            heard = match next_turn_step(heard, state.progress, &limits, state.compacted) {
                TurnStep::CallModel => match self.run_completion_step(&mut state).await {
                    Err(TurnError::Model(ModelError::ContextLength(_))) => {
                        TurnInput::ContextTooLong
                    }
                    asked => {
                        let asked = asked?;
                        state.compacted = false;
                        asked
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
        let view = self.runner.load_session(self.journal.session).await?;
        let mut history = history::load_history(&**self.runner.gateway.store(), &view).await?;
        if history.open.is_empty() {
            history.ensure_awaiting_model();
        }
        let mut guard = LoopDetector::default();
        for (tool, arguments, output) in history.done.drain(..) {
            guard.record_call(&tool, &arguments, strip_repeat_notice(&output));
        }
        let line = self.runner.load_lineage(&view, self.id).await?;
        let turn = view.turn.as_ref().filter(|turn| turn.id == self.id);
        let now = self.runner.gateway.clock().now();
        let progress = TurnProgress { context: view.context, ..TurnProgress::default() };
        let first = line.root_turn_started_at().or(turn.map(|turn| turn.started_at));
        let before = first.map_or(0, |first| now.saturating_sub(first) / 1000);
        let began = Instant::now();
        let (pending_usage, answered, compacted) = (Vec::new(), 0, false);
        Ok(TurnState {
            view,
            history,
            progress,
            pending_usage,
            line,
            answered,
            guard,
            compacted,
            began,
            before,
        })
    }

    /// Looks how far the turn has come that this one is a part of, or is itself.
    fn refresh_progress(&self, state: &mut TurnState) {
        let spent =
            self.runner.ledger.lock_accounts().spent(AccountKey::Turn(state.line.root_turn()));
        let here = u64::try_from(state.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        state.progress = TurnProgress {
            calls: u32::try_from(spent.calls).unwrap_or(u32::MAX),
            tokens: spent.tokens,
            cost: spent.nanos,
            millis: state.before.saturating_add(here),
            context: state.progress.context,
        };
    }

    /// Carries the open calls out; why the turn cannot go on, if it cannot.
    async fn execute_open_calls(
        &self,
        state: &mut TurnState,
    ) -> Result<Option<ErrorInfo>, TurnError> {
        let calls: Vec<ToolInvocation> = std::mem::take(&mut state.history.open);
        let returned = self.execute_calls(&state.view, &state.guard, &calls).await?;
        let mut looping = None;
        for (call, ToolOutcome { output, .. }) in calls.iter().zip(&returned) {
            if state.guard.record_call(&call.tool, &call.arguments, strip_repeat_notice(output))
                == CallRepetition::Loop
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
                "the model goes round in circles: it called `{tool}` again and again in the same \
                 way with the same result; say what it should do instead"
            ),
            details: None,
        }))
    }
}
