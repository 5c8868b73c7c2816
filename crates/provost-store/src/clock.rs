//! The clock, and the ids that are derived from time.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use provost_core::hash_chain;
use provost_proto::{Hash, UnixMicros};
use uuid::Uuid;

/// Returns the current time. Everything that needs the time takes a clock, so that tests can
/// provide their own.
///
/// A clock and its copies never go back: what has expired stays expired, whatever the system's
/// clock is set to. After that was set back, time goes on from where it was.
#[derive(Clone)]
pub struct Clock(Arc<ClockState>);

struct ClockState {
    now: Box<dyn Fn() -> UnixMicros + Send + Sync>,
    /// Time that passes whatever the system's clock is set to, in microseconds.
    elapsed: Box<dyn Fn() -> u64 + Send + Sync>,
    /// The latest time minus the elapsed time then.
    base: AtomicU64,
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl Clock {
    /// The system clock.
    pub fn system() -> Self {
        let started = Instant::now();
        let now = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            UnixMicros::try_from(since.as_micros()).unwrap_or(UnixMicros::MAX)
        };
        let elapsed = move || u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        Self::new(now, elapsed)
    }

    /// A clock that returns what the function returns, unless it has returned more.
    pub fn from_fn(now: impl Fn() -> UnixMicros + Send + Sync + 'static) -> Self {
        Self::new(now, || 0)
    }

    fn new(
        now: impl Fn() -> UnixMicros + Send + Sync + 'static,
        elapsed: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        let (now, elapsed) = (Box::new(now), Box::new(elapsed));
        Self(Arc::new(ClockState { now, elapsed, base: AtomicU64::new(0) }))
    }

    /// Microseconds since 1970.
    pub fn now(&self) -> UnixMicros {
        self.advance_to((self.0.now)())
    }

    /// Lets the clock continue from this time, unless it is later already. Returns the time.
    pub(crate) fn advance_to(&self, at: UnixMicros) -> UnixMicros {
        let elapsed = (self.0.elapsed)();
        let base = at.saturating_sub(elapsed);
        let before = self.0.base.fetch_max(base, Ordering::AcqRel);
        before.max(base).saturating_add(elapsed)
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
    fn a_clock_that_is_set_back_goes_on_from_where_it_was() {
        let (wall, elapsed) = (Arc::new(AtomicU64::new(1000)), Arc::new(AtomicU64::new(0)));
        let read = |time: &Arc<AtomicU64>| {
            let time = Arc::clone(time);
            move || time.load(Ordering::Relaxed)
        };
        let clock = Clock::new(read(&wall), read(&elapsed));
        let copy = clock.clone();
        assert_eq!(clock.now(), 1000);
        wall.store(400, Ordering::Relaxed);
        elapsed.store(50, Ordering::Relaxed);
        assert_eq!((clock.now(), copy.now()), (1050, 1050));
        wall.store(2000, Ordering::Relaxed);
        assert_eq!(copy.now(), 2000);
        assert_eq!(clock.advance_to(3000), 3000);
        elapsed.store(51, Ordering::Relaxed);
        assert_eq!(copy.now(), 3001);
    }

    #[test]
    fn ids_of_one_moment_differ_and_say_when() {
        let ids: HashSet<_> = (0..10_000).map(|_| new_uuid_at(1_700_000_000_123_456)).collect();
        assert_eq!(ids.len(), 10_000);
        for id in ids {
            assert_eq!((id.get_version_num(), id.as_u128() >> 80), (7, 1_700_000_000_123));
        }
    }
}
