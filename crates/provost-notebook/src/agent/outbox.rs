//! What an agent has to send: one batch at a time, each with a key, so that none is applied twice.

use std::collections::VecDeque;

use provost_proto::notebook::{NotebookCommand, OutputContent};
use provost_proto::{IdempotencyKey, RuntimeSessionId, limits};

use super::types::AgentEffect;
use crate::fold::content_bytes;

/// Texts are joined up to this size, so that a batch stays one small event.
const MAX_JOINED_BYTES: usize = 64 * 1024;

/// The most bytes of outputs in one batch. A byte of text takes up to six in JSON, and a batch must
/// fit into one message.
const MAX_BATCH_BYTES: usize = 128 * 1024;

/// What was sent and not answered.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) id: IdempotencyKey,
    pub(super) commands: Vec<NotebookCommand>,
}

#[derive(Debug)]
pub(super) struct Outbox {
    session: RuntimeSessionId,
    /// Commands that are applied together. Those of reports are joined when they are sent.
    waiting: VecDeque<Unit>,
    in_flight: Option<InFlight>,
    sent: u64,
    waiting_bytes: usize,
}

#[derive(Debug)]
enum Unit {
    Report(NotebookCommand),
    /// A claim can be refused; nothing else may be refused with it.
    Alone(Vec<NotebookCommand>),
}

impl Outbox {
    pub(super) const fn new(session: RuntimeSessionId) -> Self {
        Self { session, waiting: VecDeque::new(), in_flight: None, sent: 0, waiting_bytes: 0 }
    }

    /// Bytes of outputs that were not sent yet.
    pub(super) const fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_none() && self.waiting.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.in_flight = None;
    }

    pub(super) fn push_alone(&mut self, commands: Vec<NotebookCommand>) {
        self.waiting.push_back(Unit::Alone(commands));
    }

    pub(super) fn push(&mut self, command: NotebookCommand) {
        self.waiting_bytes = self.waiting_bytes.saturating_add(command_bytes(&command));
        if let Some(Unit::Report(last)) = self.waiting.back_mut()
            && join(last, &command)
        {
            return;
        }
        self.waiting.push_back(Unit::Report(command));
    }

    /// The next batch, if none is in flight.
    pub(super) fn take_next(&mut self) -> Option<AgentEffect> {
        if self.in_flight.is_some() {
            return None;
        }
        let commands = match self.waiting.pop_front()? {
            Unit::Alone(commands) => commands,
            Unit::Report(command) => self.take_reports(command),
        };
        Some(self.send(commands))
    }

    fn take_reports(&mut self, first: NotebookCommand) -> Vec<NotebookCommand> {
        let mut bytes = command_bytes(&first);
        let mut commands = vec![first];
        while let Some(Unit::Report(next)) = self.waiting.front() {
            let more = command_bytes(next);
            if bytes + more > MAX_BATCH_BYTES || commands.len() >= limits::MAX_COMMAND_BATCH {
                break;
            }
            bytes += more;
            if let Some(Unit::Report(next)) = self.waiting.pop_front() {
                commands.push(next);
            }
        }
        self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
        commands
    }

    fn send(&mut self, commands: Vec<NotebookCommand>) -> AgentEffect {
        let id = format!("{}-{}", self.session.uuid(), self.sent);
        self.sent += 1;
        self.in_flight = Some(InFlight { id: id.clone(), commands: commands.clone() });
        AgentEffect::Send { id, commands }
    }

    /// What was not answered, to be sent again.
    pub(super) fn resend(&self) -> Option<AgentEffect> {
        let InFlight { id, commands } = self.in_flight.as_ref()?;
        Some(AgentEffect::Send { id: id.clone(), commands: commands.clone() })
    }

    /// What was answered.
    pub(super) fn answered(&mut self, id: &str) -> Option<InFlight> {
        self.in_flight.take_if(|in_flight| in_flight.id == id)
    }

    /// Commands of a batch that was refused because of another one.
    pub(super) fn push_front(&mut self, commands: Vec<NotebookCommand>) {
        for command in commands.into_iter().rev() {
            self.waiting_bytes = self.waiting_bytes.saturating_add(command_bytes(&command));
            self.waiting.push_front(Unit::Report(command));
        }
    }
}

fn command_bytes(command: &NotebookCommand) -> usize {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are small")]
    match command {
        NotebookCommand::AddOutput { content, .. } => content_bytes(content),
        NotebookCommand::AppendOutput { text, .. } => text.len(),
        NotebookCommand::ReplaceDisplay { data, metadata, .. } => {
            let (data, metadata) = (data.clone(), metadata.clone());
            content_bytes(&OutputContent::Display { data, metadata, display: None })
        }
        _ => 0,
    }
}

/// Appends text to a command that waits, if it is for the same output.
fn join(last: &mut NotebookCommand, next: &NotebookCommand) -> bool {
    let NotebookCommand::AppendOutput { output, text: more, .. } = next else { return false };
    let (NotebookCommand::AppendOutput { output: to, text, .. }
    | NotebookCommand::AddOutput {
        output: to,
        content: OutputContent::Stream { text, .. } | OutputContent::Markdown { text },
        ..
    }) = last
    else {
        return false;
    };
    if *to != *output || text.len() + more.len() > MAX_JOINED_BYTES {
        return false;
    }
    text.push_str(more);
    true
}
