//! Arguments of the commands for the daemon and a project's kernel.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// The folder to open; default: the current folder.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Do not open a browser.
    #[arg(long)]
    pub(crate) no_open: bool,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct ServeArgs {
    /// Address to listen on [env: `PROVOST_LISTEN`] [default: 127.0.0.1:3001].
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Additional host name that requests may use; required to listen beyond loopback
    /// [env: `PROVOST_ALLOW_HOSTS`].
    #[arg(long = "allow-host", value_name = "NAME", value_delimiter = ',')]
    pub(crate) allow_hosts: Option<Vec<String>>,
    /// First port of a range that gives each project's preview its own origin, for
    /// browsers that do not resolve `*.localhost` [env: `PROVOST_PREVIEW_PORT`].
    #[arg(long, value_name = "N")]
    pub(crate) preview_port: Option<u16>,
    /// Log filter: a level, or `module=level` pairs [env: `PROVOST_LOG`] [default: info].
    #[arg(long, value_name = "FILTER")]
    pub(crate) log: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    /// Directory with the socket and the lock.
    #[arg(long = "place", value_name = "PLACE")]
    pub(crate) kernel_dir: PathBuf,
    /// The project's folder.
    #[arg(long)]
    pub(crate) project: PathBuf,
    /// The user's home folder.
    #[arg(long)]
    pub(crate) home: PathBuf,
    /// The umask of commands.
    #[arg(long)]
    pub(crate) umask: u32,
    /// Seconds without a daemon and without work after which the kernel exits.
    #[arg(long)]
    pub(crate) idle_seconds: u64,
}
