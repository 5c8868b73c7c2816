//! `runtime.run`, `.stop`, `.restart`, `.build`, `.status` and `.logs`: the
//! project's build and dev server, which run behind the wall of profile `serve`.

use provost_proto::limits::MAX_LOG_PAGE_BYTES;
use serde::{Deserialize, Serialize};

use super::error::{Checked, EXACT, within};
use super::{Params, RelPath};

/// The longest that processes are given to end by themselves, in milliseconds.
const GRACE: u64 = 30_000;

macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident = $what:literal;)+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase", deny_unknown_fields)]
            pub struct $name {}

            impl Params for $name {
                fn check(&self) -> Checked {
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
    /// The project run, if it does not run.
    RunRuntime = "build the project if that is needed and run its dev server";
    /// The project built.
    BuildRuntime = "build the project";
    /// How it stands with build, dev server, preview and terminal.
    ReadRuntime = "look at how the project's dev server, build and preview are";
}

/// Everything of the project ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopRuntime {
    /// How long it may take to end by itself, in milliseconds.
    #[serde(default = "grace")]
    pub grace_ms: u64,
}

/// The project ended and run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestartRuntime {
    /// How long it may take to end by itself, in milliseconds.
    #[serde(default = "grace")]
    pub grace_ms: u64,
}

fn grace() -> u64 {
    2000
}

impl Params for StopRuntime {
    fn check(&self) -> Checked {
        within("graceMs", self.grace_ms, 0..=GRACE)
    }

    fn describe(&self) -> String {
        "stop the project's build and dev server and all they started".to_owned()
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

impl Params for RestartRuntime {
    fn check(&self) -> Checked {
        within("graceMs", self.grace_ms, 0..=GRACE)
    }

    fn describe(&self) -> String {
        "stop the project's dev server and run it again".to_owned()
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}

/// What builds and dev servers printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadLogs {
    /// From this byte on, as the last answer said in `next`; the end of it if absent.
    #[serde(default)]
    pub after: Option<u64>,
    /// How many bytes of it.
    #[serde(default = "limit")]
    pub limit: u64,
}

fn limit() -> u64 {
    16 * 1024
}

impl Params for ReadLogs {
    fn check(&self) -> Checked {
        within("after", self.after.unwrap_or(0), 0..=EXACT)?;
        // A page is cut between characters, so it must have room for one.
        within("limit", self.limit, 4..=u64::try_from(MAX_LOG_PAGE_BYTES).unwrap_or(EXACT))
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
