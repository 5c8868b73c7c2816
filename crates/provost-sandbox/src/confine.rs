//! Confined children.
//!
//! A [`Wall`] is a policy made ready: rules built, filter compiled, limits
//! chosen. [`Wall::spawn`] puts a command behind it.
//!
//! ```text
//! parent ──clone(namespaces)──▶ warden ──vfork──▶ command
//!   │  pidfd, orders, status ─────┘  arranges mounts,   joins its cgroup, drops capabilities,
//!   │                                reaps, ends all    Landlock, seccomp, exec
//!   └── everything is prepared here: the other two only make system calls
//! ```
//!
//! There is no helper program to execute first, which would cost as much as the
//! command itself. What is required and missing is
//! [`SandboxError::Unavailable`]; nothing is ever left out silently, so
//! [`Applied`] is true whenever there is a [`ProcessPhase`].
//!
//! A run that may listen can connect to what it listens on itself: the filter asks
//! a thread of the parent, which makes the connection (`exchange`).
//!
//! [`Wall::stand_by`] has the next run's warden made before there is a command.
//!
//! The warden outlives its starter thread, and by default not its process: it
//! holds a socket to it and ends the run when the other end is closed.
#![expect(unsafe_code, reason = "what happens between clone and exec has no safe interface")]

mod afterwards;
mod applied;
mod command;
mod error;
mod exchange;
mod filter;
mod group;
mod handle;
mod hold;
mod inside;
mod mounts;
mod plan;
mod raw;
mod ready;
mod ruleset;
mod spawn;
mod stack;
mod standby;
mod sweep;
mod wall;
mod warden;

pub use applied::{Applied, EndedBy, Extra, Layers, ProtectedBy};
pub use command::{Command, Leftovers, Limits, Parent, Script, Stdio};
pub use error::SandboxError;
pub use handle::{Child, Exit};
pub use wall::Wall;

#[cfg(test)]
mod tests;
