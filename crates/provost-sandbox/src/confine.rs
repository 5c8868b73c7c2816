//! Confined children.
//!
//! A [`Sandbox`] is a prepared policy: rules built, filter compiled, limits chosen.
//! [`Sandbox::spawn`] runs a command in it.
//!
//! ```text
//! parent ──clone(namespaces)──▶ supervisor ──vfork──▶ command
//!   │  pidfd, control, status ───────┘  sets up mounts,   joins its cgroup, drops capabilities,
//!   │                                   reaps, kills all  Landlock, seccomp, exec
//!   └── everything is prepared here: the other two only make system calls
//! ```
//!
//! There is no helper program to execute first, which would cost as much as the
//! command itself. A layer that is required and missing is
//! [`SandboxError::Unavailable`]; nothing is ever omitted silently, so
//! [`AppliedLayers`] is true of every [`SandboxChild`].
//!
//! A run that may listen can connect to ports and sockets of its own: the filter
//! notifies a thread of the parent, which makes the connection (`connect_broker`). The
//! same thread keeps runs from the [ports of Provost](ReservedPorts).
//!
//! [`Sandbox::start_standby`] starts the supervisor of the next run in advance.
//!
//! The supervisor outlives the thread that started it, but by default not the
//! process: it holds a socket to it and ends the run when the other end is closed.
#![expect(unsafe_code, reason = "the code between clone and exec needs raw system calls")]

mod connect_broker;
mod error;
mod plan;
mod raw_syscall;
mod reserved_ports;
mod sandbox;
mod seccomp;
mod spawn;
mod supervisor;

pub use error::SandboxError;
pub use plan::layers::{
    AppliedLayers, LayerSelection, OptionalLayers, PathProtection, ProcessCleanup,
};
pub use reserved_ports::ReservedPorts;
pub use sandbox::Sandbox;
pub use spawn::child_handle::{SandboxChild, SandboxExit};
pub use spawn::command::{
    FileOverride, FileRedirect, OrphanPolicy, ParentExitPolicy, ResourceLimits, SandboxCommand,
    SandboxStdio,
};
pub use spawn::early_start::EarlyStart;

#[cfg(test)]
mod tests;
