//! The project's files as the runtime detection reads them, both in the kernel, which
//! runs the result, and in the gateway, which decides about it.

use std::path::Path;

use provost_core::runtime::plan::ProjectFiles;
use provost_sandbox::root_dir::RootDir;

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// How many entries of a directory are listed.
const MAX_DIR_ENTRIES: usize = 256;

/// The project's folder as input of the runtime detection.
#[derive(Debug, Clone, Copy)]
pub struct RootProjectFiles<'a>(pub &'a RootDir);

impl ProjectFiles for RootProjectFiles<'_> {
    fn exists(&self, path: &str) -> bool {
        self.0.stat(Path::new(path)).is_ok()
    }

    fn read_text(&self, path: &str) -> Option<String> {
        String::from_utf8(self.0.read(Path::new(path), MAX_FILE_BYTES).ok()?).ok()
    }

    fn list_names(&self, folder: &str) -> Vec<String> {
        let listed = self.0.list(Path::new(folder), MAX_DIR_ENTRIES);
        let entries = listed.map(|listing| listing.entries).unwrap_or_default();
        let mut names: Vec<_> =
            entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect();
        names.sort();
        names
    }
}
