//! What earlier turns left: those that a previous daemon left open, and text that could not be
//! appended to the log.

mod interrupt_turn;
pub(crate) mod resume_sessions;
mod unlogged_drafts;
