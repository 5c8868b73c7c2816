//! The process beside a project that executes permitted actions.
//!
//! Two halves in one crate, because they share one protocol: [`host`] is the
//! process per project, which owns the commands and outlives the daemon;
//! [`KernelClient`] is the daemon's connection to it, which takes a permit by value.
//! Neither decides anything: an action arrives after it was allowed, in its
//! canonical form, and is executed exactly or not at all.

mod client;
mod error;
mod file_pinning;
pub mod files;
mod frame_sender;
pub mod host;
mod kernel_dir;
pub mod quarantine;
mod root_project_files;
pub mod run_homes;
mod socket_writer;
mod wire;

pub use client::cached_reader::CachedReader;
pub use client::kernel_client::{
    DaemonSettings, ExecuteLimits, KernelClient, KernelError, ReportReceiver,
};
pub use client::terminal_client::{
    TerminalAttachOptions, TerminalAttachment, TerminalReader, TerminalWriter, attach_terminal,
};
pub use error::ActionError;
pub use file_pinning::{PinnedFileState, pin_file};
pub use kernel_dir::KernelDir;
pub use root_project_files::RootProjectFiles;
