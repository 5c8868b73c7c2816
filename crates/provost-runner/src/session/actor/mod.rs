//! One task per live session, and the requests that reach it.

mod inbox;
mod message_queue;
mod session_actor;

pub(crate) use inbox::SessionRequest;
pub use inbox::{AcceptedMessage, TurnPrompt};
pub(crate) use session_actor::SessionActor;
