//! `provost up`: starts the daemon, opens a project, prints a login link.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use provost_proto::{Health, LoginLink, OpenProjectRequest, Project};
use provost_sandbox::launch;

use crate::args::UpArgs;
use crate::client::DaemonClient;
use crate::config::{Config, ConfigSource};
use crate::daemon::data_folder::DataFolder;
use crate::output::{bold, faint, print_line, print_stderr, sanitize_text};

/// Limit for the first response of a new daemon.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Interval between checks for a response.
const POLL_INTERVAL: Duration = Duration::from_millis(15);

/// A larger log of a background daemon is rotated at start.
const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;

pub(crate) async fn run(args: UpArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let path = std::path::absolute(args.path.as_deref().unwrap_or(Path::new(".")))?;
    let client = match DaemonClient::connect_if_running(config)? {
        // A daemon that is being killed still holds the lock, but does not respond.
        Some(client) if client.get::<Health>("/api/health").await.is_ok() => client,
        Some(_) | None => start_daemon(config).await?,
    };
    let address = client.url("");
    print_line(&format!(
        "Provost is running on {address} {}",
        faint(&format!("(pid {})", client.running.pid))
    ))?;

    let path = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    let project: anyhow::Result<Project> =
        client.post("/api/projects", &OpenProjectRequest { path: path.to_owned() }).await;
    // The daemon runs even if the folder cannot be opened, so the link is printed either way.
    if let Ok(project) = &project {
        let name = bold(&sanitize_text(&project.slug));
        print_line(&format!("Project {name} is open: {}", sanitize_text(&project.path)))?;
    }
    let shown = project.as_ref().map(|project| format!("?project={}", project.id.uuid()));
    let path = format!("/api/login-links{}", shown.unwrap_or_default());
    let link: LoginLink = client.post(&path, &serde_json::json!({})).await?;
    let url = client.url(&link.path);
    print_line(&format!(
        "Log in: {} {}",
        bold(&url),
        faint(&format!("(valid once, for {} minutes)", link.minutes))
    ))?;
    if !args.no_open && config.browser.display {
        let page = DataFolder::from_path(&config.data.value).write_login_page(&url)?;
        let opened = launch::open_in_browser(&page, config.browser.preferred.as_deref());
        if let Err(error) = opened {
            print_stderr(&format!("Cannot open a browser ({error}); open the link yourself."));
        }
    }
    print_line(&faint("`provost down` stops the daemon."))?;
    project?;
    Ok(ExitCode::SUCCESS)
}

/// Starts a daemon in the background and waits until it responds.
pub(crate) async fn start_daemon(config: &Config) -> anyhow::Result<DaemonClient> {
    let folder = DataFolder::create(&config.data.value)?;
    let log = folder.daemon_log_path();
    if fs::metadata(&log).is_ok_and(|log| log.len() > MAX_LOG_BYTES) {
        fs::rename(&log, log.with_extension("log.old"))
            .with_context(|| format!("cannot rotate {}", log.display()))?;
    }
    let log_start = fs::metadata(&log).map_or(0, |log| log.len());
    let program = std::env::current_exe().context("cannot find the path of the provost program")?;
    let pid = launch::spawn_detached(&program, &build_serve_args(config, &folder), &log, &[])
        .with_context(|| format!("cannot start the daemon with {} as its log", log.display()))?;
    let began = Instant::now();
    loop {
        if let Some(client) = DaemonClient::connect_if_running(config)?
            && client.get::<Health>("/api/health").await.is_ok()
        {
            return Ok(client);
        }
        if has_process_ended(pid) {
            let logged = read_log_since(&log, log_start);
            let logged = logged.with_context(|| format!("cannot read {}", log.display()))?;
            if logged.is_empty() {
                bail!(
                    "the daemon exited immediately, and its log {} is empty; the disk may be \
                     full\nhint: `provost serve` runs it in the foreground",
                    log.display()
                );
            }
            bail!("the daemon exited immediately; its log says:\n{logged}");
        }
        if began.elapsed() > START_TIMEOUT {
            bail!("the daemon (pid {pid}) does not respond; see {}", log.display());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Whether the process has ended. A zombie counts as ended: in a container, the first
/// process may not reap it.
fn has_process_ended(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('Z' | 'X'))
}

fn build_serve_args(config: &Config, folder: &DataFolder) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["serve".into(), "--data".into(), folder.path().into()];
    if config.listen.source == ConfigSource::Flag {
        args.extend(["--listen".into(), config.listen.value.to_string().into()]);
    }
    if config.preview_port.source == ConfigSource::Flag
        && let Some(port) = config.preview_port.value
    {
        args.extend(["--preview-port".into(), port.to_string().into()]);
    }
    if config.allow_hosts.source == ConfigSource::Flag {
        for host in &config.allow_hosts.value {
            args.extend(["--allow-host".into(), host.into()]);
        }
    }
    if config.log.source == ConfigSource::Flag {
        args.extend(["--log".into(), config.log.value.clone().into()]);
    }
    args
}

/// What was appended to the log after this offset.
fn read_log_since(log: &Path, offset: u64) -> io::Result<String> {
    let text = fs::read(log)?;
    let new = text.get(usize::try_from(offset).unwrap_or(0)..).unwrap_or(&text);
    Ok(String::from_utf8_lossy(new).trim_end().to_owned())
}
