//! Fractional indexes: a text between any two others, compared byte by byte.
//!
//! The first character says how many digits the integer part has, so that a thousand cells at the
//! end need four characters and not a hundred: `a` to `z` for 1 to 26 digits, `A` to `Z` for
//! negative integers with 26 to 1. The digits behind it are a fraction that does not end in `0`.

use provost_proto::limits;
use provost_proto::notebook::CellPosition;

/// The digits, in the order of their bytes.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A position that no cell can have, or two that nothing is between.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    /// The text is not a position.
    #[error("`{0}` is not a position of a cell: the first one has `a0`, others a fractional index")]
    Invalid(String),
    /// The first is not before the second.
    #[error("the position `{0}` is not before `{1}`")]
    NotBefore(String, String),
}

/// Whether a cell can have this position.
pub fn check_position(position: &str) -> Result<(), PositionError> {
    split(position).map(|_| ())
}

/// A position between two others; at the start or at the end if one is absent.
///
/// # Errors
/// If one is not a position, or the first is not before the second.
pub fn position_between(
    before: Option<&str>,
    after: Option<&str>,
) -> Result<CellPosition, PositionError> {
    if let (Some(before), Some(after)) = (before, after)
        && before >= after
    {
        return Err(PositionError::NotBefore(before.to_owned(), after.to_owned()));
    }
    let before = before.map(split).transpose()?;
    let after = after.map(split).transpose()?;
    Ok(match (before, after) {
        (None, None) => "a0".to_owned(),
        (None, Some((integer, fraction))) if is_smallest(integer) => {
            format!("{integer}{}", midpoint("", Some(fraction)))
        }
        (None, Some((integer, fraction))) if !fraction.is_empty() => integer.to_owned(),
        (None, Some((integer, _))) => match decrement(integer) {
            Some(down) if is_smallest(&down) => format!("{down}{}", midpoint("", None)),
            Some(down) => down,
            None => return Err(PositionError::Invalid(integer.to_owned())),
        },
        (Some((integer, fraction)), None) => {
            increment(integer).unwrap_or_else(|| format!("{integer}{}", midpoint(fraction, None)))
        }
        (Some((integer, fraction)), Some((next, end))) if integer == next => {
            format!("{integer}{}", midpoint(fraction, Some(end)))
        }
        (Some((integer, fraction)), Some((next, end))) => {
            match increment(integer).filter(|up| up != next || !end.is_empty()) {
                Some(up) => up,
                None => format!("{integer}{}", midpoint(fraction, None)),
            }
        }
    })
}

/// Ascending positions for a number of cells.
pub fn position_sequence(count: usize) -> Vec<CellPosition> {
    let mut positions = Vec::with_capacity(count);
    let mut next = Some("a0".to_owned());
    while let Some(position) = next.filter(|_| positions.len() < count) {
        next = increment(&position);
        positions.push(position);
    }
    positions
}

/// The integer part with its head, and the fraction.
fn split(position: &str) -> Result<(&str, &str), PositionError> {
    let invalid = || PositionError::Invalid(position.chars().take(64).collect());
    let bytes = position.as_bytes();
    let length = match bytes.first() {
        Some(head @ b'a'..=b'z') => usize::from(head - b'a') + 2,
        Some(head @ b'A'..=b'Z') => usize::from(b'Z' - head) + 2,
        Some(_) | None => return Err(invalid()),
    };
    let is_long = bytes.len() > limits::MAX_CELL_POSITION_BYTES;
    let has_end = bytes.len() > length && bytes.last() == Some(&b'0');
    let has_digits = bytes.iter().all(u8::is_ascii_alphanumeric);
    if bytes.len() < length || is_long || has_end || !has_digits || is_smallest(position) {
        return Err(invalid());
    }
    Ok(position.split_at(length))
}

/// Whether nothing is before it.
fn is_smallest(integer: &str) -> bool {
    integer.len() == 27 && integer.starts_with('A') && integer.bytes().skip(1).all(|d| d == b'0')
}

fn digit(byte: u8) -> usize {
    DIGITS.iter().position(|digit| *digit == byte).unwrap_or(0)
}

/// The next integer; `None` after the largest.
fn increment(integer: &str) -> Option<String> {
    let mut bytes = integer.as_bytes().to_vec();
    for byte in bytes[1..].iter_mut().rev() {
        match DIGITS.get(digit(*byte) + 1) {
            Some(next) => {
                *byte = *next;
                return String::from_utf8(bytes).ok();
            }
            None => *byte = b'0',
        }
    }
    match bytes[0] {
        b'Z' => Some("a0".to_owned()),
        b'z' => None,
        head => {
            bytes[0] = head + 1;
            // A negative integer that rises gets shorter.
            if head >= b'a' {
                bytes.push(b'0');
            } else {
                bytes.pop();
            }
            String::from_utf8(bytes).ok()
        }
    }
}

/// The integer before; `None` before the smallest.
fn decrement(integer: &str) -> Option<String> {
    let mut bytes = integer.as_bytes().to_vec();
    for byte in bytes[1..].iter_mut().rev() {
        match digit(*byte).checked_sub(1) {
            Some(previous) => {
                *byte = DIGITS[previous];
                return String::from_utf8(bytes).ok();
            }
            None => *byte = b'z',
        }
    }
    match bytes[0] {
        b'a' => Some("Zz".to_owned()),
        b'A' => None,
        head => {
            bytes[0] = head - 1;
            if head > b'a' {
                bytes.pop();
            } else {
                bytes.push(b'z');
            }
            String::from_utf8(bytes).ok()
        }
    }
}

/// A fraction between two others; `None` is 1.
fn midpoint(before: &str, after: Option<&str>) -> String {
    let (before, after) = (before.as_bytes(), after.map(str::as_bytes));
    let mut middle = String::new();
    let mut after = after;
    let mut index = 0;
    loop {
        let low = before.get(index).map_or(0, |byte| digit(*byte));
        let high = match after {
            Some(after) => after.get(index).map_or(0, |byte| digit(*byte)),
            None => DIGITS.len(),
        };
        if low + 1 < high {
            middle.push(char::from(DIGITS[usize::midpoint(low, high)]));
            return middle;
        }
        middle.push(char::from(DIGITS[low]));
        // From here on anything is before the end.
        if low < high {
            after = None;
        }
        index += 1;
    }
}
