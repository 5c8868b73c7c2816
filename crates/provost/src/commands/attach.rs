//! `provost attach`: the project's terminal in the terminal one is in.
//!
//! It takes the whole window, as an editor does, and gives it back as it was.
//! When the daemon goes away it waits for it and goes on where it was: the
//! terminal itself lives in the project's kernel.

mod filter;
mod keys;
mod session;
mod window;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use provost_proto::Project;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::place;
use crate::client::{Client, Refused};
use crate::config::Config;
use crate::output::line;
use filter::Filter;
use keys::Keyboard;
use session::{Outcome, Session};
use window::Window;

/// How long to wait for a daemon that went away.
const PATIENCE: Duration = Duration::from_mins(5);

/// What is said meanwhile.
const GONE: &str = " the daemon is gone; reconnecting… what you type now goes nowhere ";

/// Further than there is anything: what it looks like now.
const ANEW: u64 = u64::MAX;

/// How often to look for it.
const LOOK: Duration = Duration::from_millis(200);

/// Signals that end us; the window is given back first.
struct Signals {
    resized: Signal,
    ended: Signal,
    hung_up: Signal,
}

/// How to get to the terminal.
struct Way<'a> {
    client: Client,
    project: Project,
    config: &'a Config,
}

pub(crate) async fn run(named: Option<&str>, config: &Config) -> anyhow::Result<ExitCode> {
    if !Window::is_there() {
        bail!(
            "`provost attach` needs a terminal to show the project's terminal in\n\
             hint: scripts read and type with `provost do pty.read` and `provost do pty.write text=…`"
        );
    }
    let client = Client::connect(config)?;
    let project = place::project(named, &client).await?;
    let signals = Signals {
        resized: signal(SignalKind::window_change())?,
        ended: signal(SignalKind::terminate())?,
        hung_up: signal(SignalKind::hangup())?,
    };
    // The first time whatever is wrong is told on the screen as it is.
    let first = Session::connect(&client, &project, None, Window::size()?).await?;
    let mut window = Window::take()?;
    let way = Way { client, project, config };
    let ended = follow(first, way, &mut window, signals).await;
    drop(window);
    match ended? {
        Outcome::Detached => {
            line("detached; the terminal goes on, and `provost attach` comes back to it")?;
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Exited { exit_code, signal } => {
            let code = exit_code.or_else(|| signal.map(|signal| 128 + signal)).unwrap_or(1);
            Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)))
        }
        Outcome::Wrong(message) => bail!("{message}"),
        Outcome::Lost | Outcome::Redraw => bail!("the connection to the terminal was lost"),
    }
}

/// Stays with the terminal, whatever happens to the daemon.
async fn follow(
    first: Session,
    mut way: Way<'_>,
    window: &mut Window,
    mut signals: Signals,
) -> anyhow::Result<Outcome> {
    let (mut keyboard, mut filter) = (Keyboard::start(), Filter::default());
    let mut session = first;
    loop {
        let outcome = tokio::select! {
            outcome = session.run(window, &mut keyboard, &mut filter, &mut signals.resized) => outcome?,
            _ = signals.ended.recv() => Outcome::Detached,
            _ = signals.hung_up.recv() => Outcome::Detached,
        };
        let mut after = match outcome {
            Outcome::Redraw => ANEW,
            Outcome::Lost => session.at(),
            Outcome::Detached | Outcome::Exited { .. } | Outcome::Wrong(_) => return Ok(outcome),
        };
        let (began, mut told) = (Instant::now(), false);
        session = loop {
            let size = Window::size()?;
            match Session::connect(&way.client, &way.project, Some(after), size).await {
                Ok(session) => break session,
                Err(error) if error.is::<Refused>() => return Err(error),
                Err(error) if began.elapsed() > PATIENCE => {
                    return Err(error).context("the daemon did not come back");
                }
                // Told once; what is drawn over is drawn anew.
                Err(_) if !told => {
                    window.note(GONE)?;
                    (after, told) = (ANEW, true);
                }
                Err(_) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                detached = keyboard.detached() => if detached { return Ok(Outcome::Detached) },
                _ = signals.ended.recv() => return Ok(Outcome::Detached),
                _ = signals.hung_up.recv() => return Ok(Outcome::Detached),
            }
            // It may come back elsewhere.
            if let Ok(Some(found)) = Client::find(way.config) {
                way.client = found;
            }
        };
    }
}
