//! Requests to a session's actor, and the messages it queues.

use provost_proto::session::{ItemNumber, SendMessageResponse};
use provost_proto::{LogCursor, MessageId, TurnId};
use provost_store::Idempotency;
use tokio::sync::oneshot;

use crate::session::{CallerIdentity, RunnerError};

/// A request to the actor of a session.
pub(crate) enum SessionRequest {
    SendMessage {
        by: CallerIdentity,
        prompt: TurnPrompt,
        reply: oneshot::Sender<Result<AcceptedMessage, RunnerError>>,
    },
    CancelTurn {
        reply: oneshot::Sender<bool>,
    },
    /// Cancels the turn that this message started, or removes it from the queue.
    CancelMessage {
        message: MessageId,
        reply: oneshot::Sender<()>,
    },
    /// Removes a queued message; fails if its turn has started.
    WithdrawMessage {
        by: CallerIdentity,
        message: MessageId,
        command: Option<Idempotency>,
        reply: oneshot::Sender<Result<(), RunnerError>>,
    },
    ContinueTurn {
        by: CallerIdentity,
        reply: oneshot::Sender<Result<TurnId, RunnerError>>,
    },
    Close {
        by: CallerIdentity,
        reply: oneshot::Sender<Result<(), RunnerError>>,
    },
    /// Continues a turn that the previous daemon left open.
    Resume,
}

/// A message to a session, and limits of its turn.
#[derive(Debug, Clone)]
pub struct TurnPrompt {
    /// Text of the message.
    pub text: String,
    /// Idempotency key: a repeated request returns the first message.
    pub command: Option<Idempotency>,
    /// Most output tokens of all completions of the turn together. It is not in the log: a
    /// turn that is resumed after a restart has no such limit, since its client is gone.
    pub max_output_tokens: Option<u32>,
}

impl From<String> for TurnPrompt {
    fn from(text: String) -> Self {
        Self { text, command: None, max_output_tokens: None }
    }
}

/// A message that is in the log.
#[derive(Debug, Clone)]
pub struct AcceptedMessage {
    /// The response to the client.
    pub sent: SendMessageResponse,
    /// Position in the log before the message; for a repeated request, before the first one.
    pub after: LogCursor,
}

/// A queued message.
pub(crate) struct PendingMessage {
    pub(crate) by: CallerIdentity,
    pub(crate) message: MessageId,
    pub(crate) item: ItemNumber,
    pub(crate) max_output_tokens: Option<u32>,
}

/// A turn whose start is in the log.
pub(crate) struct TurnParams {
    pub(crate) turn: TurnId,
    pub(crate) by: CallerIdentity,
    pub(crate) message: Option<MessageId>,
    pub(crate) max_output_tokens: Option<u32>,
}

/// Whether a turn runs, so that a new message is queued.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionActivity {
    Idle,
    Busy,
}
