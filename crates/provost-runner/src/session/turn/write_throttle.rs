//! Limits how often one completion is appended while many others stream.
//!
//! The cost of an event hardly depends on its size. A few streams are written as they come;
//! with many, each batches its deltas for an interval too short for a reader to notice.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Up to this many streams are written without delay.
const UNTHROTTLED_WRITERS: u32 = 4;

/// What each further stream adds to the interval between two appends of one stream.
const DELAY_PER_WRITER: Duration = Duration::from_micros(500);

/// Upper bound of that interval.
const MAX_WRITE_DELAY: Duration = Duration::from_millis(25);

/// The number of streams that are being written.
#[derive(Debug, Default)]
pub(crate) struct WriteThrottle(AtomicU32);

/// Counts one stream until it is dropped.
#[derive(Debug)]
pub(crate) struct WriteThrottleGuard<'a>(&'a WriteThrottle);

impl WriteThrottle {
    /// Registers a stream.
    pub(crate) fn register_writer(&self) -> WriteThrottleGuard<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        WriteThrottleGuard(self)
    }
}

impl WriteThrottleGuard<'_> {
    /// The interval between two appends of one stream.
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
        let throttle = WriteThrottle::default();
        let mut all: Vec<_> =
            (0..UNTHROTTLED_WRITERS).map(|_| throttle.register_writer()).collect();
        assert_eq!(all[0].write_interval(), Duration::ZERO);
        all.extend((0..10).map(|_| throttle.register_writer()));
        assert_eq!(all[0].write_interval(), Duration::from_millis(5));
        all.extend((0..1000).map(|_| throttle.register_writer()));
        assert_eq!(all[0].write_interval(), MAX_WRITE_DELAY);
        all.truncate(1);
        assert_eq!(all[0].write_interval(), Duration::ZERO);
    }
}
