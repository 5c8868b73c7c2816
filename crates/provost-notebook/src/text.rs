//! Changes of texts, as CodeMirror's change sets: lengths are UTF-16 units.
//!
//! `map` and `compose` do what `@codemirror/state` does, so that clients with either agree.

mod operations;
mod section;

use serde_json::Value;

use section::{Section, SectionBuilder};

/// A change of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeSet {
    sections: Vec<Section>,
}

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
        expected: u64,
        /// How long the text is.
        actual: u64,
    },
    /// Half of a surrogate pair would be left.
    #[error("the change splits a character")]
    SplitCharacter,
}

impl ChangeSet {
    /// Reads the JSON of CodeMirror's `ChangeSet.toJSON`.
    ///
    /// # Errors
    /// If it is not such JSON.
    pub fn from_json(json: &Value) -> Result<Self, ChangeError> {
        let mut builder = SectionBuilder::default();
        for part in json.as_array().ok_or(ChangeError::Malformed)? {
            match part {
                Value::Number(_) => builder.keep(read_length(part)?),
                Value::Array(part) => {
                    let (deleted, lines) = part.split_first().ok_or(ChangeError::Malformed)?;
                    let mut inserted = Vec::new();
                    for (index, line) in lines.iter().enumerate() {
                        if index > 0 {
                            inserted.push(u16::from(b'\n'));
                        }
                        inserted
                            .extend(line.as_str().ok_or(ChangeError::Malformed)?.encode_utf16());
                    }
                    builder.replace(read_length(deleted)?, &inserted);
                }
                Value::Null | Value::Bool(_) | Value::String(_) | Value::Object(_) => {
                    return Err(ChangeError::Malformed);
                }
            }
        }
        Ok(builder.finish())
    }

    /// The JSON that CodeMirror's `ChangeSet.fromJSON` reads.
    ///
    /// # Errors
    /// If half of a surrogate pair is inserted, which no JSON can hold.
    pub fn to_json(&self) -> Result<Value, ChangeError> {
        let parts = self.sections.iter().map(|section| match section {
            Section::Keep(length) => Ok(Value::from(*length)),
            Section::Replace { deleted, inserted } => {
                let mut part = vec![Value::from(*deleted)];
                if !inserted.is_empty() {
                    let text = read_utf16(inserted)?;
                    part.extend(text.split('\n').map(Value::from));
                }
                Ok(Value::Array(part))
            }
        });
        parts.collect::<Result<Vec<_>, _>>().map(Value::Array)
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.sections.iter().all(|section| matches!(section, Section::Keep(_)))
    }

    /// The length of the texts that it applies to.
    pub fn old_length(&self) -> u64 {
        self.sections.iter().map(Section::old_length).sum()
    }

    /// The text after the change.
    ///
    /// # Errors
    /// If it is for a text of another length, or splits a character.
    pub fn apply(&self, text: &str) -> Result<String, ChangeError> {
        let actual = utf16_length(text);
        if self.old_length() != actual {
            return Err(ChangeError::Length { expected: self.old_length(), actual });
        }
        let mut changed = String::with_capacity(text.len());
        let mut rest = text;
        for section in &self.sections {
            match section {
                Section::Keep(length) => {
                    let (kept, after) = split_utf16(rest, *length)?;
                    changed.push_str(kept);
                    rest = after;
                }
                Section::Replace { deleted, inserted } => {
                    rest = split_utf16(rest, *deleted)?.1;
                    changed.push_str(&read_utf16(inserted)?);
                }
            }
        }
        Ok(changed)
    }

    /// The smallest single replacement that makes one text of another.
    pub fn between(old: &str, new: &str) -> Self {
        let shared = old.chars().zip(new.chars()).take_while(|(a, b)| a == b);
        let start: usize = shared.map(|(a, _)| a.len_utf8()).sum();
        let (old_rest, new_rest) = (&old[start..], &new[start..]);
        let shared = old_rest.chars().rev().zip(new_rest.chars().rev());
        let end: usize = shared.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
        let deleted = &old_rest[..old_rest.len() - end];
        let inserted: Vec<_> = new_rest[..new_rest.len() - end].encode_utf16().collect();
        let mut builder = SectionBuilder::default();
        builder.keep(utf16_length(&old[..start]));
        builder.replace(utf16_length(deleted), &inserted);
        builder.keep(utf16_length(&old_rest[old_rest.len() - end..]));
        builder.finish()
    }
}

/// The length of a text in UTF-16 units.
pub fn utf16_length(text: &str) -> u64 {
    text.chars().map(|c| c.len_utf16() as u64).sum()
}

/// The text with the line breaks that CodeMirror counts: `\n` only.
pub fn normalize_line_breaks(text: &str) -> String {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        text.to_owned()
    }
}

fn read_length(value: &Value) -> Result<u64, ChangeError> {
    let length = value.as_u64().filter(|length| u32::try_from(*length).is_ok());
    length.ok_or(ChangeError::Malformed)
}

fn read_utf16(units: &[u16]) -> Result<String, ChangeError> {
    String::from_utf16(units).map_err(|_| ChangeError::SplitCharacter)
}

fn split_utf16(text: &str, length: u64) -> Result<(&str, &str), ChangeError> {
    let mut left = length;
    let mut end = 0;
    for c in text.chars() {
        if left == 0 {
            break;
        }
        left = left.checked_sub(c.len_utf16() as u64).ok_or(ChangeError::SplitCharacter)?;
        end += c.len_utf8();
    }
    if left > 0 {
        return Err(ChangeError::SplitCharacter);
    }
    Ok(text.split_at(end))
}
