//! Changes of texts, as CodeMirror's change sets: lengths are UTF-16 units.

use serde_json::Value;

/// A change of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSet;

/// Why a change cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The JSON is not a change set.
    #[error("the change is not a change set of CodeMirror")]
    Malformed,
    /// It is for a text of another length.
    #[error("the change is for a text of {expected} UTF-16 units, but there are {actual}")]
    Length {
        /// For how long a text it is.
        expected: u32,
        /// How long the text is.
        actual: u32,
    },
    /// Half of a surrogate pair would be left.
    #[error("the change splits a character")]
    SplitCharacter,
}

impl ChangeSet {
    /// Reads the JSON of CodeMirror's `ChangeSet.toJSON`.
    pub fn from_json(json: &Value) -> Result<Self, ChangeError> { todo!() }
    /// The JSON that `ChangeSet.fromJSON` reads.
    pub fn to_json(&self) -> Result<Value, ChangeError> { todo!() }
    /// The text after the change.
    pub fn apply(&self, text: &str) -> Result<String, ChangeError> { todo!() }
    /// This change and then another one, as one.
    pub fn compose(&self, next: &Self) -> Result<Self, ChangeError> { todo!() }
    /// This change for the text after another change of the same text. `before`: where both insert at one place, this comes first.
    pub fn map(&self, other: &Self, before: bool) -> Result<Self, ChangeError> { todo!() }
    /// The smallest single replacement that makes one text of another.
    pub fn between(old: &str, new: &str) -> Self { todo!() }
}
