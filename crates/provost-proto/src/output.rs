//! Output of commands, in reports and in the log.

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::BlobRef;

/// A chunk of output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct OutputChunk {
    /// Stdout or stderr.
    pub stream: OutputStream,
    /// The offset of the chunk in this stream, in bytes.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub offset: u64,
    /// How many bytes before it were dropped because of the limit.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub dropped: u64,
    /// The content.
    #[cfg_attr(
        feature = "ts",
        ts(type = "{ text: string } | { hex: string } | { omitted: number }")
    )]
    pub data: OutputData,
}

/// Stdout or stderr.
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

/// Output: in JSON, text if it is UTF-8, else hexadecimal digits; large output is a reference to
/// a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputData {
    /// The bytes themselves.
    Bytes(Bytes),
    /// The blob with the bytes, as printed.
    Blob(BlobRef),
}

impl From<Vec<u8>> for OutputData {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<Bytes> for OutputData {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum OutputDataRepr<'a> {
    Text(std::borrow::Cow<'a, str>),
    Hex(String),
    Blob(BlobRef),
}

impl Serialize for OutputData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self {
            Self::Blob(blob) => OutputDataRepr::Blob(*blob),
            Self::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => OutputDataRepr::Text(text.into()),
                Err(_) => OutputDataRepr::Hex(encode_hex(bytes)),
            },
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OutputData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match OutputDataRepr::deserialize(deserializer)? {
            OutputDataRepr::Text(text) => Self::Bytes(text.into_owned().into_bytes().into()),
            OutputDataRepr::Hex(hex) => {
                let bytes = decode_hex(&hex).ok_or_else(|| de::Error::custom("not hexadecimal"))?;
                Self::Bytes(bytes.into())
            }
            OutputDataRepr::Blob(blob) => Self::Blob(blob),
        })
    }
}

fn encode_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
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
            (OutputData::from(b"a\n".to_vec()), r#"{"text":"a\n"}"#.to_owned()),
            (OutputData::from(vec![0xff, 0]), r#"{"hex":"ff00"}"#.to_owned()),
            (OutputData::Blob(blob), format!(r#"{{"blob":{{"$blob":"{zeros}","size":9}}}}"#)),
        ] {
            assert_eq!(serde_json::to_string(&printed).unwrap(), json);
            assert_eq!(serde_json::from_str::<OutputData>(&json).unwrap(), printed);
        }
    }
}
