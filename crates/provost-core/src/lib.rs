//! The decisions of Provost, and nothing else.
//!
//! This crate opens no file, starts no process, reads no clock and draws no random number:
//! whatever it needs is an argument, whatever it wants done is a return value. So it compiles to
//! WebAssembly, and every rule in it can be tested with plain data.

pub mod action;
pub mod canonical;
pub mod command;
pub mod decide;
pub mod diff;
pub mod exact_json;
pub mod fold;
pub mod glob;
pub mod hash_chain;
pub mod permit;
pub mod policy;
pub mod quarantine;
pub mod redact;
pub mod role;
pub mod runtime;
pub mod session;
pub mod skill;
pub mod slug;
mod spelling;
