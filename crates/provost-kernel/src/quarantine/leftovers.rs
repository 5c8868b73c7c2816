//! Decides which of the entries that appeared or changed are leftovers.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use provost_core::action::protected_paths::{
    GIT_CONTROL_PATHS, command_read_only_paths, conditional_leftover_reason,
};
use provost_core::quarantine::git_entries::EntryType;
use provost_core::quarantine::git_settings::{SettingsChange, compare_settings};
use provost_core::quarantine::rebase_todo::without_exec_lines;
use provost_proto::Hash;

use super::snapshot::{Snapshot, SnapshotEntry};
use super::tree_scan::EntryJudgement;

/// An entry that is to be set aside.
#[derive(Debug)]
pub(super) struct LeftoverEntry {
    pub(super) path: PathBuf,
    pub(super) why: Cow<'static, str>,
    /// What remains of it, if something does: a configuration without its new settings.
    pub(super) replacement: Option<Vec<u8>>,
}

/// The leftovers among the entries of `now`. `is_read_only` tells whether nothing but a person
/// could change what existed before at the top of the project.
pub(super) fn find_leftovers(
    project: &Path,
    before: &Snapshot,
    now: &Snapshot,
    is_read_only: bool,
) -> Vec<LeftoverEntry> {
    let known = KnownContents::new(before);
    let mut leftovers = Vec::new();
    let mut closed = BTreeSet::new();
    for (path, entry) in &now.entries {
        let former = before.entries.get(path);
        if former.is_some_and(|former| former.is_same(entry))
            || is_read_only && is_held_read_only(before, path)
        {
            continue;
        }
        let Some(leftover) = judge_entry(project, now, path, entry, former, &known) else {
            continue;
        };
        // A folder that became a repository may hold files of the project: only the file that
        // makes it one goes.
        let new_bare = now
            .bare_repositories
            .iter()
            .find(|bare| path.starts_with(bare) && !before.git_folders.contains(*bare));
        match (new_bare, entry.judgement) {
            (
                Some(bare),
                EntryJudgement::Settings { .. }
                | EntryJudgement::GitLeftover(_)
                | EntryJudgement::RebaseTodo
                | EntryJudgement::CommonDir,
            ) => {
                if closed.insert(bare.clone()) {
                    let why = format!("it makes this folder a repository; in it, {}", leftover.why);
                    let path = bare.join("HEAD");
                    leftovers.push(LeftoverEntry { path, why: why.into(), replacement: None });
                }
            }
            (Some(_) | None, _) => leftovers.push(leftover),
        }
    }
    leftovers
}

/// Whether a path existed before and every sandbox holds it read-only: then a person changed it.
fn is_held_read_only(before: &Snapshot, path: &Path) -> bool {
    static READ_ONLY: LazyLock<Vec<PathBuf>> =
        LazyLock::new(|| command_read_only_paths().map(PathBuf::from).collect());
    let existed = |held: &Path| {
        let next = before.entries.range(held.to_owned()..).next();
        next.is_some_and(|(path, entry)| path.starts_with(held) && entry.kind != EntryType::Symlink)
    };
    let is_control = || GIT_CONTROL_PATHS.iter().any(|part| path.ends_with(part));
    let held = READ_ONLY.iter().find(|held| path.starts_with(held));
    held.is_some_and(|held| existed(held))
        || path.starts_with(".git") && is_control() && existed(path)
}

/// Contents of the project's own settings: a copy of one, such as in a new worktree, is not
/// the agent's.
struct KnownContents<'a> {
    by_name: HashSet<(&'a OsStr, Hash)>,
    by_inode: HashMap<u64, &'a SnapshotEntry>,
}

impl<'a> KnownContents<'a> {
    fn new(before: &'a Snapshot) -> Self {
        let named = before.entries.iter().filter_map(|(path, entry)| {
            let is_file = entry.kind == EntryType::File;
            Some((path.file_name().filter(|_| is_file)?, entry.hash))
        });
        let numbered = before.entries.values().map(|entry| (entry.signature.inode, entry));
        Self { by_name: named.collect(), by_inode: numbered.collect() }
    }

    fn has_copy(&self, path: &Path, entry: &SnapshotEntry) -> bool {
        let name = path.file_name().unwrap_or_default();
        entry.kind == EntryType::File && self.by_name.contains(&(name, entry.hash))
    }

    /// The entry that was moved here with its folder.
    fn find_moved(&self, entry: &SnapshotEntry) -> Option<&'a SnapshotEntry> {
        let moved = self.by_inode.get(&entry.signature.inode)?;
        moved.is_same(entry).then_some(*moved)
    }
}

fn judge_entry(
    project: &Path,
    now: &Snapshot,
    path: &Path,
    entry: &SnapshotEntry,
    former: Option<&SnapshotEntry>,
    known: &KnownContents<'_>,
) -> Option<LeftoverEntry> {
    let leftover = |why: &'static str| {
        Some(LeftoverEntry { path: path.to_owned(), why: why.into(), replacement: None })
    };
    let content = entry.content.as_deref();
    match entry.judgement {
        EntryJudgement::Protected(why) => (!known.has_copy(path, entry)).then(|| leftover(why))?,
        EntryJudgement::Conditional => {
            let name = path.file_name()?.to_string_lossy();
            let why = conditional_leftover_reason(&name, content.unwrap_or(b"path"))?;
            (!known.has_copy(path, entry)).then(|| leftover(why))?
        }
        EntryJudgement::GitLeftover(why) => {
            known.find_moved(entry).is_none().then(|| leftover(why))?
        }
        EntryJudgement::Settings { submodule_depth } => {
            let before = former.or_else(|| known.find_moved(entry));
            let before = before.and_then(|former| former.content.as_deref());
            judge_settings(path, entry, before, submodule_depth)
        }
        EntryJudgement::RebaseTodo => {
            let kept = without_exec_lines(content.unwrap_or(b"exec"))?;
            let why = "`git rebase --continue` runs its `exec` lines".into();
            Some(LeftoverEntry { path: path.to_owned(), why, replacement: Some(kept) })
        }
        EntryJudgement::CommonDir => {
            let is_own = content.is_some_and(|text| text.trim_ascii() == b"../..");
            (!is_own).then(|| leftover("it makes git use another folder, with its hooks"))?
        }
        EntryJudgement::GitFile => {
            let target = content.and_then(|text| find_git_folder(project, path, text));
            let is_own = target.is_some_and(|target| now.git_folders.contains(&target));
            (!is_own).then(|| leftover("it makes git use a folder elsewhere, with its hooks"))?
        }
    }
}

fn judge_settings(
    path: &Path,
    entry: &SnapshotEntry,
    before: Option<&[u8]>,
    submodule_depth: Option<usize>,
) -> Option<LeftoverEntry> {
    let path = path.to_owned();
    let change = match (&entry.content, entry.kind) {
        (Some(content), EntryType::File) => compare_settings(before, content, submodule_depth),
        (_, _) => SettingsChange::Unreadable,
    };
    match change {
        SettingsChange::Harmless => None,
        SettingsChange::Dangerous { names, kept } => {
            let why = describe_dangerous_settings(&names).into();
            Some(LeftoverEntry { path, why, replacement: Some(kept) })
        }
        SettingsChange::Unreadable => {
            let why = UNREADABLE_SETTINGS.into();
            Some(LeftoverEntry { path, why, replacement: None })
        }
    }
}

/// Why settings of git that cannot be parsed are set aside.
pub(super) const UNREADABLE_SETTINGS: &str = "git's settings that cannot be read for certain";

/// Why settings of git with these names are set aside.
pub(super) fn describe_dangerous_settings(names: &[String]) -> String {
    let names = names.join(", ");
    format!("they decide what git runs or loads, or where it pushes to: {names}")
}

/// The folder in the project that a `.git` file points to.
fn find_git_folder(project: &Path, path: &Path, text: &[u8]) -> Option<PathBuf> {
    let text = std::str::from_utf8(text).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    let full = project.join(path.parent()?).join(target);
    let mut normal = PathBuf::new();
    for component in full.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                normal.push(component);
            }
        }
    }
    Some(normal.strip_prefix(project).ok()?.to_owned())
}
