//! LLM sessions: for now, the providers of models.
//!
//! [`model`] speaks with every provider in its own wire format and gives one
//! kind of events. It knows nothing of projects, roles, permits or the log: the
//! loop that is built upon it does.

pub mod model;
