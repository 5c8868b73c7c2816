//! Everything a child needs, made before it exists.
//!
//! After the fork of a process with many threads, nothing may be allocated and
//! no lock taken: another thread may have held it. So the parent prepares all
//! strings, tables and handles, and the child only makes system calls with them.

use std::ffi::{CStr, CString, OsStr, c_char};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::ptr::null;
use std::sync::Arc;

use libc::sock_filter;

use super::landlock_ruleset::LandlockRuleset;
use crate::confine::SandboxError;
use crate::confine::error::SetupStep;
use crate::root_dir::RootDir;

/// The strings of an argument list or environment, with the table exec wants.
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

/// A folder of the project that is mounted onto itself.
#[derive(Debug)]
pub(in crate::confine) struct SelfBindMount {
    /// Relative to the project.
    pub(in crate::confine) path: CString,
    /// Read-only, or only so that it cannot be renamed.
    pub(in crate::confine) read_only: bool,
}

/// A file of the project that another is mounted over.
#[derive(Debug)]
pub(in crate::confine) struct FileOverrideMount {
    /// Relative to the project.
    pub(in crate::confine) path: CString,
    /// The file that is mounted, by its absolute path.
    pub(in crate::confine) copy: CString,
}

/// How many paths can be carried into a private `/tmp`; the child has no heap to keep more.
pub(in crate::confine) const MAX_TMP_PASSTHROUGHS: usize = 8;

/// What lies in the shared `/tmp` and is mounted at the same place in the private one.
#[derive(Debug)]
pub(in crate::confine) struct TmpPassthrough {
    pub(in crate::confine) path: CString,
    /// The folders between, outermost first. They are mounted onto themselves, so
    /// that no command can put others in their place for those that come after it.
    pub(in crate::confine) above: Vec<CString>,
    /// Whether it may not be written. The rules cannot tell: what is allowed in
    /// the private folder is allowed in everything that is mounted within it.
    pub(in crate::confine) read_only: bool,
}

/// What the mount namespace looks like. The same for every run of a policy.
#[derive(Debug)]
pub(in crate::confine) struct MountPlan {
    pub(in crate::confine) pins: Vec<SelfBindMount>,
    /// The folder that becomes `/tmp` and `/var/tmp`.
    pub(in crate::confine) tmp: Option<CString>,
    /// What is needed of the `/tmp` that was there; at most [`CARRIED`].
    pub(in crate::confine) carried: Vec<TmpPassthrough>,
    /// The folder that becomes `/dev/shm`, likewise.
    pub(in crate::confine) shm: Option<CString>,
    /// Folders that become empty.
    pub(in crate::confine) empty: Vec<CString>,
    pub(in crate::confine) proc: bool,
}

/// The maps of a user namespace: the user is who they were, and nobody else exists.
#[derive(Debug)]
pub(in crate::confine) struct UserMaps {
    pub(in crate::confine) uid: String,
    pub(in crate::confine) gid: String,
}

/// Where the child starts.
pub(in crate::confine) struct StartDirectory {
    /// The project by path, to be found again in a new mount namespace …
    pub(in crate::confine) project: CString,
    /// … where it must be the same folder as this.
    pub(in crate::confine) identity: (u64, u64),
    /// The working directory inside it.
    pub(in crate::confine) inside: CString,
    /// The working directory as a handle, for when there is no new mount namespace.
    pub(in crate::confine) folder: RootDir,
}

/// One run, ready to go.
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of the caller by itself")]
pub(in crate::confine) struct SpawnPlan<'a> {
    pub(in crate::confine) flags: i32,
    pub(in crate::confine) maps: Option<&'a UserMaps>,
    pub(in crate::confine) mounts: Option<&'a MountPlan>,
    /// What this run finds in the place of files of the project.
    pub(in crate::confine) covers: Vec<FileOverrideMount>,
    /// What this run cannot replace; folders before what is in them.
    pub(in crate::confine) held: Vec<CString>,
    pub(in crate::confine) loopback: bool,
    pub(in crate::confine) rules: Option<Arc<LandlockRuleset>>,
    pub(in crate::confine) filter: &'a [sock_filter],
    /// Whether the filter asks, so that its other end must be sent to the parent.
    pub(in crate::confine) asks: bool,
    pub(in crate::confine) drop_capabilities: bool,
    pub(in crate::confine) limits: Vec<(u32, u64)>,
    pub(in crate::confine) doors: Vec<RawFd>,
    pub(in crate::confine) start: StartDirectory,
    pub(in crate::confine) streams: [RawFd; 3],
    pub(in crate::confine) terminal: bool,
    pub(in crate::confine) program: CString,
    pub(in crate::confine) arguments: CStringArray,
    pub(in crate::confine) environment: CStringArray,
    pub(in crate::confine) report: RawFd,
    pub(in crate::confine) control: RawFd,
    pub(in crate::confine) keep_leftovers: bool,
    pub(in crate::confine) die_with_parent: bool,
}

/// In the child: what failed, and the kernel's answer.
pub(in crate::confine) type SetupFailure = (SetupStep, i32);

/// Names the step of a system call in the child.
pub(in crate::confine) trait AtSetupStep<T> {
    fn at_step(self, step: SetupStep) -> Result<T, SetupFailure>;
}

impl<T> AtSetupStep<T> for Result<T, rustix::io::Errno> {
    fn at_step(self, step: SetupStep) -> Result<T, SetupFailure> {
        self.map_err(|errno| (step, errno.raw_os_error()))
    }
}

impl SpawnPlan<'_> {
    /// In the child: says what failed, through the pipe that the parent reads.
    pub(in crate::confine) fn report_failure(&self, (step, errno): SetupFailure) {
        let [a, b, c, d] = errno.to_ne_bytes();
        // SAFETY: the descriptor was inherited and is open until the exec.
        let report = unsafe { BorrowedFd::borrow_raw(self.report) };
        // If the parent is gone, nobody needs to know.
        let _ = rustix::io::write(report, &[step as u8, a, b, c, d]);
    }
}

/// A borrowed view of a descriptor that the plan keeps open.
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
