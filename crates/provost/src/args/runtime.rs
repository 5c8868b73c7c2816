//! The arguments of running a project.

use std::path::PathBuf;

use clap::Args;

use super::JsonArgs;

/// Which project.
#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    /// The project: id or short name; that of the current folder if left out.
    #[arg(value_name = "PROJECT")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) which: ProjectArgs,
    /// Show what it prints, until it ends or you press Ctrl-C; it runs on.
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    pub(crate) which: ProjectArgs,
    /// How long it may take to end by itself, in milliseconds.
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
    /// Go on printing as it is printed.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only what came after this byte.
    #[arg(long, value_name = "BYTE", default_value_t = 0)]
    pub(crate) after: u64,
}

#[derive(Debug, Args)]
pub(crate) struct PreviewArgs {
    #[command(flatten)]
    pub(crate) which: ProjectArgs,
    /// Another port of the project than the preview's.
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Only print the address.
    #[arg(long)]
    pub(crate) no_open: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StaticArgs {
    /// The port; any free one if it is 0.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// The folder.
    pub(crate) root: PathBuf,
}
