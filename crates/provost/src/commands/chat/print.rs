//! A turn on the screen, as it comes.

use provost_proto::session::ToolStatus;
use provost_proto::{Event, Fact};

use crate::output::{bytes, faint, line, plain, plain_lines};

/// The longest excerpt of a call or its result.
const EXCERPT: usize = 160;

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
}

impl Printer {
    pub(super) fn new(json: bool) -> Self {
        Self { json, last: Last::Nothing }
    }

    pub(super) fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        if self.json {
            return line(&serde_json::to_string(event)?);
        }
        let Some(fact) = event.fact() else { return Ok(()) };
        if let Fact::TextDelta(delta) = fact {
            self.switch(Last::Text)?;
            bytes(plain_lines(&delta.text).as_bytes())
        } else if let Fact::ReasoningDelta(delta) = fact {
            self.switch(Last::Thought)?;
            bytes(faint(&plain_lines(&delta.text)).as_bytes())
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
            line(&faint(&format!("  {how} {}", excerpt(&returned.output))))
        } else if let Fact::AttemptFailed(failed) = fact {
            self.end()?;
            line(&faint(&format!("The provider failed and is asked again: {}", plain(&failed.why))))
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
            line("")?;
        }
        self.last = Last::Nothing;
        Ok(())
    }
}

fn excerpt(text: &str) -> String {
    let flat: String = text.chars().take(EXCERPT).collect();
    let more = if text.chars().count() > EXCERPT { "…" } else { "" };
    format!("{}{more}", plain(flat.trim()))
}
