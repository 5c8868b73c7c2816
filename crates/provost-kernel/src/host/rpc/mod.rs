//! The kernel's side of the protocol with its daemon.
//!
//! [`connection`] accepts sockets and moves frames, [`handshake`] authenticates
//! the peer, [`report_spool`] keeps reports until the daemon acknowledges them.

pub(super) mod connection;
pub(super) mod handshake;
pub(super) mod report_spool;
