//! The daemon: locks the data folder, opens the log, serves HTTP, and shuts down
//! in order.

pub(crate) mod data_folder;
mod logging;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use provost_gateway::{DaemonOwner, Gateway, GatewayConfig, RequestCredentials};
use provost_proto::{Fact, LogCursor, UnixMicros};
use provost_runner::session::Runner;
use provost_runner::telemetry::TelemetryExporter;
use provost_runtimes::LocalRuntimes;
use provost_sandbox::launch;
use provost_server::{BoundPort, PreviewPortSettings, ServedParts, ServerSettings};
use provost_store::{Clock, EventStore, SqliteStore, StoreOptions};
use rustix::fs::Mode;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::memory_trim;
use crate::output;
use data_folder::{DataFolder, RunningDaemon};
pub(crate) use logging::init_stderr_logging;

/// Runs the daemon until it is stopped.
pub(crate) async fn serve(config: Config) -> anyhow::Result<ExitCode> {
    init_stderr_logging(&config)?;
    warn_about_omitted_secrets(&config);
    // Files of the daemon are private to its owner; commands get the umask of the user.
    let umask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let folder = DataFolder::create(&config.data.value)?;
    let _lock = folder.lock()?;
    let token = folder.read_or_create_token()?;
    let clock = Clock::system();
    let port = bind_port(&config)?;
    let address = port.address();
    let previews = resolve_preview_address(&config)?;

    let options = StoreOptions { path: folder.log_path(), clock: clock.clone() };
    let store: Arc<dyn EventStore> =
        Arc::new(SqliteStore::open(options).context("cannot open the log")?);
    let owner = DaemonOwner { principal: format!("local:{}", config.user), digest: token.digest() };
    let gateway_config = GatewayConfig {
        ports: list_own_ports(address, previews),
        ..build_gateway_config(&config, &folder, &token, umask)?
    };
    let gateway = Arc::new(Gateway::open(store, clock.clone(), owner, gateway_config).await?);
    if let Err(error) = launch::protect_own_memory() {
        tracing::warn!(%error, "cannot protect the daemon's memory from other processes");
    }

    let pid = std::process::id();
    let (listen, version) = (address.to_string(), provost_server::VERSION.to_owned());
    gateway.log.record_daemon_event(Fact::DaemonStarted { pid, version, listen }).await?;
    gateway.lifecycle.resume_projects().await?;
    let start = *gateway.store().watch_head().borrow();
    let settings = config.models.build_session_settings(config.model.value.clone())?;
    let (models, prices) = (config.models.build_models()?, config.models.load_prices()?);
    let runner = Runner::open(Arc::clone(&gateway), models, prices, settings).await?;
    let runtimes = resume_runtimes(&gateway).await?;
    let stop_telemetry = CancellationToken::new();
    let telemetry = build_telemetry(&config, &runner, start)?
        .map(|exporter| tokio::spawn(exporter.run(stop_telemetry.clone().cancelled_owned())));
    let mut background = spawn_background_loops(&gateway);
    folder.write_daemon_info(&build_daemon_info(&config, address, clock.now())?)?;
    tracing::info!(%address, pid, data = %folder.path().display(), "Provost started");
    print_login_link(&gateway, &token, address)?;

    let closing = CancellationToken::new();
    let reason = tokio::spawn(wait_for_shutdown_signal(closing.clone()));
    let file = folder.path().join("previews.json");
    let previews = previews.map(|first| PreviewPortSettings { first, file });
    let (allowed_hosts, checks_responses) = (config.allow_hosts.value, config.is_test);
    let settings = ServerSettings { allowed_hosts, previews, checks_responses };
    let parts = ServedParts { runner: Arc::clone(&runner), runtimes: Arc::clone(&runtimes) };
    provost_server::serve(port, parts, settings, closing).await?;
    // Before anything that their cells wait for stops.
    runtimes.detach().await;
    let reason = reason.await.unwrap_or("asked to stop").to_owned();
    // These tasks hold the log open; it must be closed before the lock is released.
    background.shutdown().await;
    runner.stop().await;
    stop_telemetry.cancel();
    if let Some(telemetry) = telemetry {
        telemetry.await.context("the telemetry exporter failed")?;
    }
    folder.remove_daemon_info();
    gateway.log.record_daemon_event(Fact::DaemonStopped { reason }).await?;
    tracing::info!("Provost stopped");
    Ok(ExitCode::SUCCESS)
}

/// The runtimes of notebooks in this process: those of the last daemon go on.
async fn resume_runtimes(gateway: &Arc<Gateway>) -> anyhow::Result<Arc<LocalRuntimes>> {
    let runtimes = Arc::new(LocalRuntimes::new(Arc::clone(gateway), Vec::new()));
    runtimes.resume().await?;
    Ok(runtimes)
}

/// What runs beside the requests until the daemon stops.
fn spawn_background_loops(gateway: &Gateway) -> JoinSet<()> {
    let mut background = JoinSet::new();
    background.spawn(Arc::clone(&gateway.approvals).run_expiry_loop());
    background.spawn(Arc::clone(&gateway.governance).run_file_watch_loop());
    background.spawn(Arc::clone(&gateway.archive).run_archive_loop());
    background.spawn(Arc::clone(&gateway.notebooks).run_lease_loop());
    background.spawn(memory_trim::run_trim_loop());
    background
}

/// What other processes need to know of this daemon.
fn build_daemon_info(
    config: &Config,
    address: SocketAddr,
    started_at: UnixMicros,
) -> anyhow::Result<RunningDaemon> {
    Ok(RunningDaemon {
        pid: std::process::id(),
        address,
        version: provost_server::VERSION.to_owned(),
        started_at,
        config: Some(std::path::absolute(&config.file)?),
    })
}

fn warn_about_omitted_secrets(config: &Config) {
    let n = config.secrets.omitted_count();
    if n > 0 {
        tracing::warn!(n, "the environment holds more secrets than can be redacted");
    }
}

/// Paths, limits and secrets of this machine.
fn build_gateway_config(
    config: &Config,
    folder: &DataFolder,
    token: &provost_gateway::Secret,
    umask: Mode,
) -> anyhow::Result<GatewayConfig> {
    Ok(GatewayConfig {
        home: config.home.clone(),
        homes: config.passwd_home.iter().cloned().collect(),
        data: folder.path().to_owned(),
        program: std::env::current_exe().context("cannot find the path of the provost program")?,
        umask: umask.bits(),
        kernel_idle: Duration::from_secs(config.kernel_idle_minutes.value * 60),
        policy: std::path::absolute(&config.policy.value)?,
        config: std::path::absolute(&config.file)?,
        path: config.search_path(),
        secrets: config.secrets.clone().with_secret("owner's token", token.reveal()),
        approval_ttl: Duration::from_secs(config.approval_minutes.value * 60),
        log_quota: config.log_quota.to_limits()?,
        log_archive: config.log_archive.to_settings()?,
        ports: Vec::new(),
    })
}

/// The ports on which browsers look for the daemon or for a preview.
fn list_own_ports(address: SocketAddr, first_preview: Option<SocketAddr>) -> Vec<u16> {
    let previews =
        first_preview.into_iter().flat_map(|first| provost_server::preview_ports(first.port()));
    std::iter::once(address.port()).chain(previews).collect()
}

/// The exporter of session telemetry, if it is configured.
fn build_telemetry(
    config: &Config,
    runner: &Arc<Runner>,
    after: LogCursor,
) -> anyhow::Result<Option<TelemetryExporter>> {
    let Some(section) = &config.telemetry else { return Ok(None) };
    let telemetry = TelemetryExporter::new(runner, &section.to_settings(), after);
    telemetry.map(Some).with_context(|| format!("invalid [telemetry] in {}", config.file.display()))
}

/// Prints a login link on a terminal. Never to a file: a login link is a credential.
fn print_login_link(
    gateway: &Gateway,
    token: &provost_gateway::Secret,
    address: SocketAddr,
) -> anyhow::Result<()> {
    if !output::is_stdout_terminal() {
        return Ok(());
    }
    let operator =
        gateway.auth.authenticate(RequestCredentials::Header(token.reveal()))?.into_operator()?;
    let (code, minutes) = gateway.auth.create_login_code(&operator, None)?;
    output::print_line(&format!(
        "Provost is listening on http://{address}\nLog in: {} {}",
        output::bold(&format!("http://{address}/login?code={}", code.reveal())),
        output::faint(&format!("(valid once, for {minutes} minutes)")),
    ))
}

fn bind_port(config: &Config) -> anyhow::Result<BoundPort> {
    let address = config.listen.value;
    BoundPort::bind(address).with_context(|| {
        format!(
            "cannot listen on {address}; another program may be using it\n\
             hint: choose another address with --listen, or port 0 for any free one"
        )
    })
}

/// The first preview port, on the address of the daemon.
fn resolve_preview_address(config: &Config) -> anyhow::Result<Option<SocketAddr>> {
    let Some(port) = config.preview_port.value else { return Ok(None) };
    let address = SocketAddr::new(config.listen.value.ip(), port);
    if port != 0 {
        return Ok(Some(address));
    }
    // Picks a free port; it is bound again when a project needs it.
    Ok(Some(BoundPort::bind(address)?.address()))
}

async fn wait_for_shutdown_signal(closing: CancellationToken) -> &'static str {
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hang_up)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
        signal(SignalKind::hangup()),
    ) else {
        closing.cancelled().await;
        return "asked to stop";
    };
    let reason = tokio::select! {
        () = closing.cancelled() => "asked to stop",
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
        // The terminal was closed.
        _ = hang_up.recv() => "SIGHUP",
    };
    closing.cancel();
    reason
}
