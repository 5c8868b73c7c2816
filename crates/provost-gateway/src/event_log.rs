//! The only way to the log.

mod redact;
