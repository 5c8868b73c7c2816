//! The decisions of a project's runtime.
//!
//! [`state_machine`] is driven by the kernel; [`plan`] decides what to run; [`build_diagnostics`]
//! and [`local_address`] parse the output of tools.

pub mod ansi;
pub mod build_diagnostics;
pub mod local_address;
pub mod plan;
pub mod state_machine;
