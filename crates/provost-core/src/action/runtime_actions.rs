//! `runtime.run`, `.stop`, `.restart`, `.build`, `.status` and `.logs`: the project's build and
//! dev server, which run in the sandbox of profile `serve`.

use provost_proto::limits::MAX_LOG_PAGE_BYTES;
use serde::{Deserialize, Serialize};

use super::error::{MAX_SAFE_INTEGER, ValidationResult, check_range};
use super::{ActionParams, RelPath};

/// The longest grace period before processes are killed, in milliseconds.
const GRACE: u64 = 30_000;

macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident = $what:literal;)+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase", deny_unknown_fields)]
            pub struct $name {}

            impl ActionParams for $name {
                fn validate(&self) -> ValidationResult {
                    Ok(())
                }

                fn describe(&self) -> String {
                    $what.to_owned()
                }

                fn paths(&self) -> Vec<RelPath> {
                    Vec::new()
                }
            }
        )+
    };
}

plain! {
    /// Starts the dev server, if it does not run.
    RunRuntime = "build the project if that is needed and run its dev server";
    /// Builds the project.
    BuildRuntime = "build the project";
    /// Reads the state of build, dev server, preview and terminal.
    ReadRuntime = "look at how the project's dev server, build and preview are";
}

/// Stops the dev server and the build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopRuntime {
    /// The grace period before processes are killed, in milliseconds.
    #[serde(default = "default_grace_ms")]
    pub grace_ms: u64,
}

/// Stops the dev server and starts it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestartRuntime {
    /// The grace period before processes are killed, in milliseconds.
    #[serde(default = "default_grace_ms")]
    pub grace_ms: u64,
}

fn default_grace_ms() -> u64 {
    2000
}

impl ActionParams for StopRuntime {
    fn validate(&self) -> ValidationResult {
        check_range("graceMs", self.grace_ms, 0..=GRACE)
    }

    fn describe(&self) -> String {
        "stop the project's build and dev server and all they started".to_owned()
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

impl ActionParams for RestartRuntime {
    fn validate(&self) -> ValidationResult {
        check_range("graceMs", self.grace_ms, 0..=GRACE)
    }

    fn describe(&self) -> String {
        "stop the project's dev server and run it again".to_owned()
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

/// Reads the output of builds and dev servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadLogs {
    /// The offset from which to read, `next` of the previous response; the end of the output if
    /// absent.
    #[serde(default)]
    pub after: Option<u64>,
    /// The most bytes to return.
    #[serde(default = "default_limit")]
    pub limit: u64,
}

fn default_limit() -> u64 {
    16 * 1024
}

impl ActionParams for ReadLogs {
    fn validate(&self) -> ValidationResult {
        check_range("after", self.after.unwrap_or(0), 0..=MAX_SAFE_INTEGER)?;
        // A page is cut between characters, so it must have room for one.
        check_range(
            "limit",
            self.limit,
            4..=u64::try_from(MAX_LOG_PAGE_BYTES).unwrap_or(MAX_SAFE_INTEGER),
        )
    }

    fn describe(&self) -> String {
        match self.after {
            Some(after) => {
                format!("read what the project's build and dev server printed, from byte {after}")
            }
            None => "read what the project's build and dev server printed last".to_owned(),
        }
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}
