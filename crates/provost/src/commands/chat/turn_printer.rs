//! Prints a turn while it runs.

use std::collections::HashMap;

use provost_proto::session::{
    ItemNumber, MessageAdded, MessageAuthor, MessagePart, ToolCallStatus, ToolReturned,
};
use provost_proto::{Event, Fact, MessageId};

use super::markdown::MarkdownRenderer;
use super::piped_answer::{PipedAnswer, PipedChunk};
use super::tool_summary::{describe_tool_call, describe_tool_result, excerpt_lines};
use crate::output::{
    faint, is_stdout_terminal, print_bytes, print_line, print_stderr, sanitize_chunk,
    sanitize_lines, sanitize_text,
};

/// The kind of text that the open line holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastPrinted {
    Nothing,
    Text,
    Reasoning,
}

/// Prints events, and tracks whether a line is open.
pub(super) struct TurnPrinter {
    json: bool,
    last: LastPrinted,
    /// Renderer for a terminal; `None` if standard output is not one.
    markdown: Option<MarkdownRenderer>,
    /// The answer for a pipe or a file; notes go to standard error.
    piped: PipedAnswer,
    /// The message whose text is printed as it is written.
    drafted: Option<MessageId>,
    /// Whether text was printed since the last message of the model.
    has_deltas: bool,
    /// Tools that were called and have not returned.
    tools: HashMap<ItemNumber, String>,
    /// Whether calls run in parallel, so that each result must name its tool.
    has_parallel_calls: bool,
}

impl TurnPrinter {
    pub(super) fn new(json: bool) -> Self {
        let markdown = is_stdout_terminal().then(MarkdownRenderer::new);
        let (last, piped) = (LastPrinted::Nothing, PipedAnswer::default());
        Self {
            json,
            last,
            markdown,
            piped,
            drafted: None,
            has_deltas: false,
            tools: HashMap::new(),
            has_parallel_calls: false,
        }
    }

    /// The model begins to write a message, which is printed as it comes.
    pub(super) fn begin_draft(&mut self, message: MessageId) {
        self.drafted = Some(message);
    }

    /// Prints a piece of the message that the model is writing.
    pub(super) fn print_delta(&mut self, delta: Fact) -> anyhow::Result<()> {
        if self.json {
            return print_line(&serde_json::to_string(&delta)?);
        }
        self.print_fact(delta)
    }

    pub(super) fn print_event(&mut self, event: &Event) -> anyhow::Result<()> {
        if self.json {
            return print_line(&serde_json::to_string(event)?);
        }
        let Some(fact) = event.fact() else { return Ok(()) };
        self.print_fact(fact)
    }

    /// Prints a message of the model unless it was printed while it was written.
    fn print_message(&mut self, added: MessageAdded) -> anyhow::Result<()> {
        let is_drafted = self.drafted == Some(added.message);
        let has_deltas = self.has_deltas;
        self.forget_draft();
        if is_drafted || has_deltas {
            return Ok(());
        }
        for part in added.parts {
            match part {
                MessagePart::Text { text } | MessagePart::Refusal { text } => {
                    self.print_text(&text)?;
                }
                MessagePart::Reasoning { text } => self.print_reasoning(&text)?,
            }
        }
        Ok(())
    }

    /// Only a terminal shows the reasoning.
    fn print_reasoning(&mut self, text: &str) -> anyhow::Result<()> {
        if self.markdown.is_none() {
            return Ok(());
        }
        self.switch_output(LastPrinted::Reasoning)?;
        print_bytes(faint(&sanitize_chunk(text)).as_bytes())
    }

    fn print_fact(&mut self, fact: Fact) -> anyhow::Result<()> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "all other facts are not part of the conversation"
        )]
        match fact {
            Fact::TextDelta(delta) => {
                self.has_deltas = true;
                self.print_text(&delta.text)
            }
            Fact::ReasoningDelta(delta) => {
                self.has_deltas = true;
                self.print_reasoning(&delta.text)
            }
            Fact::MessageAdded(added) if added.from == MessageAuthor::Assistant => {
                self.print_message(added)
            }
            Fact::ToolCalled(call) => {
                self.finish_answer()?;
                let what = describe_tool_call(&call.tool, &call.arguments);
                self.print_note(&format!("· {what}"))?;
                self.has_parallel_calls |= !self.tools.is_empty();
                self.tools.insert(call.item, call.tool);
                Ok(())
            }
            Fact::ToolReturned(returned) => {
                self.finish_answer()?;
                self.print_tool_result(&returned)
            }
            Fact::AttemptFailed(failed) => {
                let why = sanitize_lines(&failed.why);
                self.print_note(&format!("The provider failed; retrying: {why}"))
            }
            Fact::AttemptRestarted(_) if self.markdown.is_none() => {
                self.forget_draft();
                self.piped.restart_attempt();
                Ok(())
            }
            Fact::AttemptRestarted(_) => {
                self.forget_draft();
                self.print_note("The answer starts again; ignore the text above.")
            }
            Fact::SessionCompacted(_) => {
                self.print_note("Older messages were summarized for the model.")
            }
            Fact::HandedOff(handoff) => {
                self.print_note(&format!("  handed to `{}`", sanitize_text(&handoff.role)))
            }
            _ => Ok(()),
        }
    }

    /// What was printed of a message is void.
    fn forget_draft(&mut self) {
        (self.drafted, self.has_deltas) = (None, false);
    }

    fn print_text(&mut self, text: &str) -> anyhow::Result<()> {
        if self.markdown.is_none() {
            let chunk = self.piped.push_text(&sanitize_chunk(text));
            return self.print_piped(&chunk);
        }
        self.switch_output(LastPrinted::Text)?;
        let shown = self.markdown.as_mut().map(|markdown| markdown.push(text));
        print_bytes(shown.unwrap_or_default().as_bytes())
    }

    fn print_piped(&mut self, chunk: &PipedChunk) -> anyhow::Result<()> {
        if chunk.is_restart {
            print_stderr("The answer starts again; ignore what was printed of it before.");
        }
        if chunk.text.is_empty() {
            return Ok(());
        }
        self.last = LastPrinted::Text;
        print_bytes(chunk.text.as_bytes())
    }

    /// Prints a note about the answer: below it on a terminal, else to standard error.
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
        let (status, what) = match call.status {
            ToolCallStatus::Ok => ("", describe_tool_result(&tool, &call.output)),
            ToolCallStatus::Error => ("failed", excerpt_lines(&call.output)),
            ToolCallStatus::Denied => ("denied", excerpt_lines(&call.output)),
            ToolCallStatus::Cancelled => ("cancelled", excerpt_lines(&call.output)),
        };
        // The output often names the status already.
        let status =
            if what.starts_with(status) { "→".to_owned() } else { format!("→ {status}:") };
        let name = if self.has_parallel_calls {
            format!("{} ", sanitize_text(&tool))
        } else {
            String::new()
        };
        self.has_parallel_calls &= !self.tools.is_empty();
        self.print_note(&format!("  {name}{status} {what}"))
    }

    fn switch_output(&mut self, to: LastPrinted) -> anyhow::Result<()> {
        if self.last != to {
            self.end_line()?;
        }
        self.last = to;
        Ok(())
    }

    /// Ends the open line on a terminal. A pipe only gets the answer, whose line stays open.
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

    /// Prints the rest of the answer and ends its last line.
    pub(super) fn finish_answer(&mut self) -> anyhow::Result<()> {
        if self.markdown.is_some() || self.json {
            return self.end_line();
        }
        let chunk = self.piped.finish();
        self.print_piped(&chunk)?;
        match std::mem::replace(&mut self.last, LastPrinted::Nothing) {
            LastPrinted::Nothing => Ok(()),
            LastPrinted::Text | LastPrinted::Reasoning => print_line(""),
        }
    }
}
