//! A turn on the screen, as it comes.

use provost_proto::session::ToolStatus;
use provost_proto::{Event, Fact};

use super::markdown::Markdown;
use crate::output::{bytes, faint, line, on_terminal, plain, plain_lines, plain_pieces};

/// The longest excerpt of a call, or of a line of its result.
const EXCERPT: usize = 160;

/// The most lines of a result.
const LINES: usize = 8;

/// What was printed last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Text,
    Thought,
}

/// Prints events, and remembers whether a line is open.
pub(super) struct Printer {
    json: bool,
    last: Last,
    /// Only a terminal shows more than letters.
    markdown: Option<Markdown>,
}

impl Printer {
    pub(super) fn new(json: bool) -> Self {
        let markdown = on_terminal().then(Markdown::new);
        Self { json, last: Last::Nothing, markdown }
    }

    pub(super) fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        if self.json {
            return line(&serde_json::to_string(event)?);
        }
        let Some(fact) = event.fact() else { return Ok(()) };
        if let Fact::TextDelta(delta) = fact {
            self.switch(Last::Text)?;
            let shown = match &mut self.markdown {
                Some(markdown) => markdown.push(&delta.text),
                None => plain_pieces(&delta.text),
            };
            bytes(shown.as_bytes())
        } else if let Fact::ReasoningDelta(delta) = fact {
            self.switch(Last::Thought)?;
            let thought = plain_pieces(&delta.text);
            let thought = if self.markdown.is_some() { faint(&thought) } else { thought };
            bytes(thought.as_bytes())
        } else if let Fact::ToolCalled(call) = fact {
            self.end()?;
            line(&faint(&format!("· {} {}", plain(&call.tool), excerpt(&call.arguments))))
        } else if let Fact::ToolReturned(returned) = fact {
            self.end()?;
            let how = match returned.status {
                ToolStatus::Ok => "→",
                ToolStatus::Error => "→ failed:",
                ToolStatus::Denied => "→ denied:",
                ToolStatus::Cancelled => "→ cancelled:",
            };
            line(&faint(&format!("  {how} {}", lines(&returned.output))))
        } else if let Fact::AttemptFailed(failed) = fact {
            self.end()?;
            line(&faint(&format!(
                "The provider failed and is asked again: {}",
                plain_lines(&failed.why)
            )))
        } else if let Fact::AttemptRestarted(_) = fact {
            self.end()?;
            line(&faint("What was said so far is void; the answer begins anew."))
        } else if let Fact::SessionCompacted(_) = fact {
            self.end()?;
            line(&faint("What came before was summarized for the model."))
        } else if let Fact::HandedOff(handed) = fact {
            self.end()?;
            line(&faint(&format!("  handed to `{}`", plain(&handed.role))))
        } else {
            Ok(())
        }
    }

    fn switch(&mut self, to: Last) -> anyhow::Result<()> {
        if self.last != to {
            self.end()?;
        }
        self.last = to;
        Ok(())
    }

    /// Ends the line that is open.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        if self.last != Last::Nothing && !self.json {
            let rest = self.markdown.as_mut().map(Markdown::end).unwrap_or_default();
            line(&rest)?;
        }
        self.last = Last::Nothing;
        Ok(())
    }
}

/// The beginning of a text, on one line.
fn excerpt(text: &str) -> String {
    let flat = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    cut(flat.trim())
}

fn cut(text: &str) -> String {
    let begins: String = text.chars().take(EXCERPT).collect();
    let more = if text.chars().count() > EXCERPT { "…" } else { "" };
    format!("{}{more}", plain_lines(&begins))
}

/// The first lines of what came of a call, below each other.
fn lines(text: &str) -> String {
    let text = text.trim_end();
    let mut shown: Vec<String> = text.lines().take(LINES).map(cut).collect();
    match text.lines().count().saturating_sub(LINES) {
        0 => {}
        1 => shown.push("… 1 more line".to_owned()),
        more => shown.push(format!("… {more} more lines")),
    }
    shown.join("\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_result_are_lines_and_steer_nothing() {
        let long = "x".repeat(200);
        let many = "n\n".repeat(20);
        for (text, looks) in [
            ("one\ntwo\n", "one\n    two".to_owned()),
            ("a\tb\r\nc", "a\tb\n    c".to_owned()),
            ("\x1b[2Jx\u{202e}\n\0", "\\u{1b}[2Jx\\u{202e}\n    \\u{0}".to_owned()),
            ("a\rb", "a\\u{d}b".to_owned()),
            ("", String::new()),
            (&long, format!("{}…", "x".repeat(EXCERPT))),
            (&many, format!("{}… 12 more lines", "n\n    ".repeat(LINES))),
        ] {
            assert_eq!(lines(text), looks, "{text:?}");
        }
        assert_eq!(excerpt("{\n  \"path\": \"a\"\n}"), "{ \"path\": \"a\" }");
    }
}
