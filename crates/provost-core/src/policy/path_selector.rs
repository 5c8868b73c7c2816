//! The paths that a rule is about, and the paths that a command names.

use std::borrow::Cow;

use crate::glob::{PathPattern, PatternHint};

use super::matching::MatchStrictness;

/// The paths that a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathSelector {
    pub(super) path: Vec<PathPattern>,
    pub(super) except: Vec<PathPattern>,
}

/// How much an action on a path affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathReach {
    /// The file or folder itself.
    Itself,
    /// Everything below it too: it is moved or deleted.
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

    /// Whether a path with globs or unknown parts may expand to one that matches.
    pub(super) fn may_expand_to_match(&self, path: &str) -> bool {
        self.path.iter().any(|pattern| pattern.overlaps(path))
    }

    /// Whether the literal parts of a path with globs or unknown parts suffice to match:
    /// `$PWD/.env`, `~/.ssh/*`, `*.pem`, `.en?`.
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

    /// Whether a path outside the project, or an absolute one, could match: some suffix of it
    /// does.
    pub(super) fn matches_any_suffix(&self, path: &str) -> bool {
        let names: Vec<&str> =
            path.split('/').filter(|name| !matches!(*name, "" | "." | "..")).collect();
        (0..names.len()).any(|start| {
            let end = names[start..].join("/");
            self.matches(&end, PathReach::Itself, MatchStrictness::Lenient)
        })
    }
}

/// Characters that begin an expansion.
const EXPANSION_CHARS: [char; 7] = ['$', '`', '*', '?', '[', '{', '~'];

/// The end of the last glob in a name.
fn find_glob_end(name: &str) -> Option<usize> {
    name.rfind(['*', '?', ']', '}']).map(|at| at + 1)
}

/// A name with a letter in place of each glob: `x.pem` for `*.pem`.
fn fill_in_globs(name: &str) -> String {
    let Some(start) = name.find(EXPANSION_CHARS) else { return name.to_owned() };
    let end = find_glob_end(name).filter(|_| !name.contains(['$', '`', '~']));
    let rest = end.and_then(|end| name.get(end.max(start)..)).unwrap_or_default();
    format!("{}x{rest}", &name[..start])
}

/// Whether a glob that begins with a dot may match this name; one that does not begin with a dot
/// never does.
fn glob_may_match(glob: &str, name: &str) -> bool {
    let Some(start) = glob.find(EXPANSION_CHARS) else { return false };
    // A variable may stand for the rest.
    let end = find_glob_end(glob).filter(|_| !glob.contains(['$', '`'])).unwrap_or(glob.len());
    glob.starts_with('.')
        && name.starts_with(&glob[..start])
        && name.ends_with(glob.get(end..).unwrap_or_default())
}

/// A path of a command, relative to the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResolvedPath<'a> {
    /// Inside the project, normalized.
    Inside(Cow<'a, str>),
    /// Outside, or absolute, so that it is unknown whether it is inside.
    Outside(Cow<'a, str>),
}

/// Resolves a path as written in a command that runs in `cwd` of the project.
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

/// Whether a folder that a command runs in is certainly inside the project.
pub(super) fn is_inside_project(cwd: &str, folder: &str) -> bool {
    match resolve_path(cwd, folder) {
        ResolvedPath::Inside(_) => true,
        ResolvedPath::Outside(_) => false,
    }
}
