//! Tests of the model layer through its public API.
#![expect(clippy::panic, clippy::unwrap_used, reason = "tests")]

mod any;
mod breaks;
mod decode;
mod exact;
mod faults;
mod golden;
mod models;
mod other_model;
mod prices;
mod recorded;
mod round_trip;
mod script;
mod stale;
mod support;
