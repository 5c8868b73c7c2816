//! The hash chain: every event contains the hash of the previous one.
//!
//! The hash is over the stored bytes, so verifying needs no second serialisation: `hash =
//! BLAKE3(prev ‖ record)`, where the record is the canonical JSON of the envelope without `prev`
//! and `hash`.

use provost_proto::{
    Actor, Event, EventId, EventKind, Fact, Hash, Seq, Stream, StreamVersion, UnixMicros,
};
use serde::Deserialize;
use serde_json::Value;

use crate::canonical::{self, CanonicalText, NotCanonical};
use crate::exact_json;

/// An event before it is chained: the envelope without `prev` and `hash`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventRecord {
    /// Position in the whole log.
    pub seq: Seq,
    /// The stream it belongs to.
    pub stream: Stream,
    /// Position in its stream.
    pub version: StreamVersion,
    /// Its id.
    pub id: EventId,
    /// The time by the daemon's clock.
    pub at: UnixMicros,
    /// On whose authority it happened.
    pub principal: String,
    /// The component that acted.
    pub actor: Actor,
    /// The client's idempotency key.
    pub command: Option<String>,
    /// The event that caused this one.
    pub cause: Option<EventId>,
    /// The kind.
    pub kind: EventKind,
    /// The body.
    pub body: Value,
}

impl EventRecord {
    /// Parses a stored record.
    pub fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Adds the hashes of the chain.
    pub fn into_event(self, prev: Hash, hash: Hash) -> Event {
        let Self { seq, stream, version, id, at, principal, actor, command, cause, kind, body } =
            self;
        Event {
            seq,
            stream,
            version,
            id,
            at,
            principal,
            actor,
            command,
            cause,
            kind,
            body,
            prev,
            hash,
        }
    }
}

/// The parts of a record, with the body already in canonical form.
#[derive(Debug, Clone, Copy)]
pub struct RecordParts<'a> {
    /// Position in the whole log.
    pub seq: Seq,
    /// The stream it belongs to.
    pub stream: Stream,
    /// Position in its stream.
    pub version: StreamVersion,
    /// Its id.
    pub id: EventId,
    /// The time by the daemon's clock.
    pub at: UnixMicros,
    /// On whose authority it happened.
    pub principal: &'a str,
    /// The component that acted.
    pub actor: &'a Actor,
    /// The client's idempotency key.
    pub command: Option<&'a str>,
    /// The event that caused this one.
    pub cause: Option<EventId>,
    /// The kind.
    pub kind: &'a str,
    /// The canonical JSON of the body.
    pub body: &'a [u8],
}

/// Writes the canonical record. The code writes the members in canonical order, because building
/// and sorting a tree for every event would cost more than storing it. A test compares the result
/// with the general serializer.
pub fn encode_record(parts: &RecordParts<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(parts.body.len() + 384);
    out.extend_from_slice(b"{\"actor\":");
    write_actor(&mut out, parts.actor);
    write_number(&mut out, b",\"at\":", parts.at);
    out.extend_from_slice(b",\"body\":");
    out.extend_from_slice(parts.body);
    match parts.cause {
        Some(cause) => write_id(&mut out, b",\"cause\":", cause),
        None => out.extend_from_slice(b",\"cause\":null"),
    }
    write_optional_text(&mut out, b",\"command\":", parts.command);
    write_id(&mut out, b",\"id\":", parts.id);
    write_text(&mut out, b",\"kind\":", parts.kind);
    write_text(&mut out, b",\"principal\":", parts.principal);
    write_number(&mut out, b",\"seq\":", parts.seq);
    write_stream(&mut out, parts.stream);
    write_number(&mut out, b",\"version\":", parts.version);
    out.push(b'}');
    out
}

/// Most actors are constants, which need no escaping and no allocation.
fn write_actor(out: &mut Vec<u8>, actor: &Actor) {
    match actor {
        Actor::Ui => out.extend_from_slice(b"\"ui\""),
        Actor::Cli => out.extend_from_slice(b"\"cli\""),
        Actor::Kernel => out.extend_from_slice(b"\"kernel\""),
        Actor::Daemon => out.extend_from_slice(b"\"daemon\""),
        Actor::Agent(_) | Actor::Runtime(_) => canonical::write_string(out, &actor.to_string()),
    }
}

fn write_id(out: &mut Vec<u8>, key: &[u8], id: EventId) {
    let mut buffer = [0; uuid::fmt::Hyphenated::LENGTH];
    out.extend_from_slice(key);
    out.push(b'"');
    out.extend_from_slice(id.uuid().as_hyphenated().encode_lower(&mut buffer).as_bytes());
    out.push(b'"');
}

fn write_text(out: &mut Vec<u8>, key: &[u8], value: &str) {
    out.extend_from_slice(key);
    canonical::write_string(out, value);
}

fn write_optional_text(out: &mut Vec<u8>, key: &[u8], value: Option<&str>) {
    out.extend_from_slice(key);
    match value {
        Some(value) => canonical::write_string(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

fn write_number(out: &mut Vec<u8>, key: &[u8], value: u64) {
    out.extend_from_slice(key);
    canonical::write_digits(out, value);
}

/// The name of a stream needs no escaping.
fn write_stream(out: &mut Vec<u8>, stream: Stream) {
    let (kind, uuid): (&[u8], _) = match stream {
        Stream::Sys => return out.extend_from_slice(b",\"stream\":\"sys\""),
        Stream::Project(id) => (b",\"stream\":\"project/", id.uuid()),
        Stream::Session(id) => (b",\"stream\":\"session/", id.uuid()),
        Stream::Notebook(id) => (b",\"stream\":\"notebook/", id.uuid()),
    };
    out.extend_from_slice(kind);
    let mut buffer = [0; uuid::fmt::Hyphenated::LENGTH];
    out.extend_from_slice(uuid.as_hyphenated().encode_lower(&mut buffer).as_bytes());
    out.push(b'"');
}

/// The hash of a record that follows the one with the hash `prev`.
pub fn hash_record(prev: &Hash, record: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(prev.as_bytes());
    hasher.update(record);
    Hash::new(*hasher.finalize().as_bytes())
}

/// The content address of a blob, and the stored digest of a token.
pub fn digest(bytes: &[u8]) -> Hash {
    Hash::new(*blake3::hash(bytes).as_bytes())
}

/// Computes the digest of content that comes in parts.
#[derive(Debug, Default)]
pub struct ContentDigester(blake3::Hasher);

impl ContentDigester {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all of them.
    pub fn finish(&self) -> Hash {
        Hash::new(*self.0.finalize().as_bytes())
    }
}

/// The event as clients receive it: the stored record with the hashes added, without serialising
/// it again.
pub fn encode_event(record: &[u8], prev: &Hash, hash: &Hash) -> Vec<u8> {
    let mut out = Vec::with_capacity(record.len() + 160);
    out.extend_from_slice(record.strip_suffix(b"}").unwrap_or(record));
    out.extend_from_slice(b",\"hash\":\"");
    out.extend_from_slice(&hash.to_hex());
    out.extend_from_slice(b"\",\"prev\":\"");
    out.extend_from_slice(&prev.to_hex());
    out.extend_from_slice(b"\"}");
    out
}

/// The deepest nesting of a stored body: readers have limits, and bodies are put into records and
/// views.
const MAX_BODY_DEPTH: usize = 64;

/// The canonical body of a fact, and the fact as it is read from that body. What is folded must
/// be what is stored, so the fact is replaced where the two differ: canonical JSON writes `1.0`
/// as `1`, and parts without a canonical form are held as their text.
pub fn encode_stored_fact(fact: Fact) -> Result<(Fact, Vec<u8>), NotCanonical> {
    let (encoded, fact) = match encode_fact(&fact) {
        Ok(encoded) if encoded.depth <= MAX_BODY_DEPTH => (encoded, fact),
        Err(error @ NotCanonical::Json(_)) => return Err(error),
        Ok(_) | Err(NotCanonical::Inexact(_)) => {
            let body = exact_json::hold_unsafe_parts(fact.body()?, 0);
            let fact = Fact::from_kind_and_body(fact.kind(), &body).ok_or_else(unreadable_fact)?;
            (encode_fact(&fact)?, fact)
        }
    };
    if !encoded.is_retyped {
        return Ok((fact, encoded.text));
    }
    let body = serde_json::from_slice(&encoded.text)?;
    let fact = Fact::from_kind_and_body(fact.kind(), &body).ok_or_else(unreadable_fact)?;
    Ok((fact, encoded.text))
}

fn unreadable_fact() -> NotCanonical {
    serde::ser::Error::custom("the stored form of the fact cannot be read")
}

fn encode_fact(fact: &Fact) -> Result<CanonicalText, NotCanonical> {
    const BEFORE: &[u8] = b"{\"body\":";
    const BEHIND: &[u8] = b",\"kind\":\"\"}";
    let mut encoded = canonical::to_canonical_text(fact)?;
    let text = &mut encoded.text;
    // The canonical text is `{"body":…,"kind":"…"}`, so the body is between known texts.
    if !text.starts_with(BEFORE) {
        return Err(serde::ser::Error::custom("a fact without a body"));
    }
    text.truncate(text.len() - BEHIND.len() - fact.kind().len());
    text.drain(..BEFORE.len());
    Ok(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use uuid::Uuid;

    fn parts(body: &[u8]) -> RecordParts<'_> {
        RecordParts {
            seq: 7,
            stream: Stream::Project(Uuid::from_u128(1).into()),
            version: 3,
            id: Uuid::from_u128(2).into(),
            at: 1_700_000_000_000_000,
            principal: "local:ann",
            actor: &Actor::Cli,
            command: None,
            cause: None,
            kind: "PROJECT_CLOSED",
            body,
        }
    }

    #[test]
    fn a_record_is_the_canonical_json_of_the_envelope_without_its_hashes() {
        let record = encode_record(&parts(br#"{"project":"x"}"#));
        let event = EventRecord::parse(&record).unwrap().into_event(Hash::ZERO, Hash::ZERO);
        let mut value = serde_json::to_value(&event).unwrap();
        let members = value.as_object_mut().unwrap();
        members.remove("prev");
        members.remove("hash");
        assert_eq!(canonical::to_vec(&value).unwrap(), record);
    }

    #[test]
    fn every_stream_is_named_in_the_record_as_it_names_itself() {
        let id = Uuid::from_u128(5);
        let (project, session) = (Stream::Project(id.into()), Stream::Session(id.into()));
        for stream in [Stream::Sys, project, session, Stream::Notebook(id.into())] {
            let record = encode_record(&RecordParts { stream, ..parts(b"{}") });
            assert_eq!(EventRecord::parse(&record).unwrap().stream, stream);
        }
    }

    #[test]
    fn the_wire_form_reads_as_the_event() {
        let record = encode_record(&parts(b"{}"));
        let hash = hash_record(&Hash::ZERO, &record);
        let event: Event =
            serde_json::from_slice(&encode_event(&record, &Hash::ZERO, &hash)).unwrap();
        assert_eq!(event, EventRecord::parse(&record).unwrap().into_event(Hash::ZERO, hash));
    }

    #[test]
    fn the_hash_depends_on_every_byte_and_on_what_came_before() {
        let record = encode_record(&parts(b"{}"));
        let hash = hash_record(&Hash::ZERO, &record);
        assert_ne!(hash_record(&hash, &record), hash);
        for i in 0..record.len() {
            let mut changed = record.clone();
            changed[i] ^= 1;
            assert_ne!(hash_record(&Hash::ZERO, &changed), hash, "byte {i}");
        }
    }

    proptest! {
        #[test]
        fn a_record_with_any_texts_is_canonical(
            principal in ".*", role in ".*", command in proptest::option::of(".*"),
            kind in "[A-Z_]{1,20}", at in 0..(1_u64 << 53), seq in 0..(1_u64 << 53), body in ".*",
        ) {
            let body = canonical::to_vec(&json!({ "text": body })).unwrap();
            let actor = Actor::Agent(role);
            let record = encode_record(&RecordParts {
                principal: &principal, actor: &actor, command: command.as_deref(), kind: &kind,
                at, seq, ..parts(&body)
            });
            let value: Value = serde_json::from_slice(&record).unwrap();
            prop_assert_eq!(canonical::to_vec(&value).unwrap(), record);
        }

        #[test]
        fn the_body_of_a_fact_is_the_canonical_form_of_its_body(text in ".*", n in 0..(1_u64 << 53)) {
            let fact = Fact::ActionRequested {
                action: Uuid::from_u128(n.into()).into(),
                project: Uuid::from_u128(1).into(),
                name: text.clone(),
                params: json!({ "z": n, "a": [text, null], "m": { "y": 1.5, "b": true } }),
                what: text,
                action_hash: Hash::ZERO,
                role: None,
                session: None,
            };
            let expected = canonical::to_vec(&fact.body().unwrap()).unwrap();
            prop_assert_eq!(encode_stored_fact(fact.clone()).unwrap(), (fact, expected));
        }
    }
}
