//! Reading the log forward for a client: as server-sent events, or until one turn ends.

pub(crate) mod documents;
pub(crate) mod sse;
pub(crate) mod turn_cursor;
