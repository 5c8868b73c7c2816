//! The command to run.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::confine::SandboxError;

/// A command to run in a sandbox.
#[derive(Debug)]
pub struct SandboxCommand {
    /// A path, or a name to be found on the `PATH` of `env`.
    pub program: OsString,
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// The whole environment. See [`crate::environment::filter_allowed`]; `TMPDIR` is
    /// added unless it is set.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory, relative to the project; `.` is the project.
    pub cwd: PathBuf,
    /// Standard input, output and error.
    pub stdio: [SandboxStdio; 3],
    /// Whether standard input is a terminal that becomes the controlling terminal.
    pub controlling_terminal: bool,
    /// What happens to processes that outlive the command.
    pub orphans: OrphanPolicy,
    /// What happens when our process ends.
    pub parent: ParentExitPolicy,
    /// Files that are mounted over files of the project. Needs a mount namespace; see
    /// [`crate::confine::AppliedLayers`].
    pub file_overrides: Vec<FileOverride>,
    /// Files of the project in whose place the command finds a symbolic link. Needs a mount
    /// namespace.
    pub file_redirects: Vec<FileRedirect>,
    /// Paths of the project that the command can neither replace nor move, like
    /// [`crate::confine::SandboxChild::hold_paths`] for a running one.
    pub held_paths: Vec<PathBuf>,
    /// Paths of the project that the command cannot write. One that does not exist, or
    /// is a link, is not protected.
    pub read_only_paths: Vec<PathBuf>,
}

/// A file that is mounted over another, read-only.
#[derive(Debug)]
pub struct FileOverride {
    /// The path that is covered, relative to the project.
    pub path: PathBuf,
    /// The absolute path of the file that is mounted.
    pub copy: PathBuf,
}

/// A symbolic link that is mounted over a file: who writes the file follows the link.
#[derive(Debug)]
pub struct FileRedirect {
    /// The path that is covered, relative to the project.
    pub path: PathBuf,
    /// The absolute path of the symbolic link.
    pub link: PathBuf,
}

impl SandboxCommand {
    /// A command in the project's root, without input, with its output in pipes.
    pub fn new(program: impl AsRef<OsStr>, args: &[impl AsRef<OsStr>]) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: args.iter().map(|arg| arg.as_ref().to_owned()).collect(),
            env: Vec::new(),
            cwd: PathBuf::from("."),
            stdio: [SandboxStdio::Null, SandboxStdio::Pipe, SandboxStdio::Pipe],
            controlling_terminal: false,
            orphans: OrphanPolicy::Kill,
            parent: ParentExitPolicy::Terminate,
            file_overrides: Vec::new(),
            file_redirects: Vec::new(),
            held_paths: Vec::new(),
            read_only_paths: Vec::new(),
        }
    }

    /// The file to execute: the program itself if it contains a slash, else the first
    /// executable of that name on the child's own `PATH`.
    pub(in crate::confine) fn resolve_program(&self) -> Result<PathBuf, SandboxError> {
        let name = Path::new(&self.program);
        if name.components().count() > 1 || self.program.to_string_lossy().contains('/') {
            return Ok(name.to_owned());
        }
        let path = self.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
        let path = path.map_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"), |path| path.as_os_str());
        // A relative entry would make files of the project programs.
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        folders
            .map(|folder| folder.join(name))
            .find(|file| is_executable_file(file))
            .ok_or_else(|| SandboxError::NotFound { program: name.display().to_string() })
    }
}

fn is_executable_file(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// The source or destination of a stream.
#[derive(Debug)]
pub enum SandboxStdio {
    /// `/dev/null`.
    Null,
    /// A pipe, whose other end is in the [`crate::confine::SandboxChild`].
    Pipe,
    /// Our own stream.
    Inherit,
    /// A file, the end of a pipe, or a terminal.
    Fd(OwnedFd),
}

/// What happens to processes that outlive the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrphanPolicy {
    /// They are killed, and the run ends.
    Kill,
    /// The run continues until they have ended, or it is stopped.
    Keep,
}

/// What happens to the run when our process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentExitPolicy {
    /// It ends too.
    Terminate,
    /// It continues, and cannot be stopped through us any more.
    Outlive,
}

/// The least memory of a run, in bytes, however small the machine is.
const MIN_MEMORY: u64 = 256 << 20;

/// Resource limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Number of processes and threads.
    pub processes: u32,
    /// Memory in bytes: of the whole run with a cgroup, else of each process.
    pub memory: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// The largest file it can write, in bytes.
    pub file_size: u64,
}

impl Default for ResourceLimits {
    /// Enough for a large build, and at most three quarters of the machine's memory.
    fn default() -> Self {
        let machine = rustix::system::sysinfo();
        let machine = machine.totalram.saturating_mul(u64::from(machine.mem_unit));
        let memory = (8 << 30).min(machine / 4 * 3).max(MIN_MEMORY);
        Self { processes: 2048, memory, open_files: 16_384, file_size: 8 << 30 }
    }
}
