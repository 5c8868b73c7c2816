//! What was spent of every pot, what is reserved for answers that are under way, and
//! how long the next answer may be.
//!
//! A session that hands a task over pays for it: an answer is paid for by its own
//! session and turn, by every session and turn above, by the project and by the day,
//! and reserved in all of them at once. What was spent is what the log folds to, so
//! that a daemon begins with it where another ended.

use std::collections::HashMap;

use provost_proto::session::{NanoDollars, SessionBudget};
use provost_proto::{ProjectId, SessionId, TurnId};

use super::budget::{BudgetScope, BudgetShortfall, BudgetUnit};
use super::turn_step::TurnLimits;

/// With so many tokens of an answer most things can be said. Where a pot that others
/// draw from too is nearly empty, an answer takes no more than this, or half of what is
/// there: so that several can be under way at once.
pub const SHARED_OUTPUT_TOKENS: u32 = 2048;

/// Whose account it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccountKey {
    /// A session, with all that it hands over.
    Session(SessionId),
    /// A turn, with all that it hands over.
    Turn(TurnId),
    /// A project, since it exists.
    Project(ProjectId),
    /// A day, counted from 1970.
    Day(u32),
}

/// So much of everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BudgetAmount {
    /// Money.
    pub nanos: NanoDollars,
    /// Tokens, of requests and answers together.
    pub tokens: u64,
    /// How often a model is asked.
    pub calls: u64,
}

impl BudgetAmount {
    /// Both together.
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

/// The most that may be spent; what is absent is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BudgetLimit {
    /// Money.
    pub nanos: Option<NanoDollars>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// How often a model is asked.
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

/// One that pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetPayer {
    /// Its account.
    pub key: AccountKey,
    /// What it is for the one who asks.
    pub pot: BudgetScope,
    /// The most that it pays.
    pub most: BudgetLimit,
    /// Whether others draw from it at the same time.
    pub is_shared: bool,
}

/// What somebody wants to ask.
#[expect(missing_debug_implementations, reason = "a price is a function")]
pub struct ReservationRequest<'a> {
    /// All that pay.
    pub payers: &'a [BudgetPayer],
    /// The tokens of the request.
    pub input: u64,
    /// An answer that can have no more tokens than this says too little.
    pub shortest: u32,
    /// No answer has more.
    pub longest: u32,
    /// What the request costs with an answer of so many tokens.
    pub price: &'a (dyn Fn(u32) -> NanoDollars + Sync),
}

/// Why nothing is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservationError {
    /// There is too little.
    Insufficient(BudgetShortfall),
    /// There is too little until an answer that is under way has come, and maybe then.
    InsufficientForNow(BudgetShortfall),
}

/// What is kept for one answer.
#[derive(Debug)]
struct Reservation {
    keys: Vec<AccountKey>,
    amount: BudgetAmount,
}

/// All accounts.
#[derive(Debug, Default)]
pub struct ReservationLedger {
    spent: HashMap<AccountKey, BudgetAmount>,
    kept: HashMap<u64, Reservation>,
    next: u64,
}

impl ReservationLedger {
    /// Learns what was spent before; what is known already stays.
    pub fn seed_spent(&mut self, key: AccountKey, spent: BudgetAmount) {
        self.spent.entry(key).or_insert(spent);
    }

    /// Adds what was spent without having been reserved.
    pub fn add_spent(&mut self, key: AccountKey, spent: BudgetAmount) {
        let known = self.spent.entry(key).or_default();
        *known = known.plus(spent);
    }

    /// Forgets an account that nobody draws from any more.
    pub fn remove_account(&mut self, key: AccountKey) {
        self.spent.remove(&key);
    }

    /// What was spent.
    pub fn spent(&self, key: AccountKey) -> BudgetAmount {
        self.spent.get(&key).copied().unwrap_or_default()
    }

    /// What is reserved.
    pub fn reserved(&self, key: AccountKey) -> BudgetAmount {
        let kept = self.kept.values().filter(|kept| kept.keys.contains(&key));
        kept.fold(BudgetAmount::default(), |sum, kept| sum.plus(kept.amount))
    }

    /// Keeps what the longest answer costs that everybody can pay for: its number, and
    /// how many tokens that answer may have.
    pub fn reserve(
        &mut self,
        wish: &ReservationRequest<'_>,
    ) -> Result<(u64, u32), ReservationError> {
        let spent = |payer: &BudgetPayer| (*payer, self.spent(payer.key));
        let ever: Vec<_> = wish.payers.iter().map(spent).collect();
        let taken = |(payer, spent): &(BudgetPayer, BudgetAmount)| {
            (*payer, spent.plus(self.reserved(payer.key)))
        };
        let all: Vec<_> = ever.iter().map(taken).collect();
        if let Some(little) = wish.find_shortfall(wish.shortest, &all) {
            let ever = wish.find_shortfall(wish.shortest, &ever);
            return Err(ever.map_or(
                ReservationError::InsufficientForNow(little),
                ReservationError::Insufficient,
            ));
        }
        let own: Vec<_> = all.iter().filter(|(payer, _)| !payer.is_shared).copied().collect();
        let (own, all) =
            (wish.longest_affordable_output(&own), wish.longest_affordable_output(&all));
        let output = if all < own { (all / 2).max(all.min(SHARED_OUTPUT_TOKENS)) } else { all };
        let output = output.max(wish.shortest);
        let keys = wish.payers.iter().map(|payer| payer.key).collect();
        let number = self.next;
        self.next += 1;
        self.kept.insert(number, Reservation { keys, amount: wish.cost_for_output(output) });
        Ok((number, output))
    }

    /// What it did cost takes the place of what was kept; nothing if it was not asked.
    pub fn settle_reservation(&mut self, number: u64, spent: Option<BudgetAmount>) {
        let Some(kept) = self.kept.remove(&number) else { return };
        for key in kept.keys {
            if let Some(spent) = spent {
                self.add_spent(key, spent);
            }
        }
    }
}

impl ReservationRequest<'_> {
    fn cost_for_output(&self, output: u32) -> BudgetAmount {
        let tokens = self.input.saturating_add(output.into());
        BudgetAmount { nanos: (self.price)(output), tokens, calls: 1 }
    }

    /// Who cannot pay for an answer of so many tokens.
    fn find_shortfall(
        &self,
        output: u32,
        accounts: &[(BudgetPayer, BudgetAmount)],
    ) -> Option<BudgetShortfall> {
        let costs = self.cost_for_output(output);
        accounts.iter().find_map(|(payer, taken)| {
            [BudgetUnit::Calls, BudgetUnit::Tokens, BudgetUnit::Nanos].into_iter().find_map(
                |unit| {
                    let (most, taken, needed) =
                        (payer.most.in_unit(unit)?, taken.in_unit(unit), costs.in_unit(unit));
                    let (left, pot) = (most.saturating_sub(taken), payer.pot);
                    (left < needed).then_some(BudgetShortfall { pot, unit, most, taken, needed })
                },
            )
        })
    }

    /// The longest answer that all can pay for: a longer one costs no less.
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
