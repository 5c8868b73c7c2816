//! A turn on the screen, as it comes.

use std::collections::HashMap;

use provost_proto::session::{ItemNumber, ToolCallStatus, ToolReturned};
use provost_proto::{Event, Fact};

use super::cards::{called, lines, returned};
use super::markdown::Markdown;
use super::piped::{Passed, Piped};
use crate::output::{bytes, faint, line, on_terminal, plain, plain_lines, plain_pieces, remark};

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
    /// Anything else is given the answer, and what is said about it goes beside it.
    piped: Piped,
    /// The tools that were called and have not returned.
    tools: HashMap<ItemNumber, String>,
    /// They were called together, so that each result must say whose it is.
    are_many: bool,
}

impl Printer {
    pub(super) fn new(json: bool) -> Self {
        let markdown = on_terminal().then(Markdown::new);
        let (last, piped) = (Last::Nothing, Piped::default());
        Self { json, last, markdown, piped, tools: HashMap::new(), are_many: false }
    }

    pub(super) fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        if self.json {
            return line(&serde_json::to_string(event)?);
        }
        let Some(fact) = event.fact() else { return Ok(()) };
        if let Fact::TextDelta(delta) = fact {
            self.text(&delta.text)
        } else if let Fact::ReasoningDelta(delta) = fact {
            if self.markdown.is_none() {
                return Ok(());
            }
            self.switch(Last::Thought)?;
            bytes(faint(&plain_pieces(&delta.text)).as_bytes())
        } else if let Fact::ToolCalled(call) = fact {
            self.over()?;
            self.note(&format!("· {}", called(&call.tool, &call.arguments)))?;
            self.are_many |= !self.tools.is_empty();
            self.tools.insert(call.item, call.tool);
            Ok(())
        } else if let Fact::ToolReturned(returned) = fact {
            self.over()?;
            self.returned(&returned)
        } else if let Fact::AttemptFailed(failed) = fact {
            let why = plain_lines(&failed.why);
            self.note(&format!("The provider failed and is asked again: {why}"))
        } else if let Fact::AttemptRestarted(_) = fact {
            if self.markdown.is_none() {
                self.piped.restart();
                return Ok(());
            }
            self.note("What was said so far is void; the answer begins anew.")
        } else if let Fact::SessionCompacted(_) = fact {
            self.note("What came before was summarized for the model.")
        } else if let Fact::HandedOff(handed) = fact {
            self.note(&format!("  handed to `{}`", plain(&handed.role)))
        } else {
            Ok(())
        }
    }

    fn text(&mut self, text: &str) -> anyhow::Result<()> {
        if self.markdown.is_none() {
            let passed = self.piped.say(&plain_pieces(text));
            return self.pass(&passed);
        }
        self.switch(Last::Text)?;
        let shown = self.markdown.as_mut().map(|markdown| markdown.push(text));
        bytes(shown.unwrap_or_default().as_bytes())
    }

    fn pass(&mut self, passed: &Passed) -> anyhow::Result<()> {
        if passed.anew {
            remark("The answer begins anew; what was printed of it before is void.");
        }
        if passed.text.is_empty() {
            return Ok(());
        }
        self.last = Last::Text;
        bytes(passed.text.as_bytes())
    }

    /// Tells something about the answer: below it on a terminal, else beside it.
    fn note(&mut self, text: &str) -> anyhow::Result<()> {
        if self.markdown.is_none() {
            remark(text);
            return Ok(());
        }
        self.end()?;
        line(&faint(text))
    }

    fn returned(&mut self, call: &ToolReturned) -> anyhow::Result<()> {
        let tool = self.tools.remove(&call.item).unwrap_or_default();
        let (how, what) = match call.status {
            ToolCallStatus::Ok => ("", returned(&tool, &call.output)),
            ToolCallStatus::Error => ("failed", lines(&call.output)),
            ToolCallStatus::Denied => ("denied", lines(&call.output)),
            ToolCallStatus::Cancelled => ("cancelled", lines(&call.output)),
        };
        // What the model is told mostly says it itself.
        let how = if what.starts_with(how) { "→".to_owned() } else { format!("→ {how}:") };
        let whose = if self.are_many { format!("{} ", plain(&tool)) } else { String::new() };
        self.are_many &= !self.tools.is_empty();
        self.note(&format!("  {whose}{how} {what}"))
    }

    fn switch(&mut self, to: Last) -> anyhow::Result<()> {
        if self.last != to {
            self.end()?;
        }
        self.last = to;
        Ok(())
    }

    /// Ends the line that is open. Into a pipe goes the answer alone, which goes on.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        if self.markdown.is_none() {
            return Ok(());
        }
        if self.last != Last::Nothing && !self.json {
            let rest = self.markdown.as_mut().map(Markdown::end).unwrap_or_default();
            line(&rest)?;
        }
        self.last = Last::Nothing;
        Ok(())
    }

    /// The answer is over, or nothing more of it will come.
    pub(super) fn over(&mut self) -> anyhow::Result<()> {
        if self.markdown.is_some() || self.json {
            return self.end();
        }
        let passed = self.piped.end();
        self.pass(&passed)?;
        match std::mem::replace(&mut self.last, Last::Nothing) {
            Last::Nothing => Ok(()),
            Last::Text | Last::Thought => line(""),
        }
    }
}
