//! `pty.open`, `.read` and `.write`: the project's one terminal, which people and agents share.
//!
//! Its shell is the person's own, with the person's rights and without a sandbox. Whoever types
//! there runs programs outside the sandbox, so an agent needs an approval each time, in every
//! mode (see `decide::hard_gates`).

use provost_proto::limits::{
    MAX_TERMINAL_COLS, MAX_TERMINAL_INPUT_BYTES, MAX_TERMINAL_ROWS, TERMINAL_SCROLLBACK_LINES,
};
use serde::{Deserialize, Serialize};

use super::error::{InvalidParam, MAX_SAFE_INTEGER, ValidationResult, check_max_len, check_range};
use super::text::excerpt;
use super::{ActionParams, RelPath};

/// The most bytes of output that one call reads.
const OUTPUT: u64 = 1024 * 1024;

/// Opens the terminal, if it is not open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenPty {
    /// Its width in columns, if it is opened.
    #[serde(default = "default_cols")]
    pub cols: u16,
    /// Its height in rows, if it is opened.
    #[serde(default = "default_rows")]
    pub rows: u16,
}

fn default_cols() -> u16 {
    80
}

fn default_rows() -> u16 {
    24
}

impl ActionParams for OpenPty {
    fn validate(&self) -> ValidationResult {
        check_range("cols", self.cols.into(), 1..=MAX_TERMINAL_COLS.into())?;
        check_range("rows", self.rows.into(), 1..=MAX_TERMINAL_ROWS.into())
    }

    fn describe(&self) -> String {
        "open the project's terminal with your own shell".to_owned()
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

/// Reads the terminal: the screen, or its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadPty {
    /// How many lines above the screen to include.
    #[serde(default)]
    pub scrollback: u64,
    /// If present, reads the output from this offset on instead of the screen.
    #[serde(default)]
    pub after: Option<u64>,
    /// The most bytes of output to return.
    #[serde(default = "default_limit")]
    pub limit: u64,
}

fn default_limit() -> u64 {
    65_536
}

impl ActionParams for ReadPty {
    fn validate(&self) -> ValidationResult {
        let most = u64::try_from(TERMINAL_SCROLLBACK_LINES).unwrap_or(MAX_SAFE_INTEGER);
        check_range("scrollback", self.scrollback, 0..=most)?;
        check_range("after", self.after.unwrap_or(0), 0..=MAX_SAFE_INTEGER)?;
        check_range("limit", self.limit, 1..=OUTPUT)
    }

    fn describe(&self) -> String {
        match (self.after, self.scrollback) {
            (Some(after), _) => format!("read what your terminal printed, from byte {after}"),
            (None, 0) => "read the screen of your terminal".to_owned(),
            (None, lines) => format!("read the screen of your terminal and {lines} lines above"),
        }
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

/// Types into the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WritePty {
    /// The input, including control characters.
    pub text: String,
}

impl ActionParams for WritePty {
    fn validate(&self) -> ValidationResult {
        if self.text.is_empty() {
            return Err(InvalidParam::new("text", "is empty"));
        }
        check_max_len("text", &self.text, MAX_TERMINAL_INPUT_BYTES)
    }

    fn describe(&self) -> String {
        format!("type {} into your own terminal, outside the sandbox", excerpt(&self.text))
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}
