//! The decisions of a session: what happens next, and what the model is given.
//!
//! [`turn_step`] decides what follows a completion, within limits; [`budget`] and
//! [`reservation_ledger`] decide whether a completion can be paid for; [`loop_detector`] detects
//! a model that repeats its calls; [`tools`] are the skills of a role as tools of a model;
//! [`instructions`] is the system prompt; [`handoff`] decides who may hand off what to whom.

pub mod budget;
pub mod handoff;
pub mod instructions;
pub mod loop_detector;
pub mod reservation_ledger;
pub mod tools;
pub mod turn_step;
