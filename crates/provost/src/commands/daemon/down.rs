//! `provost down`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use reqwest::Method;

use crate::client::DaemonClient;
use crate::config::Config;
use crate::daemon::data_folder::DataFolder;
use crate::output::print_line;

/// How long a daemon may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// How often to look whether it has.
const POLL_INTERVAL: Duration = Duration::from_millis(15);

pub(crate) async fn run(keep: bool, config: &Config) -> anyhow::Result<ExitCode> {
    let folder = DataFolder::from_path(&config.data.value);
    let Some(pid) = folder.lock_holder() else {
        print_line("No daemon is running.")?;
        return Ok(ExitCode::SUCCESS);
    };
    let asked = match DaemonClient::connect_if_running(config)? {
        Some(client) => client
            .send_no_content(Method::POST, &format!("/api/shutdown?keep={keep}"))
            .await
            .is_ok(),
        None => false,
    };
    // It holds the lock, so the pid is its own; a signal ends it as well.
    let process = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if !asked && let Some(process) = process {
        rustix::process::kill_process(process, rustix::process::Signal::TERM)?;
    }
    let began = Instant::now();
    while folder.lock_holder() == Some(pid) {
        if began.elapsed() > STOP_TIMEOUT {
            bail!("the daemon (pid {pid}) does not end\nhint: look at it, then `kill -9 {pid}`");
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    print_line(&format!("The daemon (pid {pid}) has stopped."))?;
    Ok(ExitCode::SUCCESS)
}
