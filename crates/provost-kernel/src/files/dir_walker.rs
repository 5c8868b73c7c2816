//! Walks through folders of the root in a fixed order, without following links.
//!
//! Each folder is opened relative to the root when it is entered. A folder that is
//! replaced by a link meanwhile may lead elsewhere in the project, but not out.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use provost_core::action::MAX_LISTED_ENTRIES;
use provost_proto::Code;
use provost_sandbox::root_dir::{FileKind, FileStat, RootDir, RootDirEntry};

use super::SkippedPath;
use super::ignore_rules::{GIT_EXCLUDE_PATH, IgnoreRules};
use crate::ActionError;

/// What a walk includes.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkOptions {
    /// Includes names that begin with a dot.
    pub(super) hidden: bool,
    /// Excludes what `.gitignore` and the like ignore.
    pub(super) respect_ignore: bool,
    /// How many levels; 1 is the folder alone.
    pub(super) depth: usize,
}

/// One entry of the walk.
#[derive(Debug)]
pub(super) struct WalkEntry {
    /// The path relative to the project.
    pub(super) path: PathBuf,
    /// Its metadata.
    pub(super) stat: FileStat,
}

/// A folder between the start and the current entry.
struct WalkLevel {
    path: PathBuf,
    entries: std::vec::IntoIter<RootDirEntry>,
    rules: Rc<IgnoreRules>,
    /// Whether the entry to resume after is in this folder.
    resuming: bool,
}

/// The walk: a folder before its content, names in byte order.
pub(super) struct DirWalker<'a> {
    root: &'a RootDir,
    options: WalkOptions,
    stop: &'a dyn Fn() -> bool,
    levels: Vec<WalkLevel>,
    /// The folder that was returned last and is entered next.
    next: Option<(PathBuf, Rc<IgnoreRules>, bool)>,
    /// The names from the start folder down to the entry to resume after.
    after: Vec<OsString>,
    /// Folders that could not be entered.
    pub(super) skipped: Vec<SkippedPath>,
}

/// How many folders that could not be entered are recorded.
const MAX_SKIPPED_DIRS: usize = 100;

impl<'a> DirWalker<'a> {
    /// Starts in a folder; `after` resumes after a path in it.
    pub(super) fn new(
        root: &'a RootDir,
        folder: &Path,
        options: WalkOptions,
        after: &Path,
        stop: &'a dyn Fn() -> bool,
    ) -> Result<Self, ActionError> {
        let rules = if options.respect_ignore {
            IgnoreRules::for_ancestors(root, folder)
        } else {
            IgnoreRules::empty()
        };
        let mut walker = Self {
            root,
            options,
            stop,
            levels: Vec::new(),
            next: None,
            after: after.iter().map(ToOwned::to_owned).collect(),
            skipped: Vec::new(),
        };
        let resuming = !walker.after.is_empty();
        walker.enter(folder.to_owned(), &rules, resuming)?;
        Ok(walker)
    }

    /// The next entry.
    pub(super) fn next(&mut self) -> Result<Option<WalkEntry>, ActionError> {
        loop {
            if (self.stop)() {
                return Err(ActionError::cancelled());
            }
            if let Some((path, rules, resuming)) = self.next.take() {
                self.enter_or_skip(&path, &rules, resuming);
            }
            let depth = self.levels.len();
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some(RootDirEntry { name, stat }) = level.entries.next() else {
                self.levels.pop();
                continue;
            };
            let path = level.path.join(&name);
            let order = match self.after.get(depth - 1) {
                Some(after) if level.resuming => name.cmp(after),
                _ => Ordering::Greater,
            };
            let is_folder = stat.kind == FileKind::Directory;
            if order == Ordering::Less || self.is_excluded(&path, is_folder) {
                continue;
            }
            if is_folder && depth < self.options.depth && self.may_enter(&name) {
                let resuming = order == Ordering::Equal && self.after.len() > depth;
                if let Some(level) = self.levels.last() {
                    self.next = Some((path.clone(), Rc::clone(&level.rules), resuming));
                }
            }
            if order == Ordering::Greater {
                return Ok(Some(WalkEntry { path, stat }));
            }
        }
    }

    /// Skips the content of the folder that was returned last.
    pub(super) fn prune(&mut self) {
        self.next = None;
    }

    fn is_excluded(&self, path: &Path, is_folder: bool) -> bool {
        let Some(level) = self.levels.last() else { return false };
        let dotted = path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        (dotted && !self.options.hidden)
            || (self.options.respect_ignore && level.rules.is_ignored(path, is_folder))
    }

    /// Git's own data is not part of the project's files.
    fn may_enter(&self, name: &OsString) -> bool {
        !(self.options.respect_ignore && name == ".git")
    }

    fn enter_or_skip(&mut self, path: &Path, rules: &Rc<IgnoreRules>, resuming: bool) {
        let Err(error) = self.enter(path.to_owned(), rules, resuming) else { return };
        // What was removed or replaced during the walk is not in the folder.
        let gone = matches!(error.code, Code::NotFound | Code::NotADirectory);
        if !gone && self.skipped.len() < MAX_SKIPPED_DIRS {
            self.skipped.push(SkippedPath {
                path: path.to_string_lossy().into_owned(),
                error: error.message,
            });
        }
    }

    fn enter(
        &mut self,
        path: PathBuf,
        above: &Rc<IgnoreRules>,
        resuming: bool,
    ) -> Result<(), ActionError> {
        let dir = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
        let listing = self.root.list(dir, MAX_LISTED_ENTRIES as usize)?;
        if listing.more && self.skipped.len() < MAX_SKIPPED_DIRS {
            let error = format!("has more than {MAX_LISTED_ENTRIES} names; the others are omitted");
            self.skipped.push(SkippedPath { path: dir.to_string_lossy().into_owned(), error });
        }
        let mut entries = listing.entries;
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let rules = if self.options.respect_ignore {
            let there = |name: &str| entries.iter().any(|entry| entry.name == name);
            IgnoreRules::extended_with_dir(self.root, &path, above, |name| {
                name == GIT_EXCLUDE_PATH || there(name)
            })
        } else {
            Rc::clone(above)
        };
        self.levels.push(WalkLevel { path, entries: entries.into_iter(), rules, resuming });
        Ok(())
    }
}
