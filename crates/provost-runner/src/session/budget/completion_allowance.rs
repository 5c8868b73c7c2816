//! What a completion may use: as many output tokens as the remaining budgets cover. If that is
//! less than a useful minimum, the turn fails instead.

use std::time::Duration;

use provost_core::session::budget::{BudgetShortfall, estimate_tokens};
use provost_core::session::reservation_ledger::{BudgetAmount, ReservationRequest};
use provost_proto::Fact;
use provost_proto::session::{CompletionPurpose, NanoDollars, SessionView, UsageRecorded};

use super::attempt_meter::total_usage;
use super::session_lineage::SessionLineage;
use super::shared_ledger::{ReservationGuard, day_number, to_token_usage};
use crate::model::{CompletionUsage, ModelRequest, ProviderStatus};
use crate::session::error::TurnError;
use crate::session::turn::request_completion::serialized_size;
use crate::session::turn::{Turn, TurnState};

/// Most output tokens of one completion if a budget applies.
const MAX_BUDGETED_OUTPUT_TOKENS: u32 = 16 * 1024;

/// With fewer output tokens a completion would be cut off before it says anything useful.
const MIN_USEFUL_OUTPUT_TOKENS: u32 = 256;

/// Some providers reject a smaller limit, so a turn ends when less than this is left of its
/// own limit.
const PROVIDER_MIN_OUTPUT_TOKENS: u64 = 16;

/// What one completion may use.
pub(crate) struct CompletionAllowance {
    /// Most output tokens; the provider's default if absent.
    pub(crate) max_output_tokens: Option<u32>,
    /// What is reserved for it.
    pub(crate) reserved: ReservationGuard,
    /// The day that it is charged to, counted from 1970.
    pub(crate) day: u32,
}

/// What the attempts of a completion used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UsedAttempts<'a> {
    /// What each attempt used.
    pub(crate) attempts: &'a [CompletionUsage],
    /// Whether any of that is an estimate, because the provider did not report it.
    pub(crate) is_estimated: bool,
    pub(crate) purpose: CompletionPurpose,
    /// The day that it is charged to, counted from 1970.
    pub(crate) day: u32,
}

impl Turn {
    /// Whether the turn has used up the output tokens that its client asked for.
    pub(crate) fn is_output_limit_reached(&self, state: &TurnState) -> bool {
        let remaining =
            self.max_output_tokens.map(|max| u64::from(max).saturating_sub(state.output_tokens));
        state.output_tokens > 0 && remaining.is_some_and(|left| left < PROVIDER_MIN_OUTPUT_TOKENS)
    }

    /// Reserves what the completion may cost at most, and shortens it if less is left.
    pub(crate) async fn reserve_budget(
        &self,
        state: &TurnState,
        request: &ModelRequest,
        purpose: CompletionPurpose,
    ) -> Result<CompletionAllowance, TurnError> {
        let view = &state.view;
        let used = u32::try_from(state.output_tokens).unwrap_or(u32::MAX);
        let requested = self.max_output_tokens.filter(|_| purpose == CompletionPurpose::Answer);
        let requested = requested.map(|max| max.saturating_sub(used));
        let longest =
            requested.map_or(MAX_BUDGETED_OUTPUT_TOKENS, |max| max.min(MAX_BUDGETED_OUTPUT_TOKENS));
        let settings = &self.runner.settings;
        let day = day_number(self.runner.gateway.clock().now());
        let payers = state.lineage.payers(settings, &settings.limits, day);
        let is_free = self.is_free(&view.model);
        // The size of the request matters only if a budget has to cover it.
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
        let reservation =
            ReservationRequest { payers: &payers, input, shortest, longest, price: &price };
        let remaining = settings.limits.millis.saturating_sub(state.progress.millis);
        let patience = Duration::from_millis(remaining);
        let reserved = tokio::select! {
            () = self.cancel.cancelled() => return Err(TurnError::Cancelled),
            reserved = self.runner.ledger.reserve(&reservation, patience) => {
                reserved.map_err(TurnError::BudgetExceeded)?
            }
        };
        let max_output_tokens = if is_limited { Some(reserved.output) } else { requested };
        Ok(CompletionAllowance { max_output_tokens, reserved, day })
    }

    /// Settles the reservation with what a completion used, and returns the facts to append.
    pub(crate) fn record_usage(
        &self,
        state: &mut TurnState,
        reserved: ReservationGuard,
        used: &UsedAttempts<'_>,
    ) -> Vec<Fact> {
        let (spent, facts) = self.build_usage_facts(&state.view, &state.lineage, used);
        reserved.settle_actual_cost(spent);
        if used.purpose == CompletionPurpose::Answer {
            let output = to_token_usage(&total_usage(used.attempts)).output;
            state.output_tokens = state.output_tokens.saturating_add(output);
        }
        if let Some(last) = used.attempts.last() {
            state.progress.context = to_token_usage(last).total();
        }
        facts
    }

    /// Adds what a broken attempt used to the reservation of its completion: another attempt
    /// must be covered as well.
    pub(crate) fn charge_broken_attempt(
        &self,
        view: &SessionView,
        reserved: &ReservationGuard,
        used: &CompletionUsage,
    ) -> Result<(), BudgetShortfall> {
        let (nanos, tokens) =
            (self.compute_cost(view, used).unwrap_or(0), to_token_usage(used).total());
        reserved.extend(BudgetAmount { nanos, tokens, calls: 0 })
    }

    /// What a completion used: the amount to charge, and the facts for this session and its
    /// ancestors.
    pub(crate) fn build_usage_facts(
        &self,
        view: &SessionView,
        lineage: &SessionLineage,
        used: &UsedAttempts<'_>,
    ) -> (BudgetAmount, Vec<Fact>) {
        let UsedAttempts { attempts, is_estimated: estimated, purpose, day } = *used;
        let costs = attempts.iter().map(|attempt| self.compute_cost(view, attempt));
        let cost = costs.sum::<Option<NanoDollars>>();
        let usage = to_token_usage(&total_usage(attempts));
        let used = Fact::UsageRecorded(UsageRecorded {
            session: self.log.session,
            project: self.log.project,
            turn: self.id,
            model: view.model.clone(),
            day,
            purpose,
            usage,
            cost,
            estimated,
        });
        let mut facts = lineage.ancestor_usage_facts(&used);
        facts.insert(0, used);
        (BudgetAmount { nanos: cost.unwrap_or(0), tokens: usage.total(), calls: 1 }, facts)
    }

    fn compute_cost(&self, view: &SessionView, usage: &CompletionUsage) -> Option<NanoDollars> {
        if self.is_free(&view.model) {
            return Some(0);
        }
        self.runner.prices.compute_cost(&view.model, usage).map(crate::model::Usd::as_nanos)
    }

    /// Whether a model costs nothing: a script, or one on this machine.
    fn is_free(&self, model: &str) -> bool {
        let provider = model.split('/').next().unwrap_or_default();
        let found = self.runner.models.registry().provider(provider);
        provider == "script" || found.is_some_and(|found| found.status() == ProviderStatus::Local)
    }
}
