//! How often an answer is written while others are.
//!
//! Every piece of an answer is an event, and an event costs the same however
//! little is in it. A few answers at once are written as they come; of many, each
//! gathers for a moment that nobody who reads along notices.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// So many at once are written as they come.
const UNTHROTTLED_WRITERS: u32 = 4;

/// What each of more than those adds to the time between two writes of one …
const DELAY_PER_WRITER: Duration = Duration::from_micros(500);

/// … which is never longer than this.
const MAX_WRITE_DELAY: Duration = Duration::from_millis(25);

/// The answers that are being written.
#[derive(Debug, Default)]
pub(crate) struct WriteThrottle(AtomicU32);

/// One of them.
#[derive(Debug)]
pub(crate) struct WriteThrottleGuard<'a>(&'a WriteThrottle);

impl WriteThrottle {
    /// One more begins.
    pub(crate) fn register_writer(&self) -> WriteThrottleGuard<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        WriteThrottleGuard(self)
    }
}

impl WriteThrottleGuard<'_> {
    /// The time between two writes.
    pub(crate) fn write_interval(&self) -> Duration {
        let others = self.0.0.load(Ordering::Relaxed).saturating_sub(UNTHROTTLED_WRITERS);
        (DELAY_PER_WRITER * others).min(MAX_WRITE_DELAY)
    }
}

impl Drop for WriteThrottleGuard<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_answers_wait_for_nothing_and_many_never_long() {
        let pace = WriteThrottle::default();
        let mut all: Vec<_> = (0..UNTHROTTLED_WRITERS).map(|_| pace.register_writer()).collect();
        assert_eq!(all[0].write_interval(), Duration::ZERO);
        all.extend((0..10).map(|_| pace.register_writer()));
        assert_eq!(all[0].write_interval(), Duration::from_millis(5));
        all.extend((0..1000).map(|_| pace.register_writer()));
        assert_eq!(all[0].write_interval(), MAX_WRITE_DELAY);
        all.truncate(1);
        assert_eq!(all[0].write_interval(), Duration::ZERO);
    }
}
