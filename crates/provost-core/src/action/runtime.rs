//! `runtime.run`, `.stop`, `.restart`, `.build` and `.status`: the project's
//! build and dev server, which run behind the wall of profile `serve`.

use serde::{Deserialize, Serialize};

use super::error::{Checked, within};
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
