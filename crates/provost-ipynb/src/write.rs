//! Writing a file, in format 4.5.

use std::collections::{BTreeMap, HashSet};

use provost_proto::Hash;
use provost_proto::notebook::CellKind;
use serde_json::{Map, Value, json};

use crate::outputs::write_output;
use crate::{IpynbCell, IpynbNotebook, KEPT};

/// The minor version of the format that is written: since it, cells have ids.
const MINOR: u32 = 5;

/// Longest id of a cell, in characters.
const MAX_ID_CHARS: usize = 64;

/// The file of a notebook. An artifact whose bytes are not given is left out.
pub fn write_ipynb(notebook: &IpynbNotebook, artifacts: &BTreeMap<Hash, Vec<u8>>) -> Value {
    let mut metadata = notebook.metadata.clone();
    let mut file = take_kept(&mut metadata);
    if let Some(title) = &notebook.title {
        metadata.insert("title".to_owned(), json!(title));
    }
    if !metadata.contains_key("kernelspec")
        && !metadata.contains_key("language_info")
        && let Some(language) = &notebook.language
    {
        metadata.insert("language_info".to_owned(), json!({ "name": language }));
    }
    // An id that is made up must be none that a later cell has.
    let own = notebook.cells.iter().filter_map(|cell| {
        Some(cell.metadata.get(KEPT)?.get("fields")?.get("id")?.as_str()?.to_owned())
    });
    let mut ids = CellIds { own: own.collect(), used: HashSet::new() };
    let cells: Vec<_> = notebook
        .cells
        .iter()
        .enumerate()
        .map(|(n, cell)| write_cell(cell, n, &mut ids, artifacts))
        .collect();
    file.insert("cells".to_owned(), Value::Array(cells));
    file.insert("metadata".to_owned(), Value::Object(metadata));
    file.insert("nbformat".to_owned(), json!(4));
    file.insert("nbformat_minor".to_owned(), json!(MINOR));
    Value::Object(file)
}

fn write_cell(
    cell: &IpynbCell,
    index: usize,
    ids: &mut CellIds,
    artifacts: &BTreeMap<Hash, Vec<u8>>,
) -> Value {
    let mut metadata = cell.metadata.clone();
    let mut fields = take_kept(&mut metadata);
    let own = fields.get("id").and_then(Value::as_str).filter(|id| is_id(id));
    let id = ids.take(own, index);
    fields.insert("id".to_owned(), json!(id));
    let kind = match cell.kind {
        CellKind::Markdown => "markdown",
        CellKind::Raw => "raw",
        CellKind::Code => "code",
        // No other program knows these kinds; this one recognizes them.
        CellKind::Sql | CellKind::Ai => {
            let kind = if cell.kind == CellKind::Sql { "sql" } else { "ai" };
            metadata.insert(KEPT.to_owned(), json!({ "kind": kind }));
            "code"
        }
    };
    fields.insert("cell_type".to_owned(), json!(kind));
    fields.insert("metadata".to_owned(), Value::Object(metadata));
    fields.insert("source".to_owned(), split_lines(&cell.source));
    if kind == "code" {
        let outputs = cell.outputs.iter().map(|output| write_output(output, artifacts));
        fields.insert("outputs".to_owned(), outputs.collect());
        fields.insert("execution_count".to_owned(), json!(cell.count));
    }
    Value::Object(fields)
}

/// What only the file knows.
fn take_kept(metadata: &mut Map<String, Value>) -> Map<String, Value> {
    let kept = metadata.remove(KEPT);
    let fields = kept.and_then(|mut kept| Some(kept.get_mut("fields")?.take()));
    match fields {
        Some(Value::Object(fields)) => fields,
        Some(_) | None => Map::new(),
    }
}

fn is_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=MAX_ID_CHARS).contains(&id.len()) && id.bytes().all(is_plain)
}

/// The ids of the cells of a file, each of which only one may have.
struct CellIds {
    own: HashSet<String>,
    used: HashSet<String>,
}

impl CellIds {
    /// The cell's own id, unless another one has it; else one that is made up.
    fn take(&mut self, own: Option<&str>, index: usize) -> String {
        let mut id = own.map(str::to_owned);
        let mut number = index;
        loop {
            if let Some(id) = id.filter(|id| self.used.insert(id.clone())) {
                return id;
            }
            id = Some(format!("cell-{number}")).filter(|id| !self.own.contains(id));
            number += 1;
        }
    }
}

/// Text as the list of lines that files have.
pub(crate) fn split_lines(text: &str) -> Value {
    text.split_inclusive('\n').map(Value::from).collect()
}
