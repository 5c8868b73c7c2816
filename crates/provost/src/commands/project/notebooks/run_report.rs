//! The report of a notebook run as `JUnit` XML, which CI systems read.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

/// How a cell of a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CellOutcome {
    Passed,
    Failed(String),
    Skipped,
}

/// A cell of a run.
#[derive(Debug, Clone)]
pub(super) struct CellReport {
    /// Its number in the notebook, from 1, with the first line of its source.
    pub(super) name: String,
    pub(super) outcome: CellOutcome,
    pub(super) duration: Duration,
    /// What it printed.
    pub(super) output: String,
}

pub(super) fn write_junit(path: &Path, title: &str, cells: &[CellReport]) -> anyhow::Result<()> {
    std::fs::write(path, format_junit(title, cells))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn format_junit(title: &str, cells: &[CellReport]) -> String {
    let n_failed =
        cells.iter().filter(|cell| matches!(cell.outcome, CellOutcome::Failed(_))).count();
    let n_skipped = cells.iter().filter(|cell| cell.outcome == CellOutcome::Skipped).count();
    let total: Duration = cells.iter().map(|cell| cell.duration).sum();
    let title = escape_xml(title);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{title}\" \
         tests=\"{}\" failures=\"{n_failed}\" skipped=\"{n_skipped}\" time=\"{:.3}\">\n",
        cells.len(),
        total.as_secs_f64(),
    );
    for cell in cells {
        let (name, time) = (escape_xml(&cell.name), cell.duration.as_secs_f64());
        let inner = match &cell.outcome {
            CellOutcome::Passed => String::new(),
            CellOutcome::Skipped => "<skipped/>".to_owned(),
            CellOutcome::Failed(why) => format!("<failure message=\"{}\"/>", escape_xml(why)),
        };
        let output = if cell.output.is_empty() {
            String::new()
        } else {
            format!("<system-out>{}</system-out>", escape_xml(&cell.output))
        };
        let line = format!(
            "<testcase classname=\"{title}\" name=\"{name}\" time=\"{time:.3}\">{inner}{output}\
             </testcase>\n",
        );
        text.push_str(&line);
    }
    text.push_str("</testsuite>\n</testsuites>\n");
    text
}

/// Text for XML 1.0, which has no control characters but three.
fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push('\t'),
            '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            c if c.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_failures_and_escapes_what_was_printed() {
        let cell = |name: &str, outcome, output: &str| CellReport {
            name: name.to_owned(),
            outcome,
            duration: Duration::from_millis(1500),
            output: output.to_owned(),
        };
        let cells = [
            cell("1: a", CellOutcome::Passed, "<b>&\u{1b}\n"),
            cell("2: \"b\"", CellOutcome::Failed("exit code 1".to_owned()), ""),
            cell("3: c", CellOutcome::Skipped, ""),
        ];
        let text = format_junit("T & U", &cells);
        assert!(
            text.contains(
                "name=\"T &amp; U\" tests=\"3\" failures=\"1\" skipped=\"1\" time=\"4.500\""
            ),
            "{text}"
        );
        assert!(text.contains("<system-out>&lt;b&gt;&amp;\u{fffd}&#10;</system-out>"), "{text}");
        assert!(
            text.contains(
                "name=\"2: &quot;b&quot;\" time=\"1.500\"><failure message=\"exit code 1\"/>"
            ),
            "{text}"
        );
    }
}
