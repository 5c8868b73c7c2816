//! Repositories inside a project: those of their paths that can run code are protected
//! like those of the project.
//!
//! The search is breadth first and bounded, because a project may have more folders
//! than a command can wait for. Folders that builds create are skipped: builds may
//! remove their content.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use provost_core::action::protected_paths::{GIT_CONTROL_PATHS, REPOSITORY, SUBMODULES};
use serde::Serialize;

/// The depth of the search.
const MAX_REPOSITORY_DEPTH: usize = 8;

/// How many names are scanned.
const MAX_SCANNED_NAMES: usize = 20_000;

/// How many repositories are protected: each costs every run a few mounts.
const MAX_REPOSITORIES: usize = 64;

/// Folders that builds create.
const BUILD_DIRECTORIES: &[&str] =
    &["node_modules", "target", "build", "dist", "out", "_deps", ".venv", "venv", ".cache", ".tox"];

/// The repositories that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NestedRepositories {
    /// The `.git` of each, and of each submodule its git directory.
    pub repositories: Vec<PathBuf>,
    /// Whether the search was complete; otherwise there may be more.
    pub complete: bool,
}

impl NestedRepositories {
    /// Searches a project.
    pub(super) fn scan_project(project: &Path) -> Self {
        let mut search = RepositorySearch {
            found: Vec::new(),
            names: 0,
            complete: true,
            folders: VecDeque::new(),
        };
        search.add_submodules(&project.join(REPOSITORY));
        search.folders.push_back((project.to_owned(), 0));
        while let Some((folder, depth)) = search.folders.pop_front() {
            search.scan_directory(&folder, depth);
        }
        Self { repositories: search.found, complete: search.complete }
    }

    /// Their protected paths.
    pub(super) fn protected_paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.repositories.iter().flat_map(|git| GIT_CONTROL_PATHS.iter().map(|part| git.join(part)))
    }
}

struct RepositorySearch {
    found: Vec<PathBuf>,
    names: usize,
    complete: bool,
    folders: VecDeque<(PathBuf, usize)>,
}

impl RepositorySearch {
    /// Scans the names in one folder.
    fn scan_directory(&mut self, folder: &Path, depth: usize) {
        // A folder that we cannot read, the command cannot read either.
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            self.names += 1;
            if self.names > MAX_SCANNED_NAMES {
                self.complete = false;
                self.folders.clear();
                return;
            }
            let name = entry.file_name();
            if name == REPOSITORY {
                if depth > 0 {
                    self.add_repository(entry.path());
                    self.add_submodules(&entry.path());
                }
                continue;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !BUILD_DIRECTORIES.iter().any(|built| name == *built) {
                if depth < MAX_REPOSITORY_DEPTH {
                    self.folders.push_back((entry.path(), depth + 1));
                } else {
                    self.complete = false;
                }
            }
        }
    }

    /// Adds the git directories of submodules, whose names may contain slashes.
    fn add_submodules(&mut self, git: &Path) {
        let mut folders = VecDeque::from([(git.join(SUBMODULES), 0)]);
        while let Some((folder, depth)) = folders.pop_front() {
            if depth > 0 && folder.join("HEAD").exists() {
                self.add_repository(folder.clone());
                folders.push_back((folder.join(SUBMODULES), depth));
                continue;
            }
            let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
            for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
                self.names += 1;
                if self.names > MAX_SCANNED_NAMES || depth >= MAX_REPOSITORY_DEPTH {
                    self.complete = false;
                    return;
                }
                folders.push_back((entry.path(), depth + 1));
            }
        }
    }

    fn add_repository(&mut self, git: PathBuf) {
        if self.found.len() < MAX_REPOSITORIES {
            self.found.push(git);
        } else {
            self.complete = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_found_however_they_are_nested_and_builds_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            ".git/modules/lib/hooks",
            ".git/modules/group/inner/hooks",
            "vendor/a/.git/hooks",
            "vendor/a/.git/modules/deep/hooks",
            "node_modules/b/.git/hooks",
            "target/c/.git/hooks",
        ] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        for module in ["lib", "group/inner"] {
            fs::write(folder.path().join(".git/modules").join(module).join("HEAD"), "").unwrap();
        }
        fs::write(folder.path().join("vendor/a/.git/modules/deep/HEAD"), "").unwrap();
        fs::create_dir(folder.path().join("worktree")).unwrap();
        fs::write(folder.path().join("worktree/.git"), "gitdir: elsewhere").unwrap();
        let mut found = NestedRepositories::scan_project(folder.path());
        found.repositories.sort();
        let found: Vec<_> = found
            .repositories
            .iter()
            .map(|path| path.strip_prefix(folder.path()).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(
            found,
            [
                ".git/modules/group/inner",
                ".git/modules/lib",
                "vendor/a/.git",
                "vendor/a/.git/modules/deep",
                "worktree/.git",
            ]
        );
    }

    #[test]
    fn a_search_that_does_not_come_to_its_end_says_so() {
        let folder = tempfile::tempdir().unwrap();
        assert!(NestedRepositories::scan_project(folder.path()).complete);
        for n in 0..=MAX_REPOSITORIES {
            fs::create_dir_all(folder.path().join(format!("r{n}/.git"))).unwrap();
        }
        let found = NestedRepositories::scan_project(folder.path());
        assert_eq!((found.repositories.len(), found.complete), (MAX_REPOSITORIES, false));
        let deep = tempfile::tempdir().unwrap();
        fs::create_dir_all(deep.path().join("a/".repeat(MAX_REPOSITORY_DEPTH + 2))).unwrap();
        assert!(!NestedRepositories::scan_project(deep.path()).complete);
    }
}
