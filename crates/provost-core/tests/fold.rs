//! The fold, as properties over any log.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use provost_core::fold::{Before, Doc, Stamp, View, World, fold as fold_one, touched};
use provost_proto::{Actor, Event, Fact, Hash, ProjectStatus, Stream, TokenClass};
use uuid::Uuid;

fn event(seq: u64, kind: &str, body: serde_json::Value) -> Event {
    Event {
        seq,
        stream: Stream::Sys,
        version: seq,
        id: Uuid::from_u128(seq.into()).into(),
        at: seq * 1000,
        principal: format!("local:{}", seq % 3),
        actor: Actor::Cli,
        command: None,
        cause: None,
        kind: kind.to_owned(),
        body,
        prev: Hash::ZERO,
        hash: Hash::ZERO,
    }
}

fn recorded(seq: u64, fact: &Fact) -> Event {
    event(seq, fact.kind(), fact.body().unwrap())
}

/// Facts about four projects and four tokens, in any order, sensible or not.
fn any_fact() -> impl Strategy<Value = Fact> {
    (0..7_u8, 0..4_u128, "[a-z]{0,4}").prop_map(|(which, n, text)| {
        let id = Uuid::from_u128(n);
        match which {
            0 => Fact::DaemonStarted { pid: 1, version: text, listen: String::new() },
            1 => Fact::DaemonStopped { reason: text },
            2 | 3 => Fact::ProjectOpened {
                project: id.into(),
                name: text.clone(),
                slug: text.clone(),
                path: text,
            },
            4 => Fact::ProjectClosed { project: id.into() },
            5 => Fact::TokenCreated {
                token: id.into(),
                class: TokenClass::Viewer,
                project: None,
                role: None,
                holder: None,
                label: text,
                digest: Hash::ZERO,
                expires_at: None,
            },
            _ => Fact::TokenRevoked { token: id.into() },
        }
    })
}

fn fold<'a>(mut world: World, events: impl IntoIterator<Item = &'a Event>) -> World {
    for event in events {
        world.apply(event);
    }
    world
}

proptest! {
    #[test]
    fn any_prefix_and_then_the_rest_is_the_whole(
        facts in prop::collection::vec(any_fact(), 0..40), cut in any::<prop::sample::Index>(),
    ) {
        let events: Vec<_> = (1..).zip(&facts).map(|(seq, fact)| recorded(seq, fact)).collect();
        let cut = cut.index(events.len() + 1);
        let whole = fold(World::default(), &events);
        let halves = fold(fold(World::default(), &events[..cut]), &events[cut..]);
        prop_assert_eq!(whole.hash().unwrap(), halves.hash().unwrap());
    }

    #[test]
    fn a_fact_that_says_it_replaces_a_document_does_not_look_at_it(
        facts in prop::collection::vec(any_fact(), 1..20), last in any_fact(),
    ) {
        let stamp = Stamp { at: 1, principal: "local:0", actor: &Actor::Cli };
        let mut world = World::default();
        for fact in &facts {
            world.apply_fact(stamp, fact);
        }
        for (key, before) in touched(&last) {
            let had = world.docs(key.view).find(|(k, _)| **k == key).map(|(_, doc)| doc.clone());
            if before == Before::Replaced {
                prop_assert_eq!(fold_one(had, stamp, &last), fold_one(None, stamp, &last));
            }
        }
    }

    #[test]
    fn every_fact_is_read_back_from_its_event(fact in any_fact()) {
        prop_assert_eq!(recorded(1, &fact).fact(), Some(fact));
    }

    #[test]
    fn kinds_we_do_not_know_change_nothing(
        facts in prop::collection::vec(any_fact(), 0..20), at in any::<prop::sample::Index>(),
    ) {
        let mut events: Vec<_> = (1..).zip(&facts).map(|(seq, fact)| recorded(seq, fact)).collect();
        let plain = fold(World::default(), &events);
        events.insert(at.index(events.len() + 1), event(99, "FROM_THE_FUTURE", serde_json::json!({})));
        prop_assert_eq!(fold(World::default(), &events), plain);
    }
}

#[test]
fn a_project_closed_and_opened_again_is_the_same_project() {
    let project = Uuid::from_u128(1).into();
    let opened = Fact::ProjectOpened {
        project,
        name: "app".into(),
        slug: "app".into(),
        path: "/src/app".into(),
    };
    let events =
        [recorded(1, &opened), recorded(2, &Fact::ProjectClosed { project }), recorded(3, &opened)];
    let status = |n: usize| {
        let world = fold(World::default(), &events[..n]);
        let docs: Vec<_> = world.docs(View::Projects).collect();
        match docs[..] {
            [(_, Doc::Project(project))] => project.status,
            _ => panic!("expected one project, got {docs:?}"),
        }
    };
    assert_eq!(status(1), ProjectStatus::Open);
    assert_eq!(status(2), ProjectStatus::Closed);
    assert_eq!(status(3), ProjectStatus::Open);
}
