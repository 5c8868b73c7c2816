//! What the statements of readers cost, for tests: a read must not visit more than it returns.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rusqlite::trace::{StmtRef, TraceEvent, TraceEventCodes};
use rusqlite::{Connection, StatementStatus};

use crate::StoreError;

/// One execution of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementCost {
    /// The statement.
    pub sql: String,
    /// Rows that were visited by scanning a whole table.
    pub full_scan_steps: u64,
    /// How often rows were sorted, because no index has them in order.
    pub sorts: u64,
    /// Instructions of SQLite's virtual machine: they grow with the rows that are visited.
    pub vm_steps: u64,
}

/// Is called with every statement that a reader has executed.
#[derive(Clone)]
pub struct StatementObserver(Arc<dyn Fn(StatementCost) + Send + Sync>);

impl StatementObserver {
    /// Calls a function.
    pub fn new(observe: impl Fn(StatementCost) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    /// Observes the statements of a connection. They are prepared each time, because their counters
    /// are never set back.
    pub(super) fn attach(&self, db: &mut Connection) -> Result<(), StoreError> {
        db.set_prepared_statement_cache_capacity(0);
        let observer = self.clone();
        let mut earlier: HashMap<String, [u64; 3]> = HashMap::new();
        let trace = move |event: TraceEvent<'_>| {
            if let TraceEvent::Profile(statement, _) = event {
                let sql = statement.sql().into_owned();
                let counters = read_counters(&statement);
                // A statement that runs again goes on counting.
                let is_first = statement.get_status(StatementStatus::Run) <= 1;
                let before = earlier.insert(sql.clone(), counters).filter(|_| !is_first);
                let [full_scan_steps, sorts, vm_steps] = match before {
                    Some(before) => std::array::from_fn(|n| counters[n].saturating_sub(before[n])),
                    None => counters,
                };
                (observer.0)(StatementCost { sql, full_scan_steps, sorts, vm_steps });
            }
        };
        Ok(db.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(trace))?)
    }
}

impl fmt::Debug for StatementObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StatementObserver")
    }
}

fn read_counters(statement: &StmtRef<'_>) -> [u64; 3] {
    [StatementStatus::FullscanStep, StatementStatus::Sort, StatementStatus::VmStep]
        .map(|status| u64::try_from(statement.get_status(status)).unwrap_or(0))
}
