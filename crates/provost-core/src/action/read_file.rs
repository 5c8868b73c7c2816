//! `fs.readFile`: the content of a file, or a part of it.

use serde::{Deserialize, Serialize};

use super::error::{BadValue, Checked, EXACT, within};
use super::path::inside;
use super::{Encoding, Params, RelPath};

/// How many bytes one call reads at most.
pub const READ: u64 = 1024 * 1024;

/// The content of a file, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadFile {
    /// The file.
    #[serde(deserialize_with = "inside")]
    pub path: RelPath,
    /// The first byte, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// How many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// The first line, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// How many lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_count: Option<u64>,
    /// How the content is written in the answer.
    #[serde(default)]
    pub encoding: Encoding,
}

/// Which part of a file is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Bytes from an offset on; to the end if no length is given.
    Bytes {
        /// The first byte, counted from 0.
        offset: u64,
        /// How many.
        length: Option<u64>,
    },
    /// Lines from one on; to the end if no count is given.
    Lines {
        /// The first line, counted from 1.
        start: u64,
        /// How many.
        count: Option<u64>,
    },
}

impl ReadFile {
    /// Which part is meant.
    pub fn part(&self) -> Part {
        match (self.offset, self.length, self.start_line, self.line_count) {
            (None, None, None, None) => Part::Whole,
            (offset, length, None, None) => Part::Bytes { offset: offset.unwrap_or(0), length },
            (_, _, start, count) => Part::Lines { start: start.unwrap_or(1), count },
        }
    }
}

impl Params for ReadFile {
    fn check(&self) -> Checked {
        let bytes = self.offset.or(self.length).is_some();
        let lines = self.start_line.or(self.line_count).is_some();
        if bytes && lines {
            let why = "counts bytes and `startLine` lines; ask for one or the other";
            return Err(BadValue::new("offset", why));
        }
        if lines && self.encoding == Encoding::Base64 {
            return Err(BadValue::new("encoding", "is `utf-8` where lines are asked for"));
        }
        within("offset", self.offset.unwrap_or(0), 0..=EXACT)?;
        within("length", self.length.unwrap_or(1), 1..=READ)?;
        within("startLine", self.start_line.unwrap_or(1), 1..=EXACT)?;
        within("lineCount", self.line_count.unwrap_or(1), 1..=EXACT)
    }

    fn describe(&self) -> String {
        let path = self.path.shown();
        let (what, from) = match self.part() {
            Part::Whole => (String::new(), String::new()),
            Part::Bytes { offset, length } => (
                length.map_or_else(String::new, |n| many(n, "byte")),
                format!(" from byte {offset}"),
            ),
            Part::Lines { start, count } => {
                (count.map_or_else(String::new, |n| many(n, "line")), format!(" from line {start}"))
            }
        };
        format!("read {what}{path}{from}")
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}

fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{} of ", if count == 1 { "" } else { "s" })
}
