//! What a daemon does at its start with the turns that the one before it left open.

mod interrupt_turn;
pub(crate) mod resume_sessions;
