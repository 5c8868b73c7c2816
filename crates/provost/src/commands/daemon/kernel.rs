//! `provost kernel`: the process of one project. Started by the daemon.

use std::process::ExitCode;
use std::time::Duration;

use provost_kernel::host::{self, HostOptions};

use crate::args::KernelArgs;
use crate::config::Config;
use crate::daemon;
use crate::memory_trim;

pub(crate) async fn run(args: KernelArgs, config: &Config) -> anyhow::Result<ExitCode> {
    daemon::init_stderr_logging(config)?;
    let KernelArgs { kernel_dir, project, home, umask, idle_seconds } = args;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
    let options = HostOptions {
        kernel_dir,
        project,
        home,
        data: config.data.value.clone(),
        environment: std::env::vars_os().collect(),
        idle: Duration::from_secs(idle_seconds),
        version: provost_server::VERSION.to_owned(),
        clock: || provost_store::Clock::system().now(),
    };
    let trim_loop = tokio::spawn(memory_trim::run_trim_loop());
    host::run(options).await?;
    trim_loop.abort();
    Ok(ExitCode::SUCCESS)
}
