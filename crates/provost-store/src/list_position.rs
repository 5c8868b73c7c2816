//! A position in a list of documents.

use std::fmt;
use std::str::FromStr;

use provost_proto::UnixMicros;
use uuid::Uuid;

/// A position in a list, which goes from the latest document to the oldest. Documents of the same
/// time are ordered by their keys, so that a list that is read in pages has each of them once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListPosition {
    /// The time of the document.
    pub at: UnixMicros,
    /// Its key.
    pub key: Uuid,
}

/// The text is no position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is no position in a list: take `next` of the page before")]
pub struct ParseListPositionError;

impl ListPosition {
    /// The beginning of a list: every document is before it.
    pub const END: Self = Self::at_time(UnixMicros::MAX);

    /// The position before which all documents of earlier times are.
    pub const fn at_time(at: UnixMicros) -> Self {
        Self { at, key: Uuid::nil() }
    }
}

impl fmt::Display for ListPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.at, self.key)
    }
}

impl FromStr for ListPosition {
    type Err = ParseListPositionError;

    /// Reads a position, or a time alone.
    fn from_str(text: &str) -> Result<Self, ParseListPositionError> {
        let number = |text: &str| text.parse().map_err(|_| ParseListPositionError);
        match text.split_once('-') {
            None => Ok(Self::at_time(number(text)?)),
            Some((at, key)) => {
                let key = key.parse().map_err(|_| ParseListPositionError)?;
                Ok(Self { at: number(at)?, key })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_back_as_it_was_written() {
        let position = ListPosition { at: 17, key: Uuid::from_u128(5) };
        assert_eq!(position.to_string().parse(), Ok(position));
        assert_eq!("17".parse(), Ok(ListPosition::at_time(17)));
        for text in ["", "-", "x", "17-", "17-5", "-17"] {
            assert_eq!(text.parse::<ListPosition>(), Err(ParseListPositionError), "{text}");
        }
    }
}
