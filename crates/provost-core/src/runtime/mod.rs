//! What a project runs, as far as it can be decided without doing anything.
//!
//! [`step`] is the state machine that the kernel drives; [`plan`] says what to
//! run; [`errors`] and [`address`] read what tools print.

pub mod ansi;
pub mod build_diagnostics;
pub mod local_address;
pub mod plan;
pub mod state_machine;
