//! The rules of notebooks: guards, fold, text, order, agents and clients.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod adoption;
mod agent;
mod client_store;
mod guards;
mod outputs;
mod phases;
mod position;
mod properties;
mod text;
mod world;
