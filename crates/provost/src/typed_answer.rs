//! When typed input may count as an answer to an approval.
//!
//! What was typed before a person could read the approval was meant for something else. So an
//! approval accepts an answer only after it was shown for a moment, and what was typed until
//! then is discarded.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use provost_proto::Approval;
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

/// How long an approval is shown before it accepts an answer, as in the web UI.
pub(crate) const MIN_SHOWN_TIME: Duration = Duration::from_millis(500);

/// The word that allows what is behind a hard gate. A key that is typed by habit does not.
pub(crate) const HARD_GATE_WORD: &str = "dangerous";

/// Whether only [`HARD_GATE_WORD`] allows this.
pub(crate) fn has_hard_gate(approval: &Approval) -> bool {
    approval.question.gate.is_some()
}

/// A line, and when it was typed.
#[derive(Debug)]
pub(crate) struct TypedLine {
    pub(crate) text: String,
    /// When the line was read.
    pub(crate) at: Instant,
}

/// Reads lines in a thread that ends with the process: a blocking read of a terminal cannot
/// be cancelled. A full channel stops the reader.
pub(crate) fn spawn_line_reader(capacity: usize) -> mpsc::Receiver<TypedLine> {
    let (to, lines) = mpsc::channel(capacity);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut line = String::new();
        while stdin.read_line(&mut line).is_ok_and(|n_read| n_read > 0) {
            let typed = TypedLine { text: std::mem::take(&mut line), at: Instant::now() };
            if to.blocking_send(typed).is_err() {
                return;
            }
        }
    });
    lines
}

/// Discards what was typed and not read yet, also a line that is not complete.
pub(crate) fn discard_typed_input() -> anyhow::Result<()> {
    if io::stdin().is_terminal() {
        let flushed = tcflush(io::stdin(), QueueSelector::IFlush);
        flushed.map_err(io::Error::from).context("cannot flush the input of the terminal")?;
    }
    Ok(())
}

/// Whether the approval that is shown accepts an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AnswerWindow {
    /// No approval is shown.
    Closed,
    /// Shown since then; no answer is accepted yet.
    Shown(Instant),
    /// Accepts an answer since then.
    Accepting(Instant),
}

impl AnswerWindow {
    /// Whether a line typed at that time can be an answer.
    pub(crate) fn accepts_line_at(self, at: Instant) -> bool {
        match self {
            Self::Closed | Self::Shown(_) => false,
            Self::Accepting(since) => at >= since,
        }
    }

    /// Resolves when the approval was shown for [`MIN_SHOWN_TIME`] and accepts no answer yet.
    pub(crate) async fn wait_until_answerable(self) {
        match self {
            Self::Shown(since) => tokio::time::sleep_until((since + MIN_SHOWN_TIME).into()).await,
            Self::Closed | Self::Accepting(_) => std::future::pending::<()>().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_input_after_the_minimum_time_is_an_answer() {
        let shown = Instant::now();
        let accepting = shown + MIN_SHOWN_TIME;
        for (window, at, accepts) in [
            (AnswerWindow::Closed, shown, false),
            (AnswerWindow::Shown(shown), accepting, false),
            (AnswerWindow::Accepting(accepting), shown, false),
            (AnswerWindow::Accepting(accepting), accepting, true),
            (AnswerWindow::Accepting(accepting), accepting + MIN_SHOWN_TIME, true),
        ] {
            assert_eq!(window.accepts_line_at(at), accepts, "{window:?} {at:?}");
        }
    }
}
