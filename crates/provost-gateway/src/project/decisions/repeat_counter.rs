//! Counting identical actions in a row.

use parking_lot::Mutex;
use std::collections::HashMap;

use provost_proto::{Hash, Principal};

/// How many principals are tracked; beyond that the counts start anew.
const MAX_TRACKED_PRINCIPALS: usize = 4096;

/// The last action of each principal, and how often it was allowed in a row.
#[derive(Debug, Default)]
pub(super) struct RepeatCounter(Mutex<HashMap<Principal, (Hash, u32)>>);

impl RepeatCounter {
    pub(super) fn consecutive_count(&self, principal: &str, repeat_key: Hash) -> u32 {
        let counts = self.0.lock();
        counts.get(principal).filter(|(last, _)| *last == repeat_key).map_or(0, |(_, n)| *n)
    }

    pub(super) fn increment(&self, principal: &str, repeat_key: Hash) {
        let mut counts = self.0.lock();
        if counts.len() >= MAX_TRACKED_PRINCIPALS && !counts.contains_key(principal) {
            counts.clear();
        }
        let (last, n) = counts.entry(principal.to_owned()).or_insert((repeat_key, 0));
        *n = if *last == repeat_key { n.saturating_add(1) } else { 1 };
        *last = repeat_key;
    }

    pub(super) fn reset(&self, principal: &str) {
        self.0.lock().remove(principal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_only_the_same_action_in_a_row() {
        let (a, b) = (Hash::new([1; 32]), Hash::new([2; 32]));
        let counter = RepeatCounter::default();
        for key in [a, a] {
            counter.increment("x", key);
        }
        counter.increment("y", a);
        assert_eq!(counter.consecutive_count("x", a), 2);
        assert_eq!(counter.consecutive_count("x", b), 0);
        counter.increment("x", b);
        assert_eq!((counter.consecutive_count("x", a), counter.consecutive_count("x", b)), (0, 1));
        counter.reset("x");
        assert_eq!(counter.consecutive_count("x", b), 0);
        assert_eq!(counter.consecutive_count("y", a), 1);
    }
}
