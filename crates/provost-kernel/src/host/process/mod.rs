//! Commands and background processes of agents.
//!
//! [`command_runner`] starts them in a sandbox, [`process_table`] knows those
//! that run, and [`process_handle`] supervises one from its start to its exit.

mod change_observer;
pub(super) mod command_runner;
mod denial_hint;
pub(super) mod disk_space;
pub(super) mod head_tail_buffer;
pub(super) mod output_reader;
pub(super) mod path_holds;
pub(super) mod process_handle;
mod process_table;
mod project_sandboxes;
pub(super) mod set_aside;
mod standby_sandbox;

pub(super) use project_sandboxes::action_error_from_sandbox;
