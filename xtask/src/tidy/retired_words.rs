//! Words that `docs/glossary.md` retires do not come back as names in code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use super::identifiers::{identifiers, rust_identifiers, to_snake_case, typescript_functions};
use super::source_files::{self, Language, SourceFile};
use super::source_text::{strip_rust, strip_typescript, svelte_scripts};
use crate::shell::root;

pub(super) const GLOSSARY: &str = "docs/glossary.md";

/// Words and their replacements, by where they are refused.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RetiredWords {
    /// Refused as identifiers; names of types also in `snake_case`, in Rust.
    identifiers: BTreeMap<String, String>,
    /// Ordinary words among those `snake_case` names.
    ordinary: BTreeMap<String, String>,
    /// Those that are fields on the wire: refused as names of anything else.
    wire_fields: BTreeMap<String, String>,
    /// Refused as names of functions.
    functions: BTreeMap<String, String>,
    /// Refused as names of modules.
    files: BTreeMap<String, String>,
    /// Refused in comments, strings, markup and documents.
    pub(super) prose: BTreeMap<String, String>,
}

pub(crate) fn check() -> Result<Vec<String>> {
    let words = RetiredWords::read()?;
    let mut found = Vec::new();
    for SourceFile { name, language, text } in source_files::read_all()? {
        found.extend(words.check_code(&name, language, &text));
        found.extend(words.check_path(&name));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

impl RetiredWords {
    /// Reads the tables of the glossary.
    pub(super) fn read() -> Result<Self> {
        let words = Self::parse(&fs::read_to_string(root().join(GLOSSARY))?);
        let tables = [&words.identifiers, &words.functions, &words.files, &words.prose];
        ensure!(
            tables.iter().all(|table| !table.is_empty()),
            "{GLOSSARY} has no tables of retired words"
        );
        Ok(words)
    }

    /// Reads the tables below `## Retired words`; their rows are `` | `word` | replacement | ``.
    pub(super) fn parse(glossary: &str) -> Self {
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
                "Ordinary words" => &mut words.ordinary,
                "Fields on the wire" => &mut words.wire_fields,
                "Retired function names" => &mut words.functions,
                "Retired file names" => &mut words.files,
                "Retired in prose" => &mut words.prose,
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
            Language::Markdown => String::new(),
        };
        let refuse = |word: &str, replacement: &str| {
            format!("{name}: the name `{word}` is retired; use {replacement}")
        };
        let retired = identifiers(&code).filter_map(|word| self.identifiers.get_key_value(word));
        let mut found: Vec<_> = retired.map(|(word, by)| refuse(word, by)).collect();
        if language == Language::Rust {
            let snake_case = self.snake_case_names();
            for (word, is_field) in rust_identifiers(&code) {
                let is_allowed = is_field && self.wire_fields.contains_key(word);
                let replacement = snake_case.get(word).filter(|_| !is_allowed);
                found.extend(replacement.map(|by| refuse(word, &format!("a form of {by}"))));
            }
        }
        let functions: Vec<&str> = match language {
            Language::Rust => rust_functions(&code).collect(),
            Language::TypeScript | Language::Svelte | Language::Markdown => {
                typescript_functions(&code).collect()
            }
        };
        let retired = functions.iter().filter_map(|word| self.functions.get_key_value(*word));
        found.extend(retired.map(|(word, replacement)| {
            format!("{name}: the function name `{word}` is retired; use {replacement}")
        }));
        found
    }

    /// Fields, locals and functions that are called as a retired type was.
    fn snake_case_names(&self) -> BTreeMap<String, &str> {
        let types =
            self.identifiers.iter().filter(|(word, _)| word.starts_with(char::is_uppercase));
        types
            .map(|(word, replacement)| (to_snake_case(word), replacement.as_str()))
            .filter(|(word, _)| !self.ordinary.contains_key(word))
            .collect()
    }

    fn check_path(&self, name: &str) -> Vec<String> {
        let parts = Path::new(name).iter().filter_map(|part| part.to_str());
        let parts = parts.filter_map(|part| part.split('.').next()).map(to_snake_case);
        parts
            .filter_map(|part| self.files.get_key_value(&part))
            .map(|(word, replacement)| {
                format!("{name}: the file name `{word}` is retired; use {replacement}")
            })
            .collect()
    }
}

fn rust_functions(code: &str) -> impl Iterator<Item = &str> {
    let mut previous = "";
    identifiers(code).filter(move |word| std::mem::replace(&mut previous, word) == "fn")
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
        | `Misfit` | `HunkMismatch` |\n| `Verdict` | `Decision` |\n\
        ### Ordinary words\n| `wall` | the wall clock |\n\
        ### Fields on the wire\n| `verdict` | of an explanation |\n\
        ### Retired function names\n| `look` | a verb with its object |\n\
        ### Retired file names\n| `pen` | `group_commit_writer` |\n\
        ### Retired in prose\n| `hung up` | disconnected |\n\
        ## After\n| `Late` | after the section |\n";

    #[test]
    fn the_tables_of_the_section_are_read_and_no_others() {
        let words = RetiredWords::parse(TEXT);
        assert_eq!(
            words.identifiers.keys().collect::<Vec<_>>(),
            ["Misfit", "Verdict", "Wall", "glance"]
        );
        assert_eq!(words.functions.keys().collect::<Vec<_>>(), ["look"]);
        assert_eq!(words.files["pen"], "`group_commit_writer`");
        assert_eq!(words.prose["hung up"], "disconnected");
    }

    #[test]
    fn retired_names_are_refused_in_code_only() {
        let words = RetiredWords::parse(TEXT);
        for (language, text, expected) in [
            (Language::Rust, "struct Wall;", 1),
            (Language::Rust, "struct Walls; // Wall\nlet x = \"Wall\";", 0),
            (Language::Rust, "fn look() { self.glance() }", 2),
            (Language::Rust, "let look = at.look();", 0),
            (Language::Rust, "let misfit = |misfit| misfit;", 3),
            (Language::Rust, "let wall = \"misfit\";", 0),
            (Language::Rust, "a.verdict == A { verdict: x }.verdict", 0),
            (Language::Rust, "let verdict = A { verdict };", 2),
            (Language::TypeScript, "const misfit = 1", 0),
            (Language::TypeScript, "export function look() {", 1),
            (Language::TypeScript, "const look = () => 1", 1),
            (Language::TypeScript, "const look = at.look()", 0),
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
        for (name, expected) in [
            ("crates/x/src/pen.rs", 1),
            ("crates/x/src/pen/mod.rs", 1),
            ("crates/x/src/pencil.rs", 0),
            ("web/src/pen.svelte.ts", 1),
            ("web/src/Pen.svelte", 1),
            ("web/src/pen-holder.ts", 0),
        ] {
            assert_eq!(words.check_path(name).len(), expected, "{name}");
        }
    }

    #[test]
    fn the_glossary_of_the_project_has_all_tables() {
        let text = fs::read_to_string(root().join(GLOSSARY)).unwrap();
        let words = RetiredWords::parse(&text);
        assert!(words.identifiers.contains_key("Wall"), "{words:?}");
        assert!(words.functions.contains_key("tell"), "{words:?}");
        assert!(words.files.contains_key("warden"), "{words:?}");
        assert!(words.prose.contains_key("warden"), "{words:?}");
        assert!(words.ordinary.contains_key("wall"), "{words:?}");
        assert!(words.wire_fields.contains_key("verdict"), "{words:?}");
    }
}
