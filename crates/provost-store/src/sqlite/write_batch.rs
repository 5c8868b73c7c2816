//! The changes of one transaction, separate from the state before, so that a failed transaction
//! leaves no trace in memory either.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use provost_core::fold::{self, DocumentKey, EventMetadata, PriorDocument, ViewDocument};
use provost_core::hash_chain::{self, RecordParts};
use provost_proto::{Fact, Hash, LogCursor, ProjectId, Seq, Stream, StreamVersion, UnixMicros};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use uuid::Uuid;

use super::document_cache::{self, DocumentCache};
use super::head_file::LogPosition;
use super::log_reader::LogReader;
use super::reader;
use super::segment::last_segment;
use super::write_request::PreparedAppend;
use crate::append::PreparedEvent;
use crate::clock::derive_event_id;
use crate::{AppendOutcome, Clock, RecordedEvent, StoreError};

/// The most streams whose version is cached.
const MAX_CACHED_STREAMS: usize = 4096;

/// The state of the log.
#[derive(Debug)]
pub(super) struct LogState {
    pub(super) seq: Seq,
    hash: Hash,
    at: UnixMicros,
    streams: HashMap<Stream, StreamPosition>,
    /// Makes the event ids of this process different from all others.
    seed: [u8; 16],
}

/// The position of a stream.
#[derive(Debug, Clone, Copy)]
struct StreamPosition {
    id: i64,
    version: StreamVersion,
}

/// The changes that a transaction made.
#[derive(Debug)]
pub(super) struct BatchChanges {
    seq: Seq,
    hash: Hash,
    at: UnixMicros,
    streams: HashMap<Stream, StreamPosition>,
    events: Vec<Arc<RecordedEvent>>,
    /// The bytes of blobs that were added, and of rows that were removed.
    blobs: usize,
    pub(super) removed: usize,
    docs: Vec<(DocumentKey, ViewDocument)>,
    refolded: bool,
}

impl BatchChanges {
    /// Whether rows were removed.
    pub(super) fn has_removed(&self) -> bool {
        self.removed > 0
    }

    /// Approximately how many bytes were written.
    pub(super) fn written_bytes(&self) -> usize {
        self.blobs
            + self.removed
            + self.events.iter().map(|event| event.record_bytes().len()).sum::<usize>()
    }
}

impl LogState {
    /// The end of the log.
    pub(super) fn position(&self) -> LogPosition {
        LogPosition { seq: self.seq, hash: self.hash }
    }

    /// The time of the last event.
    pub(super) fn last_time(&self) -> UnixMicros {
        self.at
    }

    pub(super) fn load(db: &Connection, clock: &Clock) -> Result<Self, StoreError> {
        let last: Option<(Seq, Vec<u8>, Vec<u8>)> = db
            .query_row(
                "SELECT seq, hash, record FROM events ORDER BY seq DESC LIMIT 1",
                [],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .optional()?;
        let (seq, hash, at) = match last {
            // All rows are gone, but what was archived is not.
            None => last_segment(db)?
                .map_or((0, Hash::ZERO, 0), |row| (row.last, row.hash, row.last_at)),
            Some((seq, hash, record)) => {
                let hash = Hash::try_from(hash.as_slice())
                    .map_err(|_| StoreError::Damaged(format!("event {seq} has no hash")))?;
                let record = hash_chain::EventRecord::parse(&record)
                    .map_err(|error| StoreError::Damaged(format!("event {seq}: {error}")))?;
                (seq, hash, record.at)
            }
        };
        let mut seed = *clock.new_id::<Uuid>().as_bytes();
        seed.reverse(); // the random part of the id first
        Ok(Self { seq, hash, at, streams: HashMap::new(), seed })
    }

    /// Applies the changes of a committed transaction, and publishes the new events.
    pub(super) fn apply_committed(
        &mut self,
        written: BatchChanges,
        cache: &DocumentCache,
    ) -> Vec<Arc<RecordedEvent>> {
        let BatchChanges { seq, hash, at, streams, events, docs, refolded, .. } = written;
        if refolded {
            cache.clear();
        }
        if !docs.is_empty() {
            cache.insert_dirty(seq, docs);
        }
        (self.seq, self.hash, self.at) = (seq, hash, at);
        if self.streams.len() + streams.len() > MAX_CACHED_STREAMS {
            self.streams.clear();
        }
        self.streams.extend(streams);
        events
    }
}

/// An open transaction.
pub(super) struct WriteBatch<'a> {
    db: &'a Connection,
    pub(super) log: LogReader<'a>,
    state: &'a LogState,
    cache: &'a DocumentCache,
    clock: &'a Clock,
    pub(super) written: BatchChanges,
    insert: CachedStatement<'a>,
    docs: TouchedDocuments,
    /// Whether the documents on disk are newer than those in memory.
    refolded: bool,
}

/// The changed documents and their indices.
#[derive(Debug, Default)]
struct TouchedDocuments {
    docs: Vec<Option<ViewDocument>>,
    /// Sorted, so that they are written in key order.
    places: BTreeMap<DocumentKey, usize>,
}

impl<'a> WriteBatch<'a> {
    pub(super) fn new(
        log: LogReader<'a>,
        state: &'a LogState,
        cache: &'a DocumentCache,
        clock: &'a Clock,
    ) -> Result<Self, StoreError> {
        let written = BatchChanges {
            seq: state.seq,
            hash: state.hash,
            at: state.at,
            streams: HashMap::new(),
            events: Vec::new(),
            blobs: 0,
            removed: 0,
            docs: Vec::new(),
            refolded: false,
        };
        let db = log.db;
        let insert = db.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4)")?;
        Ok(Self {
            db,
            log,
            state,
            cache,
            clock,
            written,
            insert,
            docs: TouchedDocuments::default(),
            refolded: false,
        })
    }

    /// Appends the events of a request. Errors of the request itself are found before anything of
    /// it is written.
    pub(super) fn append_events(
        &mut self,
        prepared: &PreparedAppend,
    ) -> Result<AppendOutcome, StoreError> {
        if let Some(command) = &prepared.command
            && let Some(events) = self.log.find_command_events(&prepared.principal, command)?
        {
            return Ok(AppendOutcome::Replayed(events));
        }
        for &(stream, expected) in &prepared.expect {
            let actual = self.stream_position(stream)?.map_or(0, |place| place.version);
            if actual != expected {
                return Err(StoreError::Conflict { stream, expected, actual });
            }
        }
        for (key, expected) in &prepared.unchanged {
            if self.current_document(*key)?.as_ref() != Some(expected) {
                return Err(StoreError::DocumentChanged { view: key.view.name(), key: key.key });
            }
        }
        let first = self.written.seq + 1;
        let events = prepared
            .events
            .iter()
            .map(|event| self.append_event(prepared, event))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(command) = &prepared.command {
            let count = u64::try_from(events.len()).unwrap_or(u64::MAX);
            let row = CommandRow {
                principal: &prepared.principal,
                key: &command.key,
                request: command.request.as_bytes(),
                first,
                count,
            };
            self.db
                .prepare_cached("INSERT INTO commands VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                .execute(params![
                    row.principal,
                    row.key,
                    row.request,
                    first,
                    count,
                    row.digest().as_bytes()
                ])?;
        }
        Ok(AppendOutcome::Appended(events))
    }

    fn append_event(
        &mut self,
        prepared: &PreparedAppend,
        event: &PreparedEvent,
    ) -> Result<Arc<RecordedEvent>, StoreError> {
        let place = match self.stream_position(event.stream)? {
            Some(place) => place,
            None => self.create_stream(event.stream)?,
        };
        let (seq, version) = (self.written.seq + 1, place.version + 1);
        // The time of the log never runs backwards, even if the system's does.
        let at = self.clock.now().max(self.written.at);
        let record = hash_chain::encode_record(&RecordParts {
            seq,
            stream: event.stream,
            version,
            id: derive_event_id(at, &self.written.hash, &self.state.seed).into(),
            at,
            principal: &prepared.principal,
            actor: &prepared.actor,
            command: prepared.command.as_ref().map(|command| command.key.as_str()),
            cause: event.cause,
            kind: event.fact.kind(),
            body: &event.body,
        });
        let prev = self.written.hash;
        let hash = hash_chain::hash_record(&prev, &record);
        if let Some((hash, bytes)) = &event.blob {
            self.insert_blob(hash, bytes)?;
        }
        self.insert.execute(params![seq, place.id, hash.as_bytes(), record])?;
        let metadata = EventMetadata {
            cursor: LogCursor::from_seq(seq),
            at,
            principal: &prepared.principal,
            actor: &prepared.actor,
            command: prepared.command.as_ref().map(|command| command.key.as_str()),
        };
        self.fold_fact(metadata, &event.fact)?;
        let project = self.index_named_project(event.stream, seq, &event.fact)?;

        self.written.streams.insert(event.stream, StreamPosition { version, ..place });
        (self.written.seq, self.written.hash, self.written.at) = (seq, hash, at);
        let recorded = RecordedEvent::new(seq, event.stream, prev, hash, record);
        let recorded = Arc::new(recorded.with_named_project(project));
        self.written.events.push(Arc::clone(&recorded));
        Ok(recorded)
    }

    /// The position of the stream; `None` if it has no event yet.
    fn stream_position(&self, stream: Stream) -> Result<Option<StreamPosition>, StoreError> {
        let known = self.written.streams.get(&stream).or_else(|| self.state.streams.get(&stream));
        if let Some(place) = known {
            return Ok(Some(*place));
        }
        let found = reader::find_stream(self.db, stream)?;
        Ok(found.map(|(id, version)| StreamPosition { id, version }))
    }

    fn create_stream(&self, stream: Stream) -> Result<StreamPosition, StoreError> {
        self.db
            .prepare_cached("INSERT INTO streams (name) VALUES (?1)")?
            .execute([stream.to_string()])?;
        Ok(StreamPosition { id: self.db.last_insert_rowid(), version: 0 })
    }

    fn fold_fact(&mut self, metadata: EventMetadata<'_>, fact: &Fact) -> Result<(), StoreError> {
        for (key, before) in fold::affected_documents(fact) {
            let TouchedDocuments { docs, places } = &mut self.docs;
            let doc = match (places.get(&key).and_then(|&place| docs.get_mut(place)), before) {
                (Some(doc), _) => {
                    *doc = fold::fold_fact(key.view, doc.take(), metadata, fact);
                    continue;
                }
                (None, PriorDocument::Ignored) => None,
                (None, PriorDocument::Required) => {
                    let cache = if self.refolded { None } else { self.cache.get(&key) };
                    cache
                        .map_or_else(|| reader::read_document(self.db, key), |doc| Ok(Some(doc)))?
                }
            };
            places.insert(key, docs.len());
            docs.push(fold::fold_fact(key.view, doc, metadata, fact));
        }
        Ok(())
    }

    /// Adds an event to the index of the project that it names, unless it is in its stream.
    fn index_named_project(
        &self,
        stream: Stream,
        seq: Seq,
        fact: &Fact,
    ) -> Result<Option<ProjectId>, StoreError> {
        let named = fold::named_project(fact).filter(|id| stream != Stream::Project(*id));
        if let Some(project) = named {
            self.db
                .prepare_cached("INSERT OR IGNORE INTO project_events VALUES (?1, ?2)")?
                .execute(params![project.uuid().as_bytes(), seq])?;
        }
        Ok(named)
    }

    /// The state of a document in this transaction.
    fn current_document(&self, key: DocumentKey) -> Result<Option<ViewDocument>, StoreError> {
        if let Some(place) = self.docs.places.get(&key) {
            return Ok(self.docs.docs.get(*place).cloned().flatten());
        }
        let cache = if self.refolded { None } else { self.cache.get(&key) };
        cache.map_or_else(|| reader::read_document(self.db, key), |doc| Ok(Some(doc)))
    }

    pub(super) fn insert_blob(&mut self, hash: &Hash, bytes: &[u8]) -> Result<(), StoreError> {
        self.written.blobs += bytes.len();
        self.db
            .prepare_cached("INSERT OR IGNORE INTO blobs VALUES (?1, ?2)")?
            .execute(params![hash.as_bytes(), bytes])?;
        Ok(())
    }

    /// Folds all views again from the first event.
    pub(super) fn rebuild_views(&mut self) -> Result<(), StoreError> {
        self.db.execute("DELETE FROM docs", [])?;
        self.db.execute("DELETE FROM project_events", [])?;
        self.refold_after(0)
    }

    /// Folds the events after a position into the documents on disk.
    pub(super) fn refold_after(&mut self, after: Seq) -> Result<(), StoreError> {
        self.docs = TouchedDocuments::default();
        self.refolded = true;
        let db = self.db;
        self.log.visit_records(after, |bytes| {
            let record = hash_chain::EventRecord::parse(bytes)
                .map_err(|error| StoreError::Damaged(error.to_string()))?;
            if let Some(fact) = read_fact(self.log, &record)? {
                let hash_chain::EventRecord { seq, at, principal, actor, command, .. } = &record;
                let (cursor, command) = (LogCursor::from_seq(*seq), command.as_deref());
                let metadata = EventMetadata { cursor, at: *at, principal, actor, command };
                self.fold_fact(metadata, &fact)?;
                self.index_named_project(record.stream, record.seq, &fact)?;
            }
            if self.docs.docs.len() > MAX_CACHED_STREAMS {
                self.write_documents()?;
            }
            Ok(())
        })?;
        self.write_documents()?;
        set_folded_seq(db, self.written.seq)
    }

    fn write_documents(&mut self) -> Result<(), StoreError> {
        let TouchedDocuments { docs, places } = std::mem::take(&mut self.docs);
        let found =
            places.iter().filter_map(|(key, place)| Some((*key, docs.get(*place)?.as_ref()?)));
        document_cache::write_documents(
            self.db,
            found.map(|(key, doc)| (key, self.written.seq, doc)),
        )
    }

    /// Writes the end of the log, and returns the changes.
    pub(super) fn finish(self) -> Result<BatchChanges, StoreError> {
        let Self { mut written, docs: TouchedDocuments { mut docs, places }, refolded, .. } = self;
        if !written.events.is_empty() {
            self.db.prepare_cached("UPDATE reached SET seq = ?1")?.execute([written.seq])?;
        }
        let touched =
            places.into_iter().filter_map(|(key, place)| Some((key, docs.get_mut(place)?.take()?)));
        (written.docs, written.refolded) = (touched.collect(), refolded);
        Ok(written)
    }
}

/// A row of the table of commands.
#[derive(Debug)]
pub(super) struct CommandRow<'a> {
    pub(super) principal: &'a str,
    pub(super) key: &'a str,
    pub(super) request: &'a [u8],
    pub(super) first: Seq,
    pub(super) count: u64,
}

impl CommandRow<'_> {
    /// The hash of the row.
    pub(super) fn digest(&self) -> Hash {
        let Self { principal, key, request, first, count } = self;
        let mut bytes = Vec::with_capacity(principal.len() + key.len() + request.len() + 24);
        bytes.extend_from_slice(&u64::try_from(principal.len()).unwrap_or(0).to_be_bytes());
        bytes.extend_from_slice(principal.as_bytes());
        bytes.extend_from_slice(&first.to_be_bytes());
        bytes.extend_from_slice(&count.to_be_bytes());
        bytes.extend_from_slice(request);
        bytes.extend_from_slice(key.as_bytes());
        hash_chain::digest(&bytes)
    }
}

/// Records up to which event the documents on disk are folded.
pub(super) fn set_folded_seq(db: &Connection, seq: Seq) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE reached SET folded = ?1")?.execute([seq])?;
    Ok(())
}

/// The fact of a record, with its body loaded if it is stored as a blob.
fn read_fact(
    log: LogReader<'_>,
    record: &hash_chain::EventRecord,
) -> Result<Option<Fact>, StoreError> {
    if let Ok(reference) = serde_json::from_value::<provost_proto::BlobRef>(record.body.clone()) {
        let bytes = log.read_blob(&reference.hash)?;
        let body = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        return Ok(body.and_then(|body| Fact::from_kind_and_body(&record.kind, &body)));
    }
    Ok(Fact::from_kind_and_body(&record.kind, &record.body))
}
