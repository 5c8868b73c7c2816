//! The accounts of all sessions: what is spent and what is reserved.

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::session::budget::BudgetShortfall;
use provost_core::session::reservation_ledger::{
    AccountKey, BudgetAmount, ReservationError, ReservationLedger, ReservationRequest,
};
use provost_proto::UnixMicros;
use provost_proto::session::{DailyUsage, SessionView, TokenUsage, UsageReport};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::model::CompletionUsage;
use crate::session::{Runner, RunnerError};

/// Token counts above this are capped: JSON numbers are exact only up to 2^53.
const MAX_TOKEN_COUNT: u64 = 1 << 50;

/// Days since 1970-01-01 (UTC).
pub(crate) fn day_number(at: UnixMicros) -> u32 {
    u32::try_from(at / 86_400_000_000).unwrap_or(u32::MAX)
}

/// Token counts as the log records them.
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
    /// Tokens and cost by day and model.
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

/// The accounts of all sessions, seeded from the log.
#[derive(Debug, Default)]
pub(crate) struct SharedLedger {
    accounts: Mutex<ReservationLedger>,
    /// Notified when a reservation is settled or released.
    freed: Notify,
}

/// The reservation of one completion; released when dropped.
#[derive(Debug)]
pub(crate) struct ReservationGuard {
    /// Most output tokens that the reservation covers.
    pub(crate) output: u32,
    ledger: Arc<SharedLedger>,
    number: u64,
}

impl SharedLedger {
    /// The accounts with what earlier daemons spent.
    pub(crate) fn new(
        rows: impl Iterator<Item = DailyUsage>,
        sessions: impl Iterator<Item = SessionView>,
    ) -> Self {
        let mut accounts = ReservationLedger::default();
        for row in rows {
            let spent =
                BudgetAmount { nanos: row.cost, tokens: row.usage.total(), calls: row.calls };
            accounts.add_spent(AccountKey::Day(row.day), spent);
            accounts.add_spent(AccountKey::Project(row.project), spent);
        }
        for session in sessions {
            let (nanos, tokens) = (session.cost, session.usage.total());
            accounts.seed_spent(
                AccountKey::Session(session.id),
                BudgetAmount { nanos, tokens, calls: 0 },
            );
        }
        Self { accounts: Mutex::new(accounts), freed: Notify::new() }
    }

    pub(crate) fn lock_accounts(&self) -> MutexGuard<'_, ReservationLedger> {
        self.accounts.lock()
    }

    /// Reserves what a completion may cost. If reservations of others are in the way, waits up
    /// to `patience` until they are settled.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        request: &ReservationRequest<'_>,
        patience: Duration,
    ) -> Result<ReservationGuard, BudgetShortfall> {
        let deadline = Instant::now() + patience;
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // Registered before the attempt, so that no settlement is missed.
            freed.as_mut().enable();
            let reserved = self.lock_accounts().reserve(request);
            match reserved {
                Ok((number, output)) => {
                    return Ok(ReservationGuard { output, ledger: Arc::clone(self), number });
                }
                Err(ReservationError::Insufficient(shortfall)) => return Err(shortfall),
                Err(ReservationError::InsufficientForNow(shortfall)) => {
                    timeout_at(deadline, freed).await.map_err(|_| shortfall)?;
                }
            }
        }
    }

    /// Charges all of these accounts without a reservation.
    pub(crate) fn record_spending(
        &self,
        keys: impl Iterator<Item = AccountKey>,
        spent: BudgetAmount,
    ) {
        let mut accounts = self.lock_accounts();
        keys.for_each(|key| accounts.add_spent(key, spent));
    }

    fn settle_reservation(&self, number: u64, spent: Option<BudgetAmount>) {
        self.lock_accounts().settle_reservation(number, spent);
        self.freed.notify_waiters();
    }
}

impl ReservationGuard {
    /// Reserves more, if all accounts cover it.
    pub(crate) fn extend(&self, more: BudgetAmount) -> Result<(), BudgetShortfall> {
        self.ledger.lock_accounts().extend_reservation(self.number, more)
    }

    /// Replaces the reservation by the actual cost.
    pub(crate) fn settle_actual_cost(self, spent: BudgetAmount) {
        self.ledger.settle_reservation(self.number, Some(spent));
    }
}

impl Drop for ReservationGuard {
    fn drop(&mut self) {
        // No-op after a settlement: the number is not in the ledger any more.
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
        [BudgetPayer { key: AccountKey::Day(1), scope: BudgetScope::Day, most, is_shared: true }]
    }

    /// A completion that costs exactly 60.
    fn request(payers: &[BudgetPayer]) -> ReservationRequest<'_> {
        ReservationRequest {
            payers,
            input: 0,
            shortest: 60,
            longest: 60,
            price: &|output| output.into(),
        }
    }

    #[tokio::test]
    async fn the_second_reservation_waits_until_the_first_is_settled() {
        let (ledger, payers) = (Arc::new(SharedLedger::default()), day());
        let first = ledger.reserve(&request(&payers), LONG).await.unwrap();
        let refused = ledger.reserve(&request(&payers), Duration::ZERO).await.unwrap_err();
        assert_eq!((refused.scope, refused.taken), (BudgetScope::Day, 60));
        let second = tokio::spawn({
            let ledger = Arc::clone(&ledger);
            async move {
                ledger
                    .reserve(&request(&day()), LONG)
                    .await
                    .map(|reserved| reserved.settle_actual_cost(spent(60)))
            }
        });
        first.settle_actual_cost(spent(40));
        second.await.unwrap().unwrap();
        // No open reservation could free enough.
        let refused = ledger.reserve(&request(&payers), LONG).await.unwrap_err();
        assert_eq!(refused.taken, 100);
    }

    fn spent(nanos: u64) -> BudgetAmount {
        BudgetAmount { nanos, ..BudgetAmount::default() }
    }
}
