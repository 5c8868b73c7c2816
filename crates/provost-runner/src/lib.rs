//! LLM sessions: clients of model providers, and the loop over them.
//!
//! - [`model`]: speaks with every provider in its own wire format and yields one kind of
//!   events. It knows nothing of projects, roles, permits or the log. Streams are parsed in
//!   `model/wire/<format>/decode.rs`, such as `model/wire/anthropic/decode.rs`.
//! - [`session`]: the loop. A message starts a turn, tool calls are submitted to the gateway
//!   like any other action, and everything is in the log before a client sees it.
//! - [`telemetry`]: exports sessions from the log to an OpenTelemetry collector.
//! - [`tour`]: a scripted session in an example project, for people without a model.

pub mod model;
pub mod session;
pub mod telemetry;
pub mod tour;
