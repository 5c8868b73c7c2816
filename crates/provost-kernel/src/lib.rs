//! What runs beside a project and executes permitted actions.
//!
//! It decides nothing: an action arrives here after it was allowed, in its
//! canonical form, and is done as it says or not at all.

mod error;
pub mod files;

pub use error::ActionError;
