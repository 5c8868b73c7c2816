//! What a command prints, on its way to the log and in it.

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::BlobRef;

/// Some output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Output {
    /// Which of its outputs.
    pub stream: OutputStream,
    /// How many bytes of this output came before.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub offset: u64,
    /// How many bytes before these were dropped, because there was too much.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub dropped: u64,
    /// What was printed.
    #[cfg_attr(
        feature = "ts",
        ts(
            type = "{ text: string } | { hex: string } | { blob: { $blob: string, size: number } }"
        )
    )]
    pub data: Printed,
}

/// Which output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What was printed: in JSON, text where it is UTF-8, else hexadecimal digits;
/// of much, where it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Printed {
    /// The bytes themselves.
    Bytes(Bytes),
    /// The blob that holds the bytes, as they were printed.
    Kept(BlobRef),
}

impl From<Vec<u8>> for Printed {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<Bytes> for Printed {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Form<'a> {
    Text(std::borrow::Cow<'a, str>),
    Hex(String),
    Blob(BlobRef),
}

impl Serialize for Printed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self {
            Self::Kept(blob) => Form::Blob(*blob),
            Self::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Form::Text(text.into()),
                Err(_) => Form::Hex(hex(bytes)),
            },
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Printed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            Form::Text(text) => Self::Bytes(text.into_owned().into_bytes().into()),
            Form::Hex(hex) => {
                let bytes = unhex(&hex).ok_or_else(|| de::Error::custom("not hexadecimal"))?;
                Self::Bytes(bytes.into())
            }
            Form::Blob(blob) => Self::Kept(blob),
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hash;

    #[test]
    fn what_was_printed_reads_back_as_it_was_written() {
        let blob = BlobRef { hash: Hash::ZERO, size: 9 };
        let zeros = "0".repeat(64);
        for (printed, json) in [
            (Printed::from(b"a\n".to_vec()), r#"{"text":"a\n"}"#.to_owned()),
            (Printed::from(vec![0xff, 0]), r#"{"hex":"ff00"}"#.to_owned()),
            (Printed::Kept(blob), format!(r#"{{"blob":{{"$blob":"{zeros}","size":9}}}}"#)),
        ] {
            assert_eq!(serde_json::to_string(&printed).unwrap(), json);
            assert_eq!(serde_json::from_str::<Printed>(&json).unwrap(), printed);
        }
    }
}
