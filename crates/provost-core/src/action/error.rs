//! Why a request is not a valid action.

use provost_proto::Code;
use serde_json::Value;

use super::text;

/// Why a request is not a valid action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAction {
    /// No action has this name.
    #[error("there is no action {}{}", text::excerpt(.name), suggestion(*.similar))]
    UnknownAction {
        /// The requested name.
        name: String,
        /// A known action with a similar name.
        similar: Option<&'static str>,
    },
    /// The parameters are not `{…}`.
    #[error("the parameters of {action} are a JSON object, not {found}")]
    NotAnObject {
        /// The requested action.
        action: &'static str,
        /// The JSON type that was found.
        found: &'static str,
    },
    /// A parameter is unknown, missing or invalid.
    #[error("{action}: {why}")]
    Invalid {
        /// The requested action.
        action: &'static str,
        /// What was expected.
        why: String,
    },
}

impl BadAction {
    /// The error code on the wire.
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

/// A parameter of the right type with an invalid value.
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

/// The result of checking parameters.
pub(super) type ValidationResult = Result<(), InvalidParam>;

/// Checks that a number is in a range.
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

/// The largest integer that every JSON reader represents exactly.
pub(super) const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
