//! Reading the log and drafts forward for a client: as server-sent events, or until one turn ends.

pub(crate) mod documents;
pub(crate) mod log_feed;
pub(crate) mod sse;
pub(crate) mod turn_cursor;
