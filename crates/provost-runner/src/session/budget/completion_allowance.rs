//! What an answer may have and cost: as much as fits what is left, and if that is too
//! little, none at all.

use std::time::Duration;

use provost_core::session::budget::estimate_tokens;
use provost_core::session::reservation_ledger::{BudgetAmount, ReservationRequest};
use provost_proto::Fact;
use provost_proto::session::{CompletionPurpose, NanoDollars, SessionView, UsageRecorded};

use super::session_lineage::SessionLineage;
use super::shared_ledger::{ReservationGuard, day_number, to_token_usage};
use crate::model::{CompletionUsage, ModelRequest, ProviderStatus};
use crate::session::error::TurnError;
use crate::session::turn::request_completion::serialized_size;
use crate::session::turn::{Turn, TurnState};

/// The most tokens of an answer where a budget is to be kept.
const MAX_BUDGETED_OUTPUT_TOKENS: u32 = 16 * 1024;

/// An answer that could have fewer tokens would say too little for what is asked.
const MIN_USEFUL_OUTPUT_TOKENS: u32 = 256;

/// Some providers take no smaller limit, so that nothing is asked for with what is left
/// of a turn's own.
const PROVIDER_MIN_OUTPUT_TOKENS: u64 = 16;

/// What an answer may have.
pub(crate) struct CompletionAllowance {
    /// The most tokens; as many as the model likes if absent.
    pub(crate) most: Option<u32>,
    /// What is kept for it.
    pub(crate) reserved: ReservationGuard,
    /// The day that pays.
    pub(crate) day: u32,
}

impl Turn {
    /// Whether all that whoever asked wanted to hear was said.
    pub(crate) fn is_output_limit_reached(&self, state: &TurnState) -> bool {
        let left = self.most.map(|most| u64::from(most).saturating_sub(state.answered));
        state.answered > 0 && left.is_some_and(|left| left < PROVIDER_MIN_OUTPUT_TOKENS)
    }

    /// Keeps what the answer may cost at most; makes it shorter where less is left.
    pub(crate) async fn reserve_budget(
        &self,
        state: &TurnState,
        request: &ModelRequest,
        purpose: CompletionPurpose,
    ) -> Result<CompletionAllowance, TurnError> {
        let view = &state.view;
        let answered = u32::try_from(state.answered).unwrap_or(u32::MAX);
        let wanted = self.most.filter(|_| purpose == CompletionPurpose::Answer);
        let wanted = wanted.map(|most| most.saturating_sub(answered));
        let longest = wanted
            .map_or(MAX_BUDGETED_OUTPUT_TOKENS, |wanted| wanted.min(MAX_BUDGETED_OUTPUT_TOKENS));
        let settings = &self.runner.settings;
        let day = day_number(self.runner.gateway.clock().now());
        let payers = state.line.payers(settings, &settings.limits, day);
        let is_free = self.is_free(&view.model);
        // How much is asked matters only where somebody counts it beforehand.
        let is_limited = payers
            .iter()
            .any(|payer| payer.most.tokens.is_some() || (payer.most.nanos.is_some() && !is_free));
        let input = if is_limited { estimate_tokens(serialized_size(request)) } else { 0 };
        let has_price = self.compute_cost(view, &CompletionUsage::default()).is_some();
        if !has_price && payers.iter().any(|payer| payer.most.nanos.is_some()) {
            return Err(TurnError::UnknownPrice(view.model.clone()));
        }
        let price = |output: u32| {
            let usage =
                CompletionUsage { input, output: output.into(), ..CompletionUsage::default() };
            self.compute_cost(view, &usage).unwrap_or(0)
        };
        let shortest = longest.min(MIN_USEFUL_OUTPUT_TOKENS);
        let wish = ReservationRequest { payers: &payers, input, shortest, longest, price: &price };
        let left = settings.limits.millis.saturating_sub(state.progress.millis);
        let reserved = tokio::select! {
            () = self.cancel.cancelled() => return Err(TurnError::Cancelled),
            reserved = self.runner.ledger.reserve(&wish, Duration::from_millis(left)) => {
                reserved.map_err(TurnError::BudgetExceeded)?
            }
        };
        let most = if is_limited { Some(reserved.output) } else { wanted };
        Ok(CompletionAllowance { most, reserved, day })
    }

    /// What the model used, in memory and as facts.
    pub(crate) fn record_usage(
        &self,
        state: &mut TurnState,
        (reserved, day): (ReservationGuard, u32),
        usage: &CompletionUsage,
        how: (CompletionPurpose, bool),
    ) -> Vec<Fact> {
        let (spent, facts) = self.build_usage_facts((&state.view, &state.line), day, usage, how);
        reserved.settle_actual_cost(spent);
        if how.0 == CompletionPurpose::Answer {
            state.answered = state.answered.saturating_add(to_token_usage(usage).output);
        }
        state.progress.context = spent.tokens;
        facts
    }

    /// What was used, and how it is told: to this session and to those above.
    pub(crate) fn build_usage_facts(
        &self,
        (view, line): (&SessionView, &SessionLineage),
        day: u32,
        usage: &CompletionUsage,
        (purpose, estimated): (CompletionPurpose, bool),
    ) -> (BudgetAmount, Vec<Fact>) {
        let (cost, usage) = (self.compute_cost(view, usage), to_token_usage(usage));
        let used = Fact::UsageRecorded(UsageRecorded {
            session: self.journal.session,
            project: self.journal.project,
            turn: self.id,
            model: view.model.clone(),
            day,
            purpose,
            usage,
            cost,
            estimated,
        });
        let mut facts = line.ancestor_usage_facts(&used);
        facts.insert(0, used);
        (BudgetAmount { nanos: cost.unwrap_or(0), tokens: usage.total(), calls: 1 }, facts)
    }

    fn compute_cost(&self, view: &SessionView, usage: &CompletionUsage) -> Option<NanoDollars> {
        if self.is_free(&view.model) {
            return Some(0);
        }
        self.runner.prices.compute_cost(&view.model, usage).map(crate::model::Usd::as_nanos)
    }

    /// A script, or a model on this machine.
    fn is_free(&self, model: &str) -> bool {
        let provider = model.split('/').next().unwrap_or_default();
        let found = self.runner.models.registry().provider(provider);
        provider == "script" || found.is_some_and(|found| found.status() == ProviderStatus::Local)
    }
}
