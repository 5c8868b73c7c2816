//! The WebSocket of a terminal.

pub(crate) mod terminal_bridge;
