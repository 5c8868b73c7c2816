//! Property tests of budgets, for any tree of sessions.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use provost_core::fold::{EventMetadata, MemoryViews, ViewKind};
use provost_core::session::budget::{BudgetScope, BudgetUnit};
use provost_core::session::reservation_ledger::{
    AccountKey, BudgetAmount, BudgetLimit, BudgetPayer, ReservationError, ReservationLedger,
    ReservationRequest, SHARED_OUTPUT_TOKENS,
};
use provost_proto::session::{
    CompletionPurpose, SessionBudget, SessionOpened, SessionView, TaskUsed, TokenUsage,
    TurnStarted, UsageRecorded,
};
use provost_proto::{Actor, Fact, LogCursor, SessionId, TurnId};
use uuid::Uuid;

fn session(n: usize) -> SessionId {
    Uuid::from_u128(n as u128 + 1).into()
}

fn turn(n: usize) -> TurnId {
    Uuid::from_u128(n as u128 + 1000).into()
}

fn payer(key: AccountKey, scope: BudgetScope, most: BudgetLimit, is_shared: bool) -> BudgetPayer {
    BudgetPayer { key, scope, most, is_shared }
}

fn most(nanos: u64) -> BudgetLimit {
    BudgetLimit { nanos: Some(nanos), ..BudgetLimit::default() }
}

/// One token costs one nano, and a completion has between 10 and 100 tokens.
fn reserve(
    ledger: &mut ReservationLedger,
    payers: &[BudgetPayer],
    input: u64,
) -> Result<(u64, u32), ReservationError> {
    let price = |output: u32| input + u64::from(output);
    ledger.reserve(&ReservationRequest { payers, input, shortest: 10, longest: 100, price: &price })
}

fn amount(tokens: u64) -> BudgetAmount {
    BudgetAmount { nanos: tokens, tokens, calls: 1 }
}

#[test]
fn what_is_reserved_is_not_there_for_others_until_it_is_settled() {
    let mut ledger = ReservationLedger::default();
    let day = [payer(AccountKey::Day(1), BudgetScope::Day, most(115), true)];
    let (first, output) = reserve(&mut ledger, &day, 5).unwrap();
    assert_eq!(output, 100);
    // Five tokens are left, and the shortest completion needs fifteen.
    let Err(ReservationError::InsufficientForNow(little)) = reserve(&mut ledger, &day, 5) else {
        panic!()
    };
    assert_eq!(
        (little.scope, little.unit, little.taken, little.needed),
        (BudgetScope::Day, BudgetUnit::Nanos, 105, 15)
    );
    ledger.settle_reservation(first, Some(amount(110)));
    assert!(matches!(reserve(&mut ledger, &day, 5), Err(ReservationError::Insufficient(_))));
    assert!(
        reserve(&mut ledger, &[payer(AccountKey::Day(2), BudgetScope::Day, most(115), true)], 5)
            .is_ok()
    );
    // A completion that was not requested costs nothing.
    let mut ledger = ReservationLedger::default();
    let (first, _) = reserve(&mut ledger, &day, 5).unwrap();
    ledger.settle_reservation(first, None);
    assert_eq!(ledger.spent(AccountKey::Day(1)), BudgetAmount::default());
    assert!(reserve(&mut ledger, &day, 5).is_ok());
}

#[test]
fn an_answer_leaves_something_of_what_others_draw_from_and_takes_all_of_its_own() {
    let price = |output: u32| u64::from(output);
    for (left, is_shared, output) in [
        (100_000, true, 16_384),
        (10_000, true, 5_000),
        (3_000, true, SHARED_OUTPUT_TOKENS),
        (1_000, true, 1_000),
        (10_000, false, 10_000),
    ] {
        let payers = [payer(AccountKey::Day(1), BudgetScope::Day, most(left), is_shared)];
        let (input, shortest, longest) = (0, 256, 16_384);
        let request =
            ReservationRequest { payers: &payers, input, shortest, longest, price: &price };
        let got = ReservationLedger::default().reserve(&request);
        assert_eq!(got.map(|(_, output)| output), Ok(output), "{left} {is_shared}");
    }
}

#[test]
fn questions_and_tokens_are_counted_as_money_is() {
    let limits = BudgetLimit { calls: Some(2), tokens: Some(60), nanos: None };
    let payers = [payer(AccountKey::Turn(turn(0)), BudgetScope::Turn, limits, true)];
    let mut ledger = ReservationLedger::default();
    let (first, output) = reserve(&mut ledger, &payers, 20).unwrap();
    assert_eq!(output, 40);
    ledger.settle_reservation(first, Some(amount(25)));
    let (_, output) = reserve(&mut ledger, &payers, 20).unwrap();
    assert_eq!(output, 15);
    let Err(ReservationError::InsufficientForNow(little)) = reserve(&mut ledger, &payers, 0) else {
        panic!()
    };
    assert_eq!((little.unit, little.taken), (BudgetUnit::Calls, 2));
}

/// A tree: the parent of each session, and its budget.
type Tree = Vec<(Option<usize>, Option<u64>)>;

fn any_tree() -> impl Strategy<Value = Tree> {
    prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(0..400_u64)), 1..8)
        .prop_map(|nodes| {
            let above = |(n, (index, budget)): (usize, (prop::sample::Index, _))| {
                ((n > 0).then(|| index.index(n.max(1))), budget)
            };
            nodes.into_iter().enumerate().map(above).collect()
        })
}

/// A session and all above it, the nearest first.
fn chain(tree: &Tree, n: usize) -> Vec<usize> {
    std::iter::successors(Some(n), |n| tree[*n].0).collect()
}

fn payers(tree: &Tree, n: usize, calls: u64) -> Vec<BudgetPayer> {
    let own = |at: usize| if at == n { BudgetScope::Session } else { BudgetScope::ParentSession };
    let limits = BudgetLimit { calls: Some(calls), ..BudgetLimit::default() };
    let pays = |at: usize| {
        let budget = BudgetLimit { nanos: tree[at].1, tokens: tree[at].1, calls: None };
        [
            payer(AccountKey::Session(session(at)), own(at), budget, at != n),
            payer(AccountKey::Turn(turn(at)), BudgetScope::Turn, limits, at != n),
        ]
    };
    chain(tree, n).into_iter().flat_map(pays).collect()
}

/// The facts of a completion: for its own session, and for those above.
fn facts(tree: &Tree, n: usize, cost: u64) -> Vec<Fact> {
    let usage = TokenUsage { input: cost, ..TokenUsage::default() };
    let mut facts = vec![Fact::UsageRecorded(UsageRecorded {
        session: session(n),
        project: Uuid::from_u128(9).into(),
        turn: turn(n),
        model: "m".to_owned(),
        day: 1,
        purpose: CompletionPurpose::Answer,
        usage,
        cost: Some(cost),
        estimated: false,
    })];
    facts.extend(chain(tree, n).into_iter().skip(1).map(|above| {
        let (by, turn) = (session(n), Some(turn(above)));
        Fact::TaskUsed(TaskUsed { session: session(above), turn, by, usage, cost: Some(cost) })
    }));
    facts
}

fn opened(tree: &Tree) -> MemoryViews {
    let (mut world, stamp) = (MemoryViews::default(), stamp());
    for (n, (parent, tokens)) in tree.iter().enumerate() {
        world.apply_fact(
            stamp,
            &Fact::SessionOpened(SessionOpened {
                session: session(n),
                project: Uuid::from_u128(9).into(),
                role: "dev".to_owned(),
                model: "m".to_owned(),
                budget: SessionBudget { tokens: *tokens, nanos: *tokens },
                parent: parent.map(session),
                depth: 0,
                only: None,
            }),
        );
        let started = TurnStarted { session: session(n), turn: turn(n), message: None, item: None };
        world.apply_fact(stamp, &Fact::TurnStarted(started));
    }
    world
}

fn stamp() -> EventMetadata<'static> {
    EventMetadata {
        cursor: LogCursor::START,
        at: 1,
        principal: "local:ann",
        actor: &Actor::Cli,
        command: None,
    }
}

fn view(world: &MemoryViews, n: usize) -> SessionView {
    let mut views =
        world.docs(ViewKind::Sessions).filter_map(|(_, doc)| doc.clone().into_session());
    views.find(|view| view.id == session(n)).unwrap()
}

proptest! {
    /// Any session requests, any completion ends, in any order, and the daemon is killed at any
    /// time: running completions are lost, and the next daemon starts with the log.
    #[test]
    fn no_tree_of_sessions_spends_more_than_any_session_above_has(
        tree in any_tree(),
        steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>(), 0..60_u64), 0..80),
        calls in 1..12_u64,
    ) {
        let (mut ledger, mut world) = (ReservationLedger::default(), opened(&tree));
        let mut under_way: Vec<(usize, u64, u64)> = Vec::new();
        for (what, which, size) in steps {
            if what == 0 && !under_way.is_empty() {
                let (n, number, most) = under_way.swap_remove(which.index(under_way.len()));
                let cost = size.min(most);
                ledger.settle_reservation(number, Some(amount(cost)));
                for fact in facts(&tree, n, cost) {
                    world.apply_fact(stamp(), &fact);
                }
            } else if what == 1 {
                under_way.clear();
                ledger = ReservationLedger::default();
                for n in 0..tree.len() {
                    let view = view(&world, n);
                    let spent = |nanos, tokens, calls| BudgetAmount { nanos, tokens, calls };
                    ledger.seed_spent(AccountKey::Session(view.id), spent(view.cost, view.usage.total(), 0));
                    let now = view.turn.unwrap();
                    let turn = spent(now.cost, now.usage.total(), now.calls.into());
                    ledger.seed_spent(AccountKey::Turn(now.id), turn);
                }
            } else {
                let n = which.index(tree.len());
                if let Ok((number, output)) = reserve(&mut ledger, &payers(&tree, n, calls), size) {
                    under_way.push((n, number, size + u64::from(output)));
                }
            }
            for (n, (_, budget)) in tree.iter().enumerate() {
                let (own, turn) = (AccountKey::Session(session(n)), AccountKey::Turn(turn(n)));
                let taken = ledger.spent(own).plus(ledger.reserved(own));
                let most = budget.unwrap_or(u64::MAX);
                prop_assert!(taken.nanos <= most && taken.tokens <= most, "{n}: {taken:?} of {most}");
                prop_assert!(ledger.spent(turn).plus(ledger.reserved(turn)).calls <= calls);
                let view = view(&world, n);
                prop_assert_eq!(view.cost, ledger.spent(own).nanos);
                prop_assert_eq!(view.usage.total(), ledger.spent(own).tokens);
                let now = view.turn.unwrap();
                prop_assert_eq!(u64::from(now.calls), ledger.spent(turn).calls);
            }
        }
    }

    #[test]
    fn what_is_handed_over_counts_above_and_once_in_all(
        tree in any_tree(),
        answers in prop::collection::vec((any::<prop::sample::Index>(), 0..1000_u64), 0..40),
    ) {
        let mut world = opened(&tree);
        let mut own = vec![0; tree.len()];
        for (which, cost) in answers {
            let n = which.index(tree.len());
            own[n] += cost;
            for fact in facts(&tree, n, cost) {
                world.apply_fact(stamp(), &fact);
            }
        }
        for n in 0..tree.len() {
            let below = (0..tree.len()).filter(|m| chain(&tree, *m).contains(&n));
            let view = view(&world, n);
            prop_assert_eq!(view.cost, below.map(|m| own[m]).sum::<u64>());
            prop_assert_eq!(view.cost - view.handed.cost, own[n]);
            prop_assert_eq!(view.usage.total() - view.handed.usage.total(), own[n]);
        }
        let rows = world.docs(ViewKind::Usage).filter_map(|(_, doc)| doc.clone().into_usage());
        prop_assert_eq!(rows.map(|row| row.cost).sum::<u64>(), own.iter().sum::<u64>());
    }
}
