//! What a session hears, and what waits in it.

use provost_proto::session::{ItemNumber, SendMessageResponse};
use provost_proto::{MessageId, Seq, TurnId};
use provost_store::Idempotency;
use tokio::sync::oneshot;

use crate::session::{CallerIdentity, RunnerError};

/// What an actor is asked.
pub(crate) enum SessionRequest {
    SendMessage {
        by: CallerIdentity,
        prompt: TurnPrompt,
        reply: oneshot::Sender<Result<AcceptedMessage, RunnerError>>,
    },
    CancelTurn {
        reply: oneshot::Sender<bool>,
    },
    /// Stops the turn that this message began, or lets it have none.
    CancelMessage {
        message: MessageId,
        reply: oneshot::Sender<()>,
    },
    /// Lets a message that waits have no turn; one whose turn has begun keeps it.
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
    /// Goes on with a turn that a daemon before left open.
    Resume,
}

/// What is said, and how it is to be answered.
#[derive(Debug, Clone)]
pub struct TurnPrompt {
    /// What is said.
    pub text: String,
    /// The key under which it is said once.
    pub command: Option<Idempotency>,
    /// The most tokens that all answers of the turn may have together. A daemon that
    /// takes the turn up after another does not know it: whoever asked is gone.
    pub most: Option<u32>,
}

impl From<String> for TurnPrompt {
    fn from(text: String) -> Self {
        Self { text, command: None, most: None }
    }
}

/// What was said is in the log.
#[derive(Debug, Clone)]
pub struct AcceptedMessage {
    /// What whoever said it is told.
    pub sent: SendMessageResponse,
    /// The place in the log behind which it stands, also if it was said before.
    pub after: Seq,
}

/// A message that waits for its turn.
pub(crate) struct PendingMessage {
    pub(crate) by: CallerIdentity,
    pub(crate) message: MessageId,
    pub(crate) item: ItemNumber,
    pub(crate) most: Option<u32>,
}

/// A turn that the log has begun.
pub(crate) struct TurnParams {
    pub(crate) turn: TurnId,
    pub(crate) by: CallerIdentity,
    pub(crate) message: Option<MessageId>,
    pub(crate) most: Option<u32>,
}

/// Whether a message begins a turn at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionActivity {
    Idle,
    Busy,
}
