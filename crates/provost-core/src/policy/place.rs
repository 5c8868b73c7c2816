//! A path as a rule names it, and a path as a command names it.

use std::borrow::Cow;

use crate::glob::{Hint, Path};

use super::matching::Reading;

/// The paths a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Paths {
    pub(super) path: Vec<Path>,
    pub(super) except: Vec<Path>,
}

/// How far an action on a path reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The file or folder itself.
    Itself,
    /// All beneath it too: it is moved or deleted.
    Beneath,
}

impl Paths {
    /// Whether a path inside the project matches.
    pub(super) fn matches(&self, path: &str, reach: Reach, reading: Reading) -> bool {
        let hit = |pattern: &Path| {
            pattern.matches(path)
                || match (reading, reach) {
                    (Reading::Narrow, _) => false,
                    (Reading::Generous, Reach::Itself) => pattern.matches_folder(path),
                    (Reading::Generous, Reach::Beneath) => {
                        pattern.matches_folder(path) || pattern.lies_beneath(path)
                    }
                }
        };
        let excepted = || self.except.iter().any(|pattern| pattern.matches(path));
        self.path.iter().any(hit) && !excepted()
    }

    /// Whether a path with globs, or with what is not known, may become one that is meant.
    pub(super) fn may_become(&self, path: &str) -> bool {
        self.path.iter().any(|pattern| pattern.overlaps(path))
    }

    /// Whether what is written out of a path with globs, or with what is not known, is
    /// enough to tell: `$PWD/.env`, `~/.ssh/*`, `*.pem`, `.en?`.
    pub(super) fn told_by(&self, path: &str) -> bool {
        let names = path.split('/').filter(|name| !matches!(*name, "" | "." | ".."));
        let last = names.clone().next_back().unwrap_or_default();
        let completed: Vec<String> = names.map(completed).collect();
        let is_hidden = |pattern: &Path| {
            pattern.hints().any(|hint| matches!(hint, Hint::Name(name) if may_be(last, name)))
        };
        self.may_mean(&completed.join("/")) || self.path.iter().any(is_hidden)
    }

    /// Whether a path that leaves the project, or may be in it by an absolute
    /// name, could be one that is meant: any end of it matches.
    pub(super) fn may_mean(&self, path: &str) -> bool {
        let names: Vec<&str> =
            path.split('/').filter(|name| !matches!(*name, "" | "." | "..")).collect();
        (0..names.len()).any(|start| {
            let end = names[start..].join("/");
            self.matches(&end, Reach::Itself, Reading::Generous)
        })
    }
}

/// What is not written out in a name.
const LOOSE: [char; 7] = ['$', '`', '*', '?', '[', '{', '~'];

/// Where the last glob of a name ends.
fn end_of_glob(name: &str) -> Option<usize> {
    name.rfind(['*', '?', ']', '}']).map(|at| at + 1)
}

/// A name as it may be, with a letter for what is not written out: `x.pem` for `*.pem`.
fn completed(name: &str) -> String {
    let Some(start) = name.find(LOOSE) else { return name.to_owned() };
    let end = end_of_glob(name).filter(|_| !name.contains(['$', '`', '~']));
    let rest = end.and_then(|end| name.get(end.max(start)..)).unwrap_or_default();
    format!("{}x{rest}", &name[..start])
}

/// Whether what begins with a dot may be this name; a glob that does not is none.
fn may_be(glob: &str, name: &str) -> bool {
    let Some(start) = glob.find(LOOSE) else { return false };
    // What a variable stands for may be the rest.
    let end = end_of_glob(glob).filter(|_| !glob.contains(['$', '`'])).unwrap_or(glob.len());
    glob.starts_with('.')
        && name.starts_with(&glob[..start])
        && name.ends_with(glob.get(end..).unwrap_or_default())
}

/// A path that a command names, seen from the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place<'a> {
    /// Inside, in the one spelling it has.
    Inside(Cow<'a, str>),
    /// Outside, or absolute so that nobody here knows.
    Outside(Cow<'a, str>),
}

/// Reads a path as written in a command that runs in `cwd` of the project.
pub(super) fn resolve<'a>(cwd: &str, path: &'a str) -> Place<'a> {
    if path.starts_with('/') || path.starts_with('~') {
        return Place::Outside(Cow::Borrowed(path));
    }
    let plain = path.split('/').all(|name| !matches!(name, "" | "." | ".."));
    if plain && cwd == "." {
        return Place::Inside(Cow::Borrowed(path));
    }
    let mut names: Vec<&str> = cwd.split('/').filter(|name| *name != ".").collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                if names.pop().is_none() {
                    return Place::Outside(Cow::Borrowed(path));
                }
            }
            name => names.push(name),
        }
    }
    Place::Inside(Cow::Owned(if names.is_empty() { ".".to_owned() } else { names.join("/") }))
}

/// Whether a folder that a command runs in is surely in the project.
pub(super) fn is_inside(cwd: &str, folder: &str) -> bool {
    match resolve(cwd, folder) {
        Place::Inside(_) => true,
        Place::Outside(_) => false,
    }
}
