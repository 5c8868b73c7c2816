//! The folders of one run, in a file system in memory that its namespace has of its own.
//!
//! The home, the layers and the private `/tmp` of a run that nothing follows need no disk:
//! the parent plans the files, the supervisor creates them, and Linux removes them with the
//! namespace, also when we were killed.

use std::collections::HashSet;
use std::ffi::CString;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::MountFlags;

use super::spawn_plan::to_cstring;
use crate::confine::SandboxError;
use crate::sandbox_policy::MEMORY_MOUNT_POINT;

/// The files to create, folders before their content.
#[derive(Debug, Default)]
pub(in crate::confine) struct MemoryFolders {
    files: Vec<MemoryFile>,
    planned: HashSet<PathBuf>,
    /// Folders that the run can write: Landlock's rules can name them when they exist.
    pub(in crate::confine) writable: Vec<CString>,
}

#[derive(Debug)]
struct MemoryFile {
    path: CString,
    /// A folder has none.
    content: Option<Vec<u8>>,
}

impl MemoryFolders {
    /// Plans a folder and those above it.
    pub(in crate::confine) fn add_dir(&mut self, path: &Path) -> Result<(), SandboxError> {
        let above: Vec<_> = path.ancestors().take_while(|above| *above != mount_point()).collect();
        above.into_iter().rev().try_for_each(|dir| self.add(dir, None))
    }

    /// Plans a folder that the run can write.
    pub(in crate::confine) fn add_writable_dir(&mut self, path: &Path) -> Result<(), SandboxError> {
        self.writable.push(to_cstring(path.as_os_str(), WHAT)?);
        self.add_dir(path)
    }

    /// Plans a file, in folders as needed.
    pub(in crate::confine) fn add_file(
        &mut self,
        path: &Path,
        content: &[u8],
    ) -> Result<(), SandboxError> {
        path.parent().map_or(Ok(()), |folder| self.add_dir(folder))?;
        self.add(path, Some(content.to_vec()))
    }

    fn add(&mut self, path: &Path, content: Option<Vec<u8>>) -> Result<(), SandboxError> {
        if self.planned.insert(path.to_owned()) {
            self.files.push(MemoryFile { path: to_cstring(path.as_os_str(), WHAT)?, content });
        }
        Ok(())
    }

    /// In the supervisor: mounts the file system and creates the files.
    pub(in crate::confine) fn create(&self) -> Result<(), Errno> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        let point = MEMORY_MOUNT_POINT;
        rustix::mount::mount(c"tmpfs", point, c"tmpfs", flags, Some(c"mode=0700"))?;
        self.files.iter().try_for_each(MemoryFile::create)
    }
}

const WHAT: &str = "a folder of the run";

fn mount_point() -> &'static Path {
    Path::new(MEMORY_MOUNT_POINT)
}

impl MemoryFile {
    fn create(&self) -> Result<(), Errno> {
        let Some(content) = &self.content else {
            return rustix::fs::mkdir(&*self.path, Mode::RWXU);
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::open(&*self.path, flags, Mode::RUSR | Mode::WUSR)?;
        let written = rustix::io::write(&file, content)?;
        if written == content.len() { Ok(()) } else { Err(Errno::NOSPC) }
    }
}
