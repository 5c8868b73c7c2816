//! The WebSocket of `GET /api/sync`: notebooks as a client follows and changes them.

mod connection;
mod subscription;

pub(crate) use connection::run_connection;
