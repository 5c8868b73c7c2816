//! All that a child needs, prepared before it exists.
//!
//! After the fork of a process with many threads, nothing may be allocated and no
//! lock taken: another thread may have held it. So the parent prepares all strings,
//! tables and descriptors, and the child only makes system calls with them.

use std::ffi::{CStr, CString, OsStr, c_char};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::ptr::null;
use std::sync::Arc;

use libc::sock_filter;

use super::landlock_ruleset::LandlockRuleset;
use super::memory_folders::MemoryFolders;
use crate::confine::SandboxError;
use crate::confine::error::SetupStep;
use crate::root_dir::RootDir;

/// The strings of an argument list or environment, with the pointer table for exec.
pub(in crate::confine) struct CStringArray {
    _owned: Vec<CString>,
    table: Vec<*const c_char>,
}

impl CStringArray {
    pub(in crate::confine) fn new<S: AsRef<OsStr>>(
        strings: impl IntoIterator<Item = S>,
        what: &'static str,
    ) -> Result<Self, SandboxError> {
        let owned = strings
            .into_iter()
            .map(|string| to_cstring(string.as_ref(), what))
            .collect::<Result<Vec<_>, _>>()?;
        let table = owned.iter().map(|string| string.as_ptr()).chain([null()]).collect();
        Ok(Self { _owned: owned, table })
    }

    pub(in crate::confine) fn as_ptr(&self) -> *const *const c_char {
        self.table.as_ptr()
    }
}

pub(in crate::confine) fn to_cstring(
    string: &OsStr,
    what: &'static str,
) -> Result<CString, SandboxError> {
    CString::new(string.as_bytes()).map_err(|_| SandboxError::Nul(what))
}

/// A path of the project that is mounted onto itself.
#[derive(Debug)]
pub(in crate::confine) struct SelfBindMount {
    /// Relative to the project.
    pub(in crate::confine) path: CString,
    /// Whether it is read-only, or only protected from renames.
    pub(in crate::confine) read_only: bool,
}

/// A file of the project that another one is mounted over.
#[derive(Debug)]
pub(in crate::confine) struct FileOverrideMount {
    /// Relative to the project.
    pub(in crate::confine) path: CString,
    /// The absolute path of the file that is mounted.
    pub(in crate::confine) copy: CString,
}

/// How many folders can be mounted into a private `/tmp` and home; the child has no heap
/// for more.
pub(in crate::confine) const MAX_FOLDER_MOUNTS: usize = 96;

/// A folder or file that is mounted in the private `/tmp` or home of a run, or is that
/// home.
#[derive(Debug)]
pub(in crate::confine) struct FolderMount {
    /// What is mounted.
    pub(in crate::confine) source: CString,
    /// The path at which it is mounted …
    pub(in crate::confine) target: CString,
    /// … or, in the private home, relative to that: there, no link is followed.
    pub(in crate::confine) inside_home: Option<CString>,
    /// The folders between, outermost first. They are mounted onto themselves, so that
    /// no command can replace them for later ones.
    pub(in crate::confine) above: Vec<CString>,
    /// Whether it is read-only. Landlock cannot tell: what it allows in the private
    /// folder is allowed in everything that is mounted in it.
    pub(in crate::confine) read_only: bool,
    /// The number of its layer, if the source is the lower layer of an overlay.
    pub(in crate::confine) layer: Option<usize>,
}

/// The folders of one overlay, besides the shared lower one.
#[derive(Debug)]
pub(in crate::confine) struct OverlayLayer {
    /// A layer between this one and the shared one.
    pub(in crate::confine) below: Option<CString>,
    pub(in crate::confine) upper: CString,
    /// No two mounts use the same at one time.
    pub(in crate::confine) work: CString,
    /// The overlay, if it was mounted in advance; detached.
    pub(in crate::confine) mount: Option<OwnedFd>,
}

/// The mounts of the namespace. The same for every run of a policy.
#[derive(Debug)]
pub(in crate::confine) struct MountPlan {
    pub(in crate::confine) pins: Vec<SelfBindMount>,
    /// The folder that is mounted over `/tmp` and `/var/tmp`.
    pub(in crate::confine) tmp: Option<CString>,
    /// The path of the home directory, if a run has a private one.
    pub(in crate::confine) home: Option<CString>,
    /// Needed paths of the shared `/tmp`, the private home and needed paths in it, outer
    /// ones first; at most [`MAX_FOLDER_MOUNTS`].
    pub(in crate::confine) folders: Vec<FolderMount>,
    /// The folder that is mounted over `/dev/shm`.
    pub(in crate::confine) shm: Option<CString>,
    /// Folders that are covered by an empty one.
    pub(in crate::confine) empty: Vec<CString>,
    /// What the namespace has of its own.
    pub(in crate::confine) own: NamespaceMounts,
    /// Landlock's rights on terminals that this Linux knows.
    pub(in crate::confine) terminal_rights: u64,
    /// The run's own folders, if they are in memory.
    pub(in crate::confine) memory: Option<MemoryFolders>,
    /// Landlock's rights on folders of the run that this Linux knows.
    pub(in crate::confine) write_rights: u64,
}

/// The file systems that a mount namespace has of its own. They are mounted before
/// there is a plan.
#[derive(Clone, Copy, Debug)]
pub(in crate::confine) struct NamespaceMounts {
    /// A `/proc` that shows its own processes.
    pub(in crate::confine) proc: bool,
    /// A `/dev/pts` with its own terminals.
    pub(in crate::confine) terminals: bool,
}

/// The maps of a user namespace: the user keeps its ids, and no other ids exist.
#[derive(Debug)]
pub(in crate::confine) struct UserMaps {
    pub(in crate::confine) uid: String,
    pub(in crate::confine) gid: String,
}

/// The start directory of the child.
pub(in crate::confine) struct StartDirectory {
    /// The project by path, to be opened again in a new mount namespace …
    pub(in crate::confine) project: CString,
    /// … where it must have this device and inode.
    pub(in crate::confine) identity: (u64, u64),
    /// The working directory inside it.
    pub(in crate::confine) inside: CString,
    /// The working directory, open, for runs without a mount namespace.
    pub(in crate::confine) folder: RootDir,
}

/// A run that is ready to start.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent choice of the caller")]
pub(in crate::confine) struct SpawnPlan<'a> {
    pub(in crate::confine) flags: i32,
    pub(in crate::confine) maps: Option<&'a UserMaps>,
    pub(in crate::confine) mounts: Option<&'a MountPlan>,
    /// Those of the protected paths that exist.
    pub(in crate::confine) pins: Vec<&'a SelfBindMount>,
    /// The layers of this run, by the number in [`FolderMount::layer`].
    pub(in crate::confine) layers: &'a [OverlayLayer],
    /// Files that are mounted over files of the project.
    pub(in crate::confine) file_overrides: Vec<FileOverrideMount>,
    /// Symbolic links that are mounted over files of the project.
    pub(in crate::confine) file_redirects: Vec<FileOverrideMount>,
    /// Paths that this run cannot write, and the folders above them.
    pub(in crate::confine) read_only: Vec<SelfBindMount>,
    /// Paths that this run cannot replace; folders before their content.
    pub(in crate::confine) held_paths: Vec<CString>,
    pub(in crate::confine) loopback: bool,
    pub(in crate::confine) rules: Option<Arc<LandlockRuleset>>,
    pub(in crate::confine) filter: &'a [sock_filter],
    /// Whether the filter notifies, so that its listener must be sent to the parent.
    pub(in crate::confine) needs_broker: bool,
    pub(in crate::confine) drop_capabilities: bool,
    pub(in crate::confine) limits: Vec<(u32, u64)>,
    pub(in crate::confine) cgroup_fds: Vec<RawFd>,
    pub(in crate::confine) start: StartDirectory,
    pub(in crate::confine) streams: [RawFd; 3],
    pub(in crate::confine) terminal: bool,
    pub(in crate::confine) program: CString,
    pub(in crate::confine) arguments: CStringArray,
    pub(in crate::confine) environment: CStringArray,
    pub(in crate::confine) report: RawFd,
    pub(in crate::confine) control: RawFd,
    pub(in crate::confine) keep_orphans: bool,
    pub(in crate::confine) die_with_parent: bool,
}

/// In the child: the step that failed, and the errno.
pub(in crate::confine) type SetupFailure = (SetupStep, i32);

/// Adds the setup step to the error of a system call.
pub(in crate::confine) trait AtSetupStep<T> {
    fn at_step(self, step: SetupStep) -> Result<T, SetupFailure>;
}

impl<T> AtSetupStep<T> for Result<T, rustix::io::Errno> {
    fn at_step(self, step: SetupStep) -> Result<T, SetupFailure> {
        self.map_err(|errno| (step, errno.raw_os_error()))
    }
}

impl SpawnPlan<'_> {
    /// In the child: reports the failure over the pipe that the parent reads.
    pub(in crate::confine) fn report_failure(&self, (step, errno): SetupFailure) {
        let [a, b, c, d] = errno.to_ne_bytes();
        // SAFETY: the descriptor was inherited and is open until the exec.
        let report = unsafe { BorrowedFd::borrow_raw(self.report) };
        // Fails if the parent is gone.
        let _ = rustix::io::write(report, &[step as u8, a, b, c, d]);
    }
}

/// Borrows a descriptor that the plan keeps open.
///
/// # Safety
///
/// The descriptor must be open while the result is used.
pub(in crate::confine) unsafe fn borrow_fd<'a>(fd: RawFd) -> BorrowedFd<'a> {
    // SAFETY: as the caller promises.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// `c"…"` paths that the children use.
pub(in crate::confine) const ROOT_PATH: &CStr = c"/";
