//! Words that `docs/glossary.md` retires do not come back as names in code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use super::source_files::{self, Language, SourceFile};
use super::source_text::{identifiers, strip_rust, strip_typescript, svelte_scripts};
use crate::shell::root;

const GLOSSARY: &str = "docs/glossary.md";

/// Words and their replacements, by where they are refused.
#[derive(Debug, Default, PartialEq, Eq)]
struct RetiredWords {
    /// Refused as identifiers.
    identifiers: BTreeMap<String, String>,
    /// Refused after `fn`.
    functions: BTreeMap<String, String>,
    /// Refused as names of modules.
    files: BTreeMap<String, String>,
}

pub(crate) fn check() -> Result<Vec<String>> {
    let words = RetiredWords::parse(&fs::read_to_string(root().join(GLOSSARY))?);
    ensure!(
        !words.identifiers.is_empty() && !words.functions.is_empty() && !words.files.is_empty(),
        "{GLOSSARY} has no tables of retired words"
    );
    let mut found = Vec::new();
    for SourceFile { name, language, text } in source_files::read_all()? {
        found.extend(words.check_code(&name, language, &text));
        found.extend(words.check_path(&name, language));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

impl RetiredWords {
    /// Reads the tables below `## Retired words`; their rows are `` | `word` | replacement | ``.
    fn parse(glossary: &str) -> Self {
        let mut words = Self::default();
        let mut section = "";
        let lines = glossary.lines().skip_while(|line| *line != "## Retired words").skip(1);
        for line in lines.take_while(|line| !line.starts_with("## ")) {
            if let Some(title) = line.strip_prefix("### ") {
                section = title;
            }
            let Some((word, replacement)) = parse_row(line) else { continue };
            let table = match section {
                "Retired identifiers" => &mut words.identifiers,
                "Retired function names" => &mut words.functions,
                "Retired file names" => &mut words.files,
                _ => continue,
            };
            table.insert(word.to_owned(), replacement.to_owned());
        }
        words
    }

    fn check_code(&self, name: &str, language: Language, text: &str) -> Vec<String> {
        let code = match language {
            Language::Rust => strip_rust(text),
            Language::TypeScript => strip_typescript(text),
            Language::Svelte => strip_typescript(&svelte_scripts(text)),
        };
        let mut found = Vec::new();
        let mut previous = "";
        for word in identifiers(&code) {
            if let Some(replacement) = self.identifiers.get(word) {
                found.push(format!("{name}: the name `{word}` is retired; use {replacement}"));
            }
            if let Some(replacement) = self.functions.get(word).filter(|_| previous == "fn") {
                found.push(format!("{name}: `fn {word}` is retired; use {replacement}"));
            }
            previous = word;
        }
        found
    }

    fn check_path(&self, name: &str, language: Language) -> Vec<String> {
        if language != Language::Rust {
            return Vec::new();
        }
        let path = Path::new(name).with_extension("");
        let parts = path.iter().filter_map(|part| part.to_str());
        let retired = parts.filter_map(|part| self.files.get_key_value(part));
        retired
            .map(|(word, replacement)| {
                format!("{name}: the file name `{word}` is retired; use {replacement}")
            })
            .collect()
    }
}

fn parse_row(line: &str) -> Option<(&str, &str)> {
    let (word, replacement) = line.strip_prefix("| `")?.split_once("` | ")?;
    Some((word, replacement.strip_suffix(" |")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Glossary\n| `Early` | before the section |\n## Retired words\n\
        ### Retired identifiers\n| identifier | replacement |\n|---|---|\n\
        | `Wall` | `Sandbox` |\n| `glance` | `try_read_fast` |\n\
        ### Retired function names\n| `look` | a verb with its object |\n\
        ### Retired file names\n| `pen` | `group_commit_writer` |\n\
        ## After\n| `Late` | after the section |\n";

    #[test]
    fn the_tables_of_the_section_are_read_and_no_others() {
        let words = RetiredWords::parse(TEXT);
        assert_eq!(words.identifiers.keys().collect::<Vec<_>>(), ["Wall", "glance"]);
        assert_eq!(words.functions.keys().collect::<Vec<_>>(), ["look"]);
        assert_eq!(words.files["pen"], "`group_commit_writer`");
    }

    #[test]
    fn retired_names_are_refused_in_code_only() {
        let words = RetiredWords::parse(TEXT);
        for (language, text, expected) in [
            (Language::Rust, "struct Wall;", 1),
            (Language::Rust, "struct Walls; // Wall\nlet x = \"Wall\";", 0),
            (Language::Rust, "fn look() { self.glance() }", 2),
            (Language::Rust, "let look = at.look();", 0),
            (Language::TypeScript, "const a = new Wall()", 1),
            (Language::TypeScript, "const a = 'Wall' // Wall", 0),
            (Language::Svelte, "<script>let wall = glance()</script><p>Wall</p>", 1),
        ] {
            let found = words.check_code("x", language, text);
            assert_eq!(found.len(), expected, "{text}: {found:?}");
        }
    }

    #[test]
    fn retired_file_names_are_refused_as_modules() {
        let words = RetiredWords::parse(TEXT);
        for (name, language, expected) in [
            ("crates/x/src/pen.rs", Language::Rust, 1),
            ("crates/x/src/pen/mod.rs", Language::Rust, 1),
            ("crates/x/src/pencil.rs", Language::Rust, 0),
            ("web/src/pen.ts", Language::TypeScript, 0),
        ] {
            assert_eq!(words.check_path(name, language).len(), expected, "{name}");
        }
    }

    #[test]
    fn the_glossary_of_the_project_has_all_three_tables() {
        let text = fs::read_to_string(root().join(GLOSSARY)).unwrap();
        let words = RetiredWords::parse(&text);
        assert!(words.identifiers.contains_key("Wall"), "{words:?}");
        assert!(words.functions.contains_key("tell"), "{words:?}");
        assert!(words.files.contains_key("warden"), "{words:?}");
    }
}
