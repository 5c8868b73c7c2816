//! Parameters of a notebook run: in the metadata, and for Python in a cell.

use anyhow::bail;
use serde_json::{Map, Value, json};

/// The tag of the cell with the default values.
const DEFAULTS_TAG: &str = "parameters";

/// The tag of the cell that is added.
const INJECTED_TAG: &str = "injected-parameters";

/// Parses `key=value`: a value is JSON if it can be read as that, else text.
pub(super) fn parse_parameters(pairs: &[String]) -> anyhow::Result<Map<String, Value>> {
    let mut parameters = Map::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            bail!("`{pair}` is not a parameter\nhint: write --param name=value");
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !starts_well || !name.chars().all(is_name) {
            bail!("`{name}` is not the name of a variable");
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        parameters.insert(name.to_owned(), value);
    }
    Ok(parameters)
}

/// Puts parameters into a notebook file.
pub(super) fn inject_parameters(content: &mut Value, parameters: &Map<String, Value>) {
    if parameters.is_empty() {
        return;
    }
    let language = ["/metadata/kernelspec/language", "/metadata/language_info/name"]
        .iter()
        .find_map(|path| content.pointer(path).and_then(Value::as_str))
        .unwrap_or("python")
        .to_owned();
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("parameters".to_owned(), Value::Object(parameters.clone()));
    }
    let Some(cells) = content.get_mut("cells").and_then(Value::as_array_mut) else { return };
    if language != "python" {
        return;
    }
    let has_tag = |cell: &Value, tag: &str| {
        let tags = cell.pointer("/metadata/tags").and_then(Value::as_array);
        tags.is_some_and(|tags| tags.iter().any(|known| known == tag))
    };
    cells.retain(|cell| !has_tag(cell, INJECTED_TAG));
    let defaults = cells.iter().position(|cell| has_tag(cell, DEFAULTS_TAG));
    let lines = parameters.iter().map(|(name, value)| format!("{name} = {}\n", to_python(value)));
    let cell = json!({
        "cell_type": "code",
        "execution_count": null,
        "id": "injected-parameters",
        "metadata": { "tags": [INJECTED_TAG] },
        "outputs": [],
        "source": lines.collect::<String>(),
    });
    cells.insert(defaults.map_or(0, |at| at + 1), cell);
}

/// A value as Python writes it.
fn to_python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(to_python).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let pair = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), to_python(value))
            };
            format!("{{{}}}", members.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_json_or_text() {
        let pairs = ["n=3", "name=ann", "on=true", "list=[1,null]", "text=\"3\"", "eq=a=b"];
        let parsed = parse_parameters(&pairs.map(str::to_owned)).unwrap();
        let expected =
            json!({"n": 3, "name": "ann", "on": true, "list": [1, null], "text": "3", "eq": "a=b"});
        assert_eq!(Value::Object(parsed), expected);
        for bad in ["n", "=3", "a-b=1", "1a=2"] {
            parse_parameters(&[bad.to_owned()]).unwrap_err();
        }
    }

    #[test]
    fn a_python_notebook_gets_a_cell_after_its_defaults_and_once() {
        let mut content = json!({
            "metadata": { "kernelspec": { "language": "python" } },
            "cells": [
                { "cell_type": "markdown", "metadata": {}, "source": "x" },
                { "cell_type": "code", "metadata": { "tags": ["parameters"] }, "source": "n = 1" },
                { "cell_type": "code", "metadata": {}, "source": "print(n)" },
            ],
        });
        let parameters = parse_parameters(&["n=2".to_owned(), "on=true".to_owned()]).unwrap();
        inject_parameters(&mut content, &parameters);
        inject_parameters(&mut content, &parameters);
        let cells = content["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 4);
        assert_eq!(cells[2]["source"], "n = 2\non = True\n");
        assert_eq!(content["metadata"]["parameters"], json!({ "n": 2, "on": true }));
    }
}
