//! Output for people: color only on a terminal, times in local time.
//!
//! Text from outside is sanitized: it must not control the terminal.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use anstream::stream::IsTerminal as _;
use anyhow::Context as _;
use provost_core::action::{escape_invisible, escape_line, escape_name};
use provost_proto::UnixMicros;

use crate::typed_answer::discard_typed_input;

/// Prints a line. A closed pipe is [`OutputClosed`], which `main` does not report.
pub(crate) fn print_line(text: &str) -> anyhow::Result<()> {
    check_write_result(writeln!(anstream::stdout(), "{text}"))
}

/// Prints bytes without sanitizing them.
pub(crate) fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    check_write_result(out.write_all(bytes).and_then(|()| out.flush()))
}

/// The result of a write; a closed pipe is [`OutputClosed`].
pub(crate) fn check_write_result(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if is_closed(&error) => Err(OutputClosed.into()),
        Err(error) => Err(error).context("cannot print"),
        Ok(()) => Ok(()),
    }
}

/// A pipe without a reader (`EPIPE`), or a terminal that was closed (`EIO`).
fn is_closed(error: &io::Error) -> bool {
    let terminal_closed = Some(rustix::io::Errno::IO.raw_os_error());
    error.kind() == io::ErrorKind::BrokenPipe || error.raw_os_error() == terminal_closed
}

/// Exit status after a closed output: 128 + SIGPIPE.
pub(crate) const EXIT_OUTPUT_CLOSED: u8 = 141;

/// The reader closed standard output.
#[derive(Debug)]
pub(crate) struct OutputClosed;

impl std::fmt::Display for OutputClosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the output was closed")
    }
}

impl std::error::Error for OutputClosed {}

/// Prints a value as JSON.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    print_line(&serde_json::to_string_pretty(value)?)
}

/// Prints a line to standard error.
pub(crate) fn print_stderr(text: &str) {
    // A closed standard error cannot be reported anywhere.
    drop(writeln!(anstream::stderr(), "{text}"));
}

/// Writes out what was printed, before the process ends without its destructors.
pub(crate) fn flush_output() {
    // Nobody is left who could be told.
    drop(io::stdout().flush());
    drop(io::stderr().flush());
}

/// Prints an error.
pub(crate) fn print_error(error: &anyhow::Error) {
    print_stderr(&format!("\x1b[1;31merror:\x1b[0m {}", format_error(error)));
}

/// Prints an error that did not stop the command.
pub(crate) fn print_warning(error: &anyhow::Error) {
    print_stderr(&format!("\x1b[1;33mwarning:\x1b[0m {}", format_error(error)));
}

/// The error, its causes, and then the hints.
fn format_error(error: &anyhow::Error) -> String {
    let (mut text, mut hints) = (String::new(), String::new());
    for (depth, cause) in error.chain().enumerate() {
        let cause = cause.to_string();
        let (what, hint) = cause.split_once("\nhint: ").unwrap_or((&cause, ""));
        let _ = write!(text, "{}{what}", if depth == 0 { "" } else { "\n  because " });
        if !hint.is_empty() {
            let _ = write!(hints, "\nhint: {hint}");
        }
    }
    text + &hints
}

/// Whether both standard input and output are terminals, so that a person can answer.
pub(crate) fn is_interactive() -> bool {
    io::IsTerminal::is_terminal(&io::stdin()) && is_stdout_terminal()
}

/// Asks for confirmation; anything but `y` or `yes` is a no.
pub(crate) fn ask_confirmation(question: &str) -> anyhow::Result<bool> {
    let answer = ask_line(&format!("{question} [y/N] "))?;
    Ok(matches!(answer.as_str(), "y" | "yes"))
}

/// Asks for a word; anything else is a no.
pub(crate) fn ask_for_word(question: &str, word: &str) -> anyhow::Result<bool> {
    Ok(ask_line(&format!("{question} Type `{word}` to confirm: "))? == word)
}

/// The line that is typed after this question was shown, in lower case.
fn ask_line(question: &str) -> anyhow::Result<String> {
    let mut out = anstream::stdout();
    check_write_result(write!(out, "{question}").and_then(|()| out.flush()))?;
    discard_typed_input()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("cannot read your answer")?;
    Ok(answer.trim().to_lowercase())
}

/// Whether standard output is a terminal.
pub(crate) fn is_stdout_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Text in grey.
pub(crate) fn faint(text: &str) -> String {
    format!("\x1b[2m{text}\x1b[0m")
}

/// Text in bold.
pub(crate) fn bold(text: &str) -> String {
    format!("\x1b[1m{text}\x1b[0m")
}

/// A time in the system's time zone.
pub(crate) fn format_time(at: UnixMicros) -> String {
    let micros = i64::try_from(at).unwrap_or(i64::MAX);
    let Ok(time) = jiff::Timestamp::from_microsecond(micros) else { return at.to_string() };
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Text from outside on one line, with control and invisible characters escaped.
pub(crate) fn sanitize_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut buffer = [0; 4];
    for c in text.chars() {
        let spelled = escape_invisible(c.encode_utf8(&mut buffer));
        if c.is_control() || (!c.is_ascii() && spelled.starts_with('\\')) {
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Text from outside between backquotes, with everything escaped that could end
/// the quote or be invisible.
pub(crate) fn quote_text(text: &str) -> String {
    format!("`{}`", escape_invisible(text))
}

/// The name or path of a file between backquotes, with everything escaped that a person could
/// mistake for something else.
pub(crate) fn quote_name(name: &str) -> String {
    format!("`{}`", escape_name(name))
}

/// A diff, with everything escaped that a person could mistake for something else. Line breaks
/// and tabs are kept.
pub(crate) fn sanitize_diff(text: &str) -> String {
    let sanitize_line = |line: &str| {
        // The mark is not a part of the name behind it.
        let name = ["--- ", "+++ "].iter().find_map(|mark| Some((mark, line.strip_prefix(mark)?)));
        match name {
            Some((mark, name)) => format!("{mark}{}", escape_name(name)),
            None => escape_line(line).into_owned(),
        }
    };
    text.lines().map(sanitize_line).collect::<Vec<_>>().join("\n")
}

/// [`sanitize_text`] for several lines; line breaks and tabs are kept.
pub(crate) fn sanitize_lines(text: &str) -> String {
    let tabs = |line: &str| line.split('\t').map(sanitize_text).collect::<Vec<_>>().join("\t");
    text.lines().map(tabs).collect::<Vec<_>>().join("\n")
}

/// [`sanitize_lines`] for a chunk of a stream: a trailing line break is kept.
pub(crate) fn sanitize_chunk(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(sanitize_text).collect::<Vec<_>>().join("\t");
    text.replace('\r', "").split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_comes_after_the_causes() {
        let cause = anyhow::anyhow!("the port is taken");
        let error = cause.context("cannot listen\nhint: choose another").context("cannot start");
        assert_eq!(
            format_error(&error),
            "cannot start\n  because cannot listen\n  because the port is taken\n\
             hint: choose another"
        );
    }

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        assert_eq!(
            sanitize_text("a\x1b[31mb\u{202e}c\u{200b}\n"),
            "a\\u{1b}[31mb\\u{202e}c\\u{200b}\\u{a}"
        );
        assert_eq!(sanitize_text("Käse 日本 😀 C:\\`x`"), "Käse 日本 😀 C:\\`x`");
        assert_eq!(sanitize_text("a\u{a0}b\u{e0041}\u{2800}"), "a\\u{a0}b\\u{e0041}\\u{2800}");
        assert_eq!(quote_text("a b`\n"), "`a b\\`\\n`");
        assert_eq!(quote_name("сору  x.md"), "`\\u{441}\\u{43e}\\u{440}\\u{443}\\u{2 spaces}x.md`");
    }

    #[test]
    fn a_diff_shows_whatever_may_be_mistaken() {
        let spaces = " ".repeat(40);
        let diff = format!(
            "--- a/x\n+++ /dev/null\n+++ b/x  y\n@@ -1 +1 @@\n-\told `a\\n`\n+{spaces}раth{spaces}; x\u{b}\n"
        );
        assert_eq!(
            sanitize_diff(&diff),
            format!(
                "--- a/x\n+++ /dev/null\n+++ b/x\\u{{2 spaces}}y\n@@ -1 +1 @@\n-\told `a\\n`\n\
                 +{spaces}\\u{{440}}\\u{{430}}th\\u{{40 spaces}}; x\\u{{b}}"
            )
        );
    }
}
