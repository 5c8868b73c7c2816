//! JSON that is passed on as text.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON value as text. Passing it on neither parses nor serializes it again, however large it
/// is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Serializes a value.
    pub fn new(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// Parses it.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }

    /// The length of its text, in bytes.
    pub fn byte_len(&self) -> usize {
        self.0.get().len()
    }

    /// As a value.
    pub fn to_value(&self) -> Value {
        // The text is valid JSON, so parsing fails at most because of its depth.
        self.parse().unwrap_or_default()
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get() || self.to_value() == other.to_value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_passed_on_is_what_was_written() {
        let value = json!({ "content": "a\n\"b\"", "n": [1.5, null] });
        let raw = RawJson::new(&value).unwrap();
        assert_eq!(raw.to_value(), value);
        let inside = serde_json::to_string(&json!({ "result": &raw })).unwrap();
        let outside: std::collections::BTreeMap<String, RawJson> =
            serde_json::from_str(&inside).unwrap();
        assert_eq!(outside["result"], raw);
    }
}
