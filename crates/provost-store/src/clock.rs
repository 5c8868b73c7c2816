//! The clock, and the ids that are derived from time.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

use provost_core::hash_chain;
use provost_proto::{Hash, UnixMicros};
use uuid::Uuid;

/// Returns the current time. Everything that needs the time takes a clock, so that tests can
/// provide their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> UnixMicros + Send + Sync>);

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl Clock {
    /// The system clock.
    pub fn system() -> Self {
        Self::from_fn(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            UnixMicros::try_from(since.as_micros()).unwrap_or(UnixMicros::MAX)
        })
    }

    /// A clock that returns what the function returns.
    pub fn from_fn(now: impl Fn() -> UnixMicros + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Microseconds since 1970.
    pub fn now(&self) -> UnixMicros {
        (self.0)()
    }

    /// A new id of any kind.
    pub fn new_id<T: From<Uuid>>(&self) -> T {
        new_uuid_at(self.now()).into()
    }
}

/// A UUIDv7 of this moment. Its random part is the hash of a process secret and a counter, so
/// that the system is asked for random bytes only once.
fn new_uuid_at(at: UnixMicros) -> Uuid {
    static SECRET: LazyLock<[u8; 16]> = LazyLock::new(|| *Uuid::new_v4().as_bytes());
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let hash = hash_chain::digest(&[&SECRET[..], &count].concat());
    derive_event_id(at, &hash, &[0; 16])
}

/// The UUIDv7 of an event. Its random part is the hash of the previous event, which is unique,
/// mixed with a seed of this process, so that the system need not be asked for random bytes.
pub(crate) fn derive_event_id(at: UnixMicros, prev: &Hash, seed: &[u8; 16]) -> Uuid {
    let mixed = prev.as_bytes().iter().zip(seed).map(|(a, b)| a ^ b);
    let mut random = [0; 10];
    random.iter_mut().zip(mixed).for_each(|(to, from)| *to = from);
    uuid::Builder::from_unix_timestamp_millis(at / 1000, &random).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_of_one_moment_differ_and_say_when() {
        let ids: HashSet<_> = (0..10_000).map(|_| new_uuid_at(1_700_000_000_123_456)).collect();
        assert_eq!(ids.len(), 10_000);
        for id in ids {
            assert_eq!((id.get_version_num(), id.as_u128() >> 80), (7, 1_700_000_000_123));
        }
    }
}
