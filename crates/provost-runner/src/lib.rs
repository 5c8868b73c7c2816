//! LLM sessions: the providers of models, and the loop over them.
//!
//! [`model`] speaks with every provider in its own wire format and gives one kind
//! of events. It knows nothing of projects, roles, permits or the log. [`session`]
//! is the loop: what a person says begins a turn, what the model calls goes down
//! the road of all actions, and everything is in the log before anybody sees it.
//! [`telemetry`] tells a collector what the log says of sessions. [`tour`] shows all
//! of it to who has no model yet.

pub mod model;
pub mod session;
pub mod telemetry;
pub mod tour;
