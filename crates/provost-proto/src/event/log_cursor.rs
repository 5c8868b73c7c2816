//! The position up to which a reader has read the log.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Seq;

/// A position in the log: that of an event, the start or the end.
///
/// A reader gets it from the daemon and sends it back, as `after`, `before` or `Last-Event-ID`,
/// to continue there. Only the store and the audit tools may look inside: that it holds one number
/// for all projects is not part of its contract, so it has no order and no arithmetic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogCursor(Seq);

impl LogCursor {
    /// Before the first event.
    pub const START: Self = Self(0);

    /// After the last event, whichever that is.
    pub const END: Self = Self(Seq::MAX);

    /// The position of the event with this number. For the store and the audit tools.
    pub const fn from_seq(seq: Seq) -> Self {
        Self(seq)
    }

    /// The number of the event at this position. For the store and the audit tools.
    pub const fn seq(self) -> Seq {
        self.0
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
