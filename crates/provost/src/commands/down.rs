//! `provost down`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use reqwest::Method;

use crate::client::Client;
use crate::config::Config;
use crate::daemon::folder::Folder;
use crate::output::line;

/// How long a daemon may take to end.
const END: Duration = Duration::from_secs(15);

/// How often to look whether it has.
const LOOK: Duration = Duration::from_millis(15);

pub(crate) async fn run(keep: bool, config: &Config) -> anyhow::Result<ExitCode> {
    let folder = Folder::at(&config.data.value);
    let Some(pid) = folder.holder() else {
        line("No daemon is running.")?;
        return Ok(ExitCode::SUCCESS);
    };
    let asked = match Client::find(config)? {
        Some(client) => {
            client.tell(Method::POST, &format!("/api/shutdown?keep={keep}")).await.is_ok()
        }
        None => false,
    };
    // It holds the lock, so the pid is its own; a signal ends it as well.
    let process = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if !asked && let Some(process) = process {
        rustix::process::kill_process(process, rustix::process::Signal::TERM)?;
    }
    let began = Instant::now();
    while folder.holder() == Some(pid) {
        if began.elapsed() > END {
            bail!("the daemon (pid {pid}) does not end\nhint: look at it, then `kill -9 {pid}`");
        }
        tokio::time::sleep(LOOK).await;
    }
    line(&format!("The daemon (pid {pid}) has stopped."))?;
    Ok(ExitCode::SUCCESS)
}
