//! Names of types: no two share one, whatever their visibility, and few are a single word.
//!
//! A single word such as `Look` or `Place` rarely says what a type is, and the next crate
//! needs the same word for something else.

use std::collections::BTreeMap;

use anyhow::Result;

use super::source_files::{self, SourceFile};
use super::source_text::strip_rust;

/// Types that may share a name, and why.
const SHARED_NAMES: &[(&str, &str)] = &[];

/// Types with a name of one word, in percent of all types: less than this.
const MAX_ONE_WORD_PERCENT: usize = 30;

/// A type that a source file defines.
#[derive(Debug, PartialEq, Eq)]
struct TypeDefinition {
    name: String,
    /// Whether it is an item of a module, and not local to a function or to inline tests.
    is_item: bool,
}

pub(crate) fn check() -> Result<Vec<String>> {
    let files = source_files::read_rust()?;
    let sources = files.iter().filter(|file| is_library_source(&file.name));
    let mut types = Vec::new();
    for SourceFile { name, text, .. } in sources {
        types.extend(find_types(&strip_rust(text)).into_iter().map(|found| (name.clone(), found)));
    }
    let mut found = check_shared_names(&types, SHARED_NAMES);
    let one_word = types.iter().filter(|(_, found)| is_one_word(&found.name)).count();
    let percent = one_word * 100 / types.len().max(1);
    println!("{one_word} of {} type names are one word ({percent} %)", types.len());
    if percent >= MAX_ONE_WORD_PERCENT {
        found.push(format!(
            "{percent} % of the type names are one word; less than {MAX_ONE_WORD_PERCENT} % may be"
        ));
    }
    Ok(found)
}

/// Whether the file is part of a crate's program or library, and not a test.
fn is_library_source(name: &str) -> bool {
    let is_test = name.ends_with("/tests.rs") || name.contains("/tests/");
    name.contains("/src/") && !is_test
}

fn check_shared_names(types: &[(String, TypeDefinition)], allowed: &[(&str, &str)]) -> Vec<String> {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, definition) in types.iter().filter(|(_, definition)| definition.is_item) {
        files.entry(&definition.name).or_default().push(file);
    }
    let shared = files.iter().filter(|(name, files)| {
        files.len() > 1 && !allowed.iter().any(|(allowed, _)| allowed == *name)
    });
    let mut found: Vec<String> = shared
        .map(|(name, files)| format!("the type `{name}` is in {}", files.join(" and in ")))
        .collect();
    for (name, _) in allowed {
        if files.get(name).is_none_or(|files| files.len() < 2) {
            found.push(format!("`{name}` is allowed twice, but there is only one"));
        }
    }
    found
}

/// The types that stripped code defines. Associated types are none: they have no
/// visibility and are indented.
fn find_types(code: &str) -> Vec<TypeDefinition> {
    code.lines().filter_map(find_type).collect()
}

fn find_type(line: &str) -> Option<TypeDefinition> {
    let item = line.trim_start();
    let is_indented = item.len() < line.len();
    let (visibility, item) = split_visibility(item);
    let item = item.strip_prefix("unsafe ").unwrap_or(item);
    let (keyword, rest) = item.split_once(' ')?;
    let is_item = visibility == Visibility::Declared || !is_indented;
    let is_type = match keyword {
        "struct" | "enum" | "union" | "trait" => true,
        "type" => is_item,
        _ => false,
    };
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let is_named = name.starts_with(|c: char| c.is_ascii_uppercase());
    (is_type && is_named).then_some(TypeDefinition { name, is_item })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visibility {
    /// `pub`, or `pub(…)`.
    Declared,
    Private,
}

fn split_visibility(item: &str) -> (Visibility, &str) {
    if let Some(rest) = item.strip_prefix("pub ") {
        return (Visibility::Declared, rest);
    }
    match item.strip_prefix("pub(").and_then(|rest| rest.split_once(") ")) {
        Some((_, rest)) => (Visibility::Declared, rest),
        None => (Visibility::Private, item),
    }
}

/// Whether a name in camel case is one word; an acronym counts as one.
fn is_one_word(name: &str) -> bool {
    let chars: Vec<char> = name.chars().collect();
    let starts = |at: usize| {
        let next_is_lower = chars.get(at + 1).is_some_and(|c| c.is_lowercase());
        chars[at].is_uppercase() && (chars[at - 1].is_lowercase() || next_is_lower)
    };
    !(1..chars.len()).any(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_and_local_ones_are_known() {
        let code = "pub struct Permit {\npub(crate) enum Mode {\ntrait Store: Send {\n\
            pub type Seq = u64;\ntype Row = (u64, u64);\nimpl Iterator for X {\n\
            \x20   type Item = u8;\n    struct Local;\npub unsafe trait Marker {}\n\
            pub struct $name;\nfn f(type_: u8) {}\nenum\n";
        let found: Vec<_> =
            find_types(code).into_iter().map(|found| (found.name, found.is_item)).collect();
        let expected = [
            ("Permit", true),
            ("Mode", true),
            ("Store", true),
            ("Seq", true),
            ("Row", true),
            ("Local", false),
            ("Marker", true),
        ];
        assert_eq!(found, expected.map(|(name, is_item)| (name.to_owned(), is_item)));
    }

    #[test]
    fn two_types_share_no_name_without_a_reason() {
        let define = |file: &str, name: &str, is_item| {
            (file.to_owned(), TypeDefinition { name: name.to_owned(), is_item })
        };
        let types =
            [define("a", "Look", true), define("b", "Look", true), define("c", "Look", false)];
        assert_eq!(check_shared_names(&types, &[]), ["the type `Look` is in a and in b"]);
        assert!(check_shared_names(&types, &[("Look", "one concept")]).is_empty());
        assert!(check_shared_names(&types[1..], &[]).is_empty(), "one is local");
        let unused = check_shared_names(&types[1..], &[("Look", "one concept")]);
        assert_eq!(unused, ["`Look` is allowed twice, but there is only one"]);
    }

    #[test]
    fn words_are_counted_by_their_capitals() {
        for (name, expected) in [
            ("Look", true),
            ("Seq", true),
            ("TOML", true),
            ("X", true),
            ("EventStore", false),
            ("HTTPServer", false),
            ("OneTimeCodes", false),
            ("Utf8", true),
        ] {
            assert_eq!(is_one_word(name), expected, "{name}");
        }
    }
}
