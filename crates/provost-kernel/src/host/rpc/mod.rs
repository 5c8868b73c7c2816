//! The kernel's side of the protocol with its daemon.
//!
//! [`connection`] accepts sockets and moves frames, [`handshake`] authenticates
//! the peer, [`dispatch`] executes requests ([`file_actions`] those on files), and [`report_spool`] keeps reports
//! until the daemon has acknowledged them.

pub(super) mod connection;
mod dispatch;
mod file_actions;
mod handshake;
pub(super) mod report_spool;
