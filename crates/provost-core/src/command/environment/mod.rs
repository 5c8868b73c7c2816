//! Variables: what a line assigns, and those by which a program runs other code.

pub(crate) mod code_injection;
pub(crate) mod variables;
