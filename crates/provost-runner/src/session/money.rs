//! What was spent, what is reserved, and whether there is enough.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use provost_core::fold::{Doc, View};
use provost_core::session::budget::{Account, Pot, TooLittle, Unit, grant};
use provost_proto::session::{Nanos, TokenUsage, UsageReport, UsageRow};
use provost_proto::{Micros, ProjectId, SessionId};

use super::{Runner, RunnerError, Settings};
use crate::model::Usage;

/// The most tokens that are believed: JSON holds no larger numbers exactly.
const MOST: u64 = 1 << 50;

/// The day of a time, counted from 1970 in UTC.
pub(super) fn day(at: Micros) -> u32 {
    u32::try_from(at / 86_400_000_000).unwrap_or(u32::MAX)
}

/// Tokens as the log keeps them.
pub(super) fn tokens(usage: &Usage) -> TokenUsage {
    TokenUsage {
        input: usage.input.min(MOST),
        output: usage.output.min(MOST),
        cached_input: usage.cached_input.min(MOST),
        cache_write: usage.cache_write.min(MOST),
        reasoning: usage.reasoning.min(MOST),
    }
}

impl Runner {
    /// What models used and cost.
    pub async fn usage(&self) -> Result<UsageReport, RunnerError> {
        let docs = self.gateway.store().docs(View::Usage).await?;
        let mut rows: Vec<UsageRow> = docs.into_iter().filter_map(Doc::into_usage).collect();
        rows.sort_by(|a, b| (b.day, &b.model).cmp(&(a.day, &a.model)));
        let usage = rows.iter().fold(TokenUsage::default(), |sum, row| sum.plus(row.usage));
        Ok(UsageReport {
            usage,
            cost: rows.iter().map(|row| row.cost).sum(),
            unpriced: rows.iter().map(|row| row.unpriced).sum(),
            rows,
            today: day(self.gateway.clock().now()),
            prices_as_of: self.prices.as_of.clone(),
        })
    }
}

/// The accounts of all sessions, as the log has them.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    days: HashMap<u32, Nanos>,
    projects: HashMap<ProjectId, Nanos>,
    reserved: Vec<(u64, Claim)>,
    next: u64,
}

/// What is about to be spent, and by whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) session: SessionId,
    pub(super) project: ProjectId,
    pub(super) day: u32,
    pub(super) nanos: Nanos,
}

/// Money that is kept for one answer; what is not spent is free again.
#[derive(Debug)]
pub(super) struct Reserved {
    /// How much.
    pub(super) nanos: Nanos,
    ledger: Arc<Ledger>,
    number: u64,
}

impl Ledger {
    pub(super) fn new(rows: impl Iterator<Item = UsageRow>) -> Self {
        let mut books = Books::default();
        for row in rows {
            *books.days.entry(row.day).or_default() += row.cost;
            *books.projects.entry(row.project).or_default() += row.cost;
        }
        Self(Mutex::new(books))
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps money for an answer: what is claimed or what is left, if that is not less
    /// than the least.
    pub(super) fn reserve(
        self: &Arc<Self>,
        claim: Claim,
        least: Nanos,
        settings: &Settings,
        (most, spent): (Option<Nanos>, Nanos),
    ) -> Result<Reserved, TooLittle> {
        let mut books = self.books();
        let sum = |of: &dyn Fn(&Claim) -> bool| {
            books.reserved.iter().filter(|(_, kept)| of(kept)).map(|(_, kept)| kept.nanos).sum()
        };
        let spent_in = |found: Option<&Nanos>| found.copied().unwrap_or(0);
        let accounts = [
            Account {
                pot: Pot::Session,
                most,
                spent,
                reserved: sum(&|kept| kept.session == claim.session),
            },
            Account {
                pot: Pot::Project,
                most: settings.project,
                spent: spent_in(books.projects.get(&claim.project)),
                reserved: sum(&|kept| kept.project == claim.project),
            },
            Account {
                pot: Pot::Day,
                most: settings.day,
                spent: spent_in(books.days.get(&claim.day)),
                reserved: sum(&|kept| kept.day == claim.day),
            },
        ];
        let nanos = grant(&accounts, Unit::Nanos, least..=claim.nanos)?;
        let number = books.next;
        books.next += 1;
        books.reserved.push((number, Claim { nanos, ..claim }));
        Ok(Reserved { nanos, ledger: Arc::clone(self), number })
    }

    /// This was spent.
    pub(super) fn spend(&self, claim: Claim) {
        let mut books = self.books();
        *books.days.entry(claim.day).or_default() += claim.nanos;
        *books.projects.entry(claim.project).or_default() += claim.nanos;
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.ledger.books().reserved.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid_of as id;

    fn uuid_of<T: From<uuid::Uuid>>(n: u128) -> T {
        uuid::Uuid::from_u128(n).into()
    }

    #[test]
    fn two_sessions_cannot_reserve_together_what_the_day_has_only_once() {
        let ledger = Arc::new(Ledger::default());
        let settings = Settings { day: Some(100), ..Settings::default() };
        let claim = |n| Claim { session: id(n), project: id(9), day: 1, nanos: 60 };
        let reserve = |claim, least| ledger.reserve(claim, least, &settings, (None, 0));
        let first = reserve(claim(1), 60).unwrap();
        assert_eq!(reserve(claim(2), 41).unwrap_err().pot, Pot::Day);
        // Whoever is content with less gets what is left, and no more.
        assert_eq!(reserve(claim(2), 40).unwrap().nanos, 40);
        // What it did cost takes the place of what was reserved.
        drop(first);
        ledger.spend(Claim { nanos: 30, ..claim(1) });
        let _second = reserve(claim(2), 60).unwrap();
        assert!(reserve(Claim { day: 2, ..claim(3) }, 60).is_ok());
    }
}
