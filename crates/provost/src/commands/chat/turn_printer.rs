//! A turn on the screen, as it comes.

use std::collections::HashMap;

use provost_proto::session::{ItemNumber, ToolCallStatus, ToolReturned};
use provost_proto::{Event, Fact};

use super::markdown::MarkdownRenderer;
use super::piped_answer::{PipedAnswer, PipedChunk};
use super::tool_summary::{describe_tool_call, describe_tool_result, excerpt_lines};
use crate::output::{
    faint, is_stdout_terminal, print_bytes, print_line, print_stderr, sanitize_chunk,
    sanitize_lines, sanitize_text,
};

/// What was printed last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastPrinted {
    Nothing,
    Text,
    Reasoning,
}

/// Prints events, and remembers whether a line is open.
pub(super) struct TurnPrinter {
    json: bool,
    last: LastPrinted,
    /// Only a terminal shows more than letters.
    markdown: Option<MarkdownRenderer>,
    /// Anything else is given the answer, and what is said about it goes beside it.
    piped: PipedAnswer,
    /// The tools that were called and have not returned.
    tools: HashMap<ItemNumber, String>,
    /// They were called together, so that each result must say whose it is.
    are_many: bool,
}

impl TurnPrinter {
    pub(super) fn new(json: bool) -> Self {
        let markdown = is_stdout_terminal().then(MarkdownRenderer::new);
        let (last, piped) = (LastPrinted::Nothing, PipedAnswer::default());
        Self { json, last, markdown, piped, tools: HashMap::new(), are_many: false }
    }

    pub(super) fn print_event(&mut self, event: &Event) -> anyhow::Result<()> {
        if self.json {
            return print_line(&serde_json::to_string(event)?);
        }
        let Some(fact) = event.fact() else { return Ok(()) };
        if let Fact::TextDelta(delta) = fact {
            self.print_text(&delta.text)
        } else if let Fact::ReasoningDelta(delta) = fact {
            if self.markdown.is_none() {
                return Ok(());
            }
            self.switch_output(LastPrinted::Reasoning)?;
            print_bytes(faint(&sanitize_chunk(&delta.text)).as_bytes())
        } else if let Fact::ToolCalled(call) = fact {
            self.finish_answer()?;
            self.print_note(&format!("· {}", describe_tool_call(&call.tool, &call.arguments)))?;
            self.are_many |= !self.tools.is_empty();
            self.tools.insert(call.item, call.tool);
            Ok(())
        } else if let Fact::ToolReturned(returned) = fact {
            self.finish_answer()?;
            self.print_tool_result(&returned)
        } else if let Fact::AttemptFailed(failed) = fact {
            let why = sanitize_lines(&failed.why);
            self.print_note(&format!("The provider failed and is asked again: {why}"))
        } else if let Fact::AttemptRestarted(_) = fact {
            if self.markdown.is_none() {
                self.piped.restart_attempt();
                return Ok(());
            }
            self.print_note("What was said so far is void; the answer begins anew.")
        } else if let Fact::SessionCompacted(_) = fact {
            self.print_note("What came before was summarized for the model.")
        } else if let Fact::HandedOff(handed) = fact {
            self.print_note(&format!("  handed to `{}`", sanitize_text(&handed.role)))
        } else {
            Ok(())
        }
    }

    fn print_text(&mut self, text: &str) -> anyhow::Result<()> {
        if self.markdown.is_none() {
            let passed = self.piped.push_text(&sanitize_chunk(text));
            return self.print_piped(&passed);
        }
        self.switch_output(LastPrinted::Text)?;
        let shown = self.markdown.as_mut().map(|markdown| markdown.push(text));
        print_bytes(shown.unwrap_or_default().as_bytes())
    }

    fn print_piped(&mut self, passed: &PipedChunk) -> anyhow::Result<()> {
        if passed.anew {
            print_stderr("The answer begins anew; what was printed of it before is void.");
        }
        if passed.text.is_empty() {
            return Ok(());
        }
        self.last = LastPrinted::Text;
        print_bytes(passed.text.as_bytes())
    }

    /// Tells something about the answer: below it on a terminal, else beside it.
    fn print_note(&mut self, text: &str) -> anyhow::Result<()> {
        if self.markdown.is_none() {
            print_stderr(text);
            return Ok(());
        }
        self.end_line()?;
        print_line(&faint(text))
    }

    fn print_tool_result(&mut self, call: &ToolReturned) -> anyhow::Result<()> {
        let tool = self.tools.remove(&call.item).unwrap_or_default();
        let (how, what) = match call.status {
            ToolCallStatus::Ok => ("", describe_tool_result(&tool, &call.output)),
            ToolCallStatus::Error => ("failed", excerpt_lines(&call.output)),
            ToolCallStatus::Denied => ("denied", excerpt_lines(&call.output)),
            ToolCallStatus::Cancelled => ("cancelled", excerpt_lines(&call.output)),
        };
        // What the model is told mostly says it itself.
        let how = if what.starts_with(how) { "→".to_owned() } else { format!("→ {how}:") };
        let whose =
            if self.are_many { format!("{} ", sanitize_text(&tool)) } else { String::new() };
        self.are_many &= !self.tools.is_empty();
        self.print_note(&format!("  {whose}{how} {what}"))
    }

    fn switch_output(&mut self, to: LastPrinted) -> anyhow::Result<()> {
        if self.last != to {
            self.end_line()?;
        }
        self.last = to;
        Ok(())
    }

    /// Ends the line that is open. Into a pipe goes the answer alone, which goes on.
    pub(super) fn end_line(&mut self) -> anyhow::Result<()> {
        if self.markdown.is_none() {
            return Ok(());
        }
        if self.last != LastPrinted::Nothing && !self.json {
            let rest = self.markdown.as_mut().map(MarkdownRenderer::finish).unwrap_or_default();
            print_line(&rest)?;
        }
        self.last = LastPrinted::Nothing;
        Ok(())
    }

    /// The answer is over, or nothing more of it will come.
    pub(super) fn finish_answer(&mut self) -> anyhow::Result<()> {
        if self.markdown.is_some() || self.json {
            return self.end_line();
        }
        let passed = self.piped.finish();
        self.print_piped(&passed)?;
        match std::mem::replace(&mut self.last, LastPrinted::Nothing) {
            LastPrinted::Nothing => Ok(()),
            LastPrinted::Text | LastPrinted::Reasoning => print_line(""),
        }
    }
}
