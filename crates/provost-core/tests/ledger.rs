//! Budgets of sessions that hand tasks over, as properties over any tree of them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use provost_core::fold::{Stamp, View, World};
use provost_core::session::budget::{Pot, Unit};
use provost_core::session::ledger::{Amount, ENOUGH, Key, Ledger, Most, Payer, Refused, Wish};
use provost_proto::session::{
    CompletionPurpose, SessionBudget, SessionOpened, SessionView, TaskUsed, TokenUsage,
    TurnStarted, UsageRecorded,
};
use provost_proto::{Actor, Fact, SessionId, TurnId};
use uuid::Uuid;

fn session(n: usize) -> SessionId {
    Uuid::from_u128(n as u128 + 1).into()
}

fn turn(n: usize) -> TurnId {
    Uuid::from_u128(n as u128 + 1000).into()
}

fn payer(key: Key, pot: Pot, most: Most, is_shared: bool) -> Payer {
    Payer { key, pot, most, is_shared }
}

fn most(nanos: u64) -> Most {
    Most { nanos: Some(nanos), ..Most::default() }
}

/// One token is one nano, and an answer is between 10 and 100 tokens long.
fn reserve(ledger: &mut Ledger, payers: &[Payer], input: u64) -> Result<(u64, u32), Refused> {
    let price = |output: u32| input + u64::from(output);
    ledger.reserve(&Wish { payers, input, shortest: 10, longest: 100, price: &price })
}

fn amount(tokens: u64) -> Amount {
    Amount { nanos: tokens, tokens, calls: 1 }
}

#[test]
fn what_is_reserved_is_not_there_for_others_until_it_is_settled() {
    let mut ledger = Ledger::default();
    let day = [payer(Key::Day(1), Pot::Day, most(115), true)];
    let (first, output) = reserve(&mut ledger, &day, 5).unwrap();
    assert_eq!(output, 100);
    // Five tokens are left, and the shortest answer needs fifteen.
    let Err(Refused::NotYet(little)) = reserve(&mut ledger, &day, 5) else { panic!() };
    assert_eq!(
        (little.pot, little.unit, little.taken, little.needed),
        (Pot::Day, Unit::Nanos, 105, 15)
    );
    ledger.settle(first, Some(amount(110)));
    assert!(matches!(reserve(&mut ledger, &day, 5), Err(Refused::Never(_))));
    assert!(reserve(&mut ledger, &[payer(Key::Day(2), Pot::Day, most(115), true)], 5).is_ok());
    // What was not asked in the end costs nothing.
    let mut ledger = Ledger::default();
    let (first, _) = reserve(&mut ledger, &day, 5).unwrap();
    ledger.settle(first, None);
    assert_eq!(ledger.spent(Key::Day(1)), Amount::default());
    assert!(reserve(&mut ledger, &day, 5).is_ok());
}

#[test]
fn an_answer_leaves_something_of_what_others_draw_from_and_takes_all_of_its_own() {
    let price = |output: u32| u64::from(output);
    for (left, is_shared, output) in [
        (100_000, true, 16_384),
        (10_000, true, 5_000),
        (3_000, true, ENOUGH),
        (1_000, true, 1_000),
        (10_000, false, 10_000),
    ] {
        let payers = [payer(Key::Day(1), Pot::Day, most(left), is_shared)];
        let (input, shortest, longest) = (0, 256, 16_384);
        let wish = Wish { payers: &payers, input, shortest, longest, price: &price };
        let got = Ledger::default().reserve(&wish);
        assert_eq!(got.map(|(_, output)| output), Ok(output), "{left} {is_shared}");
    }
}

#[test]
fn questions_and_tokens_are_counted_as_money_is() {
    let limits = Most { calls: Some(2), tokens: Some(60), nanos: None };
    let payers = [payer(Key::Turn(turn(0)), Pot::Turn, limits, true)];
    let mut ledger = Ledger::default();
    let (first, output) = reserve(&mut ledger, &payers, 20).unwrap();
    assert_eq!(output, 40);
    ledger.settle(first, Some(amount(25)));
    let (_, output) = reserve(&mut ledger, &payers, 20).unwrap();
    assert_eq!(output, 15);
    let Err(Refused::NotYet(little)) = reserve(&mut ledger, &payers, 0) else { panic!() };
    assert_eq!((little.unit, little.taken), (Unit::Calls, 2));
}

/// A tree: of each session the one above it, and its budget.
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

fn payers(tree: &Tree, n: usize, calls: u64) -> Vec<Payer> {
    let own = |at: usize| if at == n { Pot::Session } else { Pot::Above };
    let limits = Most { calls: Some(calls), ..Most::default() };
    let pays = |at: usize| {
        let budget = Most { nanos: tree[at].1, tokens: tree[at].1, calls: None };
        [
            payer(Key::Session(session(at)), own(at), budget, at != n),
            payer(Key::Turn(turn(at)), Pot::Turn, limits, at != n),
        ]
    };
    chain(tree, n).into_iter().flat_map(pays).collect()
}

/// What the log says of an answer: to its own session, and to those above.
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

fn opened(tree: &Tree) -> World {
    let (mut world, stamp) = (World::default(), stamp());
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

fn stamp() -> Stamp<'static> {
    Stamp { seq: 1, at: 1, principal: "local:ann", actor: &Actor::Cli }
}

fn view(world: &World, n: usize) -> SessionView {
    let mut views = world.docs(View::Sessions).filter_map(|(_, doc)| doc.clone().into_session());
    views.find(|view| view.id == session(n)).unwrap()
}

proptest! {
    /// Any of them asks, any answer comes, in any order, and a daemon is killed at any
    /// time: its answers under way are lost, and the next begins with what the log says.
    #[test]
    fn no_tree_of_sessions_spends_more_than_any_session_above_has(
        tree in any_tree(),
        steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>(), 0..60_u64), 0..80),
        calls in 1..12_u64,
    ) {
        let (mut ledger, mut world) = (Ledger::default(), opened(&tree));
        let mut under_way: Vec<(usize, u64, u64)> = Vec::new();
        for (what, which, size) in steps {
            if what == 0 && !under_way.is_empty() {
                let (n, number, most) = under_way.swap_remove(which.index(under_way.len()));
                let cost = size.min(most);
                ledger.settle(number, Some(amount(cost)));
                for fact in facts(&tree, n, cost) {
                    world.apply_fact(stamp(), &fact);
                }
            } else if what == 1 {
                under_way.clear();
                ledger = Ledger::default();
                for n in 0..tree.len() {
                    let view = view(&world, n);
                    let spent = |nanos, tokens, calls| Amount { nanos, tokens, calls };
                    ledger.know(Key::Session(view.id), spent(view.cost, view.usage.total(), 0));
                    let now = view.turn.unwrap();
                    let turn = spent(now.cost, now.usage.total(), now.calls.into());
                    ledger.know(Key::Turn(now.id), turn);
                }
            } else {
                let n = which.index(tree.len());
                if let Ok((number, output)) = reserve(&mut ledger, &payers(&tree, n, calls), size) {
                    under_way.push((n, number, size + u64::from(output)));
                }
            }
            for (n, (_, budget)) in tree.iter().enumerate() {
                let (own, turn) = (Key::Session(session(n)), Key::Turn(turn(n)));
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
        let rows = world.docs(View::Usage).filter_map(|(_, doc)| doc.clone().into_usage());
        prop_assert_eq!(rows.map(|row| row.cost).sum::<u64>(), own.iter().sum::<u64>());
    }
}
