//! The accounts of all sessions: what is spent and what is reserved.

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;

use provost_core::fold::{ViewDocument, ViewKind, usage_time};
use provost_core::session::budget::BudgetShortfall;
use provost_core::session::reservation_ledger::{
    AccountKey, BudgetAmount, ReservationError, ReservationLedger, ReservationRequest,
};
use provost_proto::session::{DailyUsage, SessionView, TokenUsage, UsageReport};
use provost_proto::{ProjectId, UnixMicros};
use provost_store::{ListPosition, ListQuery};
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
    /// Tokens and cost by day and model, of all projects or of one: the total, and the rows of the
    /// last days.
    pub async fn build_usage_report(
        &self,
        project: Option<ProjectId>,
        days: Option<u32>,
    ) -> Result<UsageReport, RunnerError> {
        let store = self.gateway.store();
        let docs = match project {
            Some(project) => {
                let all = ListQuery::latest(ViewKind::Usage, project.uuid(), usize::MAX);
                store.list_under(vec![all]).await?.into_iter().map(|stored| stored.doc).collect()
            }
            None => store.list_documents(ViewKind::Usage).await?,
        };
        let mut rows: Vec<DailyUsage> =
            docs.into_iter().filter_map(ViewDocument::into_usage).collect();
        let usage =
            rows.iter().fold(TokenUsage::default(), |sum, row| sum.saturating_add(row.usage));
        let cost = rows.iter().map(|row| row.cost).sum();
        let unpriced = rows.iter().map(|row| row.unpriced).sum();
        let today = day_number(self.gateway.clock().now());
        let is_listed = |row: &DailyUsage| days.is_none_or(|n| row.day.saturating_add(n) > today);
        rows.retain(is_listed);
        rows.sort_by(|a, b| (b.day, &b.model).cmp(&(a.day, &a.model)));
        let prices_as_of = self.prices.as_of.clone();
        Ok(UsageReport { usage, cost, unpriced, rows, today, prices_as_of })
    }
}

/// The accounts of the sessions, projects and days that turns pay with. Each is opened with what
/// the log says was spent before the first turn pays with it, so that a daemon reads only the
/// accounts that it needs.
#[derive(Debug, Default)]
pub(crate) struct SharedLedger {
    accounts: Mutex<ReservationLedger>,
    /// Notified when a reservation is settled or released.
    freed: Notify,
}

impl Runner {
    /// Opens the accounts of a project and of a day, if there is a budget for them.
    pub(crate) async fn open_shared_accounts(
        &self,
        project: ProjectId,
        day: u32,
    ) -> Result<(), RunnerError> {
        if self.settings.project.is_some() {
            let all = ListQuery::latest(ViewKind::Usage, project.uuid(), usize::MAX);
            self.open_account(AccountKey::Project(project), vec![all]).await?;
        }
        if self.settings.day.is_some() {
            let at = usage_time(day);
            let before = ListPosition::at_time(at.saturating_add(1));
            let after = at.saturating_sub(1);
            let projects = self.gateway.projects.list_projects().await?;
            let queries = projects.iter().map(|project| {
                let all = ListQuery::latest(ViewKind::Usage, project.id.uuid(), usize::MAX);
                ListQuery { after, before, ..all }
            });
            self.open_account(AccountKey::Day(day), queries.collect()).await?;
        }
        Ok(())
    }

    /// Opens an account with the sum of the usage that is listed, unless it is open.
    async fn open_account(
        &self,
        key: AccountKey,
        queries: Vec<ListQuery>,
    ) -> Result<(), RunnerError> {
        if self.ledger.has_account(key) {
            return Ok(());
        }
        let rows = self.gateway.store().list_under(queries).await?.into_iter();
        let rows = rows.filter_map(|stored| stored.doc.into_usage());
        let spent = rows.fold(BudgetAmount::default(), |sum, row| {
            let (nanos, tokens) = (row.cost, row.usage.total());
            sum.plus(BudgetAmount { nanos, tokens, calls: row.calls })
        });
        self.ledger.lock_accounts().seed_spent(key, spent);
        Ok(())
    }
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
    /// Opens the account of a session with what it spent, unless it is open.
    pub(crate) fn open_session_account(&self, session: &SessionView) {
        let (nanos, tokens) = (session.cost, session.usage.total());
        let spent = BudgetAmount { nanos, tokens, calls: 0 };
        self.lock_accounts().seed_spent(AccountKey::Session(session.id), spent);
    }

    fn has_account(&self, key: AccountKey) -> bool {
        self.lock_accounts().has_account(key)
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
