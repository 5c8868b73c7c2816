//! `fs.writeFile`: a whole file, or more at its end.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use provost_proto::Hash;
use serde::{Deserialize, Serialize};

use super::error::{BadValue, Checked};
use super::path::inside;
use super::{Params, RelPath};

/// How many bytes one call writes at most.
pub const WRITTEN: usize = 16 * 1024 * 1024;

/// How bytes are written in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Encoding {
    /// As text.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// As base64 with padding, for what is not text.
    #[serde(rename = "base64")]
    Base64,
}

/// What a write does with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    /// Replaces the file, or makes it.
    #[default]
    Overwrite,
    /// Makes the file; refused if there is one.
    Create,
    /// Adds to the end of the file, or makes it.
    Append,
}

/// A whole file, or more at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteFile {
    /// The file.
    #[serde(deserialize_with = "inside")]
    pub path: RelPath,
    /// What goes into it, as `encoding` says.
    pub content: String,
    /// How `content` is written.
    #[serde(default)]
    pub encoding: Encoding,
    /// What happens to a file that is there.
    #[serde(default)]
    pub mode: WriteMode,
    /// The hash the file must have now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_hash: Option<Hash>,
}

/// A content that should have been base64.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not base64")]
pub struct NotBase64(#[from] base64::DecodeError);

impl WriteFile {
    /// The bytes to write.
    pub fn bytes(&self) -> Result<Cow<'_, [u8]>, NotBase64> {
        match self.encoding {
            Encoding::Utf8 => Ok(Cow::Borrowed(self.content.as_bytes())),
            Encoding::Base64 => Ok(Cow::Owned(STANDARD.decode(&self.content)?)),
        }
    }
}

impl Params for WriteFile {
    fn check(&self) -> Checked {
        let bytes = self.bytes().map_err(|error| BadValue::new("content", error.to_string()))?;
        if bytes.len() > WRITTEN {
            let why = format!("has {} bytes, more than the {WRITTEN} allowed", bytes.len());
            return Err(BadValue::new("content", why));
        }
        match (self.mode, self.expect_hash) {
            (WriteMode::Create, Some(_)) => Err(BadValue::new(
                "expectHash",
                "says that there is a file, `mode` that there is none",
            )),
            (WriteMode::Create | WriteMode::Overwrite | WriteMode::Append, _) => Ok(()),
        }
    }

    fn describe(&self) -> String {
        let length = self.bytes().map_or(0, |bytes| bytes.len());
        let path = self.path.shown();
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
