//! The notebooks in a browser: one store of one notebook, and the runtime agents that use it.
//!
//! It takes requests and returns replies, both JSON. It has no connection, no clock and no random
//! numbers: the page brings messages, times and ids, and sends what the replies say. The same code
//! runs natively, where tests compare the two.

mod client;
mod decode;
mod exports;
mod reply;
mod request;

pub use client::NotebookClient;
pub use reply::{
    AgentOrder, AgentOrderKind, ChangedDocument, ClientReply, RejectedCommands, RequestError,
};
