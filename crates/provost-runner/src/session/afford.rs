//! What an answer may have and cost: as much as fits what is left, and if that is too
//! little, none at all.

use provost_core::session::budget::{Account, Pot, Unit, estimate, grant};
use provost_proto::Fact;
use provost_proto::session::{Nanos, Purpose, SessionView, UsageRecorded};

use super::error::Broken;
use super::money::{Claim, Reserved, day, tokens};
use super::turn::{State, Turn};
use crate::model::{Request, Standing, Usage};

/// The most tokens of an answer where a budget is to be kept.
const LONGEST: u32 = 16 * 1024;

/// An answer that could have fewer tokens would say too little for what is asked.
const SHORTEST: u32 = 256;

/// Some providers take no smaller limit, so that nothing is asked for with what is left
/// of a turn's own.
const FEWEST: u64 = 16;

/// What an answer may have.
pub(super) struct Allowed {
    /// The most tokens; as many as the model likes if absent.
    pub(super) most: Option<u32>,
    /// The money that is kept for it.
    pub(super) reserved: Option<Reserved>,
}

impl Turn {
    /// Whether all that whoever asked wanted to hear was said.
    pub(super) fn is_used_up(&self, state: &State) -> bool {
        let left = self.most.map(|most| u64::from(most).saturating_sub(state.answered));
        state.answered > 0 && left.is_some_and(|left| left < FEWEST)
    }

    /// Keeps what the answer may cost at most; makes it shorter where less is left.
    pub(super) fn afford(
        &self,
        state: &State,
        request: &Request,
        purpose: Purpose,
    ) -> Result<Allowed, Broken> {
        let view = &state.view;
        let answered = u32::try_from(state.answered).unwrap_or(u32::MAX);
        let wanted = self.most.filter(|_| purpose == Purpose::Answer);
        let wanted = wanted.map(|most| most.saturating_sub(answered));
        let longest = wanted.map_or(LONGEST, |wanted| wanted.min(LONGEST));
        let shortest = longest.min(SHORTEST);
        let input = estimate(serde_json::to_string(request).map_or(0, |text| text.len()));
        let with = |output: u32| input.saturating_add(output.into());
        let own = Account {
            pot: Pot::Session,
            most: view.budget.tokens,
            spent: view.usage.total(),
            reserved: 0,
        };
        let granted = grant(&[own], Unit::Tokens, with(shortest)..=with(longest));
        let granted = granted.map_err(Broken::Budget)?.saturating_sub(input);
        let longest = u32::try_from(granted).unwrap_or(longest);
        if !self.has_budget(view) || self.is_free(&view.model) {
            let most = if view.budget.tokens.is_some() { Some(longest) } else { wanted };
            return Ok(Allowed { most, reserved: None });
        }
        self.pay(view, input, (shortest, longest))
    }

    /// The same for money.
    fn pay(
        &self,
        view: &SessionView,
        input: u64,
        (shortest, longest): (u32, u32),
    ) -> Result<Allowed, Broken> {
        let price = |output: u32| {
            let usage = Usage { input, output: output.into(), ..Usage::default() };
            self.cost(view, &usage).ok_or_else(|| Broken::NoPrice(view.model.clone()))
        };
        let (least, nanos) = (price(shortest)?, price(longest)?);
        let now = day(self.runner.gateway.clock().now());
        let claim = Claim { session: view.id, project: view.project, day: now, nanos };
        let own = (view.budget.nanos, view.cost);
        let reserved = self.runner.ledger.reserve(claim, least, &self.runner.settings, own);
        let reserved = reserved.map_err(Broken::Budget)?;
        // The most tokens that what was granted pays for: more cost more.
        let (mut fits, mut beyond) = (shortest, longest.saturating_add(1));
        while beyond - fits > 1 {
            let middle = fits + (beyond - fits) / 2;
            if price(middle)? <= reserved.nanos {
                fits = middle;
            } else {
                beyond = middle;
            }
        }
        Ok(Allowed { most: Some(fits), reserved: Some(reserved) })
    }

    /// What the model used, in memory and as a fact.
    pub(super) fn used(
        &self,
        state: &mut State,
        usage: &Usage,
        (purpose, estimated): (Purpose, bool),
    ) -> Fact {
        let cost = self.cost(&state.view, usage);
        let now = day(self.runner.gateway.clock().now());
        let (session, project) = (self.journal.session, self.journal.project);
        let nanos = cost.unwrap_or(0);
        self.runner.ledger.spend(Claim { session, project, day: now, nanos });
        let usage = tokens(usage);
        if purpose == Purpose::Answer {
            state.answered = state.answered.saturating_add(usage.output);
        }
        state.progress.calls += 1;
        state.progress.tokens = state.progress.tokens.saturating_add(usage.total());
        state.progress.cost = state.progress.cost.saturating_add(nanos);
        state.progress.context = usage.total();
        state.view.cost = state.view.cost.saturating_add(nanos);
        state.view.usage = state.view.usage.plus(usage);
        Fact::UsageRecorded(UsageRecorded {
            session,
            project,
            turn: self.id,
            model: state.view.model.clone(),
            day: now,
            purpose,
            usage,
            cost,
            estimated,
        })
    }

    fn cost(&self, view: &SessionView, usage: &Usage) -> Option<Nanos> {
        if self.is_free(&view.model) {
            return Some(0);
        }
        self.runner.prices.cost(&view.model, usage).map(crate::model::Usd::nanos)
    }

    /// A script, or a model on this machine.
    fn is_free(&self, model: &str) -> bool {
        let provider = model.split('/').next().unwrap_or_default();
        let found = self.runner.models.registry().provider(provider);
        provider == "script" || found.is_some_and(|found| found.standing() == Standing::Local)
    }

    fn has_budget(&self, view: &SessionView) -> bool {
        let settings = &self.runner.settings;
        view.budget.nanos.or(settings.project).or(settings.day).is_some()
    }
}
