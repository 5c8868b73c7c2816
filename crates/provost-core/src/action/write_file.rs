//! `fs.writeFile`: writes a whole file, or appends to it.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use provost_proto::Hash;
use serde::{Deserialize, Serialize};

use super::error::{InvalidParam, ValidationResult};
use super::rel_path::deserialize_non_root;
use super::{ActionParams, RelPath};

/// The most bytes that one call writes.
pub const MAX_FILE_WRITE_BYTES: usize = 16 * 1024 * 1024;

/// The encoding of bytes in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum BytesEncoding {
    /// As text.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// As base64 with padding, for binary content.
    #[serde(rename = "base64")]
    Base64,
}

/// What a write does if the file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    /// Replaces the file, or creates it.
    #[default]
    Overwrite,
    /// Creates the file; fails if it exists.
    Create,
    /// Appends to the file, or creates it.
    Append,
}

/// Writes a whole file, or appends to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteFile {
    /// The file.
    #[serde(deserialize_with = "deserialize_non_root")]
    pub path: RelPath,
    /// The content in this `encoding`.
    pub content: String,
    /// The encoding of `content`.
    #[serde(default)]
    pub encoding: BytesEncoding,
    /// What to do if the file exists.
    #[serde(default)]
    pub mode: WriteMode,
    /// The hash that the file must have before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_hash: Option<Hash>,
}

/// The content is not valid base64.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not base64")]
pub struct NotBase64(#[from] base64::DecodeError);

impl WriteFile {
    /// The bytes to write.
    pub fn bytes(&self) -> Result<Cow<'_, [u8]>, NotBase64> {
        match self.encoding {
            BytesEncoding::Utf8 => Ok(Cow::Borrowed(self.content.as_bytes())),
            BytesEncoding::Base64 => Ok(Cow::Owned(STANDARD.decode(&self.content)?)),
        }
    }
}

impl ActionParams for WriteFile {
    fn validate(&self) -> ValidationResult {
        let bytes =
            self.bytes().map_err(|error| InvalidParam::new("content", error.to_string()))?;
        if bytes.len() > MAX_FILE_WRITE_BYTES {
            let why =
                format!("has {} bytes, more than the {MAX_FILE_WRITE_BYTES} allowed", bytes.len());
            return Err(InvalidParam::new("content", why));
        }
        match (self.mode, self.expect_hash) {
            (WriteMode::Create, Some(_)) => Err(InvalidParam::new(
                "expectHash",
                "says that there is a file, `mode` that there is none",
            )),
            (WriteMode::Create | WriteMode::Overwrite | WriteMode::Append, _) => Ok(()),
        }
    }

    fn describe(&self) -> String {
        let length = self.bytes().map_or(0, |bytes| bytes.len());
        let path = self.path.display_quoted();
        match self.mode {
            WriteMode::Overwrite => {
                format!("write {length} bytes as the whole of {path}")
            }
            WriteMode::Create => format!("create {path} with {length} bytes"),
            WriteMode::Append => format!("add {length} bytes to the end of {path}"),
        }
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}
