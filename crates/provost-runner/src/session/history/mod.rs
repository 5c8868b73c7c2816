//! The conversation of a session: how it is written to the log, read back and compacted.

pub(crate) mod answer_texts;
pub(crate) mod compaction;
pub(crate) mod completion_parts;
mod conversation_history;
pub(crate) mod session_log;
pub(crate) mod touched_paths;

pub(crate) use conversation_history::*;
