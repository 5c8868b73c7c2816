//! The names in a folder, to skip paths in it that cannot exist.
//!
//! Hundreds of paths of a project are protected, and as many of a home directory are readable
//! or hidden, and few exist: reading the folder once costs less than to open each of them.
//! A protected path that is created after this is not held, as one that is created after the
//! mounts were made; what the run leaves there is found when it has ended.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags};

/// Above this, the paths themselves are tried.
const MAX_NAMES: usize = 1024;

/// `None` if every path may exist.
pub(crate) struct RootEntries(Option<HashSet<Vec<u8>>>);

impl RootEntries {
    /// Reads the folder, which may be open for its path only.
    pub(crate) fn read(project: impl AsFd) -> Self {
        let read = || {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = rustix::fs::openat(project, c".", flags, Mode::empty()).ok()?;
            let mut names = HashSet::new();
            for entry in Dir::new(folder).ok()? {
                let name = entry.ok()?.file_name().to_bytes().to_ascii_lowercase();
                // A file system that ignores case may find more under a name than its ASCII
                // letters in both cases.
                if !name.is_ascii() || names.len() == MAX_NAMES {
                    return None;
                }
                names.insert(name);
            }
            Some(names)
        };
        Self(read())
    }

    /// Whether there may be something at a path relative to the folder: its first component
    /// is there.
    pub(crate) fn may_contain(&self, path: &Path) -> bool {
        let Some(names) = &self.0 else { return true };
        let path = path.as_os_str().as_bytes();
        let first = path.split(|byte| *byte == b'/').next().unwrap_or_default();
        // Not a name: the path is not in its shortest form.
        matches!(first, b"" | b"." | b"..") || names.contains(&first.to_ascii_lowercase())
    }
}

/// The names in some folders, in which many absolute paths are looked up.
pub(crate) struct FolderEntries(Vec<(PathBuf, RootEntries)>);

impl FolderEntries {
    /// Reads the folders; in one that cannot be read, everything may exist.
    pub(crate) fn read(folders: &[&Path]) -> Self {
        let read = |folder: &&Path| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::open(*folder, flags, Mode::empty());
            (folder.to_path_buf(), opened.map_or(RootEntries(None), RootEntries::read))
        };
        Self(folders.iter().map(read).collect())
    }

    /// Whether there may be something at this path.
    pub(crate) fn may_exist(&self, path: &Path) -> bool {
        self.0.iter().all(|(folder, entries)| match strip_folder(path, folder) {
            Some(inside) => entries.may_contain(inside),
            None => true,
        })
    }
}

/// The part of a path below a folder. Faster than by components, and `None` if one of them is
/// not in its shortest form.
pub(crate) fn strip_folder<'a>(path: &'a Path, folder: &Path) -> Option<&'a Path> {
    let below = path.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes())?;
    // A path that only begins with the same letters is not below the folder.
    let below = if folder.as_os_str() == "/" { below } else { below.strip_prefix(b"/")? };
    (!below.is_empty() && below[0] != b'/').then(|| Path::new(OsStr::from_bytes(below)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn list_kept<'a>(names: &[&str], paths: &[&'a str]) -> Vec<&'a str> {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        // As a run has it: open for its path only.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let project = rustix::fs::open(dir.path(), flags, Mode::empty()).unwrap();
        let there = RootEntries::read(&project);
        paths.iter().copied().filter(|path| there.may_contain(Path::new(path))).collect()
    }

    #[test]
    fn only_paths_whose_first_component_exists_are_kept() {
        let paths = [".git", ".git/config", ".npmrc", "sub/.git/hooks", ".vscode"];
        assert_eq!(list_kept(&[], &paths), [""; 0]);
        assert_eq!(list_kept(&[".git", "git"], &paths), [".git", ".git/config"]);
        assert_eq!(list_kept(&["sub"], &paths), ["sub/.git/hooks"]);
        // A file system may ignore case.
        assert_eq!(list_kept(&[".VSCode"], &paths), [".vscode"]);
    }

    #[test]
    fn a_path_may_exist_unless_its_folder_says_no() {
        let dir = tempfile::tempdir().unwrap();
        let (home, missing) = (dir.path().join("home"), dir.path().join("missing"));
        fs::create_dir_all(home.join(".cargo")).unwrap();
        let entries = FolderEntries::read(&[&home, &missing]);
        for path in ["home", "home/", "home/.cargo", "home/.cargo/x", "homes/.npm", "missing/x"] {
            assert!(entries.may_exist(&dir.path().join(path)), "{path}");
        }
        // A doubled separator is not resolved here.
        assert!(entries.may_exist(&dir.path().join("home//.cargo")));
        assert!(!entries.may_exist(&home.join(".npm/_cacache")));
    }

    #[test]
    fn all_paths_are_kept_where_a_name_may_stand_for_another() {
        let paths = [".git", ".npmrc"];
        assert_eq!(list_kept(&["\u{212a}"], &paths), paths);
        let many: Vec<_> = (0..=MAX_NAMES).map(|number| format!("f{number}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert_eq!(list_kept(&many, &paths), paths);
        assert_eq!(list_kept(&many[..10], &paths), [""; 0]);
    }
}
