//! Searching the log, block by block.

use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_core::hash_chain::EventRecord;
use provost_proto::{LogCursor, Seq, UnixMicros};
use rusqlite::{Connection, OptionalExtension as _, Rows, params};

use super::reader::decode_event_row;
use super::search_index::{
    BLOCK_EVENTS, BlockSignatures, SignatureQuery, block_range, read_body_blob,
};
use crate::event_query::{EventMatcher, EventQuery, SearchFrom, SearchPage};
use crate::{EventScope, StoreError};

/// How long one call searches, at most: the caller gets what was found, and where to continue.
const MAX_SEARCH_TIME: Duration = Duration::from_millis(500);

/// Searches events up to `head`, which is committed.
pub(super) fn search_events(
    db: &Connection,
    signatures: &BlockSignatures,
    query: EventQuery,
    head: Seq,
) -> Result<SearchPage, StoreError> {
    let EventQuery { scope, from, limit, filter } = query;
    let matcher = EventMatcher::new(filter);
    let (first, last) = find_bounds(db, from, &matcher, head)?;
    let mut search = EventSearch {
        db,
        signature: SignatureQuery::new(&matcher),
        signatures,
        matcher,
        scope,
        limit: limit.max(1),
        deadline: Instant::now() + MAX_SEARCH_TIME,
        page: SearchPage::default(),
    };
    match from {
        SearchFrom::Before(_) => search.search_backward(first, last)?,
        SearchFrom::After(_) => search.search_forward(first, last)?,
    }
    Ok(search.page)
}

/// The first and the last event that can match.
fn find_bounds(
    db: &Connection,
    from: SearchFrom,
    matcher: &EventMatcher,
    head: Seq,
) -> Result<(Seq, Seq), StoreError> {
    let (mut first, mut last) = match from {
        SearchFrom::After(after) => (after.seq().saturating_add(1), head),
        SearchFrom::Before(before) => (1, before.seq().saturating_sub(1).min(head)),
    };
    let (since, until) = matcher.times();
    if let Some(since) = since {
        first = first.max(find_first_at(db, since, head)?);
    }
    if let Some(until) = until {
        last = last.min(find_first_at(db, until, head)?.saturating_sub(1));
    }
    Ok((first, last))
}

/// The first event at or after a time. The time of the log never runs backwards.
fn find_first_at(db: &Connection, at: UnixMicros, head: Seq) -> Result<Seq, StoreError> {
    let mut find = db.prepare_cached("SELECT record FROM events WHERE seq = ?1")?;
    let (mut low, mut high) = (1, head.saturating_add(1));
    while low < high {
        let middle = low + (high - low) / 2;
        let record: Option<Vec<u8>> = find.query_row([middle], |row| row.get(0)).optional()?;
        let time = record.and_then(|record| EventRecord::parse(&record).ok());
        if time.is_none_or(|record| record.at < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

struct EventSearch<'a> {
    db: &'a Connection,
    signatures: &'a BlockSignatures,
    signature: SignatureQuery,
    matcher: EventMatcher,
    scope: EventScope,
    limit: usize,
    deadline: Instant,
    page: SearchPage,
}

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchProgress {
    Continue,
    Stop,
}

impl EventSearch<'_> {
    fn search_backward(&mut self, first: Seq, last: Seq) -> Result<(), StoreError> {
        let mut high = last;
        while high >= first.max(1) {
            let block = (high - 1) / BLOCK_EVENTS;
            let low = block_range(block).0.max(first);
            if self.signatures.may_match(block, &self.signature)
                && self.scan(low, high, SearchDirection::Backward)? == SearchProgress::Stop
            {
                let rest = self.page.next.filter(|next| next.seq() > first);
                self.page.next = rest;
                return Ok(());
            }
            high = low - 1;
        }
        Ok(())
    }

    fn search_forward(&mut self, first: Seq, last: Seq) -> Result<(), StoreError> {
        let mut low = first.max(1);
        while low <= last {
            let block = (low - 1) / BLOCK_EVENTS;
            let high = block_range(block).1.min(last);
            if self.signatures.may_match(block, &self.signature)
                && self.scan(low, high, SearchDirection::Forward)? == SearchProgress::Stop
            {
                return Ok(());
            }
            low = high + 1;
        }
        Ok(())
    }

    /// Searches a part of one block.
    fn scan(
        &mut self,
        low: Seq,
        high: Seq,
        direction: SearchDirection,
    ) -> Result<SearchProgress, StoreError> {
        let db = self.db;
        let limit = if self.matcher.is_empty() {
            i64::try_from(self.limit - self.page.events.len()).unwrap_or(i64::MAX)
        } else {
            -1
        };
        let mut find = db.prepare_cached(direction.sql(self.scope))?;
        let rows = match self.scope {
            EventScope::All => find.query(params![low, high, limit])?,
            EventScope::Stream(stream) => {
                find.query(params![low, high, limit, stream.to_string()])?
            }
        };
        self.scan_rows(rows, if direction == SearchDirection::Forward { high } else { low })
    }

    fn scan_rows(&mut self, mut rows: Rows<'_>, end: Seq) -> Result<SearchProgress, StoreError> {
        while let Some(row) = rows.next()? {
            let seq: Seq = row.get(0)?;
            let record = row.get_ref(4)?.as_blob().unwrap_or_default();
            if self.matcher.matches(seq, record, || read_body_blob(self.db, record))? {
                self.page.events.push(Arc::new(decode_event_row(row)?));
                if self.page.events.len() >= self.limit {
                    self.page.next = Some(LogCursor::from_seq(seq));
                    return Ok(SearchProgress::Stop);
                }
            }
        }
        if Instant::now() >= self.deadline {
            self.page.next = Some(LogCursor::from_seq(end));
            return Ok(SearchProgress::Stop);
        }
        Ok(SearchProgress::Continue)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchDirection {
    Forward,
    Backward,
}

impl SearchDirection {
    /// Reads a range of events in this direction.
    const fn sql(self, scope: EventScope) -> &'static str {
        match (scope, self) {
            (EventScope::All, Self::Forward) => {
                "SELECT e.seq, s.name, p.hash, e.hash, e.record FROM events e
                 JOIN streams s ON s.id = e.stream LEFT JOIN events p ON p.seq = e.seq - 1
                 WHERE e.seq >= ?1 AND e.seq <= ?2 ORDER BY e.seq LIMIT ?3"
            }
            (EventScope::All, Self::Backward) => {
                "SELECT e.seq, s.name, p.hash, e.hash, e.record FROM events e
                 JOIN streams s ON s.id = e.stream LEFT JOIN events p ON p.seq = e.seq - 1
                 WHERE e.seq >= ?1 AND e.seq <= ?2 ORDER BY e.seq DESC LIMIT ?3"
            }
            (EventScope::Stream(_), Self::Forward) => {
                "SELECT e.seq, s.name, p.hash, e.hash, e.record FROM streams s
                 JOIN events e ON e.stream = s.id LEFT JOIN events p ON p.seq = e.seq - 1
                 WHERE s.name = ?4 AND e.seq >= ?1 AND e.seq <= ?2 ORDER BY e.seq LIMIT ?3"
            }
            (EventScope::Stream(_), Self::Backward) => {
                "SELECT e.seq, s.name, p.hash, e.hash, e.record FROM streams s
                 JOIN events e ON e.stream = s.id LEFT JOIN events p ON p.seq = e.seq - 1
                 WHERE s.name = ?4 AND e.seq >= ?1 AND e.seq <= ?2 ORDER BY e.seq DESC LIMIT ?3"
            }
        }
    }
}
