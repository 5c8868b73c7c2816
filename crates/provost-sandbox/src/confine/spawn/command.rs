//! What to run.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::confine::SandboxError;

/// One command to run behind a wall.
#[derive(Debug)]
pub struct SandboxCommand {
    /// A path, or a name to be found on the `PATH` of `env`.
    pub program: OsString,
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// The whole environment. See [`crate::environment::allowed`]; `TMPDIR` is
    /// added unless it is there.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory, relative to the project; `.` is the project.
    pub cwd: PathBuf,
    /// Standard input, output and error.
    pub stdio: [SandboxStdio; 3],
    /// Whether the first stream is a terminal that becomes the command's own.
    pub controlling_terminal: bool,
    /// What happens to what the command leaves running.
    pub leftovers: OrphanPolicy,
    /// What happens when our process ends.
    pub parent: ParentExitPolicy,
    /// Files of the project in whose place the command finds others. Only where
    /// there is a mount namespace; see [`crate::confine::AppliedLayers`].
    pub scripts: Vec<FileOverride>,
    /// Paths of the project that the command can neither replace nor move, as
    /// [`crate::confine::ProcessPhase::hold`] does for one that runs.
    pub held: Vec<PathBuf>,
}

/// A file in the place of another, read-only.
#[derive(Debug)]
pub struct FileOverride {
    /// Which one, relative to the project.
    pub path: PathBuf,
    /// The file that is there instead, by its absolute path.
    pub copy: PathBuf,
}

impl SandboxCommand {
    /// A command at the project's top with nothing to read, its output in pipes.
    pub fn new(program: impl AsRef<OsStr>, args: &[impl AsRef<OsStr>]) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: args.iter().map(|arg| arg.as_ref().to_owned()).collect(),
            env: Vec::new(),
            cwd: PathBuf::from("."),
            stdio: [SandboxStdio::Null, SandboxStdio::Pipe, SandboxStdio::Pipe],
            controlling_terminal: false,
            leftovers: OrphanPolicy::Kill,
            parent: ParentExitPolicy::Terminate,
            scripts: Vec::new(),
            held: Vec::new(),
        }
    }

    /// The file to execute: the program itself if it has a slash, else the first
    /// executable of that name on the child's own `PATH`.
    pub(in crate::confine) fn resolve_program(&self) -> Result<PathBuf, SandboxError> {
        let name = Path::new(&self.program);
        if name.components().count() > 1 || self.program.to_string_lossy().contains('/') {
            return Ok(name.to_owned());
        }
        let path = self.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
        let path = path.map_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"), |path| path.as_os_str());
        // A relative entry would make the project's own files programs.
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

/// Where a stream comes from or goes to.
#[derive(Debug)]
pub enum SandboxStdio {
    /// Nowhere.
    Null,
    /// To us, through a pipe in the [`crate::confine::ProcessPhase`].
    Pipe,
    /// The same as ours.
    Inherit,
    /// This: a file, the end of a pipe, a terminal.
    Fd(OwnedFd),
}

/// What happens to processes that the command leaves running when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrphanPolicy {
    /// They are killed, and the run is over.
    Kill,
    /// The run goes on until they have ended, or it is stopped.
    Keep,
}

/// What happens to the run when our process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentExitPolicy {
    /// It ends too.
    Terminate,
    /// It goes on, and nobody can stop it through us any more.
    Outlive,
}

/// How much a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Processes and threads at once.
    pub processes: u32,
    /// Memory in bytes: of all together where there is a cgroup, else of each process.
    pub memory: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// The longest file it can write, in bytes.
    pub file_size: u64,
}

impl Default for ResourceLimits {
    /// Room for a large build, not for an accident.
    fn default() -> Self {
        Self { processes: 2048, memory: 8 << 30, open_files: 16_384, file_size: 8 << 30 }
    }
}
