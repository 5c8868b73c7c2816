//! `provost up`: from nothing to a page in the browser.

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

/// How long a daemon may take to answer for the first time.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// How often to look whether it does.
const POLL_INTERVAL: Duration = Duration::from_millis(15);

/// A log of a daemon in the background that is larger is begun anew.
const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;

pub(crate) async fn run(args: UpArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let path = std::path::absolute(args.path.as_deref().unwrap_or(Path::new(".")))?;
    let client = match DaemonClient::connect_if_running(config)? {
        // One that is being killed still has the folder, but answers no more.
        Some(client) if client.get::<Health>("/api/health").await.is_ok() => client,
        Some(_) | None => start_daemon(config).await?,
    };
    let address = client.url("");
    print_line(&format!(
        "Provost runs on {address} {}",
        faint(&format!("(pid {})", client.running.pid))
    ))?;

    let path = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    let project: anyhow::Result<Project> =
        client.post("/api/projects", &OpenProjectRequest { path: path.to_owned() }).await;
    // The daemon is up even if the folder is unfit, so the link is shown either way.
    if let Ok(project) = &project {
        let name = bold(&sanitize_text(&project.slug));
        print_line(&format!("Project {name} is open: {}", sanitize_text(&project.path)))?;
    }
    let link: LoginLink = client.post("/api/login-links", &serde_json::json!({})).await?;
    let url = client.url(&link.path);
    print_line(&format!(
        "Log in: {} {}",
        bold(&url),
        faint(&format!("(works once, for {} minutes)", link.minutes))
    ))?;
    if !args.no_open && config.browser.display {
        let page = DataFolder::from_path(&config.data.value).write_login_page(&url)?;
        let opened = launch::open_in_browser(&page, config.browser.preferred.as_deref());
        if let Err(error) = opened {
            print_stderr(&format!("No browser could be opened ({error}); open the link by hand."));
        }
    }
    print_line(&faint("Stop it with `provost down`."))?;
    project?;
    Ok(ExitCode::SUCCESS)
}

/// Starts a daemon in the background and waits until it answers.
pub(crate) async fn start_daemon(config: &Config) -> anyhow::Result<DaemonClient> {
    let folder = DataFolder::create(&config.data.value)?;
    let log = folder.daemon_log_path();
    if fs::metadata(&log).is_ok_and(|log| log.len() > MAX_LOG_BYTES) {
        fs::rename(&log, log.with_extension("log.old"))
            .with_context(|| format!("cannot put {} aside", log.display()))?;
    }
    let from = fs::metadata(&log).map_or(0, |log| log.len());
    let program = std::env::current_exe().context("cannot find my own program file")?;
    let pid = launch::spawn_detached(&program, &build_serve_args(config, &folder), &log, &[])
        .with_context(|| format!("cannot start the daemon, with {} as its log", log.display()))?;
    let began = Instant::now();
    loop {
        if let Some(client) = DaemonClient::connect_if_running(config)?
            && client.get::<Health>("/api/health").await.is_ok()
        {
            return Ok(client);
        }
        if has_process_ended(pid) {
            let said = read_log_since(&log, from);
            let said = said.with_context(|| format!("cannot read {}", log.display()))?;
            if said.is_empty() {
                bail!(
                    "the daemon ended at once, and nothing of what it said could be written to \
                     {}; the disk may be full\nhint: `provost serve` runs it here, where it can \
                     be heard",
                    log.display()
                );
            }
            bail!("the daemon ended at once; it said:\n{said}");
        }
        if began.elapsed() > START_TIMEOUT {
            bail!("the daemon (pid {pid}) does not answer; see {}", log.display());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Whether the process has ended. One that nobody reaps, as in a container whose
/// first process does not, has ended too.
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

/// What was written to the log since we looked.
fn read_log_since(log: &Path, from: u64) -> io::Result<String> {
    let text = fs::read(log)?;
    let new = text.get(usize::try_from(from).unwrap_or(0)..).unwrap_or(&text);
    Ok(String::from_utf8_lossy(new).trim_end().to_owned())
}
