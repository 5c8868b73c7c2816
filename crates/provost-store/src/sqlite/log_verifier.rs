//! Verifies the hash chain, blobs and views.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use provost_core::fold::{
    DocumentKey, EventMetadata, MemoryViews, ViewDocument, ViewKind, named_project,
};
use provost_core::hash_chain::{self, EventRecord};
use provost_proto::kernel::OutputData;
use provost_proto::{
    AuditReport, BlobRef, CorruptEvent, Fact, Hash, LogCursor, LogSegment, Seq, Stream,
    StreamVersion,
};
use rusqlite::{Connection, Row};
use uuid::Uuid;

use super::database_checks::{self, DatabaseDamage, VerifiedEvents};
use super::head_file::{LogHead, LogPosition};
use super::log_reader::LogReader;
use super::{listed_columns, reader};
use crate::StoreError;

/// What was found.
pub(super) struct VerifiedLog {
    pub(super) report: AuditReport,
    /// Whether the structure of the database is sound.
    pub(super) is_writable: bool,
}

/// Reads the log from the first event to the last, segments and rows as one chain, and stops at the first corrupt one; compares
/// the stored views with the folded ones. It continues after a recorded truncation, so that later
/// corruption is found too. Memory grows only with the number of streams and documents.
///
/// `known_head` is the head that is kept beside the log; it must have been read before this call.
pub(super) fn verify_log(
    log: LogReader<'_>,
    known_head: Result<Option<LogHead>, StoreError>,
) -> Result<VerifiedLog, StoreError> {
    let (known_head, head_error) = match known_head {
        Ok(head) => (head, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let required = known_head.map_or(LogPosition::START, |head| head.required());
    let mut verifier = LogVerifier::new(log, required)?;
    if let Some(why) = verifier.verify_events()? {
        verifier.record_corruption(why);
    }
    let damage = database_checks::find_damage(log, &verifier.summary());
    let is_writable = !matches!(damage, Some(DatabaseDamage::Structure(_)));
    let database = damage.map(DatabaseDamage::into_text).or(head_error);
    let LogVerifier { seq: events, hash: head, view_error: views, bad, .. } = verifier;
    let report = bad.unwrap_or(AuditReport { events, head, bad: None, views, database: None });
    Ok(VerifiedLog { report: AuditReport { database, ..report }, is_writable })
}

/// The recorded truncations; older files have none.
fn load_truncations(db: &Connection) -> rusqlite::Result<HashMap<Seq, Seq>> {
    let known = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'cuts'";
    if db.query_row(known, [], |row| row.get::<_, u32>(0))? == 0 {
        return Ok(HashMap::new());
    }
    let mut all = db.prepare("SELECT seq, max(reached) FROM cuts GROUP BY seq")?;
    all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

pub(super) struct LogVerifier<'a> {
    db: &'a Connection,
    pub(super) log: LogReader<'a>,
    pub(super) seq: Seq,
    pub(super) hash: Hash,
    pub(super) versions: HashMap<Stream, StreamVersion>,
    folded_views: MemoryViews,
    /// The event up to which the documents on disk are folded.
    folded: Seq,
    /// The error in the views.
    view_error: Option<String>,
    /// The events after which the log was truncated, with the positions that it had reached.
    truncations: HashMap<Seq, Seq>,
    /// The report, if an event is corrupt.
    bad: Option<AuditReport>,
    /// The position that the log must have reached.
    required: LogPosition,
    /// How many commands the events belong to, and the last one of them.
    n_commands: u64,
    last_command: Option<(String, String)>,
    /// The blobs that were verified with their events.
    blobs: RefCell<HashSet<Hash>>,
    /// The events of other streams that name a project.
    project_events: BTreeSet<(Uuid, Seq)>,
    /// The segments that events record.
    pub(super) recorded_segments: Vec<LogSegment>,
    /// How the table of segments differs from the events.
    pub(super) segment_error: Option<String>,
}

impl<'a> LogVerifier<'a> {
    fn new(log: LogReader<'a>, required: LogPosition) -> Result<Self, StoreError> {
        let db = log.db;
        let (versions, folded_views) = (HashMap::new(), MemoryViews::default());
        // In older files, documents are folded to the end.
        let folded = db.query_row("SELECT folded FROM reached", [], |row| row.get(0));
        let folded = folded.unwrap_or(Seq::MAX);
        let (seq, hash, truncations) = (0, Hash::ZERO, load_truncations(db)?);
        Ok(Self {
            db,
            log,
            seq,
            hash,
            versions,
            folded_views,
            folded,
            view_error: None,
            truncations,
            bad: None,
            required,
            n_commands: 0,
            last_command: None,
            blobs: RefCell::default(),
            project_events: BTreeSet::new(),
            recorded_segments: Vec::new(),
            segment_error: None,
        })
    }

    /// What the rest of the database must agree with.
    fn summary(&self) -> VerifiedEvents<'_> {
        VerifiedEvents {
            seq: self.seq,
            is_complete: self.bad.is_none(),
            n_commands: self.n_commands,
            blobs: self.blobs.borrow(),
            project_events: &self.project_events,
            segment_error: self.segment_error.clone(),
        }
    }

    /// Records that the event after the last good one is corrupt. The first one is reported; the
    /// reasons of further ones are added.
    fn record_corruption(&mut self, why: String) {
        let seq = self.seq + 1;
        if let Some(known) = self.bad.as_mut().and_then(|report| report.bad.as_mut()) {
            known.why = format!("{}; and so is event {seq}: {why}", known.why);
            return;
        }
        let bad = Some(CorruptEvent { seq, why });
        self.bad = Some(AuditReport {
            events: self.seq,
            head: self.hash,
            bad,
            views: None,
            database: None,
        });
    }

    /// The error in the event after the last good one, if there is one.
    fn verify_events(&mut self) -> Result<Option<String>, StoreError> {
        let db = self.db;
        if let Some(why) = self.verify_segments()? {
            return Ok(Some(why));
        }
        let mut all = db.prepare(
            "SELECT e.seq, s.name, e.hash, e.record FROM events e
             LEFT JOIN streams s ON s.id = e.stream WHERE e.seq > ?1 ORDER BY e.seq",
        )?;
        let mut rows = all.query([self.seq])?;
        loop {
            self.begin_event();
            match rows.next() {
                Ok(Some(row)) => {
                    if let Err(why) = self.verify_row(row) {
                        return Ok(Some(why));
                    }
                }
                Ok(None) => break,
                // SQLite itself cannot read the page.
                Err(error) => return Ok(Some(format!("it cannot be read: {error}"))),
            }
        }
        if self.seq < self.folded {
            self.view_error = self.verify_views();
        }
        self.compare_recorded_segments()?;
        // The log must reach its recorded end, or its tail was cut off.
        let ask = |sql| db.query_row(sql, [], |row| row.get::<_, Seq>(0));
        let reached = match ask("SELECT seq FROM reached") {
            Ok(reached) => reached,
            Err(error) => return Ok(Some(format!("how far the log reached is unknown: {error}"))),
        };
        // An unreadable view is found below, and is not an error of the log.
        let folded = ask("SELECT coalesce(max(seq), 0) FROM docs").unwrap_or(0);
        let reached = reached.max(folded).max(self.required.seq);
        let cut = reached > self.seq;
        Ok(cut.then(|| format!("the log ends here, but it once reached event {reached}")))
    }

    /// Does what is due before the next event.
    pub(super) fn begin_event(&mut self) {
        if self.seq == self.folded {
            self.view_error = self.verify_views();
        }
        if let Some(reached) = self.truncations.remove(&self.seq) {
            self.record_corruption(format!(
                "the log was cut off here, but it once reached event {reached}"
            ));
        }
    }

    fn verify_row(&mut self, row: &Row<'_>) -> Result<(), String> {
        let text = |error: rusqlite::Error| error.to_string();
        let seq: Seq = row.get(0).map_err(text)?;
        if seq != self.seq + 1 {
            return Err(format!("it is missing; the next one is event {seq}"));
        }
        let record = row.get_ref(3).map_err(text)?.as_blob().map_err(|_| "it is not bytes")?;
        let stored = row.get_ref(2).map_err(text)?.as_blob().map_err(|_| "it has no hash")?;
        let stream = row.get_ref(1).map_err(text)?.as_str().unwrap_or_default();
        let hash = hash_chain::hash_record(&self.hash, record);
        if stored != hash.as_bytes() {
            return Err("its bytes do not match its hash".to_owned());
        }
        self.verify_event(hash, stream, record)
    }

    /// Verifies the next event, which is filed under a stream.
    pub(super) fn verify_event(
        &mut self,
        hash: Hash,
        stream: &str,
        record: &[u8],
    ) -> Result<(), String> {
        let seq = self.seq + 1;
        if seq == self.required.seq && hash != self.required.hash {
            return Err(
                "it is not the event that was committed here: the head that is kept beside \
                        the log has another hash"
                    .to_owned(),
            );
        }
        let read =
            EventRecord::parse(record).map_err(|error| format!("it is not an event: {error}"))?;
        if read.seq != seq {
            return Err(format!("it says it is event {}", read.seq));
        }
        if read.stream.to_string() != stream {
            return Err(format!("it is filed under `{stream}` but belongs to {}", read.stream));
        }
        let version = self.versions.entry(read.stream).or_default();
        if read.version != *version + 1 {
            return Err(format!("it is version {} of {stream}, after {version}", read.version));
        }
        *version = read.version;
        if let Some(fact) = self.read_fact(&read)? {
            let EventRecord { seq, at, principal, actor, command, .. } = &read;
            let (cursor, command) = (LogCursor::from_seq(*seq), command.as_deref());
            let metadata = EventMetadata { cursor, at: *at, principal, actor, command };
            self.folded_views.apply_fact(metadata, &fact);
            if let Some(project) = named_project(&fact)
                && read.stream != Stream::Project(project)
            {
                self.project_events.insert((project.uuid(), *seq));
            }
            if let Fact::LogArchived(segment) = fact {
                self.recorded_segments.push(segment);
            }
        }
        self.count_command(read);
        (self.seq, self.hash) = (seq, hash);
        Ok(())
    }

    /// The events of a command follow one another.
    fn count_command(&mut self, record: EventRecord) {
        let command = record.command.map(|command| (record.principal, command));
        if command.is_some() && command != self.last_command {
            self.n_commands += 1;
        }
        self.last_command = command;
    }

    /// The fact of an event; a body that is stored as a blob must have its hash.
    fn read_fact(&self, record: &EventRecord) -> Result<Option<Fact>, String> {
        let Some(reference) = record.body.get("$blob").and(Some(&record.body)) else {
            let fact = Fact::from_kind_and_body(&record.kind, &record.body);
            if let Some(Fact::ActionOutput { output, .. }) = &fact
                && let OutputData::Blob(reference) = output.data
            {
                self.read_blob("output", &reference)?;
            }
            return Ok(fact);
        };
        let reference: BlobRef = serde_json::from_value(reference.clone())
            .map_err(|error| format!("its reference to a blob is broken: {error}"))?;
        let body = serde_json::from_slice(&self.read_blob("body", &reference)?)
            .map_err(|error| format!("its body is not JSON: {error}"))?;
        Ok(Fact::from_kind_and_body(&record.kind, &body))
    }

    /// The bytes of a blob, which must have its hash.
    fn read_blob(&self, what: &str, reference: &BlobRef) -> Result<Vec<u8>, String> {
        let bytes = self.log.read_blob(&reference.hash).map_err(|error| error.to_string())?;
        let bytes =
            bytes.ok_or_else(|| format!("its {what}, blob {}, is missing", reference.hash))?;
        if hash_chain::digest(&bytes) != reference.hash {
            return Err(format!("its {what}, blob {}, was changed", reference.hash));
        }
        self.blobs.borrow_mut().insert(reference.hash);
        Ok(bytes)
    }

    /// The error in the views, if there is one: the log is intact then, and they can be folded
    /// again.
    fn verify_views(&self) -> Option<String> {
        for view in ViewKind::ALL {
            let mut stored: BTreeMap<Uuid, ViewDocument> =
                match reader::list_documents_of_any_version(self.db, view) {
                    Ok(docs) => docs.into_iter().map(|filed| (filed.key, filed.doc)).collect(),
                    Err(StoreError::UnreadableView { view, key, why }) => {
                        return Some(format!("{view} {key} cannot be read: {why}"));
                    }
                    Err(error) => return Some(format!("{} cannot be read: {error}", view.name())),
                };
            if let Some(why) = listed_columns::find_difference(self.db, view, &stored) {
                return Some(why);
            }
            for (DocumentKey { key, .. }, folded) in self.folded_views.docs(view) {
                if stored.remove(key).as_ref() != Some(folded) {
                    return Some(format!("{} {key} is not what the log says", view.name()));
                }
            }
            if let Some(key) = stored.keys().next() {
                return Some(format!("{} {key} is not in the log", view.name()));
            }
        }
        None
    }
}
