//! Variables: what a line assigns, and which variables make a program run other code.

pub(crate) mod code_injection;
pub(crate) mod variables;
