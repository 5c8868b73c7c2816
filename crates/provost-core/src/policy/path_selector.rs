//! A path as a rule names it, and a path as a command names it.

use std::borrow::Cow;

use crate::glob::{PathPattern, PatternHint};

use super::matching::MatchStrictness;

/// The paths a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathSelector {
    pub(super) path: Vec<PathPattern>,
    pub(super) except: Vec<PathPattern>,
}

/// How far an action on a path reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathReach {
    /// The file or folder itself.
    Itself,
    /// All beneath it too: it is moved or deleted.
    Subtree,
}

impl PathSelector {
    /// Whether a path inside the project matches.
    pub(super) fn matches(&self, path: &str, reach: PathReach, reading: MatchStrictness) -> bool {
        let hit = |pattern: &PathPattern| {
            pattern.matches(path)
                || match (reading, reach) {
                    (MatchStrictness::Strict, _) => false,
                    (MatchStrictness::Lenient, PathReach::Itself) => pattern.matches_folder(path),
                    (MatchStrictness::Lenient, PathReach::Subtree) => {
                        pattern.matches_folder(path) || pattern.lies_beneath(path)
                    }
                }
        };
        let excepted = || self.except.iter().any(|pattern| pattern.matches(path));
        self.path.iter().any(hit) && !excepted()
    }

    /// Whether a path with globs, or with what is not known, may become one that is meant.
    pub(super) fn may_expand_to_match(&self, path: &str) -> bool {
        self.path.iter().any(|pattern| pattern.overlaps(path))
    }

    /// Whether what is written out of a path with globs, or with what is not known, is
    /// enough to tell: `$PWD/.env`, `~/.ssh/*`, `*.pem`, `.en?`.
    pub(super) fn matches_literal_parts(&self, path: &str) -> bool {
        let names = path.split('/').filter(|name| !matches!(*name, "" | "." | ".."));
        let last = names.clone().next_back().unwrap_or_default();
        let completed: Vec<String> = names.map(fill_in_globs).collect();
        let is_hidden = |pattern: &PathPattern| {
            pattern
                .hints()
                .any(|hint| matches!(hint, PatternHint::Name(name) if glob_may_match(last, name)))
        };
        self.matches_any_suffix(&completed.join("/")) || self.path.iter().any(is_hidden)
    }

    /// Whether a path that leaves the project, or may be in it by an absolute
    /// name, could be one that is meant: any end of it matches.
    pub(super) fn matches_any_suffix(&self, path: &str) -> bool {
        let names: Vec<&str> =
            path.split('/').filter(|name| !matches!(*name, "" | "." | "..")).collect();
        (0..names.len()).any(|start| {
            let end = names[start..].join("/");
            self.matches(&end, PathReach::Itself, MatchStrictness::Lenient)
        })
    }
}

/// What is not written out in a name.
const EXPANSION_CHARS: [char; 7] = ['$', '`', '*', '?', '[', '{', '~'];

/// Where the last glob of a name ends.
fn find_glob_end(name: &str) -> Option<usize> {
    name.rfind(['*', '?', ']', '}']).map(|at| at + 1)
}

/// A name as it may be, with a letter for what is not written out: `x.pem` for `*.pem`.
fn fill_in_globs(name: &str) -> String {
    let Some(start) = name.find(EXPANSION_CHARS) else { return name.to_owned() };
    let end = find_glob_end(name).filter(|_| !name.contains(['$', '`', '~']));
    let rest = end.and_then(|end| name.get(end.max(start)..)).unwrap_or_default();
    format!("{}x{rest}", &name[..start])
}

/// Whether what begins with a dot may be this name; a glob that does not is none.
fn glob_may_match(glob: &str, name: &str) -> bool {
    let Some(start) = glob.find(EXPANSION_CHARS) else { return false };
    // What a variable stands for may be the rest.
    let end = find_glob_end(glob).filter(|_| !glob.contains(['$', '`'])).unwrap_or(glob.len());
    glob.starts_with('.')
        && name.starts_with(&glob[..start])
        && name.ends_with(glob.get(end..).unwrap_or_default())
}

/// A path that a command names, seen from the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResolvedPath<'a> {
    /// Inside, in the one spelling it has.
    Inside(Cow<'a, str>),
    /// Outside, or absolute so that nobody here knows.
    Outside(Cow<'a, str>),
}

/// Reads a path as written in a command that runs in `cwd` of the project.
pub(super) fn resolve_path<'a>(cwd: &str, path: &'a str) -> ResolvedPath<'a> {
    if path.starts_with('/') || path.starts_with('~') {
        return ResolvedPath::Outside(Cow::Borrowed(path));
    }
    let plain = path.split('/').all(|name| !matches!(name, "" | "." | ".."));
    if plain && cwd == "." {
        return ResolvedPath::Inside(Cow::Borrowed(path));
    }
    let mut names: Vec<&str> = cwd.split('/').filter(|name| *name != ".").collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                if names.pop().is_none() {
                    return ResolvedPath::Outside(Cow::Borrowed(path));
                }
            }
            name => names.push(name),
        }
    }
    ResolvedPath::Inside(Cow::Owned(if names.is_empty() {
        ".".to_owned()
    } else {
        names.join("/")
    }))
}

/// Whether a folder that a command runs in is surely in the project.
pub(super) fn is_inside_project(cwd: &str, folder: &str) -> bool {
    match resolve_path(cwd, folder) {
        ResolvedPath::Inside(_) => true,
        ResolvedPath::Outside(_) => false,
    }
}
