//! Tracks for every budget what is spent and reserved, and computes how long the next completion
//! may be.
//!
//! A session pays for the tasks that it hands off: a completion is paid for by its own session
//! and turn, by every session and turn above, by the project and by the day, and reserved in all
//! of them at once. The spent amounts are folded from the log, so that a new daemon continues
//! with them.

use std::collections::HashMap;

use provost_proto::session::{NanoDollars, SessionBudget};
use provost_proto::{ProjectId, SessionId, TurnId};

use super::budget::{BudgetScope, BudgetShortfall, BudgetUnit};
use super::turn_step::TurnLimits;

/// Enough tokens for most completions. Where a shared budget is nearly empty, a completion
/// reserves no more than this or half of the rest, so that several can run at once.
pub const SHARED_OUTPUT_TOKENS: u32 = 2048;

/// The owner of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccountKey {
    /// A session, with the tasks that it hands off.
    Session(SessionId),
    /// A turn, with the tasks that it hands off.
    Turn(TurnId),
    /// A project, over its whole life.
    Project(ProjectId),
    /// A day, counted from 1970.
    Day(u32),
}

/// An amount in all units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BudgetAmount {
    /// Money.
    pub nanos: NanoDollars,
    /// Tokens, input and output together.
    pub tokens: u64,
    /// Completions.
    pub calls: u64,
}

impl BudgetAmount {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            tokens: self.tokens.saturating_add(other.tokens),
            calls: self.calls.saturating_add(other.calls),
        }
    }

    fn in_unit(self, unit: BudgetUnit) -> u64 {
        match unit {
            BudgetUnit::Nanos => self.nanos,
            BudgetUnit::Tokens => self.tokens,
            BudgetUnit::Calls => self.calls,
        }
    }
}

/// The limits; an absent one means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BudgetLimit {
    /// Money.
    pub nanos: Option<NanoDollars>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Completions.
    pub calls: Option<u64>,
}

impl BudgetLimit {
    fn in_unit(self, unit: BudgetUnit) -> Option<u64> {
        match unit {
            BudgetUnit::Nanos => self.nanos,
            BudgetUnit::Tokens => self.tokens,
            BudgetUnit::Calls => self.calls,
        }
    }
}

impl From<SessionBudget> for BudgetLimit {
    fn from(SessionBudget { nanos, tokens }: SessionBudget) -> Self {
        Self { nanos, tokens, calls: None }
    }
}

impl From<&TurnLimits> for BudgetLimit {
    fn from(limits: &TurnLimits) -> Self {
        Self { nanos: limits.cost, tokens: limits.tokens, calls: Some(limits.calls.into()) }
    }
}

/// An account that pays for a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetPayer {
    /// Its account.
    pub key: AccountKey,
    /// The kind of budget, for messages.
    pub scope: BudgetScope,
    /// Its limits.
    pub most: BudgetLimit,
    /// Whether others spend from it at the same time.
    pub is_shared: bool,
}

/// A completion to reserve for.
#[expect(missing_debug_implementations, reason = "a price is a function")]
pub struct ReservationRequest<'a> {
    /// All accounts that pay.
    pub payers: &'a [BudgetPayer],
    /// The tokens of the prompt.
    pub input: u64,
    /// The fewest output tokens that are useful.
    pub shortest: u32,
    /// The most output tokens.
    pub longest: u32,
    /// The cost with this many output tokens.
    pub price: &'a (dyn Fn(u32) -> NanoDollars + Sync),
}

/// Why nothing is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservationError {
    /// A budget does not suffice.
    Insufficient(BudgetShortfall),
    /// A budget does not suffice until running completions have ended, and maybe not then.
    InsufficientForNow(BudgetShortfall),
}

/// The reservation for one completion.
#[derive(Debug)]
struct Reservation {
    payers: Vec<BudgetPayer>,
    amount: BudgetAmount,
}

impl Reservation {
    fn is_paid_by(&self, key: AccountKey) -> bool {
        self.payers.iter().any(|payer| payer.key == key)
    }
}

/// All accounts.
#[derive(Debug, Default)]
pub struct ReservationLedger {
    spent: HashMap<AccountKey, BudgetAmount>,
    kept: HashMap<u64, Reservation>,
    next: u64,
}

impl ReservationLedger {
    /// Sets what was spent before, unless it is known already.
    pub fn seed_spent(&mut self, key: AccountKey, spent: BudgetAmount) {
        self.spent.entry(key).or_insert(spent);
    }

    /// Whether anything is known of an account.
    pub fn has_account(&self, key: AccountKey) -> bool {
        self.spent.contains_key(&key)
    }

    /// Adds an amount that was not reserved.
    pub fn add_spent(&mut self, key: AccountKey, spent: BudgetAmount) {
        let known = self.spent.entry(key).or_default();
        *known = known.plus(spent);
    }

    /// Removes an account that is no longer used.
    pub fn remove_account(&mut self, key: AccountKey) {
        self.spent.remove(&key);
    }

    /// What is spent.
    pub fn spent(&self, key: AccountKey) -> BudgetAmount {
        self.spent.get(&key).copied().unwrap_or_default()
    }

    /// What is reserved.
    pub fn reserved(&self, key: AccountKey) -> BudgetAmount {
        let kept = self.kept.values().filter(|kept| kept.is_paid_by(key));
        kept.fold(BudgetAmount::default(), |sum, kept| sum.plus(kept.amount))
    }

    /// Reserves the cost of the longest completion that all accounts can pay for. Returns the
    /// number of the reservation and the most output tokens.
    pub fn reserve(
        &mut self,
        request: &ReservationRequest<'_>,
    ) -> Result<(u64, u32), ReservationError> {
        let spent = |payer: &BudgetPayer| (*payer, self.spent(payer.key));
        let ever: Vec<_> = request.payers.iter().map(spent).collect();
        let taken = |(payer, spent): &(BudgetPayer, BudgetAmount)| {
            (*payer, spent.plus(self.reserved(payer.key)))
        };
        let all: Vec<_> = ever.iter().map(taken).collect();
        if let Some(little) = request.find_shortfall(request.shortest, &all) {
            let ever = request.find_shortfall(request.shortest, &ever);
            return Err(ever.map_or(
                ReservationError::InsufficientForNow(little),
                ReservationError::Insufficient,
            ));
        }
        let own: Vec<_> = all.iter().filter(|(payer, _)| !payer.is_shared).copied().collect();
        let (own, all) =
            (request.longest_affordable_output(&own), request.longest_affordable_output(&all));
        let output = if all < own { (all / 2).max(all.min(SHARED_OUTPUT_TOKENS)) } else { all };
        let output = output.max(request.shortest);
        let payers = request.payers.to_vec();
        let number = self.next;
        self.next += 1;
        self.kept.insert(number, Reservation { payers, amount: request.cost_for_output(output) });
        Ok((number, output))
    }

    /// Adds an amount to a reservation, such as what a broken attempt used. If an account cannot
    /// pay for it, nothing is added.
    pub fn extend_reservation(
        &mut self,
        number: u64,
        more: BudgetAmount,
    ) -> Result<(), BudgetShortfall> {
        let Some(kept) = self.kept.get(&number) else { return Ok(()) };
        let accounts: Vec<_> = kept
            .payers
            .iter()
            .map(|payer| (*payer, self.spent(payer.key).plus(self.reserved(payer.key))))
            .collect();
        if let Some(shortfall) = find_shortfall(more, &accounts) {
            return Err(shortfall);
        }
        if let Some(kept) = self.kept.get_mut(&number) {
            kept.amount = kept.amount.plus(more);
        }
        Ok(())
    }

    /// Replaces a reservation by the actual cost; `None` if nothing was requested.
    pub fn settle_reservation(&mut self, number: u64, spent: Option<BudgetAmount>) {
        let Some(kept) = self.kept.remove(&number) else { return };
        for payer in kept.payers {
            if let Some(spent) = spent {
                self.add_spent(payer.key, spent);
            }
        }
    }
}

impl ReservationRequest<'_> {
    fn cost_for_output(&self, output: u32) -> BudgetAmount {
        let tokens = self.input.saturating_add(output.into());
        BudgetAmount { nanos: (self.price)(output), tokens, calls: 1 }
    }

    /// The account that cannot pay for this many output tokens.
    fn find_shortfall(
        &self,
        output: u32,
        accounts: &[(BudgetPayer, BudgetAmount)],
    ) -> Option<BudgetShortfall> {
        find_shortfall(self.cost_for_output(output), accounts)
    }

    /// The most output tokens that all accounts can pay for. The cost grows with the number.
    fn longest_affordable_output(&self, accounts: &[(BudgetPayer, BudgetAmount)]) -> u32 {
        let (mut fits, mut beyond) = (self.shortest, self.longest.saturating_add(1));
        while beyond.saturating_sub(fits) > 1 {
            let middle = fits + (beyond - fits) / 2;
            if self.find_shortfall(middle, accounts).is_none() {
                fits = middle;
            } else {
                beyond = middle;
            }
        }
        fits
    }
}

/// The account that cannot pay for an amount.
fn find_shortfall(
    costs: BudgetAmount,
    accounts: &[(BudgetPayer, BudgetAmount)],
) -> Option<BudgetShortfall> {
    accounts.iter().find_map(|(payer, taken)| {
        [BudgetUnit::Calls, BudgetUnit::Tokens, BudgetUnit::Nanos].into_iter().find_map(|unit| {
            let (most, taken, needed) =
                (payer.most.in_unit(unit)?, taken.in_unit(unit), costs.in_unit(unit));
            let (left, scope) = (most.saturating_sub(taken), payer.scope);
            (left < needed).then_some(BudgetShortfall { scope, unit, most, taken, needed })
        })
    })
}
