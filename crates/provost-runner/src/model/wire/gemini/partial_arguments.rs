//! The arguments of a call when they come in pieces: each names a place in the
//! object (`$.a.b[0]`) and gives a value, or more of a text, for it.

use serde_json::{Map, Value, json};

/// The most elements a list can get by naming a place in it.
const MAX_LIST_LEN: usize = 10_000;

/// Puts one piece into its place.
pub(super) fn apply_partial_argument(arguments: &mut Value, piece: &Value) {
    let path = piece["jsonPath"].as_str().unwrap_or("$");
    let Some(place) = resolve_json_path(arguments, path) else { return };
    if let Some(more) = piece["stringValue"].as_str() {
        if let Value::String(have) = place {
            have.push_str(more);
        } else {
            *place = json!(more);
        }
    } else if let Some(number) = piece["numberValue"].as_f64() {
        *place = to_json_number(number);
    } else if piece["boolValue"].is_boolean() {
        *place = piece["boolValue"].clone();
    } else if piece.get("nullValue").is_some() {
        *place = Value::Null;
    }
}

/// The place that a path names, made if it is not there.
fn resolve_json_path<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut place = value;
    let mut rest = path.strip_prefix('$')?;
    while !rest.is_empty() {
        if let Some(index) = rest.strip_prefix('[') {
            let (index, after) = index.split_once(']')?;
            rest = after;
            let name = index.trim_matches(|c| c == '\'' || c == '"');
            place = match index.parse::<usize>() {
                Ok(at) if at < MAX_LIST_LEN => get_or_insert_element(place, at)?,
                Ok(_) => return None,
                Err(_) => get_or_insert_field(place, name)?,
            };
        } else {
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            place = get_or_insert_field(place, &after[..end])?;
            rest = &after[end..];
        }
    }
    Some(place)
}

fn get_or_insert_field<'a>(place: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    if !place.is_object() {
        *place = Value::Object(Map::new());
    }
    Some(place.as_object_mut()?.entry(name).or_insert(Value::Null))
}

fn get_or_insert_element(place: &mut Value, at: usize) -> Option<&mut Value> {
    if !place.is_array() {
        *place = json!([]);
    }
    let list = place.as_array_mut()?;
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
        for piece in [
            json!({ "jsonPath": "$.city", "stringValue": "Bos", "willContinue": true }),
            json!({ "jsonPath": "$.city", "stringValue": "ton" }),
            json!({ "jsonPath": "$.days[1].n", "numberValue": 3.0 }),
            json!({ "jsonPath": "$.days[0]", "boolValue": true }),
            json!({ "jsonPath": "$['a b']", "nullValue": null }),
            json!({ "jsonPath": "$.half", "numberValue": 0.5 }),
            json!({ "jsonPath": "$.list[99999999]", "boolValue": true }),
            json!({ "jsonPath": "no path", "boolValue": true }),
        ] {
            apply_partial_argument(&mut arguments, &piece);
        }
        let expected = json!({
            "city": "Boston", "days": [true, { "n": 3 }], "a b": null, "half": 0.5, "list": null,
        });
        assert_eq!(arguments, expected);
    }
}
