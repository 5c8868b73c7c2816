//! `terminal.list`, `.read`, `.write`, `.signal` and `.stop`: background processes.

use serde::{Deserialize, Serialize};

use super::error::{InvalidParam, MAX_SAFE_INTEGER, ValidationResult, check_max_len, check_range};
use super::text::{excerpt, quoted};
use super::{ActionParams, RelPath};

/// The longest process id.
const ID: usize = 64;
/// The most bytes of output that one call reads.
const OUTPUT: u64 = 1024 * 1024;
/// The most bytes of input that one call writes.
const INPUT: usize = 1024 * 1024;
/// The longest grace period before a process is killed, in milliseconds.
const GRACE: u64 = 30_000;

fn check_id(id: &str) -> ValidationResult {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    match id.len() {
        1..=ID if id.bytes().all(plain) => Ok(()),
        _ => Err(InvalidParam::new("id", format!("is 1 to {ID} letters, digits, `-` and `_`"))),
    }
}

/// Lists the background processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListProcesses {}

impl ActionParams for ListProcesses {
    fn validate(&self) -> ValidationResult {
        Ok(())
    }

    fn describe(&self) -> String {
        "list the background processes".to_owned()
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

/// Reads the output of a background process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadProcess {
    /// The process.
    pub id: String,
    /// The offset in its output from which to read.
    #[serde(default)]
    pub after: u64,
    /// The most bytes to return.
    #[serde(default = "default_limit")]
    pub limit: u64,
}

fn default_limit() -> u64 {
    65_536
}

impl ActionParams for ReadProcess {
    fn validate(&self) -> ValidationResult {
        check_id(&self.id)?;
        check_range("after", self.after, 0..=MAX_SAFE_INTEGER)?;
        check_range("limit", self.limit, 1..=OUTPUT)
    }

    fn describe(&self) -> String {
        format!("read what process {} printed, from byte {}", quoted(&self.id), self.after)
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

/// Writes to the stdin of a background process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteProcess {
    /// The process.
    pub id: String,
    /// The text, including control characters.
    #[serde(default)]
    pub text: String,
    /// Whether stdin is closed afterwards.
    #[serde(default)]
    pub eof: bool,
}

impl ActionParams for WriteProcess {
    fn validate(&self) -> ValidationResult {
        check_id(&self.id)?;
        check_max_len("text", &self.text, INPUT)?;
        if self.text.is_empty() && !self.eof {
            return Err(InvalidParam::new("text", "is empty, and the input does not end either"));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let id = quoted(&self.id);
        match (self.text.is_empty(), self.eof) {
            (true, _) => format!("end the input of process {id}"),
            (false, true) => {
                format!("type {} into process {id} and end its input", excerpt(&self.text))
            }
            (false, false) => format!("type {} into process {id}", excerpt(&self.text)),
        }
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

macro_rules! signals {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)+) => {
        /// A signal that may be sent.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Signal {
            $($(#[$doc])* #[serde(rename = $text)] $name,)+
        }

        impl Signal {
            /// Its name without `SIG`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

signals! {
    /// Requests termination.
    Term = "TERM";
    /// Like Ctrl-C.
    Int = "INT";
    /// The terminal is gone; many programs reload their configuration.
    Hup = "HUP";
    /// Ends the process at once.
    Kill = "KILL";
    /// Defined by the program.
    Usr1 = "USR1";
    /// Defined by the program.
    Usr2 = "USR2";
    /// Like Ctrl-\.
    Quit = "QUIT";
    /// Suspends the process.
    Stop = "STOP";
    /// Resumes the process.
    Cont = "CONT";
}

/// Sends a signal to a background process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignalProcess {
    /// The process.
    pub id: String,
    /// The signal.
    pub signal: Signal,
}

impl ActionParams for SignalProcess {
    fn validate(&self) -> ValidationResult {
        check_id(&self.id)
    }

    fn describe(&self) -> String {
        format!("send SIG{} to process {}", self.signal.as_str(), quoted(&self.id))
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

/// Stops a background process with everything that it started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopProcess {
    /// The process.
    pub id: String,
    /// The grace period before it is killed, in milliseconds.
    #[serde(default = "default_grace_ms")]
    pub grace_ms: u64,
}

fn default_grace_ms() -> u64 {
    2000
}

impl ActionParams for StopProcess {
    fn validate(&self) -> ValidationResult {
        check_id(&self.id)?;
        check_range("graceMs", self.grace_ms, 0..=GRACE)
    }

    fn describe(&self) -> String {
        format!("stop process {} and all it started", quoted(&self.id))
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}
