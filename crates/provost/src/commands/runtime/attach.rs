//! `provost attach`: the project's terminal in the terminal one is in.
//!
//! It takes the whole window, as an editor does, and gives it back as it was.
//! When the daemon goes away it waits for it and goes on where it was: the
//! terminal itself lives in the project's kernel.

mod escape_filter;
mod key_reader;
mod raw_terminal;
mod terminal_connection;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use provost_proto::Project;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::client::{DaemonClient, RequestRejected};
use crate::commands::lookup;
use crate::config::Config;
use crate::output::print_line;
use escape_filter::EscapeSequenceFilter;
use key_reader::KeyReader;
use raw_terminal::RawTerminal;
use terminal_connection::{AttachOutcome, TerminalConnection};

/// How long to wait for a daemon that went away.
const RECONNECT_TIMEOUT: Duration = Duration::from_mins(5);

/// What is said meanwhile.
const RECONNECTING_STATUS: &str =
    " the daemon is gone; reconnecting… what you type now goes nowhere ";

/// Further than there is anything: what it looks like now.
const SNAPSHOT_OFFSET: u64 = u64::MAX;

/// How often to look for it.
const RECONNECT_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Signals that end us; the window is given back first.
struct AttachSignals {
    resized: Signal,
    ended: Signal,
    hung_up: Signal,
}

/// How to get to the terminal.
struct AttachTarget<'a> {
    client: DaemonClient,
    project: Project,
    config: &'a Config,
}

pub(crate) async fn run(named: Option<&str>, config: &Config) -> anyhow::Result<ExitCode> {
    if !RawTerminal::is_available() {
        bail!(
            "`provost attach` needs a terminal to show the project's terminal in\n\
             hint: scripts read and type with `provost do pty.read` and `provost do pty.write text=…`"
        );
    }
    let client = DaemonClient::connect(config)?;
    let project = lookup::resolve_project(named, &client).await?;
    let signals = AttachSignals {
        resized: signal(SignalKind::window_change())?,
        ended: signal(SignalKind::terminate())?,
        hung_up: signal(SignalKind::hangup())?,
    };
    // The first time whatever is wrong is told on the screen as it is.
    let first = TerminalConnection::connect(&client, &project, None, RawTerminal::size()?).await?;
    let mut window = RawTerminal::enter()?;
    let way = AttachTarget { client, project, config };
    let ended = run_with_reconnect(first, way, &mut window, signals).await;
    drop(window);
    match ended? {
        AttachOutcome::Detached => {
            print_line("detached; the terminal goes on, and `provost attach` comes back to it")?;
            Ok(ExitCode::SUCCESS)
        }
        AttachOutcome::Exited { exit_code, signal } => {
            let code = exit_code.or_else(|| signal.map(|signal| 128 + signal)).unwrap_or(1);
            Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)))
        }
        AttachOutcome::Failed(message) => bail!("{message}"),
        AttachOutcome::Disconnected | AttachOutcome::Redraw => {
            bail!("the connection to the terminal was lost")
        }
    }
}

/// Stays with the terminal, whatever happens to the daemon.
async fn run_with_reconnect(
    first: TerminalConnection,
    mut way: AttachTarget<'_>,
    window: &mut RawTerminal,
    mut signals: AttachSignals,
) -> anyhow::Result<AttachOutcome> {
    let (mut keyboard, mut filter) = (KeyReader::spawn(), EscapeSequenceFilter::default());
    let mut session = first;
    loop {
        let outcome = tokio::select! {
            outcome = session.run(window, &mut keyboard, &mut filter, &mut signals.resized) => outcome?,
            _ = signals.ended.recv() => AttachOutcome::Detached,
            _ = signals.hung_up.recv() => AttachOutcome::Detached,
        };
        let mut after = match outcome {
            AttachOutcome::Redraw => SNAPSHOT_OFFSET,
            AttachOutcome::Disconnected => session.drawn_offset(),
            AttachOutcome::Detached | AttachOutcome::Exited { .. } | AttachOutcome::Failed(_) => {
                return Ok(outcome);
            }
        };
        let (began, mut told) = (Instant::now(), false);
        session = loop {
            let size = RawTerminal::size()?;
            match TerminalConnection::connect(&way.client, &way.project, Some(after), size).await {
                Ok(session) => break session,
                Err(error) if error.is::<RequestRejected>() => return Err(error),
                Err(error) if began.elapsed() > RECONNECT_TIMEOUT => {
                    return Err(error).context("the daemon did not come back");
                }
                // Told once; what is drawn over is drawn anew.
                Err(_) if !told => {
                    window.draw_status_line(RECONNECTING_STATUS)?;
                    (after, told) = (SNAPSHOT_OFFSET, true);
                }
                Err(_) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(RECONNECT_POLL_INTERVAL) => {}
                detached = keyboard.discard_next() => if detached { return Ok(AttachOutcome::Detached) },
                _ = signals.ended.recv() => return Ok(AttachOutcome::Detached),
                _ = signals.hung_up.recv() => return Ok(AttachOutcome::Detached),
            }
            // It may come back elsewhere.
            if let Ok(Some(found)) = DaemonClient::connect_if_running(way.config) {
                way.client = found;
            }
        };
    }
}
