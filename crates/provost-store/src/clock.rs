//! The one clock, and the ids made by it.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use provost_proto::{Hash, Micros};
use uuid::{NoContext, Timestamp, Uuid};

/// Tells the time. Everything that needs it takes a clock, so that tests can
/// bring their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Micros + Send + Sync>);

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self::from_fn(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
        })
    }

    /// A clock that shows what the function says.
    pub fn from_fn(now: impl Fn() -> Micros + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Microseconds since 1970.
    pub fn now(&self) -> Micros {
        (self.0)()
    }

    /// A new id of any kind.
    pub fn id<T: From<Uuid>>(&self) -> T {
        id_at(self.now()).into()
    }
}

/// A UUIDv7 of this moment.
fn id_at(at: Micros) -> Uuid {
    let nanos = u32::try_from(at % 1_000_000 * 1000).unwrap_or(0);
    Uuid::new_v7(Timestamp::from_unix(NoContext, at / 1_000_000, nanos))
}

/// The UUIDv7 of an event: its random part is the hash before it, which no other
/// event has, mixed with a seed that no other process has, instead of asking the
/// machine for random bytes each time.
pub(crate) fn event_id(at: Micros, prev: &Hash, seed: &[u8; 16]) -> Uuid {
    let mixed = prev.as_bytes().iter().zip(seed).map(|(a, b)| a ^ b);
    let mut random = [0; 10];
    random.iter_mut().zip(mixed).for_each(|(to, from)| *to = from);
    uuid::Builder::from_unix_timestamp_millis(at / 1000, &random).into_uuid()
}
