//! Arguments of the commands for the daemon and a project's kernel.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// The folder to open; the current one if left out.
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
    /// Where to listen [env: `PROVOST_LISTEN`] [default: 127.0.0.1:3001].
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// A further name under which Provost may be called; needed beyond loopback
    /// [env: `PROVOST_ALLOW_HOSTS`].
    #[arg(long = "allow-host", value_name = "NAME", value_delimiter = ',')]
    pub(crate) allow_hosts: Option<Vec<String>>,
    /// The first of the ports on which each project's preview has an origin of its
    /// own, for browsers that do not know `*.localhost` [env: `PROVOST_PREVIEW_PORT`].
    #[arg(long, value_name = "N")]
    pub(crate) preview_port: Option<u16>,
    /// What to log: a level, or `module=level` pairs [env: `PROVOST_LOG`] [default: info].
    #[arg(long, value_name = "FILTER")]
    pub(crate) log: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    /// Where it meets the daemon.
    #[arg(long)]
    pub(crate) place: PathBuf,
    /// The project's folder.
    #[arg(long)]
    pub(crate) project: PathBuf,
    /// The person's home.
    #[arg(long)]
    pub(crate) home: PathBuf,
    /// What commands leave out of the permissions of what they make.
    #[arg(long)]
    pub(crate) umask: u32,
    /// How long it waits for a daemon while nothing runs.
    #[arg(long)]
    pub(crate) idle_seconds: u64,
}
