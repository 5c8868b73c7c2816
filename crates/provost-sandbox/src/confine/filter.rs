//! The system call filter: a table of denials, each with its reason.
//!
//! Everything that is not in the table is allowed; what matters is guarded by
//! Landlock, by dropped capabilities and by namespaces, and the filter closes
//! what those leave open. It is compiled once per policy; the child only installs it.

mod assemble;
mod rules;
mod sockets;

use libc::sock_filter;

use rules::{EVERYWHERE, Rule};
pub(super) use sockets::Sockets;

/// The compiled filter of a confined profile.
pub(super) fn confined(sockets: Sockets) -> Vec<sock_filter> {
    let rules: Vec<Rule> =
        EVERYWHERE.iter().chain(rules::CONFINED).copied().chain(sockets::rules(sockets)).collect();
    assemble::program(&rules)
}

/// The compiled filter of the person's own shell.
pub(super) fn terminal() -> Vec<sock_filter> {
    assemble::program(EVERYWHERE)
}

#[cfg(test)]
mod tests;
