//! Searching the log: block by block, or by the index of a stream or a project.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_proto::{LogCursor, Seq};
use rusqlite::{Row, params};

use super::event_row::{decode_event_row, select_events};
use super::log_reader::LogReader;
use super::scope_index::{EVENT_BY_SEQ, ScopeIndex, ScopeSeqs, SeqOrder};
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
    let range = find_bounds(log, from, &matcher, head)?;
    let order = match from {
        SearchFrom::Before(_) => SeqOrder::Descending,
        SearchFrom::After(_) | SearchFrom::At(_) => SeqOrder::Ascending,
    };
    let mut search = EventSearch {
        log,
        order,
        archived: log.last_archived()?,
        signature: SignatureQuery::new(&matcher),
        signatures,
        matcher,
        scope,
        limit: limit.max(1),
        deadline: Instant::now() + MAX_SEARCH_TIME,
        page: SearchPage::default(),
    };
    search.search(range)?;
    Ok(search.page)
}

/// The first and the last event that can match.
fn find_bounds(
    log: LogReader<'_>,
    from: SearchFrom,
    matcher: &EventMatcher,
    head: Seq,
) -> Result<RangeInclusive<Seq>, StoreError> {
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
    Ok(first..=last)
}

struct EventSearch<'a> {
    log: LogReader<'a>,
    order: SeqOrder,
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

/// How far a search by index came.
enum IndexProgress {
    Done(SearchProgress),
    /// The events of this block cannot match.
    Skip(u64),
}

impl EventSearch<'_> {
    fn search(&mut self, range: RangeInclusive<Seq>) -> Result<(), StoreError> {
        // Blocks are archived as a whole, so that none is in both parts.
        let (first, last) = range.into_inner();
        let in_files = first.max(1)..=last.min(self.archived);
        let in_rows = first.max(self.archived + 1)..=last;
        match self.order {
            SeqOrder::Descending => {
                if self.search_rows(in_rows)? == SearchProgress::Continue {
                    self.search_blocks(in_files)?;
                }
                self.page.next = self.page.next.filter(|next| next.seq() > first);
            }
            SeqOrder::Ascending => {
                if self.search_blocks(in_files)? == SearchProgress::Continue {
                    self.search_rows(in_rows)?;
                }
            }
        }
        Ok(())
    }

    fn search_rows(&mut self, range: RangeInclusive<Seq>) -> Result<SearchProgress, StoreError> {
        match ScopeIndex::prepare(self.log.db, self.scope, self.order)? {
            Some(index) => self.search_index(index, range),
            None => self.search_blocks(range),
        }
    }

    /// Searches the events of a stream or a project. Blocks that cannot match are skipped.
    fn search_index(
        &mut self,
        mut index: ScopeIndex<'_>,
        range: RangeInclusive<Seq>,
    ) -> Result<SearchProgress, StoreError> {
        let (mut low, mut high) = range.into_inner();
        while low <= high {
            let seqs = index.seqs(low, high)?;
            let skipped = match self.search_until_skip(seqs)? {
                IndexProgress::Done(progress) => return Ok(progress),
                IndexProgress::Skip(block) => block_range(block),
            };
            if self.check_deadline(self.last_of(&skipped)) == SearchProgress::Stop {
                return Ok(SearchProgress::Stop);
            }
            match self.order {
                SeqOrder::Descending => high = skipped.start() - 1,
                SeqOrder::Ascending => low = skipped.end() + 1,
            }
        }
        Ok(SearchProgress::Continue)
    }

    /// Searches events up to a block that cannot match.
    fn search_until_skip(&mut self, mut seqs: ScopeSeqs<'_>) -> Result<IndexProgress, StoreError> {
        let mut find = self.log.db.prepare_cached(EVENT_BY_SEQ)?;
        let mut checked = None;
        while let Some(seq) = seqs.next()? {
            let block = (seq - 1) / BLOCK_EVENTS;
            if checked != Some(block) && !self.signatures.may_match(block, &self.signature) {
                return Ok(IndexProgress::Skip(block));
            }
            checked = Some(block);
            let mut rows = find.query([seq])?;
            if let Some(row) = rows.next()?
                && self.examine_row(row)? == SearchProgress::Stop
            {
                return Ok(IndexProgress::Done(SearchProgress::Stop));
            }
            if self.check_deadline(seq) == SearchProgress::Stop {
                return Ok(IndexProgress::Done(SearchProgress::Stop));
            }
        }
        Ok(IndexProgress::Done(SearchProgress::Continue))
    }

    /// Searches block by block, and skips those that cannot match.
    fn search_blocks(&mut self, range: RangeInclusive<Seq>) -> Result<SearchProgress, StoreError> {
        let (mut low, mut high) = range.into_inner();
        while low <= high {
            let edge = if self.order == SeqOrder::Descending { high } else { low };
            let block = (edge - 1) / BLOCK_EVENTS;
            let (first, last) = block_range(block).into_inner();
            let (first, last) = (first.max(low), last.min(high));
            if self.signatures.may_match(block, &self.signature)
                && self.scan(first..=last)? == SearchProgress::Stop
            {
                return Ok(SearchProgress::Stop);
            }
            match self.order {
                SeqOrder::Descending => high = first - 1,
                SeqOrder::Ascending => low = last + 1,
            }
        }
        Ok(SearchProgress::Continue)
    }

    /// Searches a part of one block.
    fn scan(&mut self, range: RangeInclusive<Seq>) -> Result<SearchProgress, StoreError> {
        if *range.start() <= self.archived {
            return self.scan_archived(range);
        }
        let limit = if self.matcher.is_empty() {
            i64::try_from(self.limit - self.page.events.len()).unwrap_or(i64::MAX)
        } else {
            -1
        };
        let mut find = self.log.db.prepare_cached(select_range(self.order))?;
        let mut rows = find.query(params![range.start(), range.end(), limit])?;
        while let Some(row) = rows.next()? {
            if self.examine_row(row)? == SearchProgress::Stop {
                return Ok(SearchProgress::Stop);
            }
        }
        Ok(self.check_deadline(self.last_of(&range)))
    }

    /// Adds the event of a row if it matches.
    fn examine_row(&mut self, row: &Row<'_>) -> Result<SearchProgress, StoreError> {
        let seq: Seq = row.get(0)?;
        let record = row.get_ref(4)?.as_blob().unwrap_or_default();
        if self.matcher.matches(seq, record, || self.log.read_body_blob(record))? {
            let event = decode_event_row(row)?;
            return Ok(self.add_found(event));
        }
        Ok(SearchProgress::Continue)
    }

    /// The event of a range that is searched last.
    fn last_of(&self, range: &RangeInclusive<Seq>) -> Seq {
        *if self.order == SeqOrder::Descending { range.start() } else { range.end() }
    }

    /// Searches a part of one block that is in a segment. Blocks are archived as a whole.
    fn scan_archived(&mut self, range: RangeInclusive<Seq>) -> Result<SearchProgress, StoreError> {
        let (log, scope) = (self.log, self.scope);
        let backwards = self.order == SeqOrder::Descending;
        let mut progress = SearchProgress::Continue;
        log.visit_block(scope, &range, backwards, |event| {
            let record = event.record;
            if self.matcher.matches(event.seq, record, || log.read_body_blob(record))? {
                progress = self.add_found(event.to_recorded()?);
            }
            Ok(progress == SearchProgress::Continue)
        })?;
        if progress == SearchProgress::Stop {
            return Ok(progress);
        }
        Ok(self.check_deadline(self.last_of(&range)))
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

/// Reads a range of events in an order.
const fn select_range(order: SeqOrder) -> &'static str {
    match order {
        SeqOrder::Ascending => select_events!(
            "FROM events e
             JOIN streams s ON s.id = e.stream LEFT JOIN events p ON p.seq = e.seq - 1
             WHERE e.seq >= ?1 AND e.seq <= ?2 ORDER BY e.seq LIMIT ?3"
        ),
        SeqOrder::Descending => select_events!(
            "FROM events e
             JOIN streams s ON s.id = e.stream LEFT JOIN events p ON p.seq = e.seq - 1
             WHERE e.seq >= ?1 AND e.seq <= ?2 ORDER BY e.seq DESC LIMIT ?3"
        ),
    }
}
