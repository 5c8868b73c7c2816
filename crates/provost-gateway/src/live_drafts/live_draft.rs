//! One completion while it is streamed: what it says so far, and how far a follower has read.

use parking_lot::Mutex;
use provost_proto::session::{
    CompletionDraft, ContentDelta, DraftToolCall, PendingRetry, ToolDelta,
};
use provost_proto::{
    AppendedPart, DocumentAppend, Fact, LogCursor, MessageId, SessionId, TurnId, limits,
};

/// The draft of one attempt at a completion. A new attempt has a draft of its own, so what a draft
/// says only grows.
#[derive(Debug)]
pub struct LiveDraft {
    session: SessionId,
    turn: TurnId,
    message: MessageId,
    since: LogCursor,
    content: Mutex<DraftContent>,
}

#[derive(Debug)]
struct DraftContent {
    /// The pieces in order; those that continue the last one are joined to it.
    runs: Vec<DocumentAppend>,
    retrying: Option<PendingRetry>,
    /// Counts the changes that are more than further text.
    revision: u32,
    state: DraftState,
}

/// Whether a draft is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftState {
    /// It is being written.
    Live,
    /// It says all that it will; its message is being appended to the log.
    Closing,
    /// It is over. The last event of the append that its message is in; `None` if it became none.
    Ended(Option<LogCursor>),
}

/// How far a follower has read a draft.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DraftPosition {
    /// How many runs it has begun to read.
    runs: usize,
    /// Bytes of the last of them.
    bytes: usize,
    revision: u32,
}

impl LiveDraft {
    pub(super) fn new(
        session: SessionId,
        turn: TurnId,
        message: MessageId,
        since: LogCursor,
    ) -> Self {
        let content =
            DraftContent { runs: Vec::new(), retrying: None, revision: 0, state: DraftState::Live };
        Self { session, turn, message, since, content: Mutex::new(content) }
    }

    /// The session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The turn.
    pub fn turn(&self) -> TurnId {
        self.turn
    }

    /// The message that it becomes.
    pub fn message(&self) -> MessageId {
        self.message
    }

    /// The last event of the log before the draft began.
    pub fn since(&self) -> LogCursor {
        self.since
    }

    /// Whether it is being written.
    pub fn state(&self) -> DraftState {
        self.content.lock().state
    }

    /// The draft as a document, and the position up to which it goes.
    pub fn to_document(&self) -> (CompletionDraft, DraftPosition) {
        let content = self.content.lock();
        let mut draft = CompletionDraft {
            session: self.session,
            turn: self.turn,
            reasoning: String::new(),
            text: String::new(),
            calls: Vec::new(),
            retrying: content.retrying.clone(),
            broken_attempts: Vec::new(),
        };
        for run in &content.runs {
            match run.kind {
                AppendedPart::Text => draft.text.push_str(&run.text),
                AppendedPart::Reasoning => draft.reasoning.push_str(&run.text),
                AppendedPart::Tool => append_call(&mut draft.calls, run),
                AppendedPart::Output => {}
            }
        }
        (draft, content.end())
    }

    /// What was added since a position, which moves behind it. `None` if more changed than text
    /// was added: then the document is needed as a whole.
    pub fn read_from(&self, position: &mut DraftPosition) -> Option<Vec<DocumentAppend>> {
        let content = self.content.lock();
        if content.revision != position.revision {
            return None;
        }
        let mut pieces = Vec::new();
        if let Some(run) = position.runs.checked_sub(1).and_then(|last| content.runs.get(last))
            && let Some(text) = run.text.get(position.bytes..).filter(|text| !text.is_empty())
        {
            let (kind, part, text) = (run.kind, run.part, text.to_owned());
            pieces.push(DocumentAppend { kind, part, tool: None, text });
        }
        pieces.extend(content.runs.iter().skip(position.runs).cloned());
        *position = content.end();
        Some(pieces)
    }

    /// What was added since a position, as deltas. Changes that are more than text are left out.
    pub fn read_deltas(&self, position: &mut DraftPosition) -> Vec<Fact> {
        position.revision = self.content.lock().revision;
        let pieces = self.read_from(position).unwrap_or_default();
        pieces.into_iter().map(|piece| self.delta(piece)).collect()
    }

    /// A piece as a fact, as journals and followers get it.
    pub(super) fn delta(&self, piece: DocumentAppend) -> Fact {
        let (session, turn, text) = (self.session, self.turn, piece.text);
        match piece.kind {
            AppendedPart::Text | AppendedPart::Output => {
                Fact::TextDelta(ContentDelta { session, turn, text })
            }
            AppendedPart::Reasoning => Fact::ReasoningDelta(ContentDelta { session, turn, text }),
            AppendedPart::Tool => {
                let (index, tool) = (piece.part, piece.tool);
                Fact::ToolDelta(ToolDelta { session, turn, index, tool, text })
            }
        }
    }

    pub(super) fn push(&self, piece: DocumentAppend) {
        let mut content = self.content.lock();
        content.retrying = None;
        match content.runs.last_mut() {
            Some(last)
                if piece.tool.is_none() && last.kind == piece.kind && last.part == piece.part =>
            {
                last.text.push_str(&piece.text);
            }
            Some(_) | None => content.runs.push(piece),
        }
    }

    pub(super) fn set_retrying(&self, retrying: PendingRetry) {
        let mut content = self.content.lock();
        content.retrying = Some(retrying);
        content.revision = content.revision.wrapping_add(1);
    }

    pub(super) fn set_state(&self, state: DraftState) {
        self.content.lock().state = state;
    }
}

impl DraftContent {
    fn end(&self) -> DraftPosition {
        let bytes = self.runs.last().map_or(0, |run| run.text.len());
        DraftPosition { runs: self.runs.len(), bytes, revision: self.revision }
    }
}

fn append_call(calls: &mut Vec<DraftToolCall>, run: &DocumentAppend) {
    let at = usize::try_from(run.part).unwrap_or(usize::MAX).min(limits::MAX_TOOL_CALLS);
    while calls.len() <= at {
        calls.push(DraftToolCall { tool: String::new(), arguments: String::new() });
    }
    if let Some(call) = calls.get_mut(at) {
        call.arguments.push_str(&run.text);
        if let Some(tool) = &run.tool {
            call.tool.clone_from(tool);
        }
    }
}
