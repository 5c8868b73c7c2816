//! A provider of models that says what it is told to: for tests and benchmarks.
//!
//! It listens on a port of this machine, keeps every request, and answers with what a
//! function makes of it: an [`WriteReply`] in the wire format of the path that was asked
//! (Responses, Chat Completions, Messages, `streamGenerateContent`), a status, or raw
//! bytes, whole or cut, with a pace, ending well or badly.
//!
//! It depends on no other crate of Provost, so that a mistake there is not repeated
//! here; and nothing but tests and benchmarks may depend on it.

mod server;
mod wire_formats;

pub use server::{FakeModelServer, FakeReply, ReceivedRequest, StreamEnding};
pub use wire_formats::{FakeCompletion, FakeCompletionPart, FakeTokenUsage, FakeWireFormat};
