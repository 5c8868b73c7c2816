//! Writes one draft: redacts, then journals, then shows.

use std::collections::HashMap;
use std::sync::Arc;

use provost_core::redact::{Redactor, StreamRedactor};
use provost_proto::session::{AttemptFailed, AttemptRestarted, PendingRetry};
use provost_proto::{AppendedPart, DocumentAppend, Fact, LogCursor, MessageId, UnixMicros, limits};

use super::journal::JournalWriter;
use super::{DraftSlot, DraftState, LiveDraft, UnloggedSessions};
use crate::GatewayError;

/// What a piece of a completion belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DraftPart {
    /// The text.
    Text,
    /// The reasoning.
    Reasoning,
    /// The arguments of the tool call with this index.
    Call(u32),
}

/// The writer of a session's draft. If it is dropped before its end, the journal stays: the next
/// turn of the session reads it, or the next daemon.
#[derive(Debug)]
pub struct DraftWriter {
    slot: Arc<DraftSlot>,
    draft: Arc<LiveDraft>,
    journal: Option<JournalWriter>,
    redactor: Arc<Redactor>,
    /// Secrets are found across the pieces of a part.
    parts: HashMap<DraftPart, StreamRedactor>,
    /// Learns that the journal was left.
    unlogged: Arc<UnloggedSessions>,
}

impl DraftWriter {
    pub(super) fn new(
        slot: Arc<DraftSlot>,
        draft: LiveDraft,
        journal: JournalWriter,
        redactor: Arc<Redactor>,
        unlogged: Arc<UnloggedSessions>,
    ) -> Self {
        let draft = Arc::new(draft);
        slot.set(Some(Arc::clone(&draft)));
        let (journal, parts) = (Some(journal), HashMap::new());
        Self { slot, draft, journal, redactor, parts, unlogged }
    }

    /// The message that the draft becomes.
    pub fn message(&self) -> MessageId {
        self.draft.message()
    }

    /// Adds text to a part. It is in the journal before anybody sees it.
    pub fn push_text(&mut self, part: DraftPart, text: &str) -> Result<(), GatewayError> {
        let part = clamp_index(part);
        let redactor = &self.redactor;
        let stream =
            self.parts.entry(part).or_insert_with(|| StreamRedactor::prompt(Arc::clone(redactor)));
        let mut out = Vec::with_capacity(text.len());
        stream.push(text.as_bytes(), &mut out);
        self.publish(part, None, out)
    }

    /// Begins a tool call.
    pub fn begin_call(&mut self, index: u32, tool: &str) -> Result<(), GatewayError> {
        let tool = self.redactor.redact_text(tool).into_owned();
        self.publish(clamp_index(DraftPart::Call(index)), Some(tool), Vec::new())
    }

    /// The attempt failed, and another one follows.
    pub fn fail_attempt(
        &mut self,
        failed: &AttemptFailed,
        at: UnixMicros,
    ) -> Result<(), GatewayError> {
        let mut failed = failed.clone();
        self.redactor.redact_string(&mut failed.why);
        let at = at.saturating_add(failed.retry_in_ms.saturating_mul(1000));
        let retrying = PendingRetry { attempt: failed.attempt, at, why: failed.why.clone() };
        self.journal(&Fact::AttemptFailed(failed))?;
        self.draft.set_retrying(retrying);
        self.slot.notify();
        Ok(())
    }

    /// What was streamed is void, which the log says by now: begins the draft of the next attempt.
    pub fn restart(&mut self, attempt: u32, since: LogCursor) -> Result<(), GatewayError> {
        let (session, turn) = (self.draft.session(), self.draft.turn());
        let (streamed, calls) = (Vec::new(), Vec::new());
        let restarted = AttemptRestarted { session, turn, attempt, streamed, calls };
        self.journal(&Fact::AttemptRestarted(restarted))?;
        self.parts.clear();
        let before = &self.draft;
        let next = LiveDraft::new(before.session(), before.turn(), before.message(), since);
        before.set_state(DraftState::Ended(None));
        self.draft = Arc::new(next);
        self.slot.set(Some(Arc::clone(&self.draft)));
        Ok(())
    }

    /// Nothing more is said. Shows what was held back because it might have been the beginning of
    /// a secret.
    pub fn close(&mut self) -> Result<(), GatewayError> {
        let mut parts: Vec<_> = std::mem::take(&mut self.parts).into_iter().collect();
        parts.sort_by_key(|(part, _)| match part {
            DraftPart::Reasoning => (0, 0),
            DraftPart::Text => (1, 0),
            DraftPart::Call(index) => (2, *index),
        });
        for (part, mut stream) in parts {
            let mut out = Vec::new();
            stream.finish(&mut out);
            self.publish(part, None, out)?;
        }
        self.draft.set_state(DraftState::Closing);
        Ok(())
    }

    /// The end of the completion is in the log, up to this event; `None` if there was nothing to
    /// append. The journal is removed.
    pub fn finish(mut self, appended: Option<LogCursor>) -> Result<(), GatewayError> {
        self.draft.set_state(DraftState::Ended(appended));
        self.journal.take().map_or(Ok(()), JournalWriter::remove)
    }

    fn publish(
        &mut self,
        part: DraftPart,
        tool: Option<String>,
        text: Vec<u8>,
    ) -> Result<(), GatewayError> {
        if text.is_empty() && tool.is_none() {
            return Ok(());
        }
        // Pieces and secrets are whole characters, and so is what is left of them.
        let text = String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let (kind, part) = match part {
            DraftPart::Text => (AppendedPart::Text, 0),
            DraftPart::Reasoning => (AppendedPart::Reasoning, 0),
            DraftPart::Call(index) => (AppendedPart::Tool, index),
        };
        let piece = DocumentAppend { kind, part, tool, text };
        self.journal(&self.draft.delta(piece.clone()))?;
        self.draft.push(piece);
        self.slot.notify();
        Ok(())
    }

    fn journal(&mut self, fact: &Fact) -> Result<(), GatewayError> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.write_fact(fact))
    }
}

impl Drop for DraftWriter {
    fn drop(&mut self) {
        if !matches!(self.draft.state(), DraftState::Ended(_)) {
            self.draft.set_state(DraftState::Ended(None));
        }
        if self.journal.is_some() {
            self.unlogged.lock().insert(self.draft.session());
        }
        self.slot.clear(&self.draft);
    }
}

/// Calls beyond the limit are shown as one; none of them runs.
fn clamp_index(part: DraftPart) -> DraftPart {
    let most = u32::try_from(limits::MAX_TOOL_CALLS).unwrap_or(u32::MAX);
    match part {
        DraftPart::Call(index) => DraftPart::Call(index.min(most)),
        DraftPart::Text | DraftPart::Reasoning => part,
    }
}
