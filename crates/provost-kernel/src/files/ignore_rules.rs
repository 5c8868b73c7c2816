//! The rules of `.gitignore` and the like.
//!
//! The files are read through [`RootDir`], line by line, and matched as text; the
//! library is never given a path that it could open.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use provost_sandbox::root_dir::RootDir;

/// The largest ignore file that is read, in bytes.
const MAX_IGNORE_FILE_BYTES: u64 = 256 * 1024;

/// The ignore files of a folder.
pub(super) const IGNORE_FILE_NAMES: [&str; 2] = [".ignore", ".gitignore"];

/// The ignore file of a whole repository.
pub(super) const GIT_EXCLUDE_PATH: &str = ".git/info/exclude";

/// The rules of one folder, and of its parents.
#[derive(Debug)]
pub(super) struct IgnoreRules {
    above: Option<Rc<Self>>,
    /// `.ignore`, which ripgrep reads too, and which overrides git's.
    ignore: Gitignore,
    /// `.gitignore`.
    git: Gitignore,
    /// `.git/info/exclude`, only for the project's root.
    exclude: Gitignore,
}

/// The sources of rules, in order of precedence.
const RULE_PRECEDENCE: [fn(&IgnoreRules) -> &Gitignore; 3] =
    [|rules| &rules.ignore, |rules| &rules.git, |rules| &rules.exclude];

impl IgnoreRules {
    /// No rules at all.
    pub(super) fn empty() -> Rc<Self> {
        let empty = Gitignore::empty;
        Rc::new(Self { above: None, ignore: empty(), git: empty(), exclude: empty() })
    }

    /// The rules of all parent folders of `folder`, without its own.
    pub(super) fn for_ancestors(root: &RootDir, folder: &Path) -> Rc<Self> {
        let mut rules = Self::empty();
        let mut at = PathBuf::new();
        for name in folder {
            rules = Self::extended_with_dir(root, &at, &rules, |_| true);
            at.push(name);
        }
        rules
    }

    /// Adds the rules of a folder; `holds` tells which of its ignore files exist and
    /// apply.
    pub(super) fn extended_with_dir(
        root: &RootDir,
        folder: &Path,
        above: &Rc<Self>,
        holds: impl Fn(&str) -> bool,
    ) -> Rc<Self> {
        let [ignore, git] = IGNORE_FILE_NAMES.map(&holds);
        let exclude = folder.as_os_str().is_empty() && holds(GIT_EXCLUDE_PATH);
        if !(ignore || git || exclude) {
            return Rc::clone(above);
        }
        let read = |wanted: bool, name: &str| {
            if wanted {
                read_ignore_file(root, folder, &folder.join(name))
            } else {
                Gitignore::empty()
            }
        };
        Rc::new(Self {
            above: Some(Rc::clone(above)),
            ignore: read(ignore, IGNORE_FILE_NAMES[0]),
            git: read(git, IGNORE_FILE_NAMES[1]),
            exclude: read(exclude, GIT_EXCLUDE_PATH),
        })
    }

    /// Whether a path in the folder of these rules is ignored.
    pub(super) fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        let path = to_rooted_path(path);
        for kind in RULE_PRECEDENCE {
            let mut level = Some(self);
            while let Some(rules) = level {
                match kind(rules).matched(&path, is_folder) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => level = rules.above.as_deref(),
                }
            }
        }
        false
    }
}

/// A file that cannot be read or parsed ignores nothing, as in git.
fn read_ignore_file(root: &RootDir, folder: &Path, file: &Path) -> Gitignore {
    let Ok(bytes) = root.read(file, MAX_IGNORE_FILE_BYTES) else { return Gitignore::empty() };
    let mut builder = GitignoreBuilder::new(to_rooted_path(folder));
    for line in String::from_utf8_lossy(&bytes).lines() {
        // An invalid line is skipped, the others apply.
        builder.add_line(None, line).map_or_else(drop, drop);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The matcher, which only compares text, sees the project's folder as `/`.
pub(super) fn to_rooted_path(path: &Path) -> PathBuf {
    Path::new("/").join(path)
}
