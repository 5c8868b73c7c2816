//! `pty.open`, `.read` and `.write`: the project's one terminal, which people
//! and agents share.
//!
//! Its shell is the person's own, with the person's rights: it runs behind no
//! wall. Whoever types there runs programs outside the sandbox, so an agent that
//! wants to is asked about each time, in every mode (see `decide::gate`).

use provost_proto::limits::{
    MAX_TERMINAL_COLS, MAX_TERMINAL_INPUT_BYTES, MAX_TERMINAL_ROWS, TERMINAL_SCROLLBACK_LINES,
};
use serde::{Deserialize, Serialize};

use super::error::{InvalidParam, MAX_SAFE_INTEGER, ValidationResult, check_max_len, check_range};
use super::text::excerpt;
use super::{ActionParams, RelPath};

/// How many bytes of output one call reads at most.
const OUTPUT: u64 = 1024 * 1024;

/// The terminal opened, if it is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenPty {
    /// Its width, if it is opened.
    #[serde(default = "default_cols")]
    pub cols: u16,
    /// Its height, if it is opened.
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

/// What stands in the terminal: the screen, or what was printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadPty {
    /// How many lines above the screen are wanted with it.
    #[serde(default)]
    pub scrollback: u64,
    /// If given, not the screen but what was printed from this byte on.
    #[serde(default)]
    pub after: Option<u64>,
    /// How many bytes of that.
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

/// Keys for the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WritePty {
    /// What is typed, control characters and all.
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
