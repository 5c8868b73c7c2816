//! A BLAKE3 hash as hexadecimal text. This crate does not compute hashes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// 32 bytes of BLAKE3; 64 hexadecimal digits on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(type = "Brand<string, 'hash'>"))]
pub struct Hash([u8; 32]);

/// The text is not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash is 64 hexadecimal digits")]
pub struct ParseHashError;

impl Hash {
    /// The `prev` of the first event of a log.
    pub const ZERO: Self = Self([0; 32]);

    /// A hash of these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 digits, without an allocation.
    pub fn to_hex(self) -> [u8; 64] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        hex
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.to_hex()).unwrap_or_default())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, ParseHashError> {
        fn digit(byte: u8) -> Result<u8, ParseHashError> {
            match byte {
                b'0'..=b'9' => Ok(byte - b'0'),
                b'a'..=b'f' => Ok(byte - b'a' + 10),
                _ => Err(ParseHashError),
            }
        }
        if text.len() != 64 {
            return Err(ParseHashError);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = (digit(pair[0])? << 4) | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<&[u8]> for Hash {
    type Error = ParseHashError;

    fn try_from(bytes: &[u8]) -> Result<Self, ParseHashError> {
        bytes.try_into().map(Self).map_err(|_| ParseHashError)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hex = self.to_hex();
        serializer.serialize_str(std::str::from_utf8(&hex).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <std::borrow::Cow<'de, str>>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Hash {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .pattern(Some("^[0-9a-f]{64}$"))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Hash {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_back_as_it_was_written() {
        let hash = Hash::new(std::array::from_fn(|i| u8::try_from(i * 7).unwrap()));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(serde_json::to_string(&hash).unwrap().len(), 66);
    }

    #[test]
    fn what_is_not_64_small_digits_is_no_hash() {
        for text in ["", "00", &"g".repeat(64), &"A".repeat(64), &"é".repeat(32)] {
            assert_eq!(text.parse::<Hash>(), Err(ParseHashError), "{text}");
        }
    }
}
