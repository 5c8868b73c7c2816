//! `fs.readFile`: reads a file, or a part of it.

use serde::{Deserialize, Serialize};

use super::error::{InvalidParam, MAX_SAFE_INTEGER, ValidationResult, check_range};
use super::rel_path::deserialize_non_root;
use super::{ActionParams, BytesEncoding, RelPath};

/// The most bytes that one call reads.
pub const MAX_FILE_READ_BYTES: u64 = 1024 * 1024;

/// Reads a file, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadFile {
    /// The file.
    #[serde(deserialize_with = "deserialize_non_root")]
    pub path: RelPath,
    /// The first byte, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// How many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// The first line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// How many lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_count: Option<u64>,
    /// The encoding of the content in the response.
    #[serde(default)]
    pub encoding: BytesEncoding,
}

/// The part of a file to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRange {
    /// The whole file.
    Whole,
    /// Bytes from an offset on; to the end without a length.
    Bytes {
        /// The first byte, from 0.
        offset: u64,
        /// How many bytes.
        length: Option<u64>,
    },
    /// Lines from a number on; to the end without a count.
    Lines {
        /// The first line, from 1.
        start: u64,
        /// How many lines.
        count: Option<u64>,
    },
}

impl ReadFile {
    /// The part to read.
    pub fn range(&self) -> FileRange {
        match (self.offset, self.length, self.start_line, self.line_count) {
            (None, None, None, None) => FileRange::Whole,
            (offset, length, None, None) => {
                FileRange::Bytes { offset: offset.unwrap_or(0), length }
            }
            (_, _, start, count) => FileRange::Lines { start: start.unwrap_or(1), count },
        }
    }
}

impl ActionParams for ReadFile {
    fn validate(&self) -> ValidationResult {
        let bytes = self.offset.or(self.length).is_some();
        let lines = self.start_line.or(self.line_count).is_some();
        if bytes && lines {
            let why = "counts bytes and `startLine` lines; ask for one or the other";
            return Err(InvalidParam::new("offset", why));
        }
        if lines && self.encoding == BytesEncoding::Base64 {
            return Err(InvalidParam::new("encoding", "must be `utf-8` if lines are requested"));
        }
        check_range("offset", self.offset.unwrap_or(0), 0..=MAX_SAFE_INTEGER)?;
        check_range("length", self.length.unwrap_or(1), 1..=MAX_FILE_READ_BYTES)?;
        check_range("startLine", self.start_line.unwrap_or(1), 1..=MAX_SAFE_INTEGER)?;
        check_range("lineCount", self.line_count.unwrap_or(1), 1..=MAX_SAFE_INTEGER)
    }

    fn describe(&self) -> String {
        let path = self.path.display_quoted();
        let (what, from) = match self.range() {
            FileRange::Whole => (String::new(), String::new()),
            FileRange::Bytes { offset, length } => (
                length.map_or_else(String::new, |n| format_count(n, "byte")),
                format!(" from byte {offset}"),
            ),
            FileRange::Lines { start, count } => (
                count.map_or_else(String::new, |n| format_count(n, "line")),
                format!(" from line {start}"),
            ),
        };
        format!("read {what}{path}{from}")
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}

fn format_count(count: u64, what: &str) -> String {
    format!("{count} {what}{} of ", if count == 1 { "" } else { "s" })
}
