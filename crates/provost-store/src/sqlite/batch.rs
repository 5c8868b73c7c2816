//! What one transaction adds, kept beside the state it started from, so that a
//! failed transaction leaves no trace in memory either.

use std::collections::HashMap;
use std::sync::Arc;

use provost_core::chain::{self, Parts};
use provost_core::fold::{self, Doc, Key, Stamp};
use provost_proto::{Fact, Hash, Micros, Seq, Stream, Version};
use rusqlite::{Connection, OptionalExtension, params};

use super::reader;
use super::writer::Job;
use crate::append::Prepared;
use crate::clock::id_at;
use crate::{Appended, Clock, Idempotency, Recorded, StoreError};

/// Streams whose place is remembered; beyond it they are looked up again.
const STREAMS: usize = 4096;

/// Where the log is.
#[derive(Debug)]
pub(super) struct State {
    pub(super) seq: Seq,
    hash: Hash,
    at: Micros,
    streams: HashMap<Stream, Place>,
}

/// Where a stream is.
#[derive(Debug, Clone, Copy)]
struct Place {
    id: i64,
    version: Version,
}

/// What a transaction has added.
#[derive(Debug)]
pub(super) struct Written {
    seq: Seq,
    hash: Hash,
    at: Micros,
    streams: HashMap<Stream, Place>,
    events: Vec<Arc<Recorded>>,
}

impl State {
    pub(super) fn load(db: &Connection) -> Result<Self, StoreError> {
        let (seq, hash): (Seq, Vec<u8>) =
            db.query_row("SELECT seq, hash FROM head", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let hash = Hash::try_from(hash.as_slice())
            .map_err(|_| StoreError::Damaged("the head has no hash".to_owned()))?;
        let last: Option<Vec<u8>> = db
            .query_row("SELECT record FROM events WHERE seq = ?1", [seq], |row| row.get(0))
            .optional()?;
        let at = last.and_then(|bytes| chain::Record::read(&bytes).ok()).map_or(0, |last| last.at);
        Ok(Self { seq, hash, at, streams: HashMap::new() })
    }

    /// Takes over what was committed, and hands out the new events.
    pub(super) fn advance(&mut self, written: Written) -> Vec<Arc<Recorded>> {
        let Written { seq, hash, at, streams, events } = written;
        (self.seq, self.hash, self.at) = (seq, hash, at);
        if self.streams.len() + streams.len() > STREAMS {
            self.streams.clear();
        }
        self.streams.extend(streams);
        events
    }
}

/// A transaction in the making.
pub(super) struct Batch<'a> {
    db: &'a Connection,
    state: &'a State,
    clock: &'a Clock,
    written: Written,
    docs: HashMap<Key, Option<Doc>>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(db: &'a Connection, state: &'a State, clock: &'a Clock) -> Self {
        let written = Written {
            seq: state.seq,
            hash: state.hash,
            at: state.at,
            streams: HashMap::new(),
            events: Vec::new(),
        };
        Self { db, state, clock, written, docs: HashMap::new() }
    }

    /// Appends a job's events. Whatever is the job's own fault is found before
    /// anything of it is written.
    pub(super) fn append(&mut self, job: &Job) -> Result<Appended, StoreError> {
        if let Some(command) = &job.command
            && let Some(events) = self.repeated(job, command)?
        {
            return Ok(Appended::Repeated(events));
        }
        for &(stream, expected) in &job.expect {
            let actual = self.place(stream)?.map_or(0, |place| place.version);
            if actual != expected {
                return Err(StoreError::Conflict { stream, expected, actual });
            }
        }
        let first = self.written.seq + 1;
        let events =
            job.events.iter().map(|event| self.event(job, event)).collect::<Result<Vec<_>, _>>()?;
        if let Some(command) = &job.command {
            self.db.prepare_cached("INSERT INTO commands VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(
                params![
                    job.principal,
                    command.key,
                    command.request.as_bytes(),
                    first,
                    events.len()
                ],
            )?;
        }
        Ok(Appended::Fresh(events))
    }

    /// The events of a command that was carried out before.
    fn repeated(
        &self,
        job: &Job,
        command: &Idempotency,
    ) -> Result<Option<Vec<Arc<Recorded>>>, StoreError> {
        let found: Option<(Vec<u8>, Seq, u64)> = self
            .db
            .prepare_cached(
                "SELECT request, first, count FROM commands WHERE principal = ?1 AND key = ?2",
            )?
            .query_row(params![job.principal, command.key], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()?;
        let Some((request, first, count)) = found else { return Ok(None) };
        if request != command.request.as_bytes() {
            return Err(StoreError::CommandReused(command.key.clone()));
        }
        let mut events = Vec::new();
        let mut find = self.db.prepare_cached(
            "SELECT e.seq, s.name, p.hash, e.hash, e.record
             FROM events e JOIN streams s ON s.id = e.stream LEFT JOIN events p ON p.seq = e.seq - 1
             WHERE e.seq >= ?1 AND e.seq < ?2 ORDER BY e.seq",
        )?;
        let mut rows = find.query(params![first, first + count])?;
        while let Some(row) = rows.next()? {
            events.push(Arc::new(reader::recorded(row)?));
        }
        Ok(Some(events))
    }

    fn event(&mut self, job: &Job, event: &Prepared) -> Result<Arc<Recorded>, StoreError> {
        let place = match self.place(event.stream)? {
            Some(place) => place,
            None => self.new_stream(event.stream)?,
        };
        let (seq, version) = (self.written.seq + 1, place.version + 1);
        // The log's time never runs backwards, even if the machine's does.
        let at = self.clock.now().max(self.written.at);
        let record = chain::encode(&Parts {
            seq,
            stream: event.stream,
            version,
            id: id_at(at).into(),
            at,
            principal: &job.principal,
            actor: &job.actor,
            command: job.command.as_ref().map(|command| command.key.as_str()),
            cause: event.cause,
            kind: event.fact.kind(),
            body: &event.body,
        });
        let prev = self.written.hash;
        let hash = chain::link(&prev, &record);
        if let Some((hash, bytes)) = &event.blob {
            self.blob(hash, bytes)?;
        }
        self.db.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4)")?.execute(params![
            seq,
            place.id,
            hash.as_bytes(),
            record
        ])?;
        self.fold(Stamp { at, principal: &job.principal }, &event.fact)?;

        self.written.streams.insert(event.stream, Place { version, ..place });
        (self.written.seq, self.written.hash, self.written.at) = (seq, hash, at);
        let recorded = Arc::new(Recorded::new(seq, event.stream, prev, hash, record));
        self.written.events.push(Arc::clone(&recorded));
        Ok(recorded)
    }

    /// Where the stream is; `None` if it has no event yet.
    fn place(&self, stream: Stream) -> Result<Option<Place>, StoreError> {
        let known = self.written.streams.get(&stream).or_else(|| self.state.streams.get(&stream));
        if let Some(place) = known {
            return Ok(Some(*place));
        }
        let mut find = self.db.prepare_cached("SELECT id, version FROM streams WHERE name = ?1")?;
        Ok(find
            .query_row([stream.to_string()], |row| {
                Ok(Place { id: row.get(0)?, version: row.get(1)? })
            })
            .optional()?)
    }

    fn new_stream(&self, stream: Stream) -> Result<Place, StoreError> {
        self.db
            .prepare_cached("INSERT INTO streams (name, version) VALUES (?1, 0)")?
            .execute([stream.to_string()])?;
        Ok(Place { id: self.db.last_insert_rowid(), version: 0 })
    }

    fn fold(&mut self, stamp: Stamp<'_>, fact: &Fact) -> Result<(), StoreError> {
        for key in fold::touched(fact) {
            let doc = match self.docs.remove(&key) {
                Some(doc) => doc,
                None => reader::doc(self.db, key.view, &key.key)?,
            };
            self.docs.insert(key, fold::fold(doc, stamp, fact));
        }
        Ok(())
    }

    pub(super) fn blob(&mut self, hash: &Hash, bytes: &[u8]) -> Result<(), StoreError> {
        self.db
            .prepare_cached("INSERT OR IGNORE INTO blobs VALUES (?1, ?2)")?
            .execute(params![hash.as_bytes(), bytes])?;
        Ok(())
    }

    /// Folds all views again from the first event.
    pub(super) fn rebuild(&mut self) -> Result<(), StoreError> {
        self.db.execute("DELETE FROM docs", [])?;
        self.docs.clear();
        let db = self.db;
        let mut all = db.prepare("SELECT record FROM events ORDER BY seq")?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            let record = chain::Record::read(row.get_ref(0)?.as_blob().unwrap_or_default())
                .map_err(|error| StoreError::Damaged(error.to_string()))?;
            if let Some(fact) = read_fact(db, &record)? {
                self.fold(Stamp { at: record.at, principal: &record.principal }, &fact)?;
            }
            if self.docs.len() > STREAMS {
                self.write_docs()?;
            }
        }
        Ok(())
    }

    fn write_docs(&mut self) -> Result<(), StoreError> {
        for (key, doc) in self.docs.drain() {
            match doc {
                Some(doc) => {
                    let bytes = serde_json::to_vec(&doc)
                        .map_err(|error| StoreError::NotCanonical(error.to_string()))?;
                    self.db
                        .prepare_cached("INSERT OR REPLACE INTO docs VALUES (?1, ?2, ?3)")?
                        .execute(params![key.view.name(), key.key, bytes])?;
                }
                None => {
                    self.db
                        .prepare_cached("DELETE FROM docs WHERE view = ?1 AND key = ?2")?
                        .execute(params![key.view.name(), key.key])?;
                }
            }
        }
        Ok(())
    }

    /// Writes what is kept once per transaction: documents, streams, head.
    pub(super) fn finish(mut self) -> Result<Written, StoreError> {
        self.write_docs()?;
        for place in self.written.streams.values() {
            self.db
                .prepare_cached("UPDATE streams SET version = ?2 WHERE id = ?1")?
                .execute(params![place.id, place.version])?;
        }
        if !self.written.events.is_empty() {
            self.db
                .prepare_cached("UPDATE head SET seq = ?1, hash = ?2")?
                .execute(params![self.written.seq, self.written.hash.as_bytes()])?;
        }
        Ok(self.written)
    }
}

/// The fact of a record, with its body fetched if it is kept as a blob.
fn read_fact(db: &Connection, record: &chain::Record) -> Result<Option<Fact>, StoreError> {
    if let Ok(reference) = serde_json::from_value::<provost_proto::BlobRef>(record.body.clone()) {
        let bytes: Option<Vec<u8>> = db
            .prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")?
            .query_row([reference.hash.as_bytes()], |row| row.get(0))
            .optional()?;
        let body = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        return Ok(body.and_then(|body| Fact::read(&record.kind, &body)));
    }
    Ok(Fact::read(&record.kind, &record.body))
}
