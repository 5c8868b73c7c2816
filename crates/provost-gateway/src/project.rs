//! What belongs to one project: its governance, decisions, kernel, approvals, actions,
//! runtime, terminal, preview and sessions.

pub(crate) mod actions;
pub(crate) mod approvals;
pub(crate) mod decisions;
pub(crate) mod executor;
pub(crate) mod governance;
pub(crate) mod kernels;
pub(crate) mod notebooks;
pub(crate) mod preview;
pub(crate) mod principal_directory;
pub(crate) mod request_context;
pub(crate) mod runtime;
pub(crate) mod sessions;
pub(crate) mod terminal;
pub(crate) mod trust;
