//! Checks what is in the database beside events and views: indexes, commands, blobs, the schema.

use std::cell::Ref;
use std::collections::{BTreeSet, HashSet};

use provost_core::hash_chain::{self, EventRecord};
use provost_proto::{Hash, Seq};
use rusqlite::{Connection, Row};
use uuid::Uuid;

use super::log_reader::LogReader;
use super::schema;
use super::write_batch::CommandRow;
use crate::StoreError;

/// The most errors of SQLite's own check that are named.
const MAX_NAMED_ERRORS: usize = 5;

/// The schema version since which each commit records how far the log reached.
const EXACT_REACHED_VERSION: u32 = 5;

/// What was found in the events.
pub(super) struct VerifiedEvents<'a> {
    /// The last good event.
    pub(super) seq: Seq,
    /// Whether all events are good.
    pub(super) is_complete: bool,
    /// How many commands they belong to.
    pub(super) n_commands: u64,
    /// The blobs that were verified with them.
    pub(super) blobs: Ref<'a, HashSet<Hash>>,
    /// Those that name a project and are in another stream.
    pub(super) project_events: &'a BTreeSet<(Uuid, Seq)>,
    /// How the table of segments differs from the events.
    pub(super) segment_error: Option<String>,
}

/// What is wrong beside events and views.
#[derive(Debug)]
pub(super) enum DatabaseDamage {
    /// The structure of the file; writing would make it worse.
    Structure(String),
    /// The content of the file.
    Content(String),
}

impl DatabaseDamage {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Structure(why) | Self::Content(why) => why,
        }
    }
}

/// The first damage that is found, if there is any.
pub(super) fn find_damage(
    log: LogReader<'_>,
    events: &VerifiedEvents<'_>,
) -> Option<DatabaseDamage> {
    let db = log.db;
    let structure = run_integrity_check(db).unwrap_or_else(|error| Some(error.to_string()));
    if let Some(why) = structure {
        return Some(DatabaseDamage::Structure(why));
    }
    let checks: [&dyn Fn() -> Result<Option<String>, StoreError>; 6] = [
        &|| schema::find_schema_difference(db),
        &|| check_reached(db, events),
        &|| Ok(events.segment_error.clone().filter(|_| events.is_complete)),
        &|| check_commands(log, events),
        &|| check_blobs(db, events),
        &|| check_project_events(db, events),
    ];
    let mut found =
        checks.iter().filter_map(|check| check().unwrap_or_else(|error| Some(error.to_string())));
    found.next().map(DatabaseDamage::Content)
}

/// SQLite's own check of pages, indexes and the list of free pages.
fn run_integrity_check(db: &Connection) -> Result<Option<String>, StoreError> {
    let mut check = db.prepare(&format!("PRAGMA integrity_check({MAX_NAMED_ERRORS})"))?;
    let found: Vec<String> =
        check.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok((found != ["ok"]).then(|| found.join("; ").replace('\n', " ")))
}

/// Whether the tables beside the events can be compared with them.
fn is_comparable(db: &Connection, events: &VerifiedEvents<'_>) -> Result<bool, StoreError> {
    let version: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(events.is_complete && version >= EXACT_REACHED_VERSION)
}

fn check_reached(
    db: &Connection,
    events: &VerifiedEvents<'_>,
) -> Result<Option<String>, StoreError> {
    if !is_comparable(db, events)? {
        return Ok(None);
    }
    let (reached, folded): (Seq, Seq) =
        db.query_row("SELECT seq, folded FROM reached", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if reached != events.seq {
        return Ok(Some(format!("it records {reached} events, but has {}", events.seq)));
    }
    let newest: Seq =
        db.query_row("SELECT coalesce(max(seq), 0) FROM docs", [], |row| row.get(0))?;
    Ok((newest > folded).then(|| format!("a view is of event {newest}, but they are of {folded}")))
}

/// The table of commands must list the commands of the events, and nothing else.
fn check_commands(
    log: LogReader<'_>,
    events: &VerifiedEvents<'_>,
) -> Result<Option<String>, StoreError> {
    if !is_comparable(log.db, events)? {
        return Ok(None);
    }
    // In the order of the events, so that each block of a segment is read once.
    let mut all = log.db.prepare(
        "SELECT principal, key, request, first, count, digest FROM commands ORDER BY first",
    )?;
    let mut rows = all.query([])?;
    let mut found = 0;
    while let Some(row) = rows.next()? {
        found += 1;
        if let Some(why) = check_command(log, row)? {
            return Ok(Some(format!("the command in row {found} {why}")));
        }
    }
    let expected = events.n_commands;
    Ok((found != expected).then(|| format!("it has {found} commands, but its events {expected}")))
}

fn check_command(log: LogReader<'_>, row: &Row<'_>) -> Result<Option<String>, StoreError> {
    let (principal, key): (String, String) = (row.get(0)?, row.get(1)?);
    let (request, digest): (Vec<u8>, Option<Vec<u8>>) = (row.get(2)?, row.get(5)?);
    let (first, count): (Seq, u64) = (row.get(3)?, row.get(4)?);
    let read = CommandRow { principal: &principal, key: &key, request: &request, first, count };
    if digest.is_some_and(|digest| digest != read.digest().as_bytes()) {
        return Ok(Some("was changed".to_owned()));
    }
    for seq in [first, first.saturating_add(count).saturating_sub(1)] {
        let event = log.read_record(seq)?.and_then(|record| EventRecord::parse(&record).ok());
        let is_own = |event: &EventRecord| {
            event.principal == principal && event.command.as_ref() == Some(&key)
        };
        if !event.as_ref().is_some_and(is_own) {
            return Ok(Some(format!("names event {seq}, which is of another one")));
        }
    }
    Ok(None)
}

/// The index of the events that name a project must have them all, and nothing else. Older files
/// have none; it is written when such a file is opened.
fn check_project_events(
    db: &Connection,
    events: &VerifiedEvents<'_>,
) -> Result<Option<String>, StoreError> {
    let version: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if !events.is_complete || version != schema::current_version() {
        return Ok(None);
    }
    let mut expected = events.project_events.iter();
    let mut all = db.prepare("SELECT project, seq FROM project_events ORDER BY project, seq")?;
    let mut rows = all.query([])?;
    let wrong = |seq: Seq| Ok(Some(format!("the index of projects is wrong about event {seq}")));
    while let Some(row) = rows.next()? {
        let (project, seq): (Vec<u8>, Seq) = (row.get(0)?, row.get(1)?);
        if expected.next().map(|(id, seq)| (id.as_bytes().to_vec(), *seq)) != Some((project, seq)) {
            return wrong(seq);
        }
    }
    expected.next().map_or(Ok(None), |(_, seq)| wrong(*seq))
}

/// Blobs that no event names must have their hash too.
fn check_blobs(db: &Connection, events: &VerifiedEvents<'_>) -> Result<Option<String>, StoreError> {
    let mut all = db.prepare("SELECT hash FROM blobs")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let hash: Vec<u8> = row.get(0)?;
        let Ok(hash) = Hash::try_from(hash.as_slice()) else {
            return Ok(Some("a blob has no hash".to_owned()));
        };
        if events.blobs.contains(&hash) {
            continue;
        }
        let bytes: Vec<u8> = db
            .prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")?
            .query_row([hash.as_bytes()], |row| row.get(0))?;
        if hash_chain::digest(&bytes) != hash {
            return Ok(Some(format!("blob {hash} was changed")));
        }
    }
    Ok(None)
}
