//! Who pays for an answer: the session, those that handed its task over, the project
//! and the day.

use provost_core::session::budget::BudgetScope;
use provost_core::session::reservation_ledger::{
    AccountKey, BudgetAmount, BudgetLimit, BudgetPayer,
};
use provost_core::session::turn_step::TurnLimits;
use provost_proto::session::{SessionBudget, SessionStatus, SessionView, TaskUsed, TurnView};
use provost_proto::{Fact, ProjectId, SessionId, TurnId, UnixMicros, limits};

use crate::session::{Runner, RunnerError, SessionSettings};

/// A session above another, and the turn that waits for that one.
#[derive(Debug, Clone)]
pub(crate) struct AncestorSession {
    session: SessionId,
    budget: SessionBudget,
    turn: Option<(TurnId, UnixMicros)>,
}

/// A session with all those above it, the nearest first, and its turn.
#[derive(Debug, Clone)]
pub(crate) struct SessionLineage {
    session: SessionId,
    turn: TurnId,
    project: ProjectId,
    budget: SessionBudget,
    above: Vec<AncestorSession>,
}

impl Runner {
    /// Reads who is above a session, and sees to it that the turns that go on have
    /// their accounts.
    pub(crate) async fn load_lineage(
        &self,
        view: &SessionView,
        turn: TurnId,
    ) -> Result<SessionLineage, RunnerError> {
        let mut above = Vec::new();
        let mut parent = view.parent;
        while let Some(id) =
            parent.filter(|_| above.len() <= usize::from(limits::MAX_HANDOFF_DEPTH))
        {
            let found = self.load_session(id).await?;
            let running = found.turn.filter(|_| found.status == SessionStatus::Running);
            let turn = running.map(|turn| {
                self.register_turn_account(&turn);
                (turn.id, turn.started_at)
            });
            above.push(AncestorSession { session: id, budget: found.budget, turn });
            parent = found.parent;
        }
        if let Some(own) = view.turn.as_ref().filter(|own| own.id == turn) {
            self.register_turn_account(own);
        }
        let (project, budget) = (view.project, view.budget);
        Ok(SessionLineage { session: view.id, turn, project, budget, above })
    }

    fn register_turn_account(&self, turn: &TurnView) {
        let (nanos, tokens) = (turn.cost, turn.usage.total());
        let spent = BudgetAmount { nanos, tokens, calls: turn.calls.into() };
        self.ledger.lock_accounts().seed_spent(AccountKey::Turn(turn.id), spent);
    }
}

impl SessionLineage {
    /// All that pay, on this day.
    pub(crate) fn payers(
        &self,
        settings: &SessionSettings,
        turn: &TurnLimits,
        day: u32,
    ) -> Vec<BudgetPayer> {
        let payer = |key, pot, most, is_shared| BudgetPayer { key, pot, most, is_shared };
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
        for above in &self.above {
            let key = AccountKey::Session(above.session);
            payers.push(payer(key, BudgetScope::ParentSession, above.budget.into(), true));
            let turn = above
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

    /// The accounts of all that pay, on this day.
    pub(crate) fn account_keys(&self, day: u32) -> impl Iterator<Item = AccountKey> {
        let above = self.above.iter().flat_map(|above| {
            let turn = above.turn.map(|(turn, _)| AccountKey::Turn(turn));
            [Some(AccountKey::Session(above.session)), turn].into_iter().flatten()
        });
        let own = [AccountKey::Session(self.session), AccountKey::Turn(self.turn)];
        own.into_iter()
            .chain(above)
            .chain([AccountKey::Project(self.project), AccountKey::Day(day)])
    }

    /// The turn that all others here are a part of.
    pub(crate) fn root_turn(&self) -> TurnId {
        let above = self.above.iter().rev().find_map(|above| above.turn);
        above.map_or(self.turn, |(turn, _)| turn)
    }

    /// When that one began, if it is not our own.
    pub(crate) fn root_turn_started_at(&self) -> Option<UnixMicros> {
        self.above.iter().rev().find_map(|above| above.turn).map(|(_, began)| began)
    }

    /// Tells those above what was used.
    pub(crate) fn ancestor_usage_facts(&self, fact: &Fact) -> Vec<Fact> {
        let Fact::UsageRecorded(used) = fact else { return Vec::new() };
        let (by, usage, cost) = (used.session, used.usage, used.cost);
        let above = self.above.iter().map(|above| {
            let turn = above.turn.map(|(turn, _)| turn);
            Fact::TaskUsed(TaskUsed { session: above.session, turn, by, usage, cost })
        });
        above.collect()
    }
}
