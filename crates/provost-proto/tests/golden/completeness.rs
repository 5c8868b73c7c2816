//! Every type that is stored or sent has a sample, and every optional field a golden line.
//!
//! The samples' struct literals and matches find a new field or variant of a type that has a
//! sample. They find neither a new type nor a field that is left out of the encoding because all
//! samples hold its default; the tests of this file do. They
//! compare names: of two types with an optional field of one name, one may lack its line.

use std::fs;
use std::path::{Path, PathBuf};

use provost_proto::EventBodies;

fn crate_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The text of all files below a folder.
fn read_texts(folder: &Path, texts: &mut Vec<String>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            read_texts(&path, texts);
        } else {
            texts.push(fs::read_to_string(&path).unwrap());
        }
    }
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The public structs and enums of a source file, without its tests. Errors are not sent.
fn find_types(source: &str) -> impl Iterator<Item = &str> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    source.lines().filter_map(|line| {
        let item = line.trim_start();
        let item = item.strip_prefix("pub struct ").or_else(|| item.strip_prefix("pub enum "))?;
        identifiers(item).next().filter(|name| !name.ends_with("Error") && !item.starts_with('$'))
    })
}

/// The encoded names of the fields that are left out of a message in some cases.
fn find_optional_fields(source: &str) -> impl Iterator<Item = String> {
    let mut attributes = source.split("#[serde(");
    attributes.next();
    attributes.filter_map(|rest| {
        let (attribute, rest) = rest.split_once(")]")?;
        if !attribute.contains("skip_serializing_if") {
            return None;
        }
        let renamed =
            attribute.split_once("rename = \"").and_then(|(_, name)| name.split_once('"'));
        let mut lines = rest.lines().map(str::trim_start);
        let field = lines.find(|line| !(line.is_empty() || line.starts_with(['#', '/'])))?;
        let field = field.strip_prefix("pub ").unwrap_or(field).split(':').next()?;
        Some(renamed.map_or_else(|| to_camel_case(field), |(name, _)| name.to_owned()))
    })
}

fn to_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut result = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut chars = word.chars();
        result.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        result.push_str(chars.as_str());
    }
    result
}

/// It is only received.
#[test]
fn bodies_are_requested_by_name() {
    let names = ["stored", "whole", "short"].map(|name| serde_json::json!(name));
    let decoded = names.map(|name| serde_json::from_value::<EventBodies>(name).unwrap());
    assert_eq!(decoded, [EventBodies::Stored, EventBodies::Whole, EventBodies::Short]);
}

#[test]
fn every_type_has_a_sample() {
    let (mut sources, mut samples) = (Vec::new(), Vec::new());
    read_texts(&crate_path("src"), &mut sources);
    read_texts(&crate_path("tests/golden"), &mut samples);
    let samples: Vec<_> = samples.iter().flat_map(|text| identifiers(text)).collect();
    let types: Vec<_> = sources.iter().flat_map(|source| find_types(source)).collect();
    assert!(types.len() > 100, "only {} types were found", types.len());
    let missing: Vec<_> = types.into_iter().filter(|name| !samples.contains(name)).collect();
    assert!(missing.is_empty(), "no golden line holds a value of {missing:?}");
}

#[test]
fn every_field_that_can_be_left_out_has_a_line() {
    let (mut sources, mut files) = (Vec::new(), Vec::new());
    read_texts(&crate_path("src"), &mut sources);
    read_texts(&crate_path("tests/golden/files"), &mut files);
    let files = files.concat();
    let fields: Vec<_> = sources.iter().flat_map(|source| find_optional_fields(source)).collect();
    for known in ["readable", "wait", "charged", "truncated", "limits"] {
        assert!(fields.iter().any(|field| field == known), "{known} is not in {fields:?}");
    }
    let missing: Vec<_> =
        fields.iter().filter(|field| !files.contains(&format!("\"{field}\":"))).collect();
    assert!(missing.is_empty(), "no golden line has {missing:?}");
}
