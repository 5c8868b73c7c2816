//! Format 3 as format 4.

use serde_json::{Map, Value, json};

/// The MIME types of the names that outputs had.
const MIME_TYPES: [(&str, &str); 9] = [
    ("text", "text/plain"),
    ("html", "text/html"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpeg", "image/jpeg"),
    ("latex", "text/latex"),
    ("json", "application/json"),
    ("javascript", "application/javascript"),
    ("pdf", "application/pdf"),
];

/// Makes a file of format 3 one of format 4.
pub(crate) fn upgrade(mut file: Map<String, Value>) -> Map<String, Value> {
    let worksheets = file.remove("worksheets").unwrap_or_default();
    let mut cells = Vec::new();
    for worksheet in worksheets.as_array().into_iter().flatten() {
        let of_sheet = worksheet.get("cells").and_then(Value::as_array);
        cells.extend(of_sheet.into_iter().flatten().filter_map(Value::as_object).cloned());
    }
    let cells = cells.into_iter().map(|cell| Value::Object(upgrade_cell(cell))).collect();
    if let Some(metadata) = file.get_mut("metadata").and_then(Value::as_object_mut) {
        if let Some(name) = metadata.remove("name").filter(|name| *name != "") {
            metadata.entry("title").or_insert(name);
        }
        metadata.remove("signature");
    }
    file.insert("cells".to_owned(), Value::Array(cells));
    file.insert("nbformat".to_owned(), json!(4));
    file
}

fn upgrade_cell(mut cell: Map<String, Value>) -> Map<String, Value> {
    match cell.get("cell_type").and_then(Value::as_str) {
        Some("code") => {
            rename(&mut cell, "input", "source");
            rename(&mut cell, "prompt_number", "execution_count");
            cell.remove("language");
            if let Some(collapsed) = cell.remove("collapsed").filter(|it| *it == true) {
                let metadata = cell.entry("metadata").or_insert_with(|| json!({}));
                if let Some(metadata) = metadata.as_object_mut() {
                    metadata.insert("collapsed".to_owned(), collapsed);
                }
            }
            let outputs = cell.get_mut("outputs").and_then(Value::as_array_mut);
            for output in outputs.into_iter().flatten().filter_map(Value::as_object_mut) {
                upgrade_output(output);
            }
        }
        Some("heading") => {
            let level = cell.remove("level").and_then(|level| level.as_u64()).unwrap_or(1);
            let marks = "#".repeat(usize::try_from(level.clamp(1, 6)).unwrap_or(1));
            let source = crate::read::join_text(cell.get("source")).unwrap_or_default();
            let source = format!("{marks} {}", source.replace('\n', " "));
            cell.insert("source".to_owned(), json!(source));
            cell.insert("cell_type".to_owned(), json!("markdown"));
        }
        Some("html") => {
            cell.insert("cell_type".to_owned(), json!("markdown"));
        }
        Some(_) | None => {}
    }
    cell
}

fn upgrade_output(output: &mut Map<String, Value>) {
    match output.get("output_type").and_then(Value::as_str) {
        Some("stream") => {
            rename(output, "stream", "name");
            return;
        }
        Some("pyerr") => {
            output.insert("output_type".to_owned(), json!("error"));
            return;
        }
        Some("pyout") => {
            output.insert("output_type".to_owned(), json!("execute_result"));
            rename(output, "prompt_number", "execution_count");
        }
        Some("display_data") => {}
        Some(_) | None => return,
    }
    let fixed = ["output_type", "execution_count", "metadata"];
    let names: Vec<_> = output.keys().filter(|key| !fixed.contains(&&***key)).cloned().collect();
    let mut data = Map::new();
    for name in names {
        let Some(mut value) = output.remove(&name) else { continue };
        let known = MIME_TYPES.iter().find(|(old, _)| *old == name);
        let mime = known.map_or(name, |(_, mime)| (*mime).to_owned());
        // JSON was text.
        if mime == "application/json"
            && let Some(text) = crate::read::join_text(Some(&value))
            && let Ok(parsed) = serde_json::from_str(&text)
        {
            value = parsed;
        }
        data.insert(mime, value);
    }
    output.insert("data".to_owned(), Value::Object(data));
}

fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}
