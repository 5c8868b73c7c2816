//! A scripted model provider for tests and benchmarks.
//!
//! It listens on a local port, records every request, and answers with the
//! [`FakeReply`] that a function returns: a completion in the wire format of the
//! requested path (Responses, Chat Completions, Messages, `streamGenerateContent`), a
//! status, or raw bytes, with a delay between pieces and any ending.
//!
//! It depends on no other crate of Provost, so that a mistake there is not repeated
//! here; only tests and benchmarks may depend on it.

mod server;
mod wire_formats;

pub use server::{FakeModelServer, FakeReply, ReceivedRequest, StreamEnding};
pub use wire_formats::{FakeCompletion, FakeCompletionPart, FakeTokenUsage, FakeWireFormat};
