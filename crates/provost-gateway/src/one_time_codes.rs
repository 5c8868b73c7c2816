//! Short-lived secrets that work once: login links, preview codes, terminal tickets.
//!
//! Codes are kept in memory only, so a restart invalidates them. Only their digests are
//! stored, and they are compared in constant time.

use parking_lot::Mutex;
use std::collections::VecDeque;

use provost_proto::{Hash, UnixMicros};

use crate::secret::{constant_time_eq, digest};
use crate::{GatewayError, Secret};

/// Codes that can each be redeemed once for a value, until they expire.
#[derive(Debug)]
pub(crate) struct OneTimeCodes<T> {
    capacity: usize,
    pending: Mutex<VecDeque<PendingCode<T>>>,
}

/// A code that was not redeemed yet.
#[derive(Debug)]
struct PendingCode<T> {
    digest: Hash,
    expires_at: UnixMicros,
    value: T,
}

/// A redeemed code; [`OneTimeCodes::restore`] makes it valid again.
#[derive(Debug)]
pub(crate) struct RedeemedCode<T>(PendingCode<T>);

impl<T> RedeemedCode<T> {
    /// The value that the code was issued for.
    pub(crate) fn into_value(self) -> T {
        self.0.value
    }
}

impl<T> OneTimeCodes<T> {
    /// Holds at most `capacity` codes; issuing another drops the oldest.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, pending: Mutex::default() }
    }

    /// Creates a random code for a value.
    pub(crate) fn issue(&self, value: T, expires_at: UnixMicros) -> Result<Secret, GatewayError> {
        let code = Secret::random("")?;
        self.insert(PendingCode { digest: code.digest(), expires_at, value });
        Ok(code)
    }

    /// Redeems a code, if it is known and not expired. Removes it, so that it works once.
    pub(crate) fn redeem(&self, code: &str, now: UnixMicros) -> Option<RedeemedCode<T>> {
        let digest = digest(code);
        let mut pending = self.pending.lock();
        pending.retain(|known| known.expires_at > now);
        // Compares all of them, so that the time does not reveal a position.
        let mut found = None;
        for (index, known) in pending.iter().enumerate() {
            if constant_time_eq(&known.digest, &digest) {
                found = Some(index);
            }
        }
        pending.remove(found?).map(RedeemedCode)
    }

    /// Makes a redeemed code valid again, because what it was redeemed for failed.
    pub(crate) fn restore(&self, code: RedeemedCode<T>) {
        self.insert(code.0);
    }

    fn insert(&self, code: PendingCode<T>) {
        let mut pending = self.pending.lock();
        if pending.len() == self.capacity {
            pending.pop_front();
        }
        pending.push_back(code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once_and_until_it_expires() {
        let codes = OneTimeCodes::new(8);
        let code = codes.issue("value", 10).unwrap();
        assert!(codes.redeem("another code", 5).is_none());
        let redeemed = codes.redeem(code.reveal(), 5).unwrap();
        assert_eq!(redeemed.into_value(), "value");
        assert!(codes.redeem(code.reveal(), 5).is_none(), "a second time");
        let code = codes.issue("value", 10).unwrap();
        assert!(codes.redeem(code.reveal(), 10).is_none(), "expired");
    }

    #[test]
    fn a_restored_code_works_once_more() {
        let codes = OneTimeCodes::new(8);
        let code = codes.issue((), 10).unwrap();
        codes.restore(codes.redeem(code.reveal(), 5).unwrap());
        assert!(codes.redeem(code.reveal(), 5).is_some());
        assert!(codes.redeem(code.reveal(), 5).is_none());
    }

    #[test]
    fn the_oldest_code_is_dropped_beyond_the_capacity() {
        let codes = OneTimeCodes::new(2);
        let issued = [1, 2, 3].map(|value| codes.issue(value, 10).unwrap());
        assert!(codes.redeem(issued[0].reveal(), 5).is_none());
        assert_eq!(codes.redeem(issued[1].reveal(), 5).unwrap().into_value(), 2);
        assert_eq!(codes.redeem(issued[2].reveal(), 5).unwrap().into_value(), 3);
    }

    #[test]
    fn of_many_concurrent_attempts_one_redeems() {
        let codes = OneTimeCodes::new(8);
        let code = codes.issue((), 10).unwrap();
        let redeemed = std::thread::scope(|scope| {
            let attempts: Vec<_> =
                (0..8).map(|_| scope.spawn(|| codes.redeem(code.reveal(), 5).is_some())).collect();
            attempts.into_iter().filter_map(|done| done.join().unwrap().then_some(())).count()
        });
        assert_eq!(redeemed, 1);
    }
}
