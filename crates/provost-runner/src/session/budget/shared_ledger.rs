//! What was spent, what is reserved, and whether there is enough.

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::session::budget::BudgetShortfall;
use provost_core::session::reservation_ledger::{
    AccountKey, BudgetAmount, ReservationError, ReservationLedger as Books, ReservationRequest,
};
use provost_proto::UnixMicros;
use provost_proto::session::{DailyUsage, SessionView, TokenUsage, UsageReport};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::model::CompletionUsage;
use crate::session::{Runner, RunnerError};

/// The most tokens that are believed: JSON holds no larger numbers exactly.
const MAX_TOKEN_COUNT: u64 = 1 << 50;

/// The day of a time, counted from 1970 in UTC.
pub(crate) fn day_number(at: UnixMicros) -> u32 {
    u32::try_from(at / 86_400_000_000).unwrap_or(u32::MAX)
}

/// Tokens as the log keeps them.
pub(crate) fn to_token_usage(usage: &CompletionUsage) -> TokenUsage {
    TokenUsage {
        input: usage.input.min(MAX_TOKEN_COUNT),
        output: usage.output.min(MAX_TOKEN_COUNT),
        cached_input: usage.cached_input.min(MAX_TOKEN_COUNT),
        cache_write: usage.cache_write.min(MAX_TOKEN_COUNT),
        reasoning: usage.reasoning.min(MAX_TOKEN_COUNT),
    }
}

impl Runner {
    /// What models used and cost.
    pub async fn build_usage_report(&self) -> Result<UsageReport, RunnerError> {
        let docs = self.gateway.store().list_documents(ViewKind::Usage).await?;
        let mut rows: Vec<DailyUsage> =
            docs.into_iter().filter_map(ViewDocument::into_usage).collect();
        rows.sort_by(|a, b| (b.day, &b.model).cmp(&(a.day, &a.model)));
        let usage =
            rows.iter().fold(TokenUsage::default(), |sum, row| sum.saturating_add(row.usage));
        Ok(UsageReport {
            usage,
            cost: rows.iter().map(|row| row.cost).sum(),
            unpriced: rows.iter().map(|row| row.unpriced).sum(),
            rows,
            today: day_number(self.gateway.clock().now()),
            prices_as_of: self.prices.as_of.clone(),
        })
    }
}

/// The accounts of all sessions, as the log has them.
#[derive(Debug, Default)]
pub(crate) struct SharedLedger {
    books: Mutex<Books>,
    /// Something that was reserved is settled.
    freed: Notify,
}

/// What is kept for one answer; what is not spent is free again.
#[derive(Debug)]
pub(crate) struct ReservationGuard {
    /// The most tokens that the answer may have.
    pub(crate) output: u32,
    ledger: Arc<SharedLedger>,
    number: u64,
}

impl SharedLedger {
    /// What was spent before this daemon began.
    pub(crate) fn new(
        rows: impl Iterator<Item = DailyUsage>,
        sessions: impl Iterator<Item = SessionView>,
    ) -> Self {
        let mut books = Books::default();
        for row in rows {
            let spent =
                BudgetAmount { nanos: row.cost, tokens: row.usage.total(), calls: row.calls };
            books.add_spent(AccountKey::Day(row.day), spent);
            books.add_spent(AccountKey::Project(row.project), spent);
        }
        for session in sessions {
            let (nanos, tokens) = (session.cost, session.usage.total());
            books.seed_spent(
                AccountKey::Session(session.id),
                BudgetAmount { nanos, tokens, calls: 0 },
            );
        }
        Self { books: Mutex::new(books), freed: Notify::new() }
    }

    pub(crate) fn lock_accounts(&self) -> MutexGuard<'_, Books> {
        self.books.lock()
    }

    /// Keeps what an answer may cost. Where others have what is missing, it waits for
    /// theirs to come, as long as it may.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        wish: &ReservationRequest<'_>,
        patience: Duration,
    ) -> Result<ReservationGuard, BudgetShortfall> {
        let ends = Instant::now() + patience;
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // From here on no settlement is missed.
            freed.as_mut().enable();
            let refused = self.lock_accounts().reserve(wish);
            match refused {
                Ok((number, output)) => {
                    return Ok(ReservationGuard { output, ledger: Arc::clone(self), number });
                }
                Err(ReservationError::Insufficient(little)) => return Err(little),
                Err(ReservationError::InsufficientForNow(little)) => {
                    timeout_at(ends, freed).await.map_err(|_| little)?;
                }
            }
        }
    }

    /// This was spent by all of these, without having been reserved.
    pub(crate) fn record_spending(
        &self,
        keys: impl Iterator<Item = AccountKey>,
        spent: BudgetAmount,
    ) {
        let mut books = self.lock_accounts();
        keys.for_each(|key| books.add_spent(key, spent));
    }

    fn settle_reservation(&self, number: u64, spent: Option<BudgetAmount>) {
        self.lock_accounts().settle_reservation(number, spent);
        self.freed.notify_waiters();
    }
}

impl ReservationGuard {
    /// What the answer did cost takes the place of what was kept for it.
    pub(crate) fn settle_actual_cost(self, spent: BudgetAmount) {
        self.ledger.settle_reservation(self.number, Some(spent));
    }
}

impl Drop for ReservationGuard {
    fn drop(&mut self) {
        // After a settlement nothing is kept under this number any more.
        self.ledger.settle_reservation(self.number, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use provost_core::session::budget::BudgetScope;
    use provost_core::session::reservation_ledger::{BudgetLimit, BudgetPayer};

    const LONG: Duration = Duration::from_mins(1);

    fn day() -> [BudgetPayer; 1] {
        let most = BudgetLimit { nanos: Some(100), ..BudgetLimit::default() };
        [BudgetPayer { key: AccountKey::Day(1), pot: BudgetScope::Day, most, is_shared: true }]
    }

    /// An answer that costs 60, neither more nor less.
    fn wish(payers: &[BudgetPayer]) -> ReservationRequest<'_> {
        ReservationRequest {
            payers,
            input: 0,
            shortest: 60,
            longest: 60,
            price: &|output| output.into(),
        }
    }

    #[tokio::test]
    async fn who_comes_second_waits_for_what_the_first_leaves() {
        let (ledger, payers) = (Arc::new(SharedLedger::default()), day());
        let first = ledger.reserve(&wish(&payers), LONG).await.unwrap();
        let refused = ledger.reserve(&wish(&payers), Duration::ZERO).await.unwrap_err();
        assert_eq!((refused.pot, refused.taken), (BudgetScope::Day, 60));
        let second = tokio::spawn({
            let ledger = Arc::clone(&ledger);
            async move {
                ledger
                    .reserve(&wish(&day()), LONG)
                    .await
                    .map(|kept| kept.settle_actual_cost(spent(60)))
            }
        });
        first.settle_actual_cost(spent(40));
        second.await.unwrap().unwrap();
        // Nothing that is under way could change that.
        let refused = ledger.reserve(&wish(&payers), LONG).await.unwrap_err();
        assert_eq!(refused.taken, 100);
    }

    fn spent(nanos: u64) -> BudgetAmount {
        BudgetAmount { nanos, ..BudgetAmount::default() }
    }
}
