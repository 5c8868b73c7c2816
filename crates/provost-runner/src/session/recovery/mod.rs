//! What a daemon does at its start with the turns that its predecessor left open.

mod interrupt_turn;
pub(crate) mod resume_sessions;
