//! Runtimes of notebooks on this platform.
//!
//! [`RuntimeDriver`] runs the pure agent of `provost-notebook` over a [`NotebookStore`], which is
//! either the one in the daemon ([`LocalStore`]) or a client of `GET /api/sync` ([`RemoteStore`]).
//! What executes the cells is an [`ExecutionHandler`]. It decides nothing: what a runtime may write
//! is decided by the daemon, and what a cell may do by the handler's way to run it.

mod context;
mod driver;
mod echo;
mod handler;
mod ipynb;
mod local;
mod shell;
mod store;
mod text_decoder;

pub use context::{ExecutionContext, InputRefused, RichOutput};
pub use driver::{DriverSettings, RuntimeControl, RuntimeDriver, RuntimeEnd, RuntimeNotice};
pub use echo::EchoHandler;
pub use handler::{ExecutionEnd, ExecutionHandler, HandlerFailure, HandlerReporter};
pub use ipynb::{export_notebook, import_notebook};
pub use local::{LocalRuntimes, RuntimeFactory};
pub use shell::ActionShellHandler;
pub use store::{
    ArtifactFailure, ArtifactUploader, LocalStore, NotebookStore, RemoteStore, RemoteTarget,
    StoreEvent, TargetLocator,
};
pub use text_decoder::TextDecoder;
