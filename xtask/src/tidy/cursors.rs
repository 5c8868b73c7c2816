//! A position in the log is opaque outside the store: nobody else computes with the number that it
//! holds, or makes one from a number (ADR 29).

use anyhow::Result;

use super::source_files::{self, Language, SourceFile};
use super::source_text::{is_identifier, strip_rust, strip_typescript, svelte_scripts};

/// Files and folders that may, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/provost-store/", "it assigns the numbers and verifies them"),
    ("crates/provost-proto/", "it defines the cursor, and its golden files have numbers"),
    ("xtask/src/tidy/", "has samples of what is refused"),
];

/// Searches the code of all sources.
pub(crate) fn check() -> Result<Vec<String>> {
    let files = source_files::read_all()?;
    Ok(files.iter().filter(|file| is_searched(&file.name)).flat_map(check_file).collect())
}

fn is_searched(name: &str) -> bool {
    !EXCEPTIONS.iter().any(|(path, _)| name.starts_with(path))
}

fn check_file(file: &SourceFile) -> Vec<String> {
    let code = match file.language {
        Language::Rust => strip_rust(&file.text),
        Language::TypeScript => strip_typescript(&file.text),
        Language::Svelte => strip_typescript(&svelte_scripts(&file.text)),
        Language::Markdown => return Vec::new(),
    };
    let uses = find_uses(&code, is_test(&file.name));
    uses.into_iter().map(|found| format!("{}: {found}", file.name)).collect()
}

/// Tests may count events: what they check is that numbers have no gap.
fn is_test(name: &str) -> bool {
    name.contains("/tests/")
        || name.contains("/testing/")
        || name.starts_with("web/e2e/")
        || name.ends_with(".test.ts")
}

fn find_uses(code: &str, is_test: bool) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (start, word) in words(code) {
        let (before, after) = (&code[..start], &code[start + word.len()..]);
        if word == "from_seq" {
            found.push("makes a cursor from a number; the store gives cursors");
        } else if word == "seq" && before.ends_with('.') && after.starts_with("()") {
            found.push("looks into a cursor; use its methods or those of the store");
        } else if word == "seq" && !is_test && is_operand(before, after) {
            found.push("computes with `seq` or orders by it; use the methods of `LogCursor`");
        }
    }
    found
}

/// The identifiers with their positions.
fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    code.split(|c: char| !is_identifier(c)).filter(|word| !word.is_empty()).map(move |word| {
        let start = end + code[end..].find(word).unwrap_or(0);
        end = start + word.len();
        (start, word)
    })
}

/// Whether a name is added, subtracted or compared by size.
fn is_operand(before: &str, after: &str) -> bool {
    let after = after.trim_start();
    let left_of = after.starts_with(['+', '-', '<', '>']) && !after.starts_with("->");
    let before = strip_path(before).trim_end();
    let is_arrow = before.ends_with("=>") || before.ends_with("->");
    let operator = before.strip_suffix('=').unwrap_or(before);
    left_of || (operator.ends_with(['+', '-', '<', '>']) && !is_arrow)
}

/// What is before an expression such as `event.seq` or `rows.at(-1)?.seq`, of which this is all up
/// to the last name.
fn strip_path(code: &str) -> &str {
    let (mut end, mut depth) = (code.len(), 0_usize);
    for (at, c) in code.char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' => depth = depth.saturating_sub(1),
            _ if depth > 0 || is_identifier(c) || ".?#*&".contains(c) => {}
            _ => break,
        }
        end = at;
    }
    &code[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computing_with_numbers_of_events_is_refused() {
        for (code, expected) in [
            ("LogCursor::from_seq(7)", 1),
            ("head.borrow().seq()", 1),
            ("next.map(LogCursor::from_seq)", 1),
            ("event.seq - 1", 1),
            ("if event.seq <= *has {}", 1),
            ("at >= cursor.seq", 1),
            ("at > cursor.seq", 1),
            ("(rows.at(0)?.seq ?? 0) < seq", 1),
            ("rows.at(0)?.seq < first", 1),
            ("text_end + stored.seq", 1),
            ("first > rows.at(-1)?.seq", 1),
            ("length > limit ? (rows.at(-1)?.seq ?? null) : null", 0),
            ("all.slice(count - 1).map(format(event.seq))", 0),
            ("seq + 1", 1),
            ("const f = ({ seq }) => seq", 0),
            ("fn f(seq: Seq) -> Seq { seq }", 0),
            ("event.seq == other.seq", 0),
            ("event.seq === other.seq", 0),
            ("format(event.seq)", 0),
            ("Event { seq, at }", 0),
            ("pipeline.seq.len() > 1", 0),
            ("at.has_reached(event.cursor())", 0),
        ] {
            let found = find_uses(code, false);
            assert_eq!(found.len(), expected, "{code}: {found:?}");
        }
    }

    #[test]
    fn tests_may_count_events_but_make_no_cursor() {
        assert_eq!(find_uses("seqs.map(|seq| seq - 1)", true), Vec::<&str>::new());
        assert_eq!(find_uses("LogCursor::from_seq(7).seq()", true).len(), 2);
    }

    #[test]
    fn only_the_store_and_the_definition_are_excepted() {
        for (name, expected) in [
            ("crates/provost-store/src/log_tail.rs", false),
            ("crates/provost-proto/src/event/log_cursor.rs", false),
            ("crates/provost-gateway/src/documents/follower.rs", true),
            ("crates/provost/src/commands/audit/events.rs", true),
            ("web/src/store/timeline/event-window.ts", true),
        ] {
            assert_eq!(is_searched(name), expected, "{name}");
        }
        assert!(is_test("crates/provost/tests/daemon/documents.rs"));
        assert!(!is_test("crates/provost-gateway/src/documents/follower.rs"));
    }
}
