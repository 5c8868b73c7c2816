//! What can be asked of Provost: each action with its parameters, checked.
//!
//! An [`Action`] exists only in its canonical form: unknown fields refused,
//! defaults filled in, paths and texts in the one spelling they have. What is
//! decided, shown to a person, hashed and run is this value and no other.
//! Nothing here does anything; the kernel does.

mod apply_patch;
mod create_dir;
mod edit_file;
mod error;
mod list_files;
mod move_file;
pub mod patch;
mod path;
mod preview;
mod process;
pub mod protected;
mod pty;
mod read_file;
pub(crate) mod run_command;
mod runtime;
mod search_files;
mod stat_path;
mod table;
pub(crate) mod text;
mod write_file;

pub use apply_patch::ApplyPatch;
pub use create_dir::CreateDir;
pub use edit_file::{Edit, EditFile};
pub use error::BadAction;
pub use list_files::{LISTED, ListFiles};
pub use move_file::{DeleteFile, MoveFile};
pub use path::{BadPath, RelPath};
pub use preview::FetchPreview;
pub use process::{ListProcesses, ReadProcess, Signal, SignalProcess, StopProcess, WriteProcess};
pub use protected::protected;
pub use pty::{OpenPty, ReadPty, WritePty};
pub use read_file::{Part, READ, ReadFile};
pub use run_command::RunCommand;
pub use runtime::{BuildRuntime, ReadLogs, ReadRuntime, RestartRuntime, RunRuntime, StopRuntime};
pub use search_files::SearchFiles;
pub use stat_path::StatPath;
pub use table::{Action, FileAction, RuntimeAction, TerminalAction};
pub use text::{BadText, visible};
pub use write_file::{Encoding, NotBase64, WRITTEN, WriteFile, WriteMode};

use provost_proto::{Hash, ProjectId};
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::canonical::{self, NotCanonical};

/// The version of what [`Action::hash`] hashes.
const HASHED: u32 = 1;

/// What an action does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Looks at files.
    Read,
    /// Changes files.
    Write,
    /// Starts a program.
    Run,
    /// Starts what the project runs, and is answered when it has started.
    Start,
    /// Looks at or touches a program that was started before.
    Process,
}

/// What every action's parameters can say about themselves.
trait Params: Serialize + DeserializeOwned {
    /// What the types alone do not hold.
    fn check(&self) -> error::Checked;
    /// What will happen, in plain words, after "may it …?".
    fn describe(&self) -> String;
    /// The places in the project that are named.
    fn paths(&self) -> Vec<RelPath>;
}

impl Action {
    /// Whether it is answered when it has started, not when it has ended.
    pub fn is_background(&self) -> bool {
        matches!(self, Self::Terminal(TerminalAction::RunCommand(run)) if run.background)
    }

    /// `BLAKE3` over who asks for what in which project: what an approval is bound to.
    pub fn hash(&self, principal: &str, project: ProjectId) -> Result<Hash, NotCanonical> {
        let text = canonical::to_vec(&(HASHED, principal, project, self))?;
        Ok(Hash::new(*blake3::hash(&text).as_bytes()))
    }
}

/// Reads, and holds only what passes.
fn read<P: Params>(action: &'static str, params: Value) -> Result<P, BadAction> {
    if !params.is_object() {
        return Err(BadAction::not_an_object(action, &params));
    }
    let invalid = |why: String| BadAction::Invalid { action, why };
    let params: P = serde_json::from_value(params).map_err(|error| invalid(error.to_string()))?;
    params.check().map_err(|error| invalid(error.to_string()))?;
    Ok(params)
}

/// The name of an action that is spelled almost like this one.
fn similar(name: &str) -> Option<&'static str> {
    let last = |name: &str| name.rsplit(['.', '_', '/']).next().unwrap_or(name).to_lowercase();
    let wanted = last(name).replace('-', "");
    Action::NAMES.iter().copied().find(|known| last(known) == wanted)
}

/// `{"action": "fs.stat", "params": {"path": "."}}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    action: String,
    params: Value,
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut wire = serializer.serialize_struct("Wire", 2)?;
        wire.serialize_field("action", self.name())?;
        wire.serialize_field("params", &ParamsOf(self))?;
        wire.end()
    }
}

struct ParamsOf<'a>(&'a Action);

impl Serialize for ParamsOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write_params(serializer)
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        Self::parse(&wire.action, wire.params).map_err(D::Error::custom)
    }
}
