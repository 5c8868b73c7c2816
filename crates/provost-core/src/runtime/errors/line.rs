//! What one line says, without its neighbors.

use provost_proto::runtime::DiagnosticSeverity;

use super::place::{Place, named};

/// What a line says.
pub(super) enum Said<'a> {
    /// All of it: tsc, gcc, clang, go, vite.
    Whole(DiagnosticSeverity, Place, &'a str),
    /// A message; its place stands below: rustc, esbuild.
    Message(DiagnosticSeverity, &'a str),
    /// The place of the message above.
    Arrow(Place),
    /// What the lines below are about: webpack, eslint.
    Heading(Heading<'a>),
    /// A line under the name of a file: eslint.
    Listed {
        severity: DiagnosticSeverity,
        line: u32,
        column: u32,
        message: &'a str,
    },
    /// A frame of a traceback: Python.
    Frame(Place),
    /// What ended a traceback.
    Raised(&'a str),
    Nothing,
}

pub(super) enum Heading<'a> {
    Place(Place),
    File(&'a str),
}

/// Lines that only count what was said before.
const SUMMARIES: &[&str] = &[
    "could not compile",
    "aborting due to",
    "build failed",
    "generated ",
    "process didn't exit",
    "command failed",
    "script \"",
];

pub(super) fn read(line: &str) -> Said<'_> {
    let text = line.trim_start();
    let found = arrow(text)
        .or_else(|| heading(line))
        .or_else(|| listed(line))
        .or_else(|| python(line))
        .or_else(|| whole(text))
        .or_else(|| message(line));
    found.unwrap_or(Said::Nothing)
}

/// `--> src/main.rs:3:5` of rustc, `src/app.ts:3:5:` of esbuild, `file: /a.js:3:5` of rollup.
fn arrow(text: &str) -> Option<Said<'_>> {
    if let Some(place) = text.strip_prefix("--> ") {
        return Place::colons(place).map(|(place, _)| Said::Arrow(place));
    }
    if let Some(place) = text.strip_prefix("file: ") {
        return Place::colons(place).map(|(place, _)| Said::Arrow(place));
    }
    let (place, rest) = Place::colons(text)?;
    (rest == ":" && place.column.is_some()).then_some(Said::Arrow(place))
}

/// `ERROR in ./src/a.js 3:5-10` of webpack; the name of a file alone, of eslint.
fn heading(line: &str) -> Option<Said<'_>> {
    if let Some(rest) = line.strip_prefix("ERROR in ") {
        if let Some((place, _)) = Place::colons(rest)
            && !rest.contains(' ')
        {
            return Some(Said::Heading(Heading::Place(place)));
        }
        let (file, at) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut numbers = at.split([':', '-']).map(|number| number.parse().ok());
        let (line, column) = (numbers.next().flatten(), numbers.next().flatten());
        let file = named(file)?;
        return Some(Said::Heading(Heading::Place(Place { file, line, column })));
    }
    let alone = !line.starts_with([' ', '\t']) && !line.contains([' ', ':', '(']);
    let path = alone && (line.starts_with('/') || line.contains('/') || line.contains('.'));
    (path && named(line).is_some()).then_some(Said::Heading(Heading::File(line)))
}

/// `  3:5  error  Missing semicolon  semi`.
fn listed(line: &str) -> Option<Said<'_>> {
    let text = line.strip_prefix("  ")?.trim_start();
    let (at, rest) = text.split_once(' ')?;
    let (row, column) = at.split_once(':')?;
    let (row, column) = (row.parse().ok()?, column.parse().ok()?);
    let rest = rest.trim_start();
    let (severity, message) =
        rest.strip_prefix("error ").map(|message| (DiagnosticSeverity::Error, message)).or_else(
            || rest.strip_prefix("warning ").map(|message| (DiagnosticSeverity::Warning, message)),
        )?;
    Some(Said::Listed { severity, line: row, column, message: message.trim() })
}

/// `  File "a.py", line 3, in f` and `ValueError: no`.
fn python(line: &str) -> Option<Said<'_>> {
    if let Some(rest) = line.trim_start().strip_prefix("File \"") {
        let (file, rest) = rest.split_once("\", line ")?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let line = Some(rest[..end].parse().ok()?);
        return Some(Said::Frame(Place { file: file.to_owned(), line, column: None }));
    }
    let name = line.split(':').next()?;
    let last = name.rsplit('.').next()?;
    let raised = ["Error", "Exception", "Warning", "Exit", "Interrupt"];
    let named = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
        && last.starts_with(|c: char| c.is_ascii_uppercase())
        && raised.iter().any(|end| last.ends_with(end));
    named.then_some(Said::Raised(line))
}

/// `src/a.ts(3,5): error TS2322: no`, `a.c:3:5: error: no`, `./a.go:3:5: no`.
fn whole(text: &str) -> Option<Said<'_>> {
    let (place, rest) = Place::colons(text).or_else(|| Place::brackets(text))?;
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
            return (!message.is_empty()).then_some(Said::Whole(severity, place, message));
        }
    }
    // Go and rollup say no word for it.
    let go = place.file.rsplit('.').next() == Some("go");
    let rollup = text.contains(" (") && place.column.is_some() && text.contains("): ");
    ((go || rollup) && !rest.is_empty()).then_some(Said::Whole(
        DiagnosticSeverity::Error,
        place,
        rest,
    ))
}

/// `error[E0308]: mismatched types`, `✘ [ERROR] no`, `make: *** No rule`.
fn message(line: &str) -> Option<Said<'_>> {
    for mark in ["✘ [ERROR] ", "X [ERROR] "] {
        if let Some(message) = line.strip_prefix(mark) {
            return Some(Said::Message(DiagnosticSeverity::Error, message));
        }
    }
    for mark in ["▲ [WARNING] ", "! [WARNING] "] {
        if let Some(message) = line.strip_prefix(mark) {
            return Some(Said::Message(DiagnosticSeverity::Warning, message));
        }
    }
    if let Some(message) = line.strip_prefix("make: *** ") {
        // `[Makefile:3: all] Error 1` only says that something else failed.
        return (!message.starts_with('['))
            .then_some(Said::Message(DiagnosticSeverity::Error, message));
    }
    for (word, severity) in
        [("error", DiagnosticSeverity::Error), ("warning", DiagnosticSeverity::Warning)]
    {
        let Some(rest) = line.strip_prefix(word) else { continue };
        let code = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let message = code.map_or(rest, |(_, rest)| rest).strip_prefix(": ")?;
        let counts = SUMMARIES.iter().any(|summary| message.contains(summary));
        return (!counts).then_some(Said::Message(severity, message));
    }
    None
}
