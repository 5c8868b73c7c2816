//! Why a request is not an action.

use provost_proto::Code;
use serde_json::Value;

use super::text;

/// Why a request is not an action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAction {
    /// No action has this name.
    #[error("there is no action {}{}", text::excerpt(.name), suggestion(*.similar))]
    UnknownAction {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        similar: Option<&'static str>,
    },
    /// The parameters are not `{…}`.
    #[error("the parameters of {action} are a JSON object, not {found}")]
    NotAnObject {
        /// The action that was asked for.
        action: &'static str,
        /// What came instead.
        found: &'static str,
    },
    /// A parameter is unknown, missing, or not what it must be.
    #[error("{action}: {why}")]
    Invalid {
        /// The action that was asked for.
        action: &'static str,
        /// What was expected.
        why: String,
    },
}

impl BadAction {
    /// The code on the wire.
    pub fn code(&self) -> Code {
        match self {
            Self::UnknownAction { .. } | Self::NotAnObject { .. } | Self::Invalid { .. } => {
                Code::InvalidAction
            }
        }
    }

    pub(super) fn not_an_object(action: &'static str, found: &Value) -> Self {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        Self::NotAnObject { action, found }
    }
}

fn suggestion(similar: Option<&str>) -> String {
    similar.map_or_else(String::new, |name| format!("; is it `{name}`?"))
}

/// A parameter that has the right type and the wrong value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {why}")]
pub(super) struct InvalidParam {
    field: &'static str,
    why: String,
}

impl InvalidParam {
    pub(super) fn new(field: &'static str, why: impl Into<String>) -> Self {
        Self { field, why: why.into() }
    }
}

/// What a check of parameters says.
pub(super) type ValidationResult = Result<(), InvalidParam>;

/// Checks that a number lies in a range.
pub(super) fn check_range(
    field: &'static str,
    value: u64,
    range: std::ops::RangeInclusive<u64>,
) -> ValidationResult {
    if range.contains(&value) {
        return Ok(());
    }
    Err(InvalidParam::new(field, format!("is {} to {}, not {value}", range.start(), range.end())))
}

/// Checks the length of a text in bytes.
pub(super) fn check_max_len(field: &'static str, text: &str, most: usize) -> ValidationResult {
    if text.len() <= most {
        return Ok(());
    }
    Err(InvalidParam::new(field, format!("has {} bytes, more than the {most} allowed", text.len())))
}

/// The largest integer that every JSON reader holds exactly.
pub(super) const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
