//! Confinement of child processes, and file access that cannot leave a directory.
//!
//! This crate turns a decision that was made elsewhere into a confined child process
//! or a file operation that cannot leave its root. It is mechanism only: it never
//! decides whether something may run, reads no configuration and no environment, and
//! keeps no log. It is the only crate that starts processes and the only one with
//! `unsafe`.

pub mod cgroup;
pub mod confine;
pub mod environment;
pub mod launch;
pub mod listening_ports;
pub mod memory_trim;
mod own_home;
pub mod probe;
pub mod pty;
pub mod root_dir;
pub mod sandbox_policy;
