//! Why a request to a kernel failed.

use provost_proto::kernel::{ErrorInfo, PROTOCOL_VERSION};

/// Why a request to a kernel failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum KernelError {
    /// The kernel could not be started.
    #[error("the project's kernel did not start: {0}")]
    StartFailed(String),
    /// The connection is closed.
    #[error("the project's kernel is gone")]
    Lost,
    /// The kernel runs, but does not respond in time.
    #[error(
        "the project's kernel does not respond; wait until it does, or end it and all that runs \
         in it with `provost stop`"
    )]
    Unresponsive,
    /// The kernel was started by another version of Provost.
    #[error(
        "the project's kernel, process {pid}, speaks protocol {kernel}, and this daemon speaks \
         {PROTOCOL_VERSION}; stop that process, and the daemon starts a new kernel, or run the \
         Provost that started it"
    )]
    ProtocolMismatch {
        /// The kernel's protocol version.
        kernel: u32,
        /// The kernel's process id.
        pid: u32,
    },
    /// The kernel executed the action, and it failed.
    #[error("{}", .0.message)]
    Fault(ErrorInfo),
}
