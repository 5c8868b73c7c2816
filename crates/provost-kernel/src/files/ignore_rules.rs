//! What `.gitignore` and its like leave out.
//!
//! The files are read through [`RootDir`], line by line, and matched as texts; the
//! library is never given a path that it could open.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use provost_sandbox::root_dir::RootDir;

/// The longest file of rules that is read, in bytes.
const MAX_IGNORE_FILE_BYTES: u64 = 256 * 1024;

/// Where the rules of a folder stand.
pub(super) const IGNORE_FILE_NAMES: [&str; 2] = [".ignore", ".gitignore"];

/// Where those stand that git has for a whole repository.
pub(super) const GIT_EXCLUDE_PATH: &str = ".git/info/exclude";

/// The rules that hold in one folder: its own, and those of the folders above.
#[derive(Debug)]
pub(super) struct IgnoreRules {
    above: Option<Rc<Self>>,
    /// `.ignore`, which ripgrep and its kin read, and which wins over git's.
    ignore: Gitignore,
    /// `.gitignore`.
    git: Gitignore,
    /// `.git/info/exclude`, at the top alone.
    exclude: Gitignore,
}

/// Where in a project's files rules stand, the first winning.
const RULE_PRECEDENCE: [fn(&IgnoreRules) -> &Gitignore; 3] =
    [|rules| &rules.ignore, |rules| &rules.git, |rules| &rules.exclude];

impl IgnoreRules {
    /// No rules at all.
    pub(super) fn empty() -> Rc<Self> {
        let empty = Gitignore::empty;
        Rc::new(Self { above: None, ignore: empty(), git: empty(), exclude: empty() })
    }

    /// The rules of the project and of all folders above `folder`, without its own.
    pub(super) fn for_ancestors(root: &RootDir, folder: &Path) -> Rc<Self> {
        let mut rules = Self::empty();
        let mut at = PathBuf::new();
        for name in folder {
            rules = Self::extended_with_dir(root, &at, &rules, |_| true);
            at.push(name);
        }
        rules
    }

    /// The rules of a folder on top of those above; of its files, those that `holds`
    /// says are there and hold.
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

    /// Whether a path beneath the folder of these rules is left out.
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

/// Rules that cannot be read or understood leave nothing out, as with git.
fn read_ignore_file(root: &RootDir, folder: &Path, file: &Path) -> Gitignore {
    let Ok(bytes) = root.read(file, MAX_IGNORE_FILE_BYTES) else { return Gitignore::empty() };
    let mut builder = GitignoreBuilder::new(to_rooted_path(folder));
    for line in String::from_utf8_lossy(&bytes).lines() {
        // A line that is no glob is skipped, and the others hold.
        builder.add_line(None, line).map_or_else(drop, drop);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The project's folder is `/` to the matcher, which only compares texts.
pub(super) fn to_rooted_path(path: &Path) -> PathBuf {
    Path::new("/").join(path)
}
