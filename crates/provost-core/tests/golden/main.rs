//! Golden files: records with their hashes, documents and actions, byte for byte.
//!
//! The facts are those of the golden files of `provost-proto`, so that every kind of
//! event is covered here too. `UPDATE_EXPECT=1 cargo test` writes the files anew.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod actions;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::expect_file;
use provost_core::canonical;
use provost_core::fold::{MemoryViews, ViewKind};
use provost_core::hash_chain::{self, EventRecord, RecordParts};
use provost_proto::{Actor, Event, Fact, Hash, Stream};
use uuid::Uuid;

/// One fact a line, under headings with the kind.
const FACTS: &str = include_str!("../../../provost-proto/tests/golden/files/events.txt");
/// Envelopes with every actor and every stream.
const ENVELOPES: &str = include_str!("../../../provost-proto/tests/golden/files/envelope.txt");

fn id<T: From<Uuid>>(number: u128) -> T {
    Uuid::from_u128(0x018b_cfe5_6800_7000_8000_0000_0000_0000 + number).into()
}

fn json_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with('{'))
}

fn facts() -> impl Iterator<Item = Fact> {
    json_lines(FACTS).map(|line| serde_json::from_str(line).unwrap())
}

/// The canonical record of a fact at a place in the log.
fn record(seq: u64, fact: &Fact) -> Vec<u8> {
    let odd = seq % 2 == 1;
    hash_chain::encode_record(&RecordParts {
        seq,
        stream: Stream::Project(id(1)),
        version: seq,
        id: id(1000 + u128::from(seq)),
        at: 1_700_000_000_000_000 + seq,
        principal: "local:ann",
        actor: &Actor::Cli,
        command: odd.then_some("key-1"),
        cause: odd.then(|| id(999)),
        kind: fact.kind(),
        body: &hash_chain::encode_stored_fact(fact.clone()).unwrap().1,
    })
}

/// All facts as one log.
fn log() -> Vec<(Vec<u8>, Event)> {
    let mut prev = Hash::ZERO;
    (1..)
        .zip(facts())
        .map(|(seq, fact)| {
            let record = record(seq, &fact);
            let hash = hash_chain::hash_record(&prev, &record);
            let event = EventRecord::parse(&record).unwrap().into_event(prev, hash);
            assert_eq!(event.fact(), Some(fact));
            prev = hash;
            (record, event)
        })
        .collect()
}

#[test]
fn every_record_and_its_hash_keep_their_bytes() {
    let mut text = String::new();
    for (record, event) in log() {
        writeln!(text, "{} {}", event.hash, String::from_utf8(record).unwrap()).unwrap();
    }
    expect_file!["files/records.txt"].assert_eq(&text);
}

#[test]
fn every_actor_and_stream_has_the_same_record_as_its_envelope_says() {
    let mut text = String::new();
    for line in json_lines(ENVELOPES) {
        let event: Event = serde_json::from_str(line).unwrap();
        let record = hash_chain::encode_record(&RecordParts {
            seq: event.seq,
            stream: event.stream,
            version: event.version,
            id: event.id,
            at: event.at,
            principal: &event.principal,
            actor: &event.actor,
            command: event.command.as_deref(),
            cause: event.cause,
            kind: &event.kind,
            body: &canonical::to_vec(&event.body).unwrap(),
        });
        let wire = hash_chain::encode_event(&record, &event.prev, &event.hash);
        assert_eq!(serde_json::from_slice::<Event>(&wire).unwrap(), event);
        writeln!(text, "{}", String::from_utf8(wire).unwrap()).unwrap();
    }
    expect_file!["files/wire.txt"].assert_eq(&text);
}

#[test]
fn views_keep_their_names_and_numbers() {
    let mut text = String::new();
    for view in ViewKind::ALL {
        let json = serde_json::to_string(&view).unwrap();
        writeln!(text, "{} {} {json}", view.storage_id(), view.name()).unwrap();
    }
    expect_file!["files/views.txt"].assert_eq(&text);
}

#[test]
fn documents_keep_their_keys_and_bytes() {
    let (mut world, mut text) = (MemoryViews::default(), String::new());
    let mut seen = BTreeSet::new();
    // A document is shown each time it changes, for later events hide what earlier ones wrote.
    for (_, event) in log() {
        world.apply(&event);
        for view in ViewKind::ALL {
            for (key, doc) in world.docs(view) {
                let json = String::from_utf8(canonical::to_vec(doc).unwrap()).unwrap();
                let line = format!("{} {} {json}", view.name(), key.key);
                if seen.insert(line.clone()) {
                    writeln!(text, "{line}").unwrap();
                }
            }
        }
    }
    for view in ViewKind::ALL {
        assert!(text.contains(&format!("{} ", view.name())), "no document of {}", view.name());
    }
    writeln!(text, "hash of all views {}", world.hash().unwrap()).unwrap();
    expect_file!["files/documents.txt"].assert_eq(&text);
}
