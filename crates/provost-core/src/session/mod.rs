//! What a session does next, and what a model is told: decided here, done elsewhere.
//!
//! [`plan`] says what comes after what the model said, within which limits;
//! [`budget`] says why a request cannot be paid for, [`ledger`] keeps the money before
//! it is made; [`guard`] notices a model that goes round in circles; [`tools`] are the skills of a role
//! as a model is offered them, [`instructions`] what it is told of its role and
//! project; [`handoff`] says who may hand what to whom.

pub mod budget;
pub mod handoff;
pub mod instructions;
pub mod loop_detector;
pub mod reservation_ledger;
pub mod tools;
pub mod turn_step;
