//! A path as a rule names it, and a path as a command names it.

use std::borrow::Cow;

use crate::glob::Path;

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
