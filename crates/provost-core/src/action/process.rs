//! `terminal.list`, `.read`, `.write`, `.signal` and `.stop`: processes that run
//! in the background.

use serde::{Deserialize, Serialize};

use super::error::{BadValue, Checked, EXACT, no_longer, within};
use super::text::{excerpt, quoted};
use super::{Params, RelPath};

/// The longest id of a process.
const ID: usize = 64;
/// How many bytes of output one call reads at most.
const OUTPUT: u64 = 1024 * 1024;
/// How many bytes of input one call writes at most.
const INPUT: usize = 1024 * 1024;
/// The longest a process is given to end by itself, in milliseconds.
const GRACE: u64 = 30_000;

fn check_id(id: &str) -> Checked {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    match id.len() {
        1..=ID if id.bytes().all(plain) => Ok(()),
        _ => Err(BadValue::new("id", format!("is 1 to {ID} letters, digits, `-` and `_`"))),
    }
}

/// The background processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListProcesses {}

impl Params for ListProcesses {
    fn check(&self) -> Checked {
        Ok(())
    }

    fn describe(&self) -> String {
        "list the background processes".to_owned()
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

/// What a background process printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadProcess {
    /// The process.
    pub id: String,
    /// The first byte of its output that is wanted, counted from 0.
    #[serde(default)]
    pub after: u64,
    /// How many bytes.
    #[serde(default = "limit")]
    pub limit: u64,
}

fn limit() -> u64 {
    65_536
}

impl Params for ReadProcess {
    fn check(&self) -> Checked {
        check_id(&self.id)?;
        within("after", self.after, 0..=EXACT)?;
        within("limit", self.limit, 1..=OUTPUT)
    }

    fn describe(&self) -> String {
        format!("read what process {} printed, from byte {}", quoted(&self.id), self.after)
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

/// Input for a background process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteProcess {
    /// The process.
    pub id: String,
    /// What it is to read, control characters and all.
    #[serde(default)]
    pub text: String,
    /// Whether this is the end of its input.
    #[serde(default)]
    pub eof: bool,
}

impl Params for WriteProcess {
    fn check(&self) -> Checked {
        check_id(&self.id)?;
        no_longer("text", &self.text, INPUT)?;
        if self.text.is_empty() && !self.eof {
            return Err(BadValue::new("text", "is empty, and the input does not end either"));
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
    /// Please end.
    Term = "TERM";
    /// As Ctrl-C.
    Int = "INT";
    /// The terminal is gone; often: read the configuration again.
    Hup = "HUP";
    /// End now.
    Kill = "KILL";
    /// The program's own first.
    Usr1 = "USR1";
    /// The program's own second.
    Usr2 = "USR2";
    /// As Ctrl-\.
    Quit = "QUIT";
    /// Halt.
    Stop = "STOP";
    /// Go on.
    Cont = "CONT";
}

/// A signal to a background process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignalProcess {
    /// The process.
    pub id: String,
    /// The signal.
    pub signal: Signal,
}

impl Params for SignalProcess {
    fn check(&self) -> Checked {
        check_id(&self.id)
    }

    fn describe(&self) -> String {
        format!("send SIG{} to process {}", self.signal.as_str(), quoted(&self.id))
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

/// A background process ended, with all it started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopProcess {
    /// The process.
    pub id: String,
    /// How long it may take to end by itself, in milliseconds.
    #[serde(default = "grace")]
    pub grace_ms: u64,
}

fn grace() -> u64 {
    2000
}

impl Params for StopProcess {
    fn check(&self) -> Checked {
        check_id(&self.id)?;
        within("graceMs", self.grace_ms, 0..=GRACE)
    }

    fn describe(&self) -> String {
        format!("stop process {} and all it started", quoted(&self.id))
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}
