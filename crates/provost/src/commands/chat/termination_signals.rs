//! Signals that end `provost chat`, other than Ctrl-C: SIGHUP, SIGQUIT and SIGTERM.

use std::fs;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Exit statuses: 128 + signal.
const EXIT_SIGHUP: u8 = 129;
const EXIT_SIGQUIT: u8 = 131;
const EXIT_SIGTERM: u8 = 143;

/// Subscriptions to the signals.
pub(super) struct TerminationSignals {
    hangup: Option<Signal>,
    quit: Option<Signal>,
    terminate: Option<Signal>,
}

impl TerminationSignals {
    /// Signals that are ignored at the start stay ignored, as `nohup` requires.
    pub(super) fn subscribe() -> anyhow::Result<Self> {
        let ignored =
            fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
        let ignored = parse_ignored_signals(&ignored);
        let subscribe = |kind: SignalKind| {
            let bit = 1_u64.checked_shl(u32::try_from(kind.as_raw_value() - 1).unwrap_or(64));
            let is_ignored = bit.is_some_and(|bit| ignored & bit != 0);
            (!is_ignored).then(|| signal(kind).context("cannot subscribe to signals")).transpose()
        };
        let hangup = subscribe(SignalKind::hangup())?;
        let quit = subscribe(SignalKind::quit())?;
        Ok(Self { hangup, quit, terminate: subscribe(SignalKind::terminate())? })
    }

    /// Waits for a signal; returns the exit status.
    pub(super) async fn recv_exit_status(&mut self) -> u8 {
        tokio::select! {
            () = recv_or_pending(&mut self.hangup) => EXIT_SIGHUP,
            () = recv_or_pending(&mut self.quit) => EXIT_SIGQUIT,
            () = recv_or_pending(&mut self.terminate) => EXIT_SIGTERM,
        }
    }
}

async fn recv_or_pending(signal: &mut Option<Signal>) {
    match signal {
        // `None` only while the async runtime shuts down.
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// The mask of ignored signals, one bit each.
fn parse_ignored_signals(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_parsed_from_the_status() {
        let status = "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        assert_eq!(parse_ignored_signals(status), 0x1001);
        assert_eq!(parse_ignored_signals(""), 0);
    }
}
