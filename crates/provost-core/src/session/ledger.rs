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

use super::budget::{Pot, TooLittle, Unit};
use super::plan::Limits;

/// With so many tokens of an answer most things can be said. Where a pot that others
/// draw from too is nearly empty, an answer takes no more than this, or half of what is
/// there: so that several can be under way at once.
pub const ENOUGH: u32 = 2048;

/// Whose account it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
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
pub struct Amount {
    /// Money.
    pub nanos: NanoDollars,
    /// Tokens, of requests and answers together.
    pub tokens: u64,
    /// How often a model is asked.
    pub calls: u64,
}

impl Amount {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            tokens: self.tokens.saturating_add(other.tokens),
            calls: self.calls.saturating_add(other.calls),
        }
    }

    fn of(self, unit: Unit) -> u64 {
        match unit {
            Unit::Nanos => self.nanos,
            Unit::Tokens => self.tokens,
            Unit::Calls => self.calls,
        }
    }
}

/// The most that may be spent; what is absent is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Most {
    /// Money.
    pub nanos: Option<NanoDollars>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// How often a model is asked.
    pub calls: Option<u64>,
}

impl Most {
    fn of(self, unit: Unit) -> Option<u64> {
        match unit {
            Unit::Nanos => self.nanos,
            Unit::Tokens => self.tokens,
            Unit::Calls => self.calls,
        }
    }
}

impl From<SessionBudget> for Most {
    fn from(SessionBudget { nanos, tokens }: SessionBudget) -> Self {
        Self { nanos, tokens, calls: None }
    }
}

impl From<&Limits> for Most {
    fn from(limits: &Limits) -> Self {
        Self { nanos: limits.cost, tokens: limits.tokens, calls: Some(limits.calls.into()) }
    }
}

/// One that pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payer {
    /// Its account.
    pub key: Key,
    /// What it is for the one who asks.
    pub pot: Pot,
    /// The most that it pays.
    pub most: Most,
    /// Whether others draw from it at the same time.
    pub is_shared: bool,
}

/// What somebody wants to ask.
#[expect(missing_debug_implementations, reason = "a price is a function")]
pub struct Wish<'a> {
    /// All that pay.
    pub payers: &'a [Payer],
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
pub enum Refused {
    /// There is too little.
    Never(TooLittle),
    /// There is too little until an answer that is under way has come, and maybe then.
    NotYet(TooLittle),
}

/// What is kept for one answer.
#[derive(Debug)]
struct Kept {
    keys: Vec<Key>,
    amount: Amount,
}

/// All accounts.
#[derive(Debug, Default)]
pub struct Ledger {
    spent: HashMap<Key, Amount>,
    kept: HashMap<u64, Kept>,
    next: u64,
}

impl Ledger {
    /// Learns what was spent before; what is known already stays.
    pub fn know(&mut self, key: Key, spent: Amount) {
        self.spent.entry(key).or_insert(spent);
    }

    /// Adds what was spent without having been reserved.
    pub fn add(&mut self, key: Key, spent: Amount) {
        let known = self.spent.entry(key).or_default();
        *known = known.plus(spent);
    }

    /// Forgets an account that nobody draws from any more.
    pub fn forget(&mut self, key: Key) {
        self.spent.remove(&key);
    }

    /// What was spent.
    pub fn spent(&self, key: Key) -> Amount {
        self.spent.get(&key).copied().unwrap_or_default()
    }

    /// What is reserved.
    pub fn reserved(&self, key: Key) -> Amount {
        let kept = self.kept.values().filter(|kept| kept.keys.contains(&key));
        kept.fold(Amount::default(), |sum, kept| sum.plus(kept.amount))
    }

    /// Keeps what the longest answer costs that everybody can pay for: its number, and
    /// how many tokens that answer may have.
    pub fn reserve(&mut self, wish: &Wish<'_>) -> Result<(u64, u32), Refused> {
        let spent = |payer: &Payer| (*payer, self.spent(payer.key));
        let ever: Vec<_> = wish.payers.iter().map(spent).collect();
        let taken =
            |(payer, spent): &(Payer, Amount)| (*payer, spent.plus(self.reserved(payer.key)));
        let all: Vec<_> = ever.iter().map(taken).collect();
        if let Some(little) = wish.lacks(wish.shortest, &all) {
            let ever = wish.lacks(wish.shortest, &ever);
            return Err(ever.map_or(Refused::NotYet(little), Refused::Never));
        }
        let own: Vec<_> = all.iter().filter(|(payer, _)| !payer.is_shared).copied().collect();
        let (own, all) = (wish.longest_with(&own), wish.longest_with(&all));
        let output = if all < own { (all / 2).max(all.min(ENOUGH)) } else { all };
        let output = output.max(wish.shortest);
        let keys = wish.payers.iter().map(|payer| payer.key).collect();
        let number = self.next;
        self.next += 1;
        self.kept.insert(number, Kept { keys, amount: wish.costs(output) });
        Ok((number, output))
    }

    /// What it did cost takes the place of what was kept; nothing if it was not asked.
    pub fn settle(&mut self, number: u64, spent: Option<Amount>) {
        let Some(kept) = self.kept.remove(&number) else { return };
        for key in kept.keys {
            if let Some(spent) = spent {
                self.add(key, spent);
            }
        }
    }
}

impl Wish<'_> {
    fn costs(&self, output: u32) -> Amount {
        let tokens = self.input.saturating_add(output.into());
        Amount { nanos: (self.price)(output), tokens, calls: 1 }
    }

    /// Who cannot pay for an answer of so many tokens.
    fn lacks(&self, output: u32, accounts: &[(Payer, Amount)]) -> Option<TooLittle> {
        let costs = self.costs(output);
        accounts.iter().find_map(|(payer, taken)| {
            [Unit::Calls, Unit::Tokens, Unit::Nanos].into_iter().find_map(|unit| {
                let (most, taken, needed) = (payer.most.of(unit)?, taken.of(unit), costs.of(unit));
                let (left, pot) = (most.saturating_sub(taken), payer.pot);
                (left < needed).then_some(TooLittle { pot, unit, most, taken, needed })
            })
        })
    }

    /// The longest answer that all can pay for: a longer one costs no less.
    fn longest_with(&self, accounts: &[(Payer, Amount)]) -> u32 {
        let (mut fits, mut beyond) = (self.shortest, self.longest.saturating_add(1));
        while beyond.saturating_sub(fits) > 1 {
            let middle = fits + (beyond - fits) / 2;
            if self.lacks(middle, accounts).is_none() {
                fits = middle;
            } else {
                beyond = middle;
            }
        }
        fits
    }
}
