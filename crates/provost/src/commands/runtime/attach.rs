//! `provost attach`: shows the project's terminal in the current terminal.
//!
//! It uses the alternate screen, as an editor does, and restores the window at the
//! end. When the connection to the daemon is lost it reconnects and continues at the
//! same offset: the terminal itself is in the project's kernel.

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
use terminal_connection::{AttachDisplay, AttachOutcome, ConnectOptions, TerminalConnection};

/// How long to try to reconnect.
const RECONNECT_TIMEOUT: Duration = Duration::from_mins(5);

/// Status line while reconnecting.
const RECONNECTING_STATUS: &str = " connection lost; reconnecting… input is discarded ";

/// An offset beyond any output requests a snapshot of the current screen.
const SNAPSHOT_OFFSET: u64 = u64::MAX;

/// Interval between attempts to reconnect.
const RECONNECT_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Signals to handle: resize, and those that end the command after the window is restored.
struct AttachSignals {
    resized: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// The terminal to attach to, and how to find the daemon again.
struct AttachTarget<'a> {
    client: DaemonClient,
    project: Project,
    config: &'a Config,
}

pub(crate) async fn run(named: Option<&str>, config: &Config) -> anyhow::Result<ExitCode> {
    if !RawTerminal::is_available() {
        bail!(
            "`provost attach` must run in a terminal\n\
             hint: scripts use `provost do pty.read` and `provost do pty.write text=…`"
        );
    }
    let client = DaemonClient::connect(config)?;
    let project = lookup::resolve_project(named, &client).await?;
    let signals = AttachSignals {
        resized: signal(SignalKind::window_change())?,
        terminate: signal(SignalKind::terminate())?,
        hangup: signal(SignalKind::hangup())?,
    };
    // Errors of the first connection are printed before the screen is switched.
    let options = ConnectOptions { after: None, size: RawTerminal::size()? };
    let first = TerminalConnection::connect(&client, &project, options).await?;
    let mut window = RawTerminal::enter()?;
    let target = AttachTarget { client, project, config };
    let ended = run_with_reconnect(first, target, &mut window, signals).await;
    drop(window);
    match ended? {
        AttachOutcome::Detached => {
            print_line("detached; the terminal keeps running, `provost attach` attaches again")?;
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

/// Runs the connection, and reconnects when it is lost.
async fn run_with_reconnect(
    first: TerminalConnection,
    mut target: AttachTarget<'_>,
    window: &mut RawTerminal,
    mut signals: AttachSignals,
) -> anyhow::Result<AttachOutcome> {
    let (mut keyboard, mut filter) = (KeyReader::spawn(), EscapeSequenceFilter::default());
    let mut session = first;
    loop {
        let mut display = AttachDisplay { window, filter: &mut filter };
        let outcome = tokio::select! {
            outcome = session.run(&mut display, &mut keyboard, &mut signals.resized) => outcome?,
            _ = signals.terminate.recv() => AttachOutcome::Detached,
            _ = signals.hangup.recv() => AttachOutcome::Detached,
        };
        let mut after = match outcome {
            AttachOutcome::Redraw => SNAPSHOT_OFFSET,
            AttachOutcome::Disconnected => session.drawn_offset(),
            AttachOutcome::Detached | AttachOutcome::Exited { .. } | AttachOutcome::Failed(_) => {
                return Ok(outcome);
            }
        };
        let (began, mut status_drawn) = (Instant::now(), false);
        session = loop {
            let options = ConnectOptions { after: Some(after), size: RawTerminal::size()? };
            match TerminalConnection::connect(&target.client, &target.project, options).await {
                Ok(session) => break session,
                Err(error) if error.is::<RequestRejected>() => return Err(error),
                Err(error) if began.elapsed() > RECONNECT_TIMEOUT => {
                    return Err(error).context("could not reconnect to the daemon");
                }
                // Drawn once; the snapshot after it replaces the whole screen.
                Err(_) if !status_drawn => {
                    window.draw_status_line(RECONNECTING_STATUS)?;
                    (after, status_drawn) = (SNAPSHOT_OFFSET, true);
                }
                Err(_) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(RECONNECT_POLL_INTERVAL) => {}
                detached = keyboard.discard_next() => if detached { return Ok(AttachOutcome::Detached) },
                _ = signals.terminate.recv() => return Ok(AttachOutcome::Detached),
                _ = signals.hangup.recv() => return Ok(AttachOutcome::Detached),
            }
            // The new daemon may listen on another address.
            if let Ok(Some(found)) = DaemonClient::connect_if_running(target.config) {
                target.client = found;
            }
        };
    }
}
