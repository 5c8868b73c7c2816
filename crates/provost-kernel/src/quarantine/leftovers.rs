//! Decides which of the entries that appeared or changed are leftovers.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use provost_core::action::protected_paths::conditional_leftover_reason;
use provost_core::quarantine::env_files;
use provost_core::quarantine::git_entries::EntryType;
use provost_core::quarantine::git_settings::{SettingsChange, compare_settings};
use provost_core::quarantine::hidden_names::{TreePlace, UNKNOWN_HIDDEN_NAME};
use provost_core::quarantine::rebase_todo::{names_no_program, without_exec_lines};
use provost_proto::Hash;

use super::build_file_owners::BuildFileOwners;
use super::snapshot::{Snapshot, SnapshotEntry};
use super::tree_scan::{EntryJudgement, LED_TO};

/// An entry that is to be set aside.
#[derive(Debug)]
pub(super) struct LeftoverEntry {
    pub(super) path: PathBuf,
    pub(super) why: Cow<'static, str>,
    /// What remains of it, if something does: a configuration without its new settings.
    pub(super) replacement: Option<Vec<u8>>,
}

/// What the search for leftovers knows besides the two snapshots.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeftoverContext<'a> {
    pub(super) project: &'a Path,
    /// Paths below which nothing but a person could change something.
    pub(super) held: &'a BTreeSet<PathBuf>,
    /// What was last changed before this is a person's.
    pub(super) taken_at: Option<i128>,
    pub(super) build_files: &'a BuildFileOwners,
}

/// The leftovers among the entries of `now`.
pub(super) fn find_leftovers(
    context: LeftoverContext<'_>,
    before: &Snapshot,
    now: &Snapshot,
) -> Vec<LeftoverEntry> {
    let LeftoverContext { project, held, taken_at, build_files } = context;
    let known = KnownContents::new(before, now);
    let is_held = |path: &Path| path.ancestors().any(|above| held.contains(above));
    // A setting that the person changed meanwhile may lead to a file that was there before.
    let is_older = |entry: &SnapshotEntry| {
        entry.judgement == EntryJudgement::Protected(LED_TO)
            && taken_at.is_some_and(|taken_at| entry.signature.changed_at < taken_at)
    };
    let mut leftovers = build_files.find_shadowing(before, now);
    let shadowing: BTreeSet<PathBuf> =
        leftovers.iter().map(|leftover| leftover.path.clone()).collect();
    let mut closed = BTreeSet::new();
    for (path, entry) in &now.entries {
        let former = before.entries.get(path);
        let is_known = match former {
            Some(former) => former.is_same(entry),
            None => is_older(entry),
        };
        if is_known || is_held(path) || shadowing.contains(path) {
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
                | EntryJudgement::SequenceOptions
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

/// The settings that were there before the action: a copy of one, such as in a new worktree,
/// is not the agent's, nor is one that was moved with its repository.
struct KnownContents<'a> {
    before: &'a Snapshot,
    now: &'a Snapshot,
    by_content: HashMap<(&'a OsStr, Hash), Vec<(&'a Path, &'a SnapshotEntry)>>,
    by_inode: HashMap<u64, (&'a Path, &'a SnapshotEntry)>,
}

impl<'a> KnownContents<'a> {
    fn new(before: &'a Snapshot, now: &'a Snapshot) -> Self {
        let mut by_content: HashMap<_, Vec<_>> = HashMap::new();
        let mut by_inode = HashMap::new();
        for (path, entry) in &before.entries {
            if let (EntryType::File, Some(name)) = (entry.kind, path.file_name()) {
                by_content.entry((name, entry.hash)).or_default().push((&**path, entry));
            }
            by_inode.insert(entry.signature.inode, (&**path, entry));
        }
        Self { before, now, by_content, by_inode }
    }

    /// Whether the same file was there before: with this content, for the same programs, in a
    /// folder of the same name if that is a folder of settings.
    fn has_copy(&self, path: &Path, entry: &SnapshotEntry) -> bool {
        let name = path.file_name().unwrap_or_default();
        let Some(copies) = self.by_content.get(&(name, entry.hash)) else { return false };
        let is_executable = |entry: &SnapshotEntry| entry.mode & 0o111 != 0;
        entry.kind == EntryType::File
            && copies.iter().any(|(original, known)| {
                known.judgement == entry.judgement
                    && is_executable(known) == is_executable(entry)
                    && if entry.judgement == EntryJudgement::Hidden {
                        hidden_path(original) == hidden_path(path)
                    } else {
                        settings_folder(original) == settings_folder(path)
                    }
            })
    }

    /// The entry that was moved here with its repository.
    fn find_moved(&self, path: &Path, entry: &SnapshotEntry) -> Option<&'a SnapshotEntry> {
        let (former, moved) = self.by_inode.get(&entry.signature.inode)?;
        let was = path_in_repository(self.before, former)?;
        let is_moved = moved.is_same(entry)
            && moved.judgement == entry.judgement
            && path_in_repository(self.now, path)? == was
            && !self.now.entries.contains_key(*former);
        is_moved.then_some(*moved)
    }
}

/// The hidden folder that a file lies in, such as `.cargo` of `.cargo/config`.
fn settings_folder(path: &Path) -> Option<&OsStr> {
    let folder = path.parent()?.file_name()?;
    folder.to_string_lossy().starts_with('.').then_some(folder)
}

/// The path from the folder with the unknown name on, or the name.
fn hidden_path(path: &Path) -> Option<&Path> {
    let mut place = TreePlace::Project;
    for above in path.ancestors().collect::<Vec<_>>().into_iter().rev() {
        let Some(name) = above.file_name() else { continue };
        place = place.enter_folder(&name.to_string_lossy());
        if place == TreePlace::Hidden {
            return path.strip_prefix(above.parent()?).ok();
        }
    }
    path.file_name().map(Path::new)
}

/// The path of an entry in the git folder that it lies in.
fn path_in_repository<'a>(snapshot: &Snapshot, path: &'a Path) -> Option<&'a Path> {
    let folder = path.ancestors().skip(1).find(|above| snapshot.git_folders.contains(*above))?;
    path.strip_prefix(folder).ok()
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
        // Judged together with the files beside it.
        EntryJudgement::BuildFile => None,
        EntryJudgement::EnvFile => judge_env_file(path, entry, former),
        EntryJudgement::Hidden => {
            // A change that could not be undone would be a loss: such a file is too large for
            // settings.
            let is_kept = former
                .is_none_or(|former| former.content.is_some() || former.kind != EntryType::File);
            (is_kept && !known.has_copy(path, entry)).then(|| leftover(UNKNOWN_HIDDEN_NAME))?
        }
        EntryJudgement::GitLeftover(why) => {
            known.find_moved(path, entry).is_none().then(|| leftover(why))?
        }
        EntryJudgement::Settings { submodule_depth } => {
            let before = former.or_else(|| known.find_moved(path, entry));
            let before = before.and_then(|former| former.content.as_deref());
            judge_settings(path, entry, before, submodule_depth)
        }
        EntryJudgement::RebaseTodo => {
            let kept = without_exec_lines(content.unwrap_or(b"exec"))?;
            let why = "`git rebase --continue` runs its `exec` lines".into();
            Some(LeftoverEntry { path: path.to_owned(), why, replacement: Some(kept) })
        }
        EntryJudgement::SequenceOptions => {
            let is_plain = content.is_some_and(names_no_program);
            (!is_plain).then(|| leftover("git runs the strategy that it names"))?
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

fn judge_env_file(
    path: &Path,
    entry: &SnapshotEntry,
    former: Option<&SnapshotEntry>,
) -> Option<LeftoverEntry> {
    let why = match (&entry.content, entry.kind) {
        (Some(content), EntryType::File) => {
            let line = env_files::find_code(content)?;
            let before = former.and_then(|former| former.content.as_deref()).unwrap_or_default();
            // A line of the person may hold a secret.
            let is_persons = String::from_utf8_lossy(before).contains(&line);
            let line: String = line.chars().take(if is_persons { 0 } else { 80 }).collect();
            let colon = if is_persons { "" } else { ": " };
            format!("shells and editors that read it would run something{colon}{line}")
        }
        (_, _) => "variables that cannot be read, or a link to them".to_owned(),
    };
    Some(LeftoverEntry { path: path.to_owned(), why: why.into(), replacement: None })
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
