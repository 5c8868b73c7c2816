//! `fs.editFile`: replaces texts in a file.

use provost_proto::Hash;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::error::{InvalidParam, ValidationResult};
use super::rel_path::deserialize_non_root;
use super::{ActionParams, MAX_FILE_WRITE_BYTES, RelPath};

/// The most edits of one call.
const EDITS: usize = 1000;

/// Replaces texts in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditFile {
    /// The file.
    #[serde(deserialize_with = "deserialize_non_root")]
    pub path: RelPath,
    /// The edits, applied in order; each sees the result of the previous one.
    #[serde(deserialize_with = "deserialize_edits")]
    pub edits: Vec<TextEdit>,
    /// The hash that the file must have before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_hash: Option<Hash>,
}

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TextEdit {
    /// The text to replace; must occur exactly once unless `all` is set.
    pub old: String,
    /// The replacement.
    pub new: String,
    /// Whether every occurrence is replaced.
    #[serde(default)]
    pub all: bool,
}

/// Edits must be objects; serde alone would also accept arrays.
fn deserialize_edits<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<TextEdit>, D::Error> {
    let edits = Vec::<Map<String, Value>>::deserialize(deserializer)?;
    let read = |edit| serde_json::from_value(Value::Object(edit)).map_err(D::Error::custom);
    edits.into_iter().map(read).collect()
}

impl ActionParams for EditFile {
    fn validate(&self) -> ValidationResult {
        if self.edits.is_empty() || self.edits.len() > EDITS {
            return Err(InvalidParam::new("edits", format!("holds 1 to {EDITS} edits")));
        }
        for (edit, n) in self.edits.iter().zip(1..) {
            if edit.old.is_empty() {
                return Err(InvalidParam::new("edits", format!("number {n}: `old` is empty")));
            }
            if edit.old == edit.new {
                let why = format!("number {n}: `old` and `new` are the same");
                return Err(InvalidParam::new("edits", why));
            }
        }
        let length: usize = self.edits.iter().map(|edit| edit.old.len() + edit.new.len()).sum();
        if length > MAX_FILE_WRITE_BYTES {
            let why = format!("hold {length} bytes, more than the {MAX_FILE_WRITE_BYTES} allowed");
            return Err(InvalidParam::new("edits", why));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let path = self.path.display_quoted();
        match self.edits.len() {
            1 => format!("make an edit in {path}"),
            n => format!("make {n} edits in {path}"),
        }
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}
