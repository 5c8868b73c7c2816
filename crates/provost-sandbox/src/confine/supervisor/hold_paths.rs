//! Holding files of the project in the place where they are.
//!
//! A file that is mounted over another, as a pinned script is for the command
//! that runs it, falls off when somebody in another mount namespace renames over
//! the name beneath it. So nobody may: in the namespaces of all other runs the
//! name is mounted onto itself, and the kernel refuses to replace a mount point.
//! For a run that has begun its warden does that, when it is told to.

use std::ffi::{CStr, CString};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::confine::plan::mounts;
use crate::confine::plan::spawn_plan::{FileOverrideMount, to_cstring};
use crate::confine::spawn::child_handle::SandboxRun;
use crate::confine::spawn::command::FileOverride;
use crate::confine::{SandboxChild, SandboxError};

/// How long a warden gets to hold one path.
const HOLD_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest order: the project and a path in it.
pub(in crate::confine) const MAX_CONTROL_MESSAGE: usize = 2 * 4096 + 8;

/// Begins an order to hold a path. No signal has this number.
pub(in crate::confine) const CONTROL_HOLD_PATH: u8 = 0xfe;

/// What the warden answers.
const CONTROL_PATH_HELD: u8 = 1;

impl SandboxChild {
    /// Makes it impossible for the run to replace or move these paths of the
    /// project, and to write those that are files, for as long as it lives.
    /// Folders come before what is in them.
    pub fn hold_paths(&mut self, project: &Path, paths: &[PathBuf]) -> Result<(), SandboxError> {
        if !self.applied.mount_namespace {
            return Ok(());
        }
        paths.iter().try_for_each(|path| self.run.hold_path(project, path))
    }
}

impl SandboxRun {
    fn hold_path(&mut self, project: &Path, path: &Path) -> Result<(), SandboxError> {
        let (project, path) = (project.as_os_str().as_bytes(), path.as_os_str().as_bytes());
        let order = [&[CONTROL_HOLD_PATH], project, &[0], path, &[0]].concat();
        match rustix::net::send(&self.control, &order, SendFlags::NOSIGNAL) {
            Ok(_) => {}
            // All of it is gone.
            Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => return Ok(()),
            Err(errno) => return Err(SandboxError::wrap_errno("hold a file")(errno)),
        }
        let deadline = Instant::now() + HOLD_TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            let mut lines = [PollFd::new(&self.control, PollFlags::IN)];
            match rustix::event::poll(&mut lines, timeout.as_ref()) {
                Ok(0) => return Err(SandboxError::wrap_errno("hold a file")(Errno::TIMEDOUT)),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(SandboxError::wrap_errno("hold a file")(errno)),
            }
            let mut said = [0; 8];
            match rustix::net::recv(&self.control, &mut said, RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(()),
                Ok((2, _)) if said[0] == CONTROL_HOLD_PATH && said[1] == CONTROL_PATH_HELD => {
                    return Ok(());
                }
                Ok((2, _)) if said[0] == CONTROL_HOLD_PATH => {
                    return Err(SandboxError::wrap_errno("hold a file")(Errno::BUSY));
                }
                // The command has ended meanwhile, and something of it lives on.
                Ok((4, _)) => self.record_status([said[0], said[1], said[2], said[3]]),
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(SandboxError::wrap_errno("hold a file")(errno)),
            }
        }
    }
}

/// In the warden: does what was ordered; the answer to send.
pub(in crate::confine) fn execute_hold_path(order: &[u8]) -> [u8; 2] {
    let mut parts = order.split_inclusive(|byte| *byte == 0);
    let mut next = || parts.next().and_then(|part| CStr::from_bytes_with_nul(part).ok());
    let (Some(project), Some(path)) = (next(), next()) else { return [CONTROL_HOLD_PATH, 0] };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let done = rustix::fs::open(project, flags, Mode::empty())
        .and_then(|folder| mounts::hold_path(folder.as_fd(), path));
    [CONTROL_HOLD_PATH, if done.is_ok() { CONTROL_PATH_HELD } else { 0 }]
}

pub(in crate::confine) fn build_override_mounts(
    scripts: &[FileOverride],
) -> Result<Vec<FileOverrideMount>, SandboxError> {
    let one = |script: &FileOverride| {
        Ok(FileOverrideMount {
            path: to_cstring(script.path.as_os_str(), "a script's path")?,
            copy: to_cstring(script.copy.as_os_str(), "a script's copy")?,
        })
    };
    scripts.iter().map(one).collect()
}

pub(in crate::confine) fn build_held_paths(
    paths: &[PathBuf],
) -> Result<Vec<CString>, SandboxError> {
    paths.iter().map(|path| to_cstring(path.as_os_str(), "a path that is held")).collect()
}
