//! How often an answer is written while others are.
//!
//! Every piece of an answer is an event, and an event costs the same however
//! little is in it. A few answers at once are written as they come; of many, each
//! gathers for a moment that nobody who reads along notices.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// So many at once are written as they come.
const FEW: u32 = 4;

/// What each of more than those adds to the time between two writes of one …
const EACH: Duration = Duration::from_micros(500);

/// … which is never longer than this.
const LONGEST: Duration = Duration::from_millis(25);

/// The answers that are being written.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU32);

/// One of them.
#[derive(Debug)]
pub(super) struct Paced<'a>(&'a Pace);

impl Pace {
    /// One more begins.
    pub(super) fn begin(&self) -> Paced<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Paced(self)
    }
}

impl Paced<'_> {
    /// The time between two writes.
    pub(super) fn pause(&self) -> Duration {
        let others = self.0.0.load(Ordering::Relaxed).saturating_sub(FEW);
        (EACH * others).min(LONGEST)
    }
}

impl Drop for Paced<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_answers_wait_for_nothing_and_many_never_long() {
        let pace = Pace::default();
        let mut all: Vec<_> = (0..FEW).map(|_| pace.begin()).collect();
        assert_eq!(all[0].pause(), Duration::ZERO);
        all.extend((0..10).map(|_| pace.begin()));
        assert_eq!(all[0].pause(), Duration::from_millis(5));
        all.extend((0..1000).map(|_| pace.begin()));
        assert_eq!(all[0].pause(), LONGEST);
        all.truncate(1);
        assert_eq!(all[0].pause(), Duration::ZERO);
    }
}
