//! What runs beside a project and executes permitted actions.
//!
//! Two halves in one crate, because they speak one protocol: [`host`] is the
//! process per project, which owns the commands and outlives the daemon;
//! [`Kernel`] is the daemon's handle to it, which takes a permit by value.
//! Neither decides anything: an action arrives here after it was allowed, in
//! its canonical form, and is done as it says or not at all.

mod error;
pub mod files;
mod handle;
pub mod host;
mod pin;
mod place;
mod project;
mod quiet;
mod spool;
mod terminal;
mod wire;

pub use error::ActionError;
pub use handle::{Kernel, KernelError, Reports};
pub use pin::{Pinned, pin};
pub use place::Place;
pub use project::Project;
pub use terminal::{Keys, Look, attach};
