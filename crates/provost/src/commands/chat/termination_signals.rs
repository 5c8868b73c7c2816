//! What ends `provost chat` from outside, other than Ctrl-C: a terminal that hangs up,
//! or somebody who wants the process to end.

use std::fs;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The statuses of programs that a signal ended.
const EXIT_SIGHUP: u8 = 129;
const EXIT_SIGQUIT: u8 = 131;
const EXIT_SIGTERM: u8 = 143;

/// Hears each of them, from now on.
pub(super) struct TerminationSignals {
    hangup: Option<Signal>,
    quit: Option<Signal>,
    terminate: Option<Signal>,
}

impl TerminationSignals {
    /// What was ignored when we began stays so: `nohup` means what it says.
    pub(super) fn subscribe() -> anyhow::Result<Self> {
        let ignored = fs::read_to_string("/proc/self/status").context("cannot read my status")?;
        let ignored = parse_ignored_signals(&ignored);
        let hear = |kind: SignalKind| {
            let bit = 1_u64.checked_shl(u32::try_from(kind.as_raw_value() - 1).unwrap_or(64));
            let is_ignored = bit.is_some_and(|bit| ignored & bit != 0);
            (!is_ignored).then(|| signal(kind).context("cannot hear signals")).transpose()
        };
        let hangup = hear(SignalKind::hangup())?;
        let quit = hear(SignalKind::quit())?;
        Ok(Self { hangup, quit, terminate: hear(SignalKind::terminate())? })
    }

    /// The status to end with, when it is time to.
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
        // It says nothing only when the runtime ends, and we with it.
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// The signals that are ignored, one bit each.
fn parse_ignored_signals(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_status() {
        let status = "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        assert_eq!(parse_ignored_signals(status), 0x1001);
        assert_eq!(parse_ignored_signals(""), 0);
    }
}
