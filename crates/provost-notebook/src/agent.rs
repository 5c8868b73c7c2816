//! The runtime agent: what it claims, executes and reports, as a state machine without I/O.
//!
//! A platform feeds it with what the store received, what handlers did and what time it is, and
//! does what it returns. The agent is given the store's state and never owns it.

mod machine;
mod outbox;
mod types;

pub use machine::RuntimeAgent;
pub use types::{
    AgentEffect, AgentEvent, AgentOptions, AgentOutput, ExecutionRequest, MonotonicMs, PriorSession,
};
