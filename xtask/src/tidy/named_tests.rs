//! Every test that the list of attacks names exists.

use std::fs;

use anyhow::Result;

use super::source_files::{self, SourceFile};
use crate::shell::root;

/// The document that names tests.
const ATTACKS: &str = "docs/reference/attacks.md";

/// Names of tests have at least so many words; shorter ones in quotes are something else.
const MIN_WORDS: usize = 4;

pub(crate) fn check() -> Result<Vec<String>> {
    let document = fs::read_to_string(root().join(ATTACKS))?;
    let sources = source_files::read_rust()?;
    let missing = list_named_tests(&document).into_iter().filter(|name| !exists(&sources, name));
    Ok(missing
        .map(|name| format!("{ATTACKS} names the test `{name}`, which is not there"))
        .collect())
}

/// The names in back quotes that are tests: `a_test_of_this`, `escape::attack`, `module::a_test_of_this`.
fn list_named_tests(document: &str) -> Vec<&str> {
    let quoted = document.split('`').skip(1).step_by(2);
    let is_name = |text: &&str| {
        let last = text.rsplit("::").next().unwrap_or(text);
        let n_words = last.split('_').filter(|word| !word.is_empty()).count();
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:".contains(c);
        text.chars().all(is_plain)
            && (text.starts_with("escape::")
                || n_words >= MIN_WORDS && last == last.trim_matches('_'))
    };
    quoted.filter(is_name).collect()
}

/// Whether there is a function of this name, or an attack of the escape suite.
fn exists(sources: &[SourceFile], name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    let text = match name.strip_prefix("escape::") {
        Some(attack) => format!("(\"{attack}\", "),
        None => format!("fn {last}("),
    };
    sources.iter().any(|file| file.text.contains(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tests_are_told_from_other_quotes() {
        let document = "| `ls; rm` `core.hooksPath` | `some_long_test_name`, `escape::home`, \
                        `module::another_long_test_name`, `policy::command`, `a_b` |";
        let expected = ["some_long_test_name", "escape::home", "module::another_long_test_name"];
        assert_eq!(list_named_tests(document), expected);
    }
}
