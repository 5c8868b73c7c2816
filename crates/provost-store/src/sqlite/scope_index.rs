//! The positions of the events of a stream or of a project, in order, from indexes alone.

use provost_proto::{ProjectId, Seq, Stream};
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Rows, params};

use super::event_row::select_events;
use crate::{EventScope, StoreError};

/// Reads one event by its position.
pub(super) const EVENT_BY_SEQ: &str = select_events!(
    "FROM events e JOIN streams s ON s.id = e.stream LEFT JOIN events p ON p.seq = e.seq - 1
     WHERE e.seq = ?1"
);

/// Whether the oldest or the newest position comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeqOrder {
    Ascending,
    Descending,
}

/// The prepared reads of a scope.
pub(super) struct ScopeIndex<'c> {
    /// Absent if the stream has no event.
    of_stream: Option<(CachedStatement<'c>, i64)>,
    of_project: Option<(CachedStatement<'c>, ProjectId)>,
    order: SeqOrder,
}

impl<'c> ScopeIndex<'c> {
    /// The indexes of a scope; `None` for the whole log, which needs none.
    pub(super) fn prepare(
        db: &'c Connection,
        scope: EventScope,
        order: SeqOrder,
    ) -> Result<Option<Self>, StoreError> {
        let Some(stream) = scope.stream() else { return Ok(None) };
        let (of_stream, of_project) = match order {
            SeqOrder::Ascending => (
                "SELECT seq FROM events WHERE stream = ?1 AND seq >= ?2 AND seq <= ?3 ORDER BY seq",
                "SELECT seq FROM project_events WHERE project = ?1 AND seq >= ?2 AND seq <= ?3
                 ORDER BY seq",
            ),
            SeqOrder::Descending => (
                "SELECT seq FROM events WHERE stream = ?1 AND seq >= ?2 AND seq <= ?3
                 ORDER BY seq DESC",
                "SELECT seq FROM project_events WHERE project = ?1 AND seq >= ?2 AND seq <= ?3
                 ORDER BY seq DESC",
            ),
        };
        let of_stream = match find_stream_id(db, stream)? {
            Some(id) => Some((db.prepare_cached(of_stream)?, id)),
            None => None,
        };
        let of_project = match scope.project() {
            Some(project) => Some((db.prepare_cached(of_project)?, project)),
            None => None,
        };
        Ok(Some(Self { of_stream, of_project, order }))
    }

    /// The positions between two, both included.
    pub(super) fn seqs(&mut self, low: Seq, high: Seq) -> Result<ScopeSeqs<'_>, StoreError> {
        let order = self.order;
        let of_stream = match &mut self.of_stream {
            Some((find, id)) => Some(SeqRows::new(find.query(params![*id, low, high])?)?),
            None => None,
        };
        let of_project = match &mut self.of_project {
            Some((find, project)) => {
                let rows = find.query(params![project.uuid().as_bytes(), low, high])?;
                Some(SeqRows::new(rows)?)
            }
            None => None,
        };
        Ok(ScopeSeqs { of_stream, of_project, order })
    }
}

/// Positions of both indexes, merged.
pub(super) struct ScopeSeqs<'r> {
    of_stream: Option<SeqRows<'r>>,
    of_project: Option<SeqRows<'r>>,
    order: SeqOrder,
}

impl ScopeSeqs<'_> {
    pub(super) fn next(&mut self) -> Result<Option<Seq>, StoreError> {
        let peek = |rows: &Option<SeqRows<'_>>| rows.as_ref().and_then(|rows| rows.peeked);
        let (first, second) = (peek(&self.of_stream), peek(&self.of_project));
        let takes_first = match (first, second) {
            (Some(first), Some(second)) => match self.order {
                SeqOrder::Ascending => first <= second,
                SeqOrder::Descending => first >= second,
            },
            (first, _) => first.is_some(),
        };
        let rows = if takes_first { &mut self.of_stream } else { &mut self.of_project };
        rows.as_mut().map_or(Ok(None), SeqRows::take)
    }
}

struct SeqRows<'r> {
    rows: Rows<'r>,
    peeked: Option<Seq>,
}

impl<'r> SeqRows<'r> {
    fn new(rows: Rows<'r>) -> Result<Self, StoreError> {
        let mut new = Self { rows, peeked: None };
        new.take()?;
        Ok(new)
    }

    fn take(&mut self) -> Result<Option<Seq>, StoreError> {
        let next = self.rows.next()?.map(|row| row.get(0)).transpose()?;
        Ok(std::mem::replace(&mut self.peeked, next))
    }
}

fn find_stream_id(db: &Connection, stream: Stream) -> Result<Option<i64>, StoreError> {
    let mut find = db.prepare_cached("SELECT id FROM streams WHERE name = ?1")?;
    Ok(find.query_row([stream.to_string()], |row| row.get(0)).optional()?)
}
