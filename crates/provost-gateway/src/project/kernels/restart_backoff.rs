//! Delays between the starts of a kernel that does not stay up.

use std::time::{Duration, Instant};

/// The longest delay before a kernel that does not stay up is started again.
const MAX_RESTART_BACKOFF: Duration = Duration::from_secs(30);

/// Consecutive failures of a project's kernel.
#[derive(Debug, Default)]
pub(super) struct KernelRestartBackoff {
    n_failures: u32,
    last: Option<Instant>,
}

impl KernelRestartBackoff {
    /// How long to wait before the next start; `None` if it may start now.
    pub(super) fn remaining_delay(&self) -> Option<Duration> {
        let pause =
            Duration::from_secs(1) * 2_u32.saturating_pow(self.n_failures.saturating_sub(3));
        let since = self.last?.elapsed();
        (self.n_failures > 2).then(|| pause.min(MAX_RESTART_BACKOFF).checked_sub(since)).flatten()
    }

    pub(super) fn record_failure(&mut self) {
        // A kernel that stayed up for a while does not count as a repeated failure.
        let is_repeated = self.last.is_some_and(|last| last.elapsed() < MAX_RESTART_BACKOFF * 2);
        self.n_failures = if is_repeated { self.n_failures.saturating_add(1) } else { 1 };
        self.last = Some(Instant::now());
    }

    pub(super) fn record_start(&mut self) {
        self.last = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_failure_in_a_row_delays_the_next_start() {
        let mut backoff = KernelRestartBackoff::default();
        for _ in 0..2 {
            backoff.record_failure();
            assert_eq!(backoff.remaining_delay(), None);
        }
        backoff.record_failure();
        assert!(backoff.remaining_delay().is_some_and(|delay| delay <= Duration::from_secs(1)));
        for _ in 0..60 {
            backoff.record_failure();
        }
        assert!(backoff.remaining_delay().is_some_and(|delay| delay <= MAX_RESTART_BACKOFF));
    }
}
