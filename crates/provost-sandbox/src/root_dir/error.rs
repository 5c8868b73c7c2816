//! Why a file operation inside a root failed.

use std::io;

use rustix::io::Errno;

/// Why a file operation inside a root failed.
#[derive(Debug, thiserror::Error)]
pub enum RootDirError {
    /// No entry has that name.
    #[error("no such file or folder")]
    NotFound,
    /// A file was expected.
    #[error("this is a folder")]
    IsDirectory,
    /// A directory was expected.
    #[error("this is not a folder")]
    NotADirectory,
    /// The name is taken.
    #[error("the name already exists")]
    Exists,
    /// The file has another name, which may be outside the root.
    #[error("the file has more than one hard link; writing to it could change a file elsewhere")]
    HardLink,
    /// The path leads out of the root, itself or through a symbolic link.
    #[error("the path leads outside the project")]
    OutsideRoot,
    /// A link on the path was not there, or had another target, when the path was
    /// resolved for the decision.
    #[error("a link in the path leads elsewhere than when this was decided; ask again")]
    LinkChanged,
    /// Only regular files can be read and written.
    #[error("this is {0}, not a regular file")]
    NotRegular(&'static str),
    /// The directory has entries.
    #[error("the folder is not empty")]
    NotEmpty,
    /// The disk or the quota is full.
    #[error("no space left on the disk")]
    NoSpace,
    /// The path itself is invalid, whatever is there.
    #[error("the path is invalid: {0}")]
    BadPath(&'static str),
    /// The file is larger than the caller's limit.
    #[error("the file has {size} bytes, more than the {limit} allowed")]
    TooLarge {
        /// The size of the file, in bytes.
        size: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The operating system refused for another reason.
    #[error("cannot {doing}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

impl RootDirError {
    /// Maps errors that mean the same in every operation.
    pub(super) fn from_errno(errno: Errno, doing: &'static str) -> Self {
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::ISDIR => Self::IsDirectory,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::EXIST => Self::Exists,
            Errno::NOTEMPTY => Self::NotEmpty,
            Errno::NOSPC | Errno::DQUOT => Self::NoSpace,
            Errno::NAMETOOLONG => Self::BadPath("a name in it is too long"),
            other => Self::Io { doing, source: other.into() },
        }
    }

    /// The same for errors of the standard library.
    pub(super) fn from_io(error: io::Error, doing: &'static str) -> Self {
        match error.raw_os_error() {
            Some(code) => Self::from_errno(Errno::from_raw_os_error(code), doing),
            None => Self::Io { doing, source: error },
        }
    }
}

/// Adds the purpose of a system call to its error.
pub(super) trait FileErrorContext<T> {
    /// `open the folder`, `read the file`, …
    fn context(self, what: &'static str) -> Result<T, RootDirError>;
}

impl<T> FileErrorContext<T> for Result<T, Errno> {
    fn context(self, what: &'static str) -> Result<T, RootDirError> {
        self.map_err(|errno| RootDirError::from_errno(errno, what))
    }
}

impl<T> FileErrorContext<T> for io::Result<T> {
    fn context(self, what: &'static str) -> Result<T, RootDirError> {
        self.map_err(|error| RootDirError::from_io(error, what))
    }
}
