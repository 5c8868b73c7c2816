//! Reads events and blobs, wherever they are: in segments or in the database.
//!
//! Events up to the last one of the last segment are read from files, later ones from rows. Both
//! are read in one transaction, so that events that are being moved are seen once.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use provost_proto::{Hash, LogCursor, LogSegment, Seq, Stream, StreamVersion, UnixMicros};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::event_row::{blob_references, decode_event_row, record_time, select_events};
use super::reader::find_stream;
use super::scope_index::{EVENT_BY_SEQ, ScopeIndex, SeqOrder};
use super::search_index::block_end;
use super::segment::{
    EventBlock, SegmentSet, find_segment_at_time, find_segment_of, has_segments, last_archived,
    list_segments,
};
use crate::{EventPage, EventScope, Idempotency, RecordedEvent, StoreError};

/// A snapshot of the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogReader<'a> {
    /// With an open transaction, or that of the only writer.
    pub(super) db: &'a Connection,
    pub(super) segments: &'a SegmentSet,
    /// Files of older versions have no table of segments; they are only verified.
    has_table: bool,
}

impl<'a> LogReader<'a> {
    pub(super) const fn new(db: &'a Connection, segments: &'a SegmentSet) -> Self {
        Self { db, segments, has_table: true }
    }

    /// Reads a file that may be of an older version.
    pub(super) fn of_any_version(
        db: &'a Connection,
        segments: &'a SegmentSet,
    ) -> Result<Self, StoreError> {
        Ok(Self { db, segments, has_table: has_segments(db)? })
    }

    /// The last event that is in a segment; 0 if none is.
    pub(super) fn last_archived(self) -> Result<Seq, StoreError> {
        if self.has_table { last_archived(self.db) } else { Ok(0) }
    }

    /// The segments, the oldest first.
    pub(super) fn list_segments(self) -> Result<Vec<LogSegment>, StoreError> {
        if self.has_table { list_segments(self.db) } else { Ok(Vec::new()) }
    }

    fn find_segment(self, seq: Seq) -> Result<Option<LogSegment>, StoreError> {
        if self.has_table { find_segment_of(self.db, seq) } else { Ok(None) }
    }

    /// The block of a segment that holds an event; `None` if it is not in a segment.
    pub(super) fn archived_block(
        self,
        seq: Seq,
    ) -> Result<Option<(LogSegment, Arc<EventBlock>)>, StoreError> {
        let Some(row) = self.find_segment(seq)? else { return Ok(None) };
        let block = self.segments.read_block_of(&row, seq)?;
        Ok(Some((row, block)))
    }

    /// Calls `visit` with the archived events of a part of one block, in order or backwards. It
    /// returns whether to go on.
    pub(super) fn visit_block(
        self,
        scope: EventScope,
        range: &RangeInclusive<Seq>,
        backwards: bool,
        mut visit: impl FnMut(ArchivedEvent<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let (low, high) = (*range.start(), *range.end());
        let Some(row) = self.find_segment(low)? else { return Ok(()) };
        let named = self.list_named_events(scope, low, high)?;
        if let Some(stream) = scope.stream()
            && named.is_empty()
            && !self.segments.block_has_stream(&row, low, stream)?
        {
            return Ok(());
        }
        let block = self.segments.read_block_of(&row, low)?;
        let n_events = high.saturating_sub(low) + 1;
        for n in 0..n_events {
            let seq = if backwards { high - n } else { low + n };
            let found = block.get(seq).ok_or_else(|| self.segments.changed_error(&row))?;
            let (stream, record) = found;
            let is_wanted = scope.stream().is_none_or(|only| only == stream);
            let event = ArchivedEvent { seq, record, reader: self, row: &row, block: &block };
            if (is_wanted || named.contains(&seq)) && !visit(event)? {
                break;
            }
        }
        Ok(())
    }

    /// The events of other streams that are part of a scope.
    fn list_named_events(
        self,
        scope: EventScope,
        low: Seq,
        high: Seq,
    ) -> Result<HashSet<Seq>, StoreError> {
        let Some(project) = scope.project() else { return Ok(HashSet::new()) };
        let mut find = self.db.prepare_cached(
            "SELECT seq FROM project_events WHERE project = ?1 AND seq >= ?2 AND seq <= ?3",
        )?;
        let found = find.query_map(params![project.uuid().as_bytes(), low, high], |r| r.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// A page of events, up to `head`, which is committed.
    pub(super) fn read_page(
        self,
        scope: EventScope,
        after: Seq,
        limit: usize,
        head: Seq,
    ) -> Result<EventPage, StoreError> {
        let archived = self.last_archived()?;
        let mut events = Vec::new();
        let mut next = after.saturating_add(1);
        while next <= archived.min(head) && events.len() < limit {
            let high = block_end(next).min(head);
            self.visit_block(scope, &(next..=high), false, |event| {
                events.push(Arc::new(event.to_recorded()?));
                Ok(events.len() < limit)
            })?;
            next = high + 1;
        }
        if events.len() < limit {
            self.read_rows(scope, after.max(archived), limit - events.len(), head, &mut events)?;
        }
        let full = events.len() == limit;
        let up_to = events.last().filter(|_| full).map_or(head, |event| event.seq);
        Ok(EventPage { events, up_to: LogCursor::from_seq(up_to) })
    }

    fn read_rows(
        self,
        scope: EventScope,
        after: Seq,
        limit: usize,
        head: Seq,
        events: &mut Vec<Arc<RecordedEvent>>,
    ) -> Result<(), StoreError> {
        // The hash of the previous event is `prev` of the next one: read one row further back.
        const ALL: &str = select_events!(
            "FROM events e JOIN streams s ON s.id = e.stream LEFT JOIN events p ON p.seq = e.seq - 1
             WHERE e.seq > ?1 AND e.seq <= ?2 ORDER BY e.seq LIMIT ?3"
        );
        let index = ScopeIndex::prepare(self.db, scope, SeqOrder::Ascending)?;
        let Some(mut index) = index else {
            let mut find = self.db.prepare_cached(ALL)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut rows = find.query(params![after, head, limit])?;
            while let Some(row) = rows.next()? {
                events.push(Arc::new(decode_event_row(row)?));
            }
            return Ok(());
        };
        let mut seqs = index.seqs(after.saturating_add(1), head)?;
        let mut find = self.db.prepare_cached(EVENT_BY_SEQ)?;
        let most = events.len().saturating_add(limit);
        while events.len() < most
            && let Some(seq) = seqs.next()?
        {
            let mut rows = find.query([seq])?;
            if let Some(row) = rows.next()? {
                events.push(Arc::new(decode_event_row(row)?));
            }
        }
        Ok(())
    }

    /// Calls `visit` with the record of each event after a position.
    pub(super) fn visit_records(
        self,
        after: Seq,
        mut visit: impl FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let archived = self.last_archived()?;
        let mut next = after.saturating_add(1);
        while next <= archived {
            let high = block_end(next);
            self.visit_block(EventScope::All, &(next..=high), false, |event| {
                visit(event.record).map(|()| true)
            })?;
            next = high + 1;
        }
        let mut all = self.db.prepare("SELECT record FROM events WHERE seq > ?1 ORDER BY seq")?;
        let mut rows = all.query([after.max(archived)])?;
        while let Some(row) = rows.next()? {
            visit(row.get_ref(0)?.as_blob().unwrap_or_default())?;
        }
        Ok(())
    }

    /// The events of a command that was executed before, if it was.
    pub(super) fn find_command_events(
        self,
        principal: &str,
        command: &Idempotency,
    ) -> Result<Option<Vec<Arc<RecordedEvent>>>, StoreError> {
        const FIND: &str =
            "SELECT request, first, count FROM commands WHERE principal = ?1 AND key = ?2";
        let found: Option<(Vec<u8>, Seq, u64)> = self
            .db
            .prepare_cached(FIND)?
            .query_row([principal, &command.key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((request, first, count)) = found else { return Ok(None) };
        if request != command.request.as_bytes() {
            return Err(StoreError::CommandReused(command.key.clone()));
        }
        let limit = usize::try_from(count).unwrap_or(usize::MAX);
        let last = first.saturating_add(count).saturating_sub(1);
        let page = self.read_page(EventScope::All, first.saturating_sub(1), limit, last)?;
        Ok(Some(page.events))
    }

    /// The event of a stream with this version; `None` if there is none, or if it is archived.
    pub(super) fn find_stream_event(
        self,
        stream: Stream,
        version: StreamVersion,
    ) -> Result<Option<Arc<RecordedEvent>>, StoreError> {
        // The versions of a stream have no gaps. Counted from the end, near which readers are.
        const FIND: &str =
            "SELECT seq FROM events WHERE stream = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2";
        let Some((id, last)) = find_stream(self.db, stream)? else { return Ok(None) };
        let Some(back) = last.checked_sub(version).filter(|_| version > 0) else { return Ok(None) };
        let mut find = self.db.prepare_cached(FIND)?;
        let seq: Option<Seq> = find.query_row(params![id, back], |row| row.get(0)).optional()?;
        let Some(seq) = seq else { return Ok(None) };
        let mut find = self.db.prepare_cached(EVENT_BY_SEQ)?;
        let mut rows = find.query([seq])?;
        Ok(rows.next()?.map(decode_event_row).transpose()?.map(Arc::new))
    }

    /// The record of an event.
    pub(super) fn read_record(self, seq: Seq) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some((_, block)) = self.archived_block(seq)? {
            return Ok(block.get(seq).map(|(_, record)| record.to_vec()));
        }
        let mut find = self.db.prepare_cached("SELECT record FROM events WHERE seq = ?1")?;
        Ok(find.query_row([seq], |row| row.get(0)).optional()?)
    }

    /// The hash of an event; `None` if there is no such event.
    pub(super) fn read_hash(self, seq: Seq) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some((row, block)) = self.archived_block(seq)? {
            let hash = block.hash(seq).ok_or_else(|| self.segments.changed_error(&row))?;
            return Ok(Some(hash.as_bytes().to_vec()));
        }
        let mut find = self.db.prepare_cached("SELECT hash FROM events WHERE seq = ?1")?;
        Ok(find.query_row([seq], |row| row.get(0)).optional()?)
    }

    /// The first event at or after a time, up to the one after `head`. The time of the log never
    /// runs backwards.
    pub(super) fn find_first_at(self, at: UnixMicros, head: Seq) -> Result<Seq, StoreError> {
        let Some(row) = find_segment_at_time(self.db, at)? else {
            return self.find_first_row_at(at, head);
        };
        let low = self.segments.block_at_time(&row, at)?;
        // It is in this block, or the first one of the next.
        self.search_time(at, low, block_end(low) + 1)
    }

    /// The same among the events that are not archived.
    pub(super) fn find_first_row_at(self, at: UnixMicros, head: Seq) -> Result<Seq, StoreError> {
        self.search_time(at, self.last_archived()? + 1, head.saturating_add(1))
    }

    fn search_time(self, at: UnixMicros, low: Seq, high: Seq) -> Result<Seq, StoreError> {
        let (mut low, mut high) = (low, high);
        while low < high {
            let middle = low + (high - low) / 2;
            let time = self.read_record(middle)?.as_deref().and_then(record_time);
            if time.is_none_or(|time| time < at) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The bytes with this hash.
    pub(super) fn read_blob(self, hash: &Hash) -> Result<Option<Vec<u8>>, StoreError> {
        let mut find = self.db.prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")?;
        let found = find.query_row([hash.as_bytes()], |row| row.get(0)).optional()?;
        if found.is_some() || !self.has_table {
            return Ok(found);
        }
        let mut find = self
            .db
            .prepare_cached("SELECT segment FROM segment_blobs WHERE hash = ?1 ORDER BY segment")?;
        let mut rows = find.query([hash.as_bytes()])?;
        let mut unreadable = None;
        while let Some(row) = rows.next()? {
            let Some(segment) = find_segment_of(self.db, row.get(0)?)? else { continue };
            match self.segments.read_blob(&segment, hash) {
                Ok(Some(bytes)) => return Ok(Some(bytes)),
                Ok(None) => {}
                Err(error) => unreadable = Some(error),
            }
        }
        unreadable.map_or(Ok(None), Err)
    }

    /// The blob that a record refers to, if it does.
    pub(super) fn read_body_blob(self, record: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match blob_references(record).next() {
            Some(hash) => self.read_blob(&hash),
            None => Ok(None),
        }
    }
}

/// An event in a segment.
pub(super) struct ArchivedEvent<'b> {
    pub(super) seq: Seq,
    pub(super) record: &'b [u8],
    reader: LogReader<'b>,
    row: &'b LogSegment,
    block: &'b EventBlock,
}

impl ArchivedEvent<'_> {
    /// The event with its hashes.
    pub(super) fn to_recorded(&self) -> Result<RecordedEvent, StoreError> {
        let event = self.block.event(self.seq);
        event.ok_or_else(|| self.reader.segments.changed_error(self.row))
    }
}
