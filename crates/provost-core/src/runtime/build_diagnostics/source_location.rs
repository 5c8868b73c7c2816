//! Locations in files, as tools print them.

/// A location in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceLocation {
    pub(super) file: String,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
}

impl SourceLocation {
    /// `src/a.rs:3:5`, `src/a.c:3`, with the rest of the text.
    pub(super) fn parse_colons(text: &str) -> Option<(Self, &str)> {
        // The first colon before a number ends the name, so `C:\a.ts:1` works.
        let mut from = 0;
        loop {
            let at = from + text.get(from..)?.find(':')?;
            let (line, rest) = split_line_number(&text[at + 1..]);
            if let Some(line) = line {
                let name = &text[..at];
                let (column, rest) = match rest.strip_prefix(':').map(split_line_number) {
                    Some((Some(column), rest)) => (Some(column), rest),
                    Some((None, _)) | None => (None, rest),
                };
                let file = as_file_name(name)?;
                return Some((Self { file, line: Some(line), column }, rest));
            }
            from = at + 1;
        }
    }

    /// `src/a.ts(3,5)` or `src/a.js (3:5)`, with the rest of the text.
    pub(super) fn parse_parentheses(text: &str) -> Option<(Self, &str)> {
        let (name, rest) = text.split_once('(')?;
        let (inside, rest) = rest.split_once(')')?;
        let (line, column) = inside.split_once([',', ':'])?;
        let (line, column) = (line.parse().ok()?, column.trim().parse().ok()?);
        let file = as_file_name(name.trim_end())?;
        Some((Self { file, line: Some(line), column: Some(column) }, rest))
    }
}

fn split_line_number(text: &str) -> (Option<u32>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

/// The text, if it may be the name of a file.
pub(super) fn as_file_name(text: &str) -> Option<String> {
    let text = text.trim();
    let last = text.rsplit(['/', '\\']).next()?;
    let file = !last.is_empty()
        && !text.contains(['\'', '"', '`', '<', '>', '|'])
        && !text.contains("://")
        // A folder may be named `(group)`, but brackets in a name are balanced.
        && text.matches('(').count() == text.matches(')').count()
        && !text.ends_with(' ')
        && (last.contains('.') || matches!(last, "Makefile" | "makefile" | "Dockerfile"));
    let words = text.split(' ').count();
    (file && words <= 3).then(|| text.to_owned())
}
