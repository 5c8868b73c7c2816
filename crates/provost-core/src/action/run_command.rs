//! `terminal.runCommand`: runs a command, in the foreground or in the background.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::{InvalidParam, ValidationResult, check_max_len, check_range};
use super::text::{self, LineBreaks, excerpt, quoted};
use super::{ActionParams, RelPath};
use crate::command::{UnreadableCommand, analyze_line, is_lookalike};

/// The longest command line, and the longest argument list, in bytes.
const COMMAND: usize = 128 * 1024;
/// The most arguments.
const ARGUMENTS: usize = 1024;
/// The most variables.
const VARIABLES: usize = 64;
/// The longest input on stdin, in bytes.
const STDIN: usize = 1024 * 1024;
/// The longest timeout, in milliseconds: an hour.
const TIMEOUT: u64 = 3_600_000;
/// The range of the output limit, in bytes.
const OUTPUT: std::ops::RangeInclusive<u64> = 1024..=64 * 1024 * 1024;

/// Runs a command, in the foreground or in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunCommand {
    /// A line for a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A program and its arguments, without a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// The folder in which it runs.
    #[serde(default)]
    pub cwd: RelPath,
    /// Additional variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The input on stdin; empty if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// The timeout, in milliseconds.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
    /// The most bytes of output that are kept.
    #[serde(default = "default_max_output")]
    pub max_output: u64,
    /// Whether it may use the network, which the sandbox blocks otherwise.
    #[serde(default)]
    pub network: bool,
    /// Whether the call returns when the command has started, not when it has ended.
    #[serde(default)]
    pub background: bool,
}

fn default_timeout_ms() -> u64 {
    120_000
}

fn default_max_output() -> u64 {
    256 * 1024
}

/// Variables that make a program run something else. Where a rule allows `git status`, none of
/// these may be set.
const REFUSED: &[&str] = &[
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "CDPATH",
    "PS4",
    "PROMPT_COMMAND",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "SSH_ASKPASS",
];

/// The same, by prefix.
const REFUSED_PREFIXES: &[&str] = &["LD_", "DYLD_", "PROVOST_", "GIT_CONFIG", "BASH_FUNC_"];

/// Whether a variable of this name makes a program run something else.
pub(crate) fn is_refused_variable(name: &str) -> bool {
    let known = name.to_ascii_uppercase();
    REFUSED.contains(&&*known) || REFUSED_PREFIXES.iter().any(|prefix| known.starts_with(prefix))
}

impl RunCommand {
    fn check_text(field: &'static str, text: &str) -> ValidationResult {
        text::check_visible(text, LineBreaks::Allowed)
            .map_err(|error| InvalidParam::new(field, error.to_string()))
    }

    fn check_command(&self) -> ValidationResult {
        match (&self.command, &self.argv) {
            (Some(_), Some(_)) | (None, None) => {
                Err(InvalidParam::new("command", "or `argv` is needed, one and not the other"))
            }
            (Some(command), None) => {
                if command.trim().is_empty() {
                    return Err(InvalidParam::new("command", "is empty"));
                }
                check_max_len("command", command, COMMAND)?;
                Self::check_text("command", command)?;
                // A name that looks like another program or option is refused without asking.
                match if command.is_ascii() { Ok(()) } else { analyze_line(command).map(drop) } {
                    Err(error @ UnreadableCommand::LookalikeName { .. }) => {
                        Err(InvalidParam::new("command", error.to_string()))
                    }
                    Err(_) | Ok(()) => Ok(()),
                }
            }
            (None, Some(argv)) => {
                if argv.is_empty() || argv.len() > ARGUMENTS {
                    return Err(InvalidParam::new("argv", format!("holds 1 to {ARGUMENTS} items")));
                }
                if argv[0].is_empty() {
                    return Err(InvalidParam::new("argv", "begins with the program to run"));
                }
                let length: usize = argv.iter().map(|argument| argument.len() + 1).sum();
                if length > COMMAND {
                    let why = format!("has {length} bytes, more than the {COMMAND} allowed");
                    return Err(InvalidParam::new("argv", why));
                }
                argv.iter().try_for_each(|argument| Self::check_text("argv", argument))?;
                match argv.iter().enumerate().find(|(at, word)| is_lookalike(word, *at == 0)) {
                    Some((_, word)) => {
                        let why = format!(
                            "holds a program or an option in letters that look like others: {}",
                            word.escape_unicode()
                        );
                        Err(InvalidParam::new("argv", why))
                    }
                    None => Ok(()),
                }
            }
        }
    }

    fn check_env(&self) -> ValidationResult {
        if self.env.len() > VARIABLES {
            return Err(InvalidParam::new("env", format!("holds at most {VARIABLES} variables")));
        }
        let length: usize = self.env.iter().map(|(name, value)| name.len() + value.len()).sum();
        if length > COMMAND {
            let why = format!("has {length} bytes, more than the {COMMAND} allowed");
            return Err(InvalidParam::new("env", why));
        }
        for (name, value) in &self.env {
            let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
            let plain = name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit());
            if !plain || !name.bytes().next().is_some_and(letter) {
                let why = format!("names {}; a name is letters, digits and `_`", quoted(name));
                return Err(InvalidParam::new("env", why));
            }
            if is_refused_variable(name) {
                let why = format!("sets `{name}`, which changes what programs run");
                return Err(InvalidParam::new("env", why));
            }
            Self::check_text("env", value)?;
        }
        Ok(())
    }
}

impl ActionParams for RunCommand {
    fn validate(&self) -> ValidationResult {
        self.check_command()?;
        self.check_env()?;
        check_max_len("stdin", self.stdin.as_deref().unwrap_or_default(), STDIN)?;
        check_range("timeoutMs", self.timeout_ms, 1..=TIMEOUT)?;
        check_range("maxOutput", self.max_output, OUTPUT)
    }

    fn describe(&self) -> String {
        let mut text = match (&self.command, &self.argv) {
            (Some(command), _) => format!("run {}", quoted(command)),
            (None, Some(argv)) => format!("run the program {}", quoted(&quote_argv(argv))),
            (None, None) => "run nothing".to_owned(),
        };
        if !self.cwd.is_root() {
            text.extend([" in ", &self.cwd.display_quoted(), "/"]);
        }
        if !self.env.is_empty() {
            let set = |(name, value): (&String, &String)| format!("{name}={}", quoted(value));
            let variables: Vec<_> = self.env.iter().map(set).collect();
            text.extend([" with ", &variables.join(", ")]);
        }
        if let Some(stdin) = &self.stdin {
            text.extend([", giving it ", &excerpt(stdin), " to read"]);
        }
        if self.network {
            text += ", with the network";
        }
        if self.background {
            text += ", in the background";
        }
        text
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.cwd.clone()]
    }
}

/// The arguments quoted for a shell, so that it is visible where each one ends.
pub(crate) fn quote_argv(argv: &[String]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^".contains(c);
    let word = |argument: &String| {
        if !argument.is_empty() && argument.chars().all(plain) {
            argument.clone()
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        }
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}
