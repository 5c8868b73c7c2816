//! Errors of starting and stopping a confined child.

use std::io;

use crate::root_dir::RootDirError;

/// Why a confined child did not start or did not end.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// A layer that the run needs is not available on this machine. Nothing was run.
    /// On the wire: `SANDBOX_UNAVAILABLE`.
    #[error("the sandbox is not available: {layer}: {why}")]
    Unavailable {
        /// The missing layer.
        layer: &'static str,
        /// The reason, as the machine gave it.
        why: String,
    },
    /// The program is neither at its path nor on the `PATH` of the child's environment.
    #[error("command not found: {program}")]
    NotFound {
        /// The program as given.
        program: String,
    },
    /// The working directory does not exist or is outside the project.
    #[error("cannot use the working directory")]
    WorkingDirectory(#[source] RootDirError),
    /// An argument, a variable or a path contains a NUL.
    #[error("{0} contains a NUL character")]
    Nul(&'static str),
    /// The program exists but did not start.
    #[error("cannot start `{program}`")]
    Start {
        /// The program as given.
        program: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A system call failed that is not part of the confinement.
    #[error("cannot {doing}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// Processes were killed and are still alive, for example because a disk does not
    /// respond. They are not reported as stopped.
    #[error("processes are still alive after they were killed")]
    StillAlive,
    /// The processes of the run could not be listed, so some may have survived. They are
    /// not reported as stopped.
    #[error(
        "the processes of the command could not be listed, so some may still run; \
         look for them and end them yourself"
    )]
    Unseen,
}

impl SandboxError {
    pub(super) fn wrap_io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }

    pub(super) fn wrap_errno(doing: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::Io { doing, source: errno.into() }
    }

    pub(super) fn unavailable(layer: &'static str, why: impl Into<String>) -> Self {
        Self::Unavailable { layer, why: why.into() }
    }
}

/// The setup step at which a child failed. Sent over the report pipe as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SetupStep {
    UserNamespace = 1,
    Mounts,
    Proc,
    Terminals,
    Loopback,
    Supervisor,
    Cgroup,
    Session,
    Streams,
    WorkingDirectory,
    Limits,
    Capabilities,
    NoNewPrivs,
    Landlock,
    Seccomp,
    Exec,
}

impl SetupStep {
    const ALL: [Self; 16] = [
        Self::UserNamespace,
        Self::Mounts,
        Self::Proc,
        Self::Terminals,
        Self::Loopback,
        Self::Supervisor,
        Self::Cgroup,
        Self::Session,
        Self::Streams,
        Self::WorkingDirectory,
        Self::Limits,
        Self::Capabilities,
        Self::NoNewPrivs,
        Self::Landlock,
        Self::Seccomp,
        Self::Exec,
    ];

    /// The error for a report of the child.
    pub(super) fn error_from_report(number: u8, errno: i32, program: &str) -> SandboxError {
        let source = io::Error::from_raw_os_error(errno);
        let step = Self::ALL.into_iter().find(|step| *step as u8 == number);
        let layer = match step {
            Some(Self::Exec) if errno == libc::ENOENT => {
                return SandboxError::NotFound { program: program.to_owned() };
            }
            Some(Self::Exec) | None => {
                return SandboxError::Start { program: program.to_owned(), source };
            }
            Some(Self::WorkingDirectory) => {
                let doing = "enter the working directory";
                return SandboxError::WorkingDirectory(RootDirError::Io { doing, source });
            }
            Some(Self::Streams) => {
                return SandboxError::Io { doing: "connect the streams", source };
            }
            Some(Self::Session) => return SandboxError::Io { doing: "create a session", source },
            Some(Self::UserNamespace) => "user namespace",
            Some(Self::Mounts) => "mount namespace",
            Some(Self::Proc) => "/proc of its own",
            Some(Self::Terminals) => "/dev/pts of its own",
            Some(Self::Loopback) => "network namespace",
            Some(Self::Supervisor) => "supervisor",
            Some(Self::Cgroup) => "cgroup",
            Some(Self::Limits) => "limits",
            Some(Self::Capabilities) => "capabilities",
            Some(Self::NoNewPrivs) => "no_new_privs",
            Some(Self::Landlock) => "Landlock",
            Some(Self::Seccomp) => "seccomp",
        };
        SandboxError::unavailable(layer, source.to_string())
    }
}
