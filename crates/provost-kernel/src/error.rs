//! Why an action failed: a code for programs, a message for people.

use std::io;

use provost_core::action::RelPath;
use provost_proto::Code;
use provost_sandbox::root_dir::RootDirError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why an action failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ActionError {
    /// A stable code for programs.
    pub code: Code,
    /// A message for people.
    #[serde(rename = "error")]
    pub message: String,
    /// Structured details for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl ActionError {
    /// An error without details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }

    /// Adds details.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Prefixes the message with a path.
    #[must_use]
    pub fn with_path(mut self, path: &RelPath) -> Self {
        self.message = format!("{path}: {}", self.message);
        self
    }

    /// The action was cancelled before it finished.
    pub fn cancelled() -> Self {
        Self::new(Code::Cancelled, "cancelled before it finished")
    }
}

impl From<RootDirError> for ActionError {
    fn from(error: RootDirError) -> Self {
        let code = match &error {
            RootDirError::NotFound => Code::NotFound,
            RootDirError::IsDirectory => Code::IsDirectory,
            RootDirError::NotADirectory => Code::NotADirectory,
            RootDirError::Exists => Code::Exists,
            RootDirError::HardLink => Code::Hardlink,
            RootDirError::OutsideRoot => Code::OutsideProject,
            RootDirError::LinkChanged => Code::Conflict,
            RootDirError::NotRegular(_) => Code::NotAFile,
            RootDirError::NotEmpty => Code::NotEmpty,
            RootDirError::NoSpace => Code::NoSpace,
            RootDirError::BadPath(_) => Code::InvalidAction,
            RootDirError::TooLarge { .. } => Code::TooLarge,
            RootDirError::Io { doing, source } => return from_io(doing, source),
        };
        Self::new(code, error.to_string())
    }
}

/// An error of the operating system.
pub(crate) fn from_io(doing: &str, error: &io::Error) -> ActionError {
    let kind = error.kind();
    let code =
        if matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) {
            Code::PermissionDenied
        } else if matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy) {
            // Another process was faster; a retry may succeed.
            Code::Conflict
        } else if matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            Code::NoSpace
        } else if matches!(kind, io::ErrorKind::CrossesDevices | io::ErrorKind::InvalidInput) {
            Code::InvalidAction
        } else {
            Code::Internal
        };
    ActionError::new(code, format!("cannot {doing}: {error}"))
}
