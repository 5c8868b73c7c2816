//! Arguments of the commands for a project's runtime.

use std::path::PathBuf;

use clap::Args;

use super::JsonArgs;

/// The project of a runtime command.
#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    /// The project: id or short name; default: the project of the current folder.
    #[arg(value_name = "PROJECT")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) which: ProjectArgs,
    /// Print the output until it exits or you press Ctrl-C, which leaves it running.
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    pub(crate) which: ProjectArgs,
    /// Milliseconds the processes have to exit before they are killed.
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    pub(crate) grace: u64,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) which: ProjectArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) which: ProjectArgs,
    /// Keep printing new output.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Start after this byte offset.
    #[arg(long, value_name = "BYTE", default_value_t = 0)]
    pub(crate) after: u64,
}

#[derive(Debug, Args)]
pub(crate) struct PreviewArgs {
    #[command(flatten)]
    pub(crate) which: ProjectArgs,
    /// Open this port instead of the preview's.
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Only print the URL.
    #[arg(long)]
    pub(crate) no_open: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StaticArgs {
    /// The port; 0 for any free one.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// The folder.
    pub(crate) root: PathBuf,
}
