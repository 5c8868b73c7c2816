//! Parses single lines of build output.

use provost_proto::runtime::DiagnosticSeverity;

use super::source_location::{SourceLocation, as_file_name};

/// What a line contains.
pub(super) enum DiagnosticLine<'a> {
    /// A complete diagnostic: tsc, gcc, clang, go, vite.
    Complete(DiagnosticSeverity, SourceLocation, &'a str),
    /// A message whose location follows: rustc, esbuild.
    Message(DiagnosticSeverity, &'a str),
    /// The location of the message above.
    Location(SourceLocation),
    /// The subject of the lines below: webpack, eslint.
    Heading(DiagnosticHeading<'a>),
    /// A diagnostic under the name of a file: eslint.
    Listed {
        severity: DiagnosticSeverity,
        line: u32,
        column: u32,
        message: &'a str,
    },
    /// A frame of a traceback: Python.
    TracebackFrame(SourceLocation),
    /// The error that ended a traceback.
    TracebackError(&'a str),
    Other,
}

pub(super) enum DiagnosticHeading<'a> {
    Location(SourceLocation),
    File(&'a str),
}

/// Lines that only summarize.
const SUMMARIES: &[&str] = &[
    "could not compile",
    "aborting due to",
    "build failed",
    "generated ",
    "process didn't exit",
    "command failed",
    "script \"",
];

pub(super) fn classify_line(line: &str) -> DiagnosticLine<'_> {
    let text = line.trim_start();
    let found = parse_location_line(text)
        .or_else(|| parse_heading(line))
        .or_else(|| parse_listed(line))
        .or_else(|| parse_python_traceback(line))
        .or_else(|| parse_complete(text))
        .or_else(|| parse_message(line));
    found.unwrap_or(DiagnosticLine::Other)
}

/// `--> src/main.rs:3:5` of rustc, `src/app.ts:3:5:` of esbuild, `file: /a.js:3:5` of rollup.
fn parse_location_line(text: &str) -> Option<DiagnosticLine<'_>> {
    if let Some(location) = text.strip_prefix("--> ") {
        return SourceLocation::parse_colons(location)
            .map(|(location, _)| DiagnosticLine::Location(location));
    }
    if let Some(location) = text.strip_prefix("file: ") {
        return SourceLocation::parse_colons(location)
            .map(|(location, _)| DiagnosticLine::Location(location));
    }
    let (location, rest) = SourceLocation::parse_colons(text)?;
    (rest == ":" && location.column.is_some()).then_some(DiagnosticLine::Location(location))
}

/// `ERROR in ./src/a.js 3:5-10` of webpack; the name of a file alone, of eslint.
fn parse_heading(line: &str) -> Option<DiagnosticLine<'_>> {
    if let Some(rest) = line.strip_prefix("ERROR in ") {
        if let Some((location, _)) = SourceLocation::parse_colons(rest)
            && !rest.contains(' ')
        {
            return Some(DiagnosticLine::Heading(DiagnosticHeading::Location(location)));
        }
        let (file, at) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut numbers = at.split([':', '-']).map(|number| number.parse().ok());
        let (line, column) = (numbers.next().flatten(), numbers.next().flatten());
        let file = as_file_name(file)?;
        return Some(DiagnosticLine::Heading(DiagnosticHeading::Location(SourceLocation {
            file,
            line,
            column,
        })));
    }
    let alone = !line.starts_with([' ', '\t']) && !line.contains([' ', ':', '(']);
    let path = alone && (line.starts_with('/') || line.contains('/') || line.contains('.'));
    (path && as_file_name(line).is_some())
        .then_some(DiagnosticLine::Heading(DiagnosticHeading::File(line)))
}

/// `  3:5  error  Missing semicolon  semi`.
fn parse_listed(line: &str) -> Option<DiagnosticLine<'_>> {
    let text = line.strip_prefix("  ")?.trim_start();
    let (at, rest) = text.split_once(' ')?;
    let (row, column) = at.split_once(':')?;
    let (row, column) = (row.parse().ok()?, column.parse().ok()?);
    let rest = rest.trim_start();
    let (severity, message) =
        rest.strip_prefix("error ").map(|message| (DiagnosticSeverity::Error, message)).or_else(
            || rest.strip_prefix("warning ").map(|message| (DiagnosticSeverity::Warning, message)),
        )?;
    Some(DiagnosticLine::Listed { severity, line: row, column, message: message.trim() })
}

/// `  File "a.py", line 3, in f` and `ValueError: no`.
fn parse_python_traceback(line: &str) -> Option<DiagnosticLine<'_>> {
    if let Some(rest) = line.trim_start().strip_prefix("File \"") {
        let (file, rest) = rest.split_once("\", line ")?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let line = Some(rest[..end].parse().ok()?);
        return Some(DiagnosticLine::TracebackFrame(SourceLocation {
            file: file.to_owned(),
            line,
            column: None,
        }));
    }
    let name = line.split(':').next()?;
    let last = name.rsplit('.').next()?;
    let raised = ["Error", "Exception", "Warning", "Exit", "Interrupt"];
    let named = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
        && last.starts_with(|c: char| c.is_ascii_uppercase())
        && raised.iter().any(|end| last.ends_with(end));
    named.then_some(DiagnosticLine::TracebackError(line))
}

/// `src/a.ts(3,5): error TS2322: no`, `a.c:3:5: error: no`, `./a.go:3:5: no`.
fn parse_complete(text: &str) -> Option<DiagnosticLine<'_>> {
    let (location, rest) =
        SourceLocation::parse_colons(text).or_else(|| SourceLocation::parse_parentheses(text))?;
    let rest = rest.trim_start_matches([':', ' ', '-']);
    for (word, severity) in [
        ("fatal error", DiagnosticSeverity::Error),
        ("error", DiagnosticSeverity::Error),
        ("ERROR", DiagnosticSeverity::Error),
        ("warning", DiagnosticSeverity::Warning),
        ("WARNING", DiagnosticSeverity::Warning),
    ] {
        if let Some(message) = rest.strip_prefix(word)
            && message.starts_with([':', ' '])
        {
            let message = message.trim_start_matches([':', ' ']);
            return (!message.is_empty())
                .then_some(DiagnosticLine::Complete(severity, location, message));
        }
    }
    // Go and rollup print no severity.
    let go = location.file.rsplit('.').next() == Some("go");
    let rollup = text.contains(" (") && location.column.is_some() && text.contains("): ");
    ((go || rollup) && !rest.is_empty()).then_some(DiagnosticLine::Complete(
        DiagnosticSeverity::Error,
        location,
        rest,
    ))
}

/// `error[E0308]: mismatched types`, `✘ [ERROR] no`, `make: *** No rule`.
fn parse_message(line: &str) -> Option<DiagnosticLine<'_>> {
    for mark in ["✘ [ERROR] ", "X [ERROR] "] {
        if let Some(message) = line.strip_prefix(mark) {
            return Some(DiagnosticLine::Message(DiagnosticSeverity::Error, message));
        }
    }
    for mark in ["▲ [WARNING] ", "! [WARNING] "] {
        if let Some(message) = line.strip_prefix(mark) {
            return Some(DiagnosticLine::Message(DiagnosticSeverity::Warning, message));
        }
    }
    if let Some(message) = line.strip_prefix("make: *** ") {
        // `[Makefile:3: all] Error 1` only says that something else failed.
        return (!message.starts_with('['))
            .then_some(DiagnosticLine::Message(DiagnosticSeverity::Error, message));
    }
    for (word, severity) in
        [("error", DiagnosticSeverity::Error), ("warning", DiagnosticSeverity::Warning)]
    {
        let Some(rest) = line.strip_prefix(word) else { continue };
        let code = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let message = code.map_or(rest, |(_, rest)| rest).strip_prefix(": ")?;
        let counts = SUMMARIES.iter().any(|summary| message.contains(summary));
        return (!counts).then_some(DiagnosticLine::Message(severity, message));
    }
    None
}
