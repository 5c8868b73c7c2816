//! Reading a file.

use provost_proto::notebook::CellKind;
use serde_json::{Map, Value, json};

use crate::outputs::read_output;
use crate::{IpynbCell, IpynbError, IpynbNotebook, KEPT, upgrade};

/// Reads a notebook file; returns also what was repaired in it, as text for people.
///
/// # Errors
/// If it is not a notebook, or one of an unknown format.
pub fn read_ipynb(file: &Value) -> Result<(IpynbNotebook, Vec<String>), IpynbError> {
    let mut file =
        file.as_object().cloned().ok_or(IpynbError::NotANotebook("it is no JSON object"))?;
    let mut repaired = Vec::new();
    match file.get("nbformat").and_then(Value::as_u64) {
        Some(4) => {}
        Some(3) => {
            file = upgrade::upgrade(file);
            repaired.push("it was of format 3".to_owned());
        }
        Some(other) => return Err(IpynbError::UnknownFormat(other)),
        None if file.contains_key("cells") => repaired.push("it named no format".to_owned()),
        None => return Err(IpynbError::NotANotebook("it has no `nbformat`")),
    }
    let cells = match file.remove("cells") {
        Some(Value::Array(cells)) => cells,
        Some(_) => return Err(IpynbError::NotANotebook("its `cells` are no list")),
        None => Vec::new(),
    };
    let cells = cells
        .into_iter()
        .enumerate()
        .filter_map(|(n, cell)| read_cell(cell, n + 1, &mut repaired))
        .collect();
    let mut metadata = take_object(&mut file, "metadata", "the notebook", &mut repaired);
    let language = ["/kernelspec/language", "/language_info/name"].iter().find_map(|path| {
        let value = Value::Object(metadata.clone());
        value.pointer(path).and_then(Value::as_str).map(str::to_owned)
    });
    let title = metadata.get("title").and_then(Value::as_str).map(str::to_owned);
    file.remove("nbformat");
    file.remove("nbformat_minor");
    metadata.insert(KEPT.to_owned(), json!({ "fields": file }));
    Ok((IpynbNotebook { title, language, metadata, cells }, repaired))
}

fn read_cell(cell: Value, number: usize, repaired: &mut Vec<String>) -> Option<IpynbCell> {
    let what = format!("cell {number}");
    let Value::Object(mut cell) = cell else {
        repaired.push(format!("{what} was no object, and is left out"));
        return None;
    };
    let mut metadata = take_object(&mut cell, "metadata", &what, repaired);
    let kind = match cell.remove("cell_type").as_ref().and_then(Value::as_str) {
        Some("code") => CellKind::Code,
        Some("markdown") => CellKind::Markdown,
        Some("raw") => CellKind::Raw,
        other => {
            let other = other.unwrap_or("none").to_owned();
            repaired.push(format!("{what} had the type {other:?}, and is a raw cell"));
            CellKind::Raw
        }
    };
    let kind = match (kind, metadata.get(KEPT).and_then(|kept| kept.get("kind"))) {
        (CellKind::Code, Some(own)) if own == "sql" => CellKind::Sql,
        (CellKind::Code, Some(own)) if own == "ai" => CellKind::Ai,
        _ => kind,
    };
    let source = cell.remove("source");
    let source = join_text(source.as_ref()).unwrap_or_else(|| {
        repaired.push(format!("{what} had no text as its source"));
        String::new()
    });
    let (mut count, mut outputs) = (None, Vec::new());
    if matches!(kind, CellKind::Code | CellKind::Sql | CellKind::Ai) {
        count =
            cell.remove("execution_count").and_then(|count| u32::try_from(count.as_u64()?).ok());
        if let Some(Value::Array(list)) = cell.remove("outputs") {
            outputs.extend(list.into_iter().filter_map(|output| {
                let read = read_output(&output);
                if read.is_none() {
                    repaired.push(format!("{what} had an output that is none, and is left out"));
                }
                read
            }));
        }
    }
    // Its id, its attachments, and what a later format adds.
    if cell.is_empty() {
        metadata.remove(KEPT);
    } else {
        metadata.insert(KEPT.to_owned(), json!({ "fields": cell }));
    }
    Some(IpynbCell { kind, source, metadata, count, outputs })
}

fn take_object(
    fields: &mut Map<String, Value>,
    name: &str,
    what: &str,
    repaired: &mut Vec<String>,
) -> Map<String, Value> {
    match fields.remove(name) {
        Some(Value::Object(object)) => object,
        Some(_) => {
            repaired.push(format!("the {name} of {what} was no object"));
            Map::new()
        }
        None => Map::new(),
    }
}

/// Text, which files have as one string or as a list of lines.
pub(crate) fn join_text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => lines.iter().map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}
