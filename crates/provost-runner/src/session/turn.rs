//! One turn: from what a person said until the model stops.

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

use super::error::{Broken, fault};
use super::history::{self, History};
use super::journal::Journal;
use super::tools::{Call, Returned, bare};
use super::tree::Line;
use super::{Runner, Speaker};
use crate::model::ModelError;

/// A turn, and on whose behalf it is.
pub(super) struct Turn {
    pub(super) runner: Arc<Runner>,
    pub(super) journal: Arc<Journal>,
    pub(super) id: TurnId,
    pub(super) by: Speaker,
    /// The most tokens that its answers may have together.
    pub(super) most: Option<u32>,
    pub(super) cancel: CancellationToken,
    /// Whether a person stopped it, and not only the client that it was for.
    pub(super) stopped: CancellationToken,
}

/// How far the turn has come, in memory.
pub(super) struct State {
    pub(super) view: SessionView,
    pub(super) history: History,
    pub(super) progress: TurnProgress,
    /// What the last answer used, to be written with it.
    pub(super) pending_usage: Vec<Fact>,
    /// Who pays.
    pub(super) line: Line,
    /// How many tokens its answers had, as far as this daemon heard them.
    pub(super) answered: u64,
    guard: LoopDetector,
    compacted: bool,
    began: Instant,
    /// What it lasted before this daemon took it up, or the one that it is a part of.
    before: u64,
}

/// How a turn ended.
enum End {
    Finished(FinishReason),
    Failed(ErrorInfo),
    Cancelled,
}

impl Turn {
    /// Runs to the end, which is in the log when this is done.
    pub(super) async fn run(self) {
        let end = match self.go().await {
            Ok(end) => end,
            Err(broken) => fault(&broken).map_or(End::Cancelled, End::Failed),
        };
        let (session, turn) = (self.journal.session, self.id);
        let fact = match end {
            End::Finished(reason) => Fact::TurnFinished(TurnFinished { session, turn, reason }),
            End::Failed(fault) => Fact::TurnFailed(TurnFailed { session, turn, fault }),
            End::Cancelled => {
                let withdrawn = !self.stopped.is_cancelled();
                Fact::TurnCancelled(TurnCancelled { session, turn, withdrawn })
            }
        };
        if let Err(error) = self.journal.model(&self.by, vec![fact]).await {
            tracing::error!(%error, "the end of a turn could not be written");
        }
        self.runner.ledger.books().remove_account(AccountKey::Turn(self.id));
    }

    async fn go(&self) -> Result<End, Broken> {
        let mut state = self.load().await?;
        let mut heard =
            if state.history.open.is_empty() { TurnInput::Ready } else { TurnInput::ToolCalls };
        let (settings, prices) = (&self.runner.settings, &self.runner.prices);
        let compact_at =
            compaction_threshold(settings.compact_at, prices.context(&state.view.model));
        let limits = TurnLimits { compact_at, ..settings.limits };
        loop {
            if self.cancel.is_cancelled() && heard != TurnInput::ToolCalls {
                return Ok(End::Cancelled);
            }
            self.look(&mut state);
            heard = match next_turn_step(heard, state.progress, &limits, state.compacted) {
                TurnStep::CallModel => match self.ask(&mut state).await {
                    Err(Broken::Model(ModelError::ContextLength(_))) => TurnInput::ContextTooLong,
                    asked => {
                        let asked = asked?;
                        state.compacted = false;
                        asked
                    }
                },
                TurnStep::RunTools => {
                    if let Some(fault) = self.tools(&mut state).await? {
                        return Ok(End::Failed(fault));
                    }
                    TurnInput::Ready
                }
                TurnStep::Compact => {
                    self.compact(&mut state).await?;
                    state.compacted = true;
                    TurnInput::Compacted
                }
                TurnStep::Finish(reason) => return Ok(End::Finished(reason)),
                TurnStep::Fail(stop) => {
                    let (code, message) = (stop.code(), stop.to_string());
                    return Ok(End::Failed(ErrorInfo { code, message, details: None }));
                }
            };
        }
    }

    async fn load(&self) -> Result<State, Broken> {
        let view = self.runner.view(self.journal.session).await?;
        let mut history = history::read(&**self.runner.gateway.store(), &view).await?;
        if history.open.is_empty() {
            history.ready();
        }
        let mut guard = LoopDetector::default();
        for (tool, arguments, output) in history.done.drain(..) {
            guard.record_call(&tool, &arguments, bare(&output));
        }
        let line = self.runner.line(&view, self.id).await?;
        let turn = view.turn.as_ref().filter(|turn| turn.id == self.id);
        let now = self.runner.gateway.clock().now();
        let progress = TurnProgress { context: view.context, ..TurnProgress::default() };
        let first = line.began().or(turn.map(|turn| turn.started_at));
        let before = first.map_or(0, |first| now.saturating_sub(first) / 1000);
        let began = Instant::now();
        let (pending_usage, answered, compacted) = (Vec::new(), 0, false);
        Ok(State {
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
    fn look(&self, state: &mut State) {
        let spent = self.runner.ledger.books().spent(AccountKey::Turn(state.line.whole()));
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
    async fn tools(&self, state: &mut State) -> Result<Option<ErrorInfo>, Broken> {
        let calls: Vec<Call> = std::mem::take(&mut state.history.open);
        let returned = self.carry_out(&state.view, &state.guard, &calls).await?;
        let mut looping = None;
        for (call, Returned { output, .. }) in calls.iter().zip(&returned) {
            if state.guard.record_call(&call.tool, &call.arguments, bare(output))
                == CallRepetition::Loop
            {
                looping = Some(call.tool.clone());
            }
        }
        for (call, Returned { status, output }) in calls.into_iter().zip(returned) {
            state.history.result(history::result_of(call.id, status, output));
        }
        if self.cancel.is_cancelled() {
            return Err(Broken::Cancelled);
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
