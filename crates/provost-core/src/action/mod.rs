//! The actions that can be requested, with their checked parameters.
//!
//! An [`Action`] exists in canonical form only: unknown fields refused, defaults filled in, paths
//! and texts normalized. Exactly this value is decided about, shown to a person, hashed and
//! executed. Nothing here executes anything; the kernel does.

mod action_table;
mod apply_patch;
mod create_dir;
mod edit_file;
mod error;
mod fetch_preview;
mod list_files;
mod lookalikes;
mod move_file;
pub mod patch;
mod process_actions;
pub mod protected_paths;
mod read_file;
mod rel_path;
mod restore_file;
pub(crate) mod run_command;
mod runtime_actions;
mod search_files;
mod stat_path;
mod terminal_actions;
pub(crate) mod text;
mod write_file;

pub use action_table::{Action, FileAction, ProcessAction, RuntimeAction};
pub use apply_patch::ApplyPatch;
pub use create_dir::CreateDir;
pub use edit_file::{EditFile, TextEdit};
pub use error::BadAction;
pub use fetch_preview::FetchPreview;
pub use list_files::{ListFiles, MAX_LISTED_ENTRIES};
pub use move_file::{DeleteFile, MoveFile};
pub use process_actions::{
    ListProcesses, ReadProcess, Signal, SignalProcess, StopProcess, WriteProcess,
};
pub use protected_paths::{ProtectionLevel, protection_level, protection_reason};
pub use read_file::{FileRange, MAX_FILE_READ_BYTES, ReadFile};
pub use rel_path::{BadPath, RelPath};
pub use restore_file::RestoreFile;
pub use run_command::RunCommand;
pub use runtime_actions::{
    BuildRuntime, ReadLogs, ReadRuntime, RestartRuntime, RunRuntime, StopRuntime,
};
pub use search_files::SearchFiles;
pub use stat_path::StatPath;
pub use terminal_actions::{OpenPty, ReadPty, WritePty};
pub use text::{BadText, escape_invisible, escape_line, escape_name};
pub use write_file::{BytesEncoding, MAX_FILE_WRITE_BYTES, NotBase64, WriteFile, WriteMode};

use provost_proto::{Hash, ProjectId};
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};

use crate::canonical::{self, NotCanonical};

/// The version of the input of [`Action::hash`].
const ACTION_HASH_VERSION: u32 = 1;

/// The class of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActionKind {
    /// Reads files.
    Read,
    /// Changes files.
    Write,
    /// Starts a program.
    Run,
    /// Starts the project's runtime; returns when it has started.
    Start,
    /// Reads or controls a program that was started before.
    Process,
}

/// What the parameters of every action provide.
trait ActionParams: Serialize + DeserializeOwned {
    /// Checks what the types alone do not.
    fn validate(&self) -> error::ValidationResult;
    /// What the action does, as text for people, as it follows "may it …?".
    fn describe(&self) -> String;
    /// The paths in the project that are named.
    fn paths(&self) -> Vec<RelPath>;
}

impl Action {
    /// Whether it returns when it has started, not when it has ended.
    pub fn is_background(&self) -> bool {
        matches!(self, Self::Process(ProcessAction::RunCommand(run)) if run.background)
    }

    /// `BLAKE3` of principal, project and action: an approval is valid for this hash only.
    pub fn hash(&self, principal: &str, project: ProjectId) -> Result<Hash, NotCanonical> {
        let text = canonical::to_vec(&(ACTION_HASH_VERSION, principal, project, self))?;
        Ok(Hash::new(*blake3::hash(&text).as_bytes()))
    }
}

/// Parses and checks parameters.
fn parse_action_params<P: ActionParams>(
    action: &'static str,
    params: Value,
) -> Result<P, BadAction> {
    if !params.is_object() {
        return Err(BadAction::not_an_object(action, &params));
    }
    let invalid = |why: String| BadAction::Invalid { action, why };
    let params = normalize_numbers(params).map_err(|number| {
        invalid(format!("the number {number} is not exact in every JSON reader; use a smaller one"))
    })?;
    let params: P = serde_json::from_value(params).map_err(|error| invalid(error.to_string()))?;
    params.validate().map_err(|error| invalid(error.to_string()))?;
    Ok(params)
}

/// Parameters with whole numbers as integers: models write `1.0` where `1` is meant, and both
/// have one canonical form. An integer without a canonical form is an error.
fn normalize_numbers(value: Value) -> Result<Value, Number> {
    Ok(match value {
        Value::Number(number) => {
            let Ok(text) = canonical::to_vec(&number) else { return Err(number) };
            Value::Number(serde_json::from_slice(&text).unwrap_or(number))
        }
        Value::Array(items) => {
            Value::Array(items.into_iter().map(normalize_numbers).collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let pair = |(name, value)| Ok((name, normalize_numbers(value)?));
            Value::Object(members.into_iter().map(pair).collect::<Result<_, Number>>()?)
        }
        other @ (Value::Null | Value::Bool(_) | Value::String(_)) => other,
    })
}

/// The name of an action with a similar spelling.
fn similar_action_name(name: &str) -> Option<&'static str> {
    let last = |name: &str| name.rsplit(['.', '_', '/']).next().unwrap_or(name).to_lowercase();
    let wanted = last(name).replace('-', "");
    Action::NAMES.iter().copied().find(|known| last(known) == wanted)
}

/// `{"action": "fs.stat", "params": {"path": "."}}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionJson {
    action: String,
    params: Value,
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut wire = serializer.serialize_struct("Wire", 2)?;
        wire.serialize_field("action", self.name())?;
        wire.serialize_field("params", &ActionParamsRef(self))?;
        wire.end()
    }
}

struct ActionParamsRef<'a>(&'a Action);

impl Serialize for ActionParamsRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write_params(serializer)
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = ActionJson::deserialize(deserializer)?;
        Self::parse(&wire.action, wire.params).map_err(D::Error::custom)
    }
}
