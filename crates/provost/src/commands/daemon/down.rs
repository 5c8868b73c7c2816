//! `provost down`: stops the daemon.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use reqwest::Method;

use crate::client::DaemonClient;
use crate::config::Config;
use crate::daemon::data_folder::DataFolder;
use crate::output::print_line;

/// Limit for the daemon to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// Interval between checks whether it has stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(15);

pub(crate) async fn run(keep: bool, config: &Config) -> anyhow::Result<ExitCode> {
    let folder = DataFolder::from_path(&config.data.value);
    let Some(pid) = folder.lock_holder() else {
        print_line("No daemon is running.")?;
        return Ok(ExitCode::SUCCESS);
    };
    let requested = match DaemonClient::connect_if_running(config)? {
        Some(client) => client
            .send_no_content(Method::POST, &format!("/api/shutdown?keep={keep}"))
            .await
            .is_ok(),
        None => false,
    };
    // The process holds the lock, so the pid is the daemon's: a signal cannot hit another.
    let process = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if !requested && let Some(process) = process {
        rustix::process::kill_process(process, rustix::process::Signal::TERM)?;
    }
    let began = Instant::now();
    while folder.lock_holder() == Some(pid) {
        if began.elapsed() > STOP_TIMEOUT {
            bail!("the daemon (pid {pid}) does not stop\nhint: check it, then `kill -9 {pid}`");
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    print_line(&format!("The daemon (pid {pid}) has stopped."))?;
    Ok(ExitCode::SUCCESS)
}
