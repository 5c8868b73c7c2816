//! Which accounts a completion is charged to: its session, the sessions that handed the task
//! down to it, the project and the day.

use provost_core::session::budget::BudgetScope;
use provost_core::session::reservation_ledger::{
    AccountKey, BudgetAmount, BudgetLimit, BudgetPayer,
};
use provost_core::session::turn_step::TurnLimits;
use provost_proto::session::{SessionBudget, SessionStatus, SessionView, TaskUsed, TurnView};
use provost_proto::{Fact, ProjectId, SessionId, TurnId, UnixMicros, limits};

use super::shared_ledger::day_number;
use crate::session::{Runner, RunnerError, SessionSettings};

/// A session that handed its task down, and its turn that waits for the result.
#[derive(Debug, Clone)]
pub(crate) struct AncestorSession {
    session: SessionId,
    budget: SessionBudget,
    turn: Option<(TurnId, UnixMicros)>,
}

/// A session with its turn, and its ancestors, the nearest first.
#[derive(Debug, Clone)]
pub(crate) struct SessionLineage {
    session: SessionId,
    turn: TurnId,
    project: ProjectId,
    budget: SessionBudget,
    ancestors: Vec<AncestorSession>,
}

impl Runner {
    /// Loads the ancestors of a session, and opens the accounts that its turn pays with.
    pub(crate) async fn load_lineage(
        &self,
        view: &SessionView,
        turn: TurnId,
    ) -> Result<SessionLineage, RunnerError> {
        let today = day_number(self.gateway.clock().now());
        self.open_shared_accounts(view.project, today).await?;
        self.ledger.open_session_account(view);
        let mut ancestors = Vec::new();
        let mut parent = view.parent;
        while let Some(id) =
            parent.filter(|_| ancestors.len() <= usize::from(limits::MAX_HANDOFF_DEPTH))
        {
            let found = self.load_session(id).await?;
            self.ledger.open_session_account(&found);
            let running = found.turn.filter(|_| found.status == SessionStatus::Running);
            let turn = running.map(|turn| {
                self.register_turn_account(&turn);
                (turn.id, turn.started_at)
            });
            ancestors.push(AncestorSession { session: id, budget: found.budget, turn });
            parent = found.parent;
        }
        if let Some(own) = view.turn.as_ref().filter(|own| own.id == turn) {
            self.register_turn_account(own);
        }
        let (project, budget) = (view.project, view.budget);
        Ok(SessionLineage { session: view.id, turn, project, budget, ancestors })
    }

    fn register_turn_account(&self, turn: &TurnView) {
        let (nanos, tokens) = (turn.cost, turn.usage.total());
        let spent = BudgetAmount { nanos, tokens, calls: turn.calls.into() };
        self.ledger.lock_accounts().seed_spent(AccountKey::Turn(turn.id), spent);
    }
}

impl SessionLineage {
    /// All payers on this day, with their limits.
    pub(crate) fn payers(
        &self,
        settings: &SessionSettings,
        turn: &TurnLimits,
        day: u32,
    ) -> Vec<BudgetPayer> {
        let payer = |key, scope, most, is_shared| BudgetPayer { key, scope, most, is_shared };
        let money = |nanos| BudgetLimit { nanos, ..BudgetLimit::default() };
        let turns = BudgetLimit::from(turn);
        let mut payers = vec![
            payer(
                AccountKey::Session(self.session),
                BudgetScope::Session,
                self.budget.into(),
                false,
            ),
            payer(AccountKey::Turn(self.turn), BudgetScope::Turn, turns, false),
        ];
        for ancestor in &self.ancestors {
            let key = AccountKey::Session(ancestor.session);
            payers.push(payer(key, BudgetScope::ParentSession, ancestor.budget.into(), true));
            let turn = ancestor
                .turn
                .map(|(turn, _)| payer(AccountKey::Turn(turn), BudgetScope::Turn, turns, true));
            payers.extend(turn);
        }
        payers.push(payer(
            AccountKey::Project(self.project),
            BudgetScope::Project,
            money(settings.project),
            true,
        ));
        payers.push(payer(AccountKey::Day(day), BudgetScope::Day, money(settings.day), true));
        payers
    }

    /// The accounts of all payers on this day.
    pub(crate) fn account_keys(&self, day: u32) -> impl Iterator<Item = AccountKey> {
        let ancestors = self.ancestors.iter().flat_map(|ancestor| {
            let turn = ancestor.turn.map(|(turn, _)| AccountKey::Turn(turn));
            [Some(AccountKey::Session(ancestor.session)), turn].into_iter().flatten()
        });
        let own = [AccountKey::Session(self.session), AccountKey::Turn(self.turn)];
        own.into_iter()
            .chain(ancestors)
            .chain([AccountKey::Project(self.project), AccountKey::Day(day)])
    }

    /// The running turn of the topmost ancestor, or this turn: limits of a turn count for all
    /// turns below it.
    pub(crate) fn root_turn(&self) -> TurnId {
        let root = self.ancestors.iter().rev().find_map(|ancestor| ancestor.turn);
        root.map_or(self.turn, |(turn, _)| turn)
    }

    /// When the root turn started, if it is not this turn.
    pub(crate) fn root_turn_started_at(&self) -> Option<UnixMicros> {
        let root = self.ancestors.iter().rev().find_map(|ancestor| ancestor.turn);
        root.map(|(_, started_at)| started_at)
    }

    /// The facts that charge a usage to the ancestors.
    pub(crate) fn ancestor_usage_facts(&self, fact: &Fact) -> Vec<Fact> {
        let Fact::UsageRecorded(used) = fact else { return Vec::new() };
        let (by, usage, cost) = (used.session, used.usage, used.cost);
        let facts = self.ancestors.iter().map(|ancestor| {
            let turn = ancestor.turn.map(|(turn, _)| turn);
            Fact::TaskUsed(TaskUsed { session: ancestor.session, turn, by, usage, cost })
        });
        facts.collect()
    }
}
