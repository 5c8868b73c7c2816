//! A turn on the screen, as it comes.

use std::collections::HashMap;

use provost_proto::session::{Place, ToolReturned, ToolStatus};
use provost_proto::{Event, Fact};

use super::cards::{called, lines, returned};
use super::markdown::Markdown;
use crate::output::{bytes, faint, line, on_terminal, plain, plain_lines, plain_pieces};

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
    /// The tools that were called and have not returned.
    tools: HashMap<Place, String>,
    /// They were called together, so that each result must say whose it is.
    are_many: bool,
}

impl Printer {
    pub(super) fn new(json: bool) -> Self {
        let markdown = on_terminal().then(Markdown::new);
        Self { json, last: Last::Nothing, markdown, tools: HashMap::new(), are_many: false }
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
            line(&faint(&format!("· {}", called(&call.tool, &call.arguments))))?;
            self.are_many |= !self.tools.is_empty();
            self.tools.insert(call.item, call.tool);
            Ok(())
        } else if let Fact::ToolReturned(returned) = fact {
            self.end()?;
            self.returned(&returned)
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

    fn returned(&mut self, call: &ToolReturned) -> anyhow::Result<()> {
        let tool = self.tools.remove(&call.item).unwrap_or_default();
        let (how, what) = match call.status {
            ToolStatus::Ok => ("→", returned(&tool, &call.output)),
            ToolStatus::Error => ("→ failed:", lines(&call.output)),
            ToolStatus::Denied => ("→ denied:", lines(&call.output)),
            ToolStatus::Cancelled => ("→ cancelled:", lines(&call.output)),
        };
        let whose = if self.are_many { format!("{} ", plain(&tool)) } else { String::new() };
        self.are_many &= !self.tools.is_empty();
        line(&faint(&format!("  {whose}{how} {what}")))
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
