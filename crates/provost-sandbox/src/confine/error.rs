//! Why a confined child did not start or did not end.

use std::io;

use crate::root_dir::RootDirError;

/// Why a confined child did not start or did not end.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// A layer that the run needs is not to be had here. Nothing was run.
    /// On the wire: `SANDBOX_UNAVAILABLE`.
    #[error("the sandbox is not available: {layer}: {why}")]
    Unavailable {
        /// The layer that is missing.
        layer: &'static str,
        /// What the machine said.
        why: String,
    },
    /// No such program, at its path or on the `PATH` of the child's environment.
    #[error("command not found: {program}")]
    NotFound {
        /// What was asked for.
        program: String,
    },
    /// The working directory is not there or not inside the project.
    #[error("cannot use the working directory")]
    WorkingDirectory(#[source] RootDirError),
    /// An argument, a variable or a path contains a NUL.
    #[error("{0} contains a NUL character")]
    Nul(&'static str),
    /// The program is there but did not start.
    #[error("cannot start `{program}`")]
    Start {
        /// What was asked for.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused something that has nothing to do with the wall.
    #[error("cannot {doing}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Processes were killed and are still there, as can happen when the kernel
    /// waits for a dead disk. They are not reported as stopped.
    #[error("processes are still alive after they were killed")]
    StillAlive,
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

/// What a child was doing when it failed. Crosses the report pipe as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SetupStep {
    UserNamespace = 1,
    Mounts,
    Proc,
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
    const ALL: [Self; 15] = [
        Self::UserNamespace,
        Self::Mounts,
        Self::Proc,
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

    /// The error that a report from the child stands for.
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
            Some(Self::Session) => return SandboxError::Io { doing: "make a session", source },
            Some(Self::UserNamespace) => "user namespace",
            Some(Self::Mounts) => "mount namespace",
            Some(Self::Proc) => "/proc of its own",
            Some(Self::Loopback) => "network namespace",
            Some(Self::Supervisor) => "warden",
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
