//! The daemon's side of the protocol with a kernel.

pub(crate) mod cached_reader;
pub(crate) mod kernel_client;
mod kernel_connection;
mod kernel_error;
mod kernel_process;
mod pending_requests;
pub(crate) mod terminal_client;
