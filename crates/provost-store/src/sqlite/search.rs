//! Searching the log, block by block.

use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_proto::{LogCursor, Seq};
use rusqlite::{Rows, params};

use super::event_row::{decode_event_row, select_events};
use super::log_reader::LogReader;
use super::search_index::{BLOCK_EVENTS, BlockSignatures, SignatureQuery, block_range};
use crate::event_query::{EventMatcher, EventQuery, SearchFrom, SearchPage};
use crate::{EventScope, RecordedEvent, StoreError};

/// How long one call searches, at most: the caller gets what was found, and where to continue.
const MAX_SEARCH_TIME: Duration = Duration::from_millis(500);

/// Searches events up to `head`, which is committed.
pub(super) fn search_events(
    log: LogReader<'_>,
    signatures: &BlockSignatures,
    query: EventQuery,
    head: Seq,
) -> Result<SearchPage, StoreError> {
    let EventQuery { scope, from, limit, filter } = query;
    let matcher = EventMatcher::new(filter);
    let (first, last) = find_bounds(log, from, &matcher, head)?;
    let mut search = EventSearch {
        log,
        archived: log.last_archived()?,
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
        SearchFrom::After(_) | SearchFrom::At(_) => search.search_forward(first, last)?,
    }
    Ok(search.page)
}

/// The first and the last event that can match.
fn find_bounds(
    log: LogReader<'_>,
    from: SearchFrom,
    matcher: &EventMatcher,
    head: Seq,
) -> Result<(Seq, Seq), StoreError> {
    let (mut first, mut last) = match from {
        SearchFrom::After(after) => (after.seq().saturating_add(1), head),
        SearchFrom::At(at) => (at.seq().max(1), head),
        SearchFrom::Before(before) => (1, before.seq().saturating_sub(1).min(head)),
    };
    let (since, until) = matcher.times();
    if let Some(since) = since {
        first = first.max(log.find_first_at(since, head)?);
    }
    if let Some(until) = until {
        last = last.min(log.find_first_at(until, head)?.saturating_sub(1));
    }
    Ok((first, last))
}

struct EventSearch<'a> {
    log: LogReader<'a>,
    /// The last event that is in a segment.
    archived: Seq,
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
        if low <= self.archived {
            return self.scan_archived(low, high, direction);
        }
        let db = self.log.db;
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
            if self.matcher.matches(seq, record, || self.log.read_body_blob(record))? {
                let event = decode_event_row(row)?;
                if self.add_found(event) == SearchProgress::Stop {
                    return Ok(SearchProgress::Stop);
                }
            }
        }
        Ok(self.check_deadline(end))
    }

    /// Searches a part of one block that is in a segment. Blocks are archived as a whole.
    fn scan_archived(
        &mut self,
        low: Seq,
        high: Seq,
        direction: SearchDirection,
    ) -> Result<SearchProgress, StoreError> {
        let (log, scope) = (self.log, self.scope);
        let backwards = direction == SearchDirection::Backward;
        let mut progress = SearchProgress::Continue;
        log.visit_block(scope, (low, high), backwards, |event| {
            let record = event.record;
            if self.matcher.matches(event.seq, record, || log.read_body_blob(record))? {
                progress = self.add_found(event.to_recorded()?);
            }
            Ok(progress == SearchProgress::Continue)
        })?;
        if progress == SearchProgress::Stop {
            return Ok(progress);
        }
        Ok(self.check_deadline(if backwards { low } else { high }))
    }

    fn add_found(&mut self, event: RecordedEvent) -> SearchProgress {
        let seq = event.seq;
        self.page.events.push(Arc::new(event));
        if self.page.events.len() < self.limit {
            return SearchProgress::Continue;
        }
        self.page.next = Some(LogCursor::from_seq(seq));
        SearchProgress::Stop
    }

    /// Stops after this event if the time is over.
    fn check_deadline(&mut self, end: Seq) -> SearchProgress {
        if Instant::now() >= self.deadline {
            self.page.next = Some(LogCursor::from_seq(end));
            return SearchProgress::Stop;
        }
        SearchProgress::Continue
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
                select_events!(
                    "FROM events e
                 JOIN streams s ON s.id = e.stream LEFT JOIN events p ON p.seq = e.seq - 1
                 WHERE e.seq >= ?1 AND e.seq <= ?2 ORDER BY e.seq LIMIT ?3"
                )
            }
            (EventScope::All, Self::Backward) => {
                select_events!(
                    "FROM events e
                 JOIN streams s ON s.id = e.stream LEFT JOIN events p ON p.seq = e.seq - 1
                 WHERE e.seq >= ?1 AND e.seq <= ?2 ORDER BY e.seq DESC LIMIT ?3"
                )
            }
            (EventScope::Stream(_), Self::Forward) => {
                select_events!(
                    "FROM streams s
                 JOIN events e ON e.stream = s.id LEFT JOIN events p ON p.seq = e.seq - 1
                 WHERE s.name = ?4 AND e.seq >= ?1 AND e.seq <= ?2 ORDER BY e.seq LIMIT ?3"
                )
            }
            (EventScope::Stream(_), Self::Backward) => {
                select_events!(
                    "FROM streams s
                 JOIN events e ON e.stream = s.id LEFT JOIN events p ON p.seq = e.seq - 1
                 WHERE s.name = ?4 AND e.seq >= ?1 AND e.seq <= ?2 ORDER BY e.seq DESC LIMIT ?3"
                )
            }
        }
    }
}
