//! Read connections, used on blocking threads.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_core::hash_chain::EventRecord;
use provost_proto::{LogCursor, Stream, StreamVersion};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, Rows, params};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::log_reader::LogReader;
use super::schema;
use super::segment::SegmentSet;
use super::statement_costs::StatementObserver;
use crate::{ListQuery, StoreError, StoredDocument};

/// The most concurrent reads: more do not make the disk faster.
const MAX_CONCURRENT_READS: usize = 4;

/// The most idle connections that are kept open.
const MAX_IDLE_CONNECTIONS: usize = 2;

#[derive(Debug)]
pub(super) struct ReaderPool {
    path: PathBuf,
    segments: Arc<SegmentSet>,
    turn: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Connection>>>,
    observer: Option<StatementObserver>,
}

impl ReaderPool {
    pub(super) fn new(
        path: PathBuf,
        segments: Arc<SegmentSet>,
        observer: Option<StatementObserver>,
    ) -> Self {
        let turn = Arc::new(Semaphore::new(MAX_CONCURRENT_READS));
        Self { path, segments, turn, idle: Arc::default(), observer }
    }

    /// Closes the idle connections.
    pub(super) fn close_idle(&self) {
        self.idle.lock().clear();
    }

    /// Runs a read on a blocking thread with a connection of its own. Whatever it reads is of one
    /// moment.
    pub(super) async fn run_read<T: Send + 'static>(
        &self,
        read: impl FnOnce(LogReader<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = Arc::clone(&self.turn).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let idle = Arc::clone(&self.idle);
        let (path, segments) = (self.path.clone(), Arc::clone(&self.segments));
        let observer = self.observer.clone();
        let task = tokio::task::spawn_blocking(move || {
            let kept = idle.lock().pop();
            let mut db = match kept {
                Some(db) => db,
                None => open_reader(&path, observer.as_ref())?,
            };
            let step = db.transaction()?;
            let result = read(LogReader::new(&step, &segments))?;
            step.finish()?;
            // A connection that failed is dropped with the error above.
            let mut idle = idle.lock();
            if idle.len() < MAX_IDLE_CONNECTIONS {
                idle.push(db);
            }
            drop(turn);
            Ok(result)
        });
        task.await.unwrap_or(Err(StoreError::Closed))
    }
}

fn open_reader(
    path: &Path,
    observer: Option<&StatementObserver>,
) -> Result<Connection, StoreError> {
    let mut db = schema::open_read_only(path)?;
    if let Some(observer) = observer {
        observer.attach(&mut db)?;
    }
    Ok(db)
}

/// The row of a stream, and the version of its last event.
pub(super) fn find_stream(
    db: &Connection,
    stream: Stream,
) -> Result<Option<(i64, StreamVersion)>, StoreError> {
    let found: Option<(i64, StreamVersion)> = db
        .prepare_cached("SELECT id, archived FROM streams WHERE name = ?1")?
        .query_row([stream.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((id, archived)) = found else { return Ok(None) };
    let last: Option<Vec<u8>> = db
        .prepare_cached("SELECT record FROM events WHERE stream = ?1 ORDER BY seq DESC LIMIT 1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    let version = match last {
        Some(record) => {
            let record = EventRecord::parse(&record)
                .map_err(|error| StoreError::Damaged(format!("the end of {stream}: {error}")))?;
            record.version
        }
        None => archived,
    };
    Ok(Some((id, version)))
}

pub(super) fn read_document(
    db: &Connection,
    key: DocumentKey,
) -> Result<Option<ViewDocument>, StoreError> {
    let mut find = db.prepare_cached("SELECT doc FROM docs WHERE view = ?1 AND key = ?2")?;
    let mut rows = find.query(params![key.view.storage_id(), key.key.as_bytes()])?;
    rows.next()?.map(|row| decode_document(key.view, &key.key, row.get_ref(0)?)).transpose()
}

/// A document with the position that it includes.
pub(super) fn read_stored_document(
    db: &Connection,
    key: DocumentKey,
) -> Result<Option<StoredDocument>, StoreError> {
    let mut find = db.prepare_cached("SELECT doc, seq FROM docs WHERE view = ?1 AND key = ?2")?;
    let mut rows = find.query(params![key.view.storage_id(), key.key.as_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let doc = decode_document(key.view, &key.key, row.get_ref(0)?)?;
    Ok(Some(StoredDocument { key: key.key, up_to: LogCursor::from_seq(row.get(1)?), doc }))
}

/// The bounds of a list as the database compares them.
struct ListBounds {
    /// Exclusive.
    after: i64,
    /// Inclusive, because what never ends has the latest time that the column can hold.
    last: i64,
    /// Exclusive, for documents of the last time; a blob that is longer than keys is after all.
    key: Vec<u8>,
    limit: i64,
}

impl ListBounds {
    fn new(query: &ListQuery) -> Self {
        let &ListQuery { after, before, limit, .. } = query;
        Self {
            // From before the beginning, if that is where to begin.
            after: if after == 0 { -1 } else { i64::try_from(after).unwrap_or(i64::MAX) },
            last: i64::try_from(before.at).unwrap_or(i64::MAX),
            key: match i64::try_from(before.at) {
                Ok(_) => before.key.as_bytes().to_vec(),
                Err(_) => vec![u8::MAX; 17],
            },
            limit: i64::try_from(limit).unwrap_or(i64::MAX),
        }
    }
}

/// The documents that are listed under a parent: all that are open, or the latest ones that are
/// not.
pub(super) fn list_under(
    db: &Connection,
    query: ListQuery,
) -> Result<Vec<StoredDocument>, StoreError> {
    read_list(db, "key, doc, seq", query, |row| decode_stored_document(query.view, row).map(Some))
}

/// What is decoded of these columns of the documents of a list, the latest first.
pub(super) fn read_list<T>(
    db: &Connection,
    columns: &str,
    query: ListQuery,
    decode: impl Fn(&Row<'_>) -> Result<Option<T>, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut list = db.prepare_cached(&format!(
        "SELECT {columns} FROM docs
         WHERE view = ?1 AND parent = ?2 AND open = ?3 AND at > ?4 AND at <= ?5
         AND (at < ?5 OR key < ?6) ORDER BY at DESC, key DESC LIMIT ?7",
    ))?;
    let ListQuery { view, parent, is_open, .. } = query;
    let ListBounds { after, last, key, limit } = ListBounds::new(&query);
    let (view_id, parent) = (view.storage_id(), parent.as_bytes());
    let mut rows = list.query(params![view_id, parent, is_open, after, last, key, limit])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(decode(row)?);
    }
    Ok(found)
}

/// All documents of a view, in the order of their keys.
pub(super) fn list_documents(
    db: &Connection,
    view: ViewKind,
) -> Result<Vec<StoredDocument>, StoreError> {
    let mut list =
        db.prepare_cached("SELECT key, doc, seq FROM docs WHERE view = ?1 ORDER BY key")?;
    collect_documents(view, list.query(params![view.storage_id()])?)
}

/// The same of a log that is verified: it may be an older one, in which views and documents have
/// text names.
pub(super) fn list_documents_of_any_version(
    db: &Connection,
    view: ViewKind,
) -> Result<Vec<StoredDocument>, StoreError> {
    let mut list = db.prepare("SELECT key, doc, seq FROM docs WHERE view IN (?1, ?2)")?;
    collect_documents(view, list.query(params![view.storage_id(), view.name()])?)
}

fn collect_documents(
    view: ViewKind,
    mut rows: Rows<'_>,
) -> Result<Vec<StoredDocument>, StoreError> {
    let mut docs = Vec::new();
    while let Some(row) = rows.next()? {
        docs.push(decode_stored_document(view, row)?);
    }
    Ok(docs)
}

/// Decodes a row of key, document and seq.
fn decode_stored_document(view: ViewKind, row: &Row<'_>) -> Result<StoredDocument, StoreError> {
    let key = match row.get_ref(0)? {
        ValueRef::Text(text) => Uuid::try_parse_ascii(text).ok(),
        ValueRef::Blob(bytes) => Uuid::from_slice(bytes).ok(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    };
    let key = key.ok_or_else(|| unreadable_view(view, &"a document", "it has no name"))?;
    let doc = decode_document(view, &key, row.get_ref(1)?)?;
    Ok(StoredDocument { key, up_to: LogCursor::from_seq(row.get(2)?), doc })
}

fn decode_document(
    view: ViewKind,
    key: &Uuid,
    value: ValueRef<'_>,
) -> Result<ViewDocument, StoreError> {
    let bytes = value.as_blob().map_err(|_| unreadable_view(view, key, "it is not bytes"))?;
    ViewDocument::parse(view, bytes).map_err(|error| unreadable_view(view, key, &error.to_string()))
}

fn unreadable_view(view: ViewKind, key: &dyn std::fmt::Display, why: &str) -> StoreError {
    StoreError::UnreadableView { view: view.name(), key: key.to_string(), why: why.to_owned() }
}
