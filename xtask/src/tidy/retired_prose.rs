//! Words and phrases that `docs/glossary.md` retires do not come back in prose.

use std::collections::BTreeMap;

use anyhow::Result;

use super::retired_words::{GLOSSARY, RetiredWords};
use super::source_files::{self, SourceFile};
use super::source_text::is_identifier;

/// Files and folders that are not searched, and why.
const NOT_SEARCHED: &[(&str, &str)] = &[
    ("CHANGELOG.md", "says what earlier versions were called"),
    (GLOSSARY, "lists the words"),
    ("xtask/src/tidy/", "has samples of what is refused"),
];

/// Searches the comments, strings and markup of all sources, and the documents.
///
/// Code is searched too: a name that is one of these words is refused as well.
pub(crate) fn check() -> Result<Vec<String>> {
    let words = RetiredWords::read()?;
    let mut files = source_files::read_all()?;
    files.extend(source_files::read_documents()?);
    let is_searched =
        |file: &&SourceFile| !NOT_SEARCHED.iter().any(|(path, _)| file.name.starts_with(path));
    let mut found: Vec<_> = files
        .iter()
        .filter(is_searched)
        .flat_map(|file| find_phrases(&words.prose, &file.name, &file.text))
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

fn find_phrases(phrases: &BTreeMap<String, String>, name: &str, text: &str) -> Vec<String> {
    let text = join_lines(text);
    let found = phrases.iter().filter(|(phrase, _)| contains_phrase(&text, phrase));
    found
        .map(|(phrase, replacement)| {
            format!("{name}: `{phrase}` is retired in prose; use {replacement}")
        })
        .collect()
}

/// The text in lower case as one line, without the marks of comments: a phrase may be wrapped.
fn join_lines(text: &str) -> String {
    const MARKS: &[char] = &['/', '!', '*', '#', ' ', '\t'];
    let mut joined = String::with_capacity(text.len());
    for line in text.lines() {
        joined.push_str(line.trim_start_matches(MARKS).trim_end());
        joined.push(' ');
    }
    joined.to_lowercase()
}

/// Whether the phrase occurs, not as a part of longer words.
fn contains_phrase(text: &str, phrase: &str) -> bool {
    let is_part = |c: char| is_identifier(c) || c == '-';
    text.match_indices(phrase).any(|(start, _)| {
        let (before, after) = (&text[..start], &text[start + phrase.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_in_all_text_and_not_in_longer_words() {
        let phrases = ["hung up", "warden"].map(|phrase| (phrase.to_owned(), "x".to_owned()));
        let phrases = BTreeMap::from(phrases);
        for (text, expected) in [
            ("/// The client hung up.", 1),
            ("    // The client hung\n    // up.", 1),
            (" * Hung\n * up", 1),
            ("let x = \"the Warden hung up\";", 2),
            ("<p>The warden</p>", 1),
            ("wardens, a-warden, warden_name", 0),
            ("it hung, up to now", 0),
        ] {
            let found = find_phrases(&phrases, "x", text);
            assert_eq!(found.len(), expected, "{text}: {found:?}");
        }
    }
}
