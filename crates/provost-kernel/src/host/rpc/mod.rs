//! The kernel's side of the protocol with its daemon.
//!
//! [`connection`] accepts sockets and moves frames, [`handshake`] authenticates
//! the peer, [`dispatch`] executes requests, and [`report_spool`] keeps reports
//! until the daemon has acknowledged them.

pub(super) mod connection;
mod dispatch;
mod handshake;
pub(super) mod report_spool;
