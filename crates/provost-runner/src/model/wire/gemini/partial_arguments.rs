//! Arguments of a call that arrive as fragments: each names a path in the object
//! (`$.a.b[0]`) and gives a value for it, or more of its text.

use provost_core::exact_json;
use serde_json::{Map, Value, json};

/// Longest array that a path can create.
const MAX_LIST_LEN: usize = 10_000;

/// Applies one fragment.
pub(super) fn apply_partial_argument(arguments: &mut Value, fragment: &Value) {
    if let Some(whole) = exact_json::extract_text(arguments) {
        *arguments = exact_json::parse(whole).unwrap_or_default();
    }
    let path = fragment["jsonPath"].as_str().unwrap_or("$");
    let Some(slot) = resolve_json_path(arguments, path) else { return };
    if let Some(more) = fragment["stringValue"].as_str() {
        if let Value::String(have) = slot {
            have.push_str(more);
        } else {
            *slot = json!(more);
        }
    } else if let Some(number) = fragment["numberValue"].as_f64() {
        *slot = to_json_number(number);
    } else if exact_json::extract_text(&fragment["numberValue"]).is_some() {
        *slot = fragment["numberValue"].clone();
    } else if fragment["boolValue"].is_boolean() {
        *slot = fragment["boolValue"].clone();
    } else if fragment.get("nullValue").is_some() {
        *slot = Value::Null;
    }
}

/// The value at a path, created if it does not exist.
fn resolve_json_path<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut slot = value;
    let mut rest = path.strip_prefix('$')?;
    while !rest.is_empty() {
        if let Some(index) = rest.strip_prefix('[') {
            let (index, after) = index.split_once(']')?;
            rest = after;
            let name = index.trim_matches(|c| c == '\'' || c == '"');
            slot = match index.parse::<usize>() {
                Ok(at) if at < MAX_LIST_LEN => get_or_insert_element(slot, at)?,
                Ok(_) => return None,
                Err(_) => get_or_insert_field(slot, name)?,
            };
        } else {
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            slot = get_or_insert_field(slot, &after[..end])?;
            rest = &after[end..];
        }
    }
    Some(slot)
}

fn get_or_insert_field<'a>(slot: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    Some(slot.as_object_mut()?.entry(name).or_insert(Value::Null))
}

fn get_or_insert_element(slot: &mut Value, at: usize) -> Option<&mut Value> {
    if !slot.is_array() {
        *slot = json!([]);
    }
    let list = slot.as_array_mut()?;
    if list.len() <= at {
        list.resize(at + 1, Value::Null);
    }
    list.get_mut(at)
}

/// A number as JSON writes it: `3`, not `3.0`.
fn to_json_number(number: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "checked by converting it back")]
    let integer = number as i64;
    #[expect(clippy::cast_precision_loss, reason = "this is the check")]
    let same = (integer as f64).to_bits() == number.to_bits();
    if same { json!(integer) } else { json!(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_put_where_they_say() {
        let mut arguments = json!({});
        for fragment in [
            json!({ "jsonPath": "$.city", "stringValue": "Bos", "willContinue": true }),
            json!({ "jsonPath": "$.city", "stringValue": "ton" }),
            json!({ "jsonPath": "$.days[1].n", "numberValue": 3.0 }),
            json!({ "jsonPath": "$.days[0]", "boolValue": true }),
            json!({ "jsonPath": "$['a b']", "nullValue": null }),
            json!({ "jsonPath": "$.half", "numberValue": 0.5 }),
            json!({ "jsonPath": "$.list[99999999]", "boolValue": true }),
            json!({ "jsonPath": "no path", "boolValue": true }),
        ] {
            apply_partial_argument(&mut arguments, &fragment);
        }
        let expected = json!({
            "city": "Boston", "days": [true, { "n": 3 }], "a b": null, "half": 0.5, "list": null,
        });
        assert_eq!(arguments, expected);
    }
}
