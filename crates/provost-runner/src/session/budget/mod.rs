//! Tokens and money: reserved before a completion, settled after it, charged to the session,
//! the sessions that handed it its task, the project and the day.

pub(crate) mod attempt_meter;
pub(crate) mod completion_allowance;
pub(crate) mod session_lineage;
pub(crate) mod shared_ledger;
