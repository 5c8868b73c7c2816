//! The position up to which a reader has read the log.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Seq;

/// A position in the log: that of an event, the start or the end.
///
/// A reader gets it from the daemon and sends it back, as `after`, `before` or `Last-Event-ID`,
/// to continue there. Only the store may look inside: that it holds one number for all projects is
/// not part of its contract ([ADR 29](../../../../docs/adr/0029-opaque-cursors.md)). So it has
/// neither an order nor arithmetic: whether one was reached from another, and how many events lie
/// between, is asked with the methods below.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(type = "{ readonly [LOG_CURSOR]: never }"))]
pub struct LogCursor(Seq);

impl LogCursor {
    /// Before the first event.
    pub const START: Self = Self(0);

    /// After the last event, whichever that is.
    pub const END: Self = Self(Seq::MAX);

    /// The position of the event with this number. For the store: `cargo xtask tidy` refuses it
    /// elsewhere.
    pub const fn from_seq(seq: Seq) -> Self {
        Self(seq)
    }

    /// The number of the event at this position. For the store: `cargo xtask tidy` refuses it
    /// elsewhere.
    pub const fn seq(self) -> Seq {
        self.0
    }

    /// Whether whoever is here has everything up to the other position.
    pub const fn has_reached(self, other: Self) -> bool {
        self.0 >= other.0
    }

    /// The position that has everything up to both.
    #[must_use]
    pub const fn later_of(self, other: Self) -> Self {
        if self.has_reached(other) { self } else { other }
    }

    /// How many events there are after an earlier position up to here; 0 if that has been reached
    /// only later.
    pub const fn events_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for LogCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for LogCursor {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_positions_are_compared_without_a_look_inside() {
        let all = [0, 1, 2, 17, Seq::MAX - 1, Seq::MAX];
        for (a, b) in all.iter().flat_map(|a| all.map(|b| (*a, b))) {
            let (at, other) = (LogCursor::from_seq(a), LogCursor::from_seq(b));
            assert_eq!(at.has_reached(other), a >= b, "{a} {b}");
            assert_eq!(at.later_of(other), LogCursor::from_seq(a.max(b)), "{a} {b}");
            let distance = (i128::from(a) - i128::from(b)).max(0);
            assert_eq!(i128::from(at.events_since(other)), distance, "{a} {b}");
            assert!(at.later_of(other).has_reached(at) && at.later_of(other).has_reached(other));
            assert!(at.has_reached(LogCursor::START) && LogCursor::END.has_reached(at));
        }
    }

    #[test]
    fn it_is_written_as_the_number_that_clients_already_send() {
        for (cursor, text) in [
            (LogCursor::START, "0"),
            (LogCursor::from_seq(17), "17"),
            (LogCursor::END, "18446744073709551615"),
        ] {
            assert_eq!(cursor.to_string(), text);
            assert_eq!(serde_json::to_string(&cursor).unwrap(), text);
            assert_eq!(text.parse(), Ok(cursor));
            assert_eq!(serde_json::from_str::<LogCursor>(text).unwrap(), cursor);
        }
        for text in ["", "-1", "1.5", "x", "18446744073709551616"] {
            assert!(text.parse::<LogCursor>().is_err(), "{text}");
        }
    }
}
