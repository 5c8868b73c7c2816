//! Keeps files of the project from being replaced.
//!
//! A file that is mounted over another, like a pinned script for the command that
//! runs it, is detached when a process in another mount namespace renames a file over
//! the path below it. So in the namespaces of all other runs the path is mounted onto
//! itself, and Linux refuses to replace a mount point. In a running sandbox the
//! supervisor does that on request.

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
use crate::confine::spawn::command::{FileOverride, FileRedirect};
use crate::confine::{SandboxChild, SandboxError};

/// How long a supervisor may take to hold one path.
const HOLD_TIMEOUT: Duration = Duration::from_secs(2);

/// The largest control message: the project and a path in it.
pub(in crate::confine) const MAX_CONTROL_MESSAGE: usize = 2 * 4096 + 8;

/// The control message to hold a path. No signal has this number.
pub(in crate::confine) const CONTROL_HOLD_PATH: u8 = 0xfe;

/// The supervisor's replies.
const CONTROL_PATH_HELD: u8 = 1;

impl SandboxChild {
    /// Keeps the run from replacing or moving these paths of the project, and from
    /// writing those that are files, as long as it lives. Folders come before their
    /// content.
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
        let message = [&[CONTROL_HOLD_PATH], project, &[0], path, &[0]].concat();
        match rustix::net::send(&self.control, &message, SendFlags::NOSIGNAL) {
            Ok(_) => {}
            // All processes of the run have ended.
            Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => return Ok(()),
            Err(errno) => return Err(SandboxError::wrap_errno("hold a file")(errno)),
        }
        let deadline = Instant::now() + HOLD_TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            let mut poll_fds = [PollFd::new(&self.control, PollFlags::IN)];
            match rustix::event::poll(&mut poll_fds, timeout.as_ref()) {
                Ok(0) => return Err(SandboxError::wrap_errno("hold a file")(Errno::TIMEDOUT)),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(SandboxError::wrap_errno("hold a file")(errno)),
            }
            let mut reply = [0; 8];
            match rustix::net::recv(&self.control, &mut reply, RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(()),
                Ok((2, _)) if reply[0] == CONTROL_HOLD_PATH && reply[1] == CONTROL_PATH_HELD => {
                    return Ok(());
                }
                Ok((2, _)) if reply[0] == CONTROL_HOLD_PATH => {
                    return Err(SandboxError::wrap_errno("hold a file")(Errno::BUSY));
                }
                // The command has ended meanwhile, and other processes of the run live on.
                Ok((4, _)) => self.record_status([reply[0], reply[1], reply[2], reply[3]]),
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(SandboxError::wrap_errno("hold a file")(errno)),
            }
        }
    }
}

/// In the supervisor: executes the request; returns the reply.
pub(in crate::confine) fn execute_hold_path(message: &[u8]) -> [u8; 2] {
    let mut parts = message.split_inclusive(|byte| *byte == 0);
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

pub(in crate::confine) fn build_redirect_mounts(
    redirects: &[FileRedirect],
) -> Result<Vec<FileOverrideMount>, SandboxError> {
    let one = |redirect: &FileRedirect| {
        Ok(FileOverrideMount {
            path: to_cstring(redirect.path.as_os_str(), "the path of a redirected file")?,
            copy: to_cstring(redirect.link.as_os_str(), "the link of a redirected file")?,
        })
    };
    redirects.iter().map(one).collect()
}

pub(in crate::confine) fn build_held_paths(
    paths: &[PathBuf],
) -> Result<Vec<CString>, SandboxError> {
    paths.iter().map(|path| to_cstring(path.as_os_str(), "a path that is held")).collect()
}
