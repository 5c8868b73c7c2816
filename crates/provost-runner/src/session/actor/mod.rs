//! One task per live session, and the requests that reach it.

mod inbox;
mod message_queue;
mod session_actor;

pub use inbox::{AcceptedMessage, TurnPrompt};
pub(crate) use inbox::{PendingMessage, SessionRequest};
pub(crate) use session_actor::SessionActor;
