//! Finds every file in a project that makes a program run something.
//!
//! The whole tree is walked, because such a file counts wherever it lies; but only names are
//! read, and the listing of a folder whose change time is the same as before is not read again.
//! A command cannot set that time.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use provost_core::action::protected_paths::{
    is_conditional_path, is_protected_parent, leftover_reason,
};
use provost_core::quarantine::build_files::is_build_file;
use provost_core::quarantine::env_files::is_env_file;
use provost_core::quarantine::git_entries::{
    EntryType, GitEntry, GitFolder, classify_git_entry, is_git_name, is_repository_listing,
};
use provost_core::quarantine::hidden_names::TreePlace;
use provost_sandbox::root_dir::RootDir;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, StatxFlags};

use super::referenced_paths::ReferencedPath;

/// How many folders are walked, of those that hold settings and of the others; a project with
/// more is reported as not checked completely.
const MAX_WALKED_DIRS: usize = 400_000;

/// How many files of folders with unknown names are compared. The largest folders with more,
/// while nothing of an agent runs, were filled by tools: comparing them would take too long.
const MAX_HIDDEN_ENTRIES: usize = 2000;

/// Why a link among git's data is a leftover.
const LINK_IN_DATA: &str = "a link in git's folder, through which git would write elsewhere";

/// Why a path is protected that a link or a configuration leads to.
pub(super) const LED_TO: &str = "a link or a configuration leads to it";

/// A listing that was read within this time after a change is read again: file systems have
/// clocks with a granularity of up to 10 ms.
const CLOCK_GRANULARITY_NANOS: i128 = 25_000_000;

/// What a found entry is, which decides when it is a leftover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryJudgement {
    /// A protected path of the tree.
    Protected(&'static str),
    /// Protected if its content says so.
    Conditional,
    /// One of several files of which a tool uses one.
    BuildFile,
    /// A file of variables, protected if one of them runs something.
    EnvFile,
    /// A name with a dot that is not known to be harmless, or below one.
    Hidden,
    /// A configuration of git; of a submodule, with the depth of its git folder.
    Settings { submodule_depth: Option<usize> },
    /// The commands of a rebase.
    RebaseTodo,
    /// The options of a rebase or cherry-pick.
    SequenceOptions,
    /// The pointer of a linked worktree to its repository.
    CommonDir,
    /// A `.git` that is a file and points to a git folder.
    GitFile,
    /// An entry of a git folder that git does not write.
    GitLeftover(&'static str),
}

/// A found entry: a file or link, never a folder.
#[derive(Debug, Clone)]
pub(super) struct FoundEntry {
    pub(super) path: PathBuf,
    pub(super) kind: EntryType,
    pub(super) judgement: EntryJudgement,
}

/// All that a walk found.
#[derive(Debug, Default)]
pub(super) struct FoundEntries {
    pub(super) entries: Vec<FoundEntry>,
    /// The folders that git takes for repositories.
    pub(super) git_folders: BTreeSet<PathBuf>,
    /// Those that are not called `.git`, nor lie in one.
    pub(super) bare_repositories: BTreeSet<PathBuf>,
    /// Folders that could not be read.
    pub(super) unreadable: Vec<PathBuf>,
    /// Of the folders with unknown names, the number of entries.
    hidden_folders: BTreeMap<PathBuf, usize>,
}

/// How the entries of a folder are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DirContext {
    /// By the lists of protected paths and harmless names.
    Tree(TreePlace),
    /// Everything in it is protected.
    Protected(&'static str),
    /// A git folder, whose own path has so many names.
    /// `bare` is the place of a folder that has another name than `.git`.
    Git { folder: GitFolder, n_names: usize, in_modules: bool, bare: Option<TreePlace> },
    /// A folder of git folders: `modules`, `worktrees`.
    Repositories { worktrees: bool },
    /// A folder of git's own data.
    GitData,
}

/// The relevant entries of a folder, valid as long as the folder is unchanged.
#[derive(Debug)]
struct CachedDir {
    context: DirContext,
    identity: (u64, u64),
    changed_at: i128,
    is_repository: bool,
    entries: Vec<(OsString, EntryType)>,
}

/// Walks a project again and again.
#[derive(Debug, Default)]
pub(super) struct TreeScanner {
    dirs: HashMap<PathBuf, CachedDir>,
    /// Folders with unknown names that are too large to be compared.
    large_folders: BTreeSet<PathBuf>,
}

impl TreeScanner {
    /// Finds all entries while nothing of an agent runs. Folders with unknown names that are too
    /// large to be compared each time are left out, now and until the next call.
    pub(super) fn find_baseline_entries(
        &mut self,
        root: &RootDir,
        extra: &[ReferencedPath],
    ) -> FoundEntries {
        let found = self.find_entries(root, extra);
        // Another folder may have the name of one that is gone.
        self.large_folders.retain(|path| found.hidden_folders.contains_key(path));
        let mut n_entries: usize = found.hidden_folders.values().sum();
        if n_entries <= MAX_HIDDEN_ENTRIES {
            return found;
        }
        let mut folders: Vec<_> = found.hidden_folders.into_iter().collect();
        folders.sort_by_key(|(_, n_entries)| std::cmp::Reverse(*n_entries));
        for (path, n_left_out) in folders {
            if n_entries <= MAX_HIDDEN_ENTRIES {
                break;
            }
            n_entries -= n_left_out;
            self.large_folders.insert(path);
        }
        self.find_entries(root, extra)
    }

    /// The folders that are left out.
    pub(super) fn list_large_folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.large_folders.iter()
    }

    /// Finds all entries; `extra` are paths that are protected because a link or a
    /// configuration leads to them.
    pub(super) fn find_entries(
        &mut self,
        root: &RootDir,
        extra: &[ReferencedPath],
    ) -> FoundEntries {
        let mut walk = TreeWalk {
            root,
            known: std::mem::take(&mut self.dirs),
            large_folders: &self.large_folders,
            seen: HashMap::new(),
            found: FoundEntries::default(),
            pending: PendingDirs::default(),
            now: now_nanos(),
        };
        walk.pending.push(PathBuf::new(), DirContext::Tree(TreePlace::Project));
        for ReferencedPath { path, with_content } in extra {
            match walk.read_kind(path) {
                Some(EntryType::Directory) if *with_content => {
                    walk.pending.push(path.clone(), DirContext::Protected(LED_TO));
                }
                Some(EntryType::Directory) | None => {}
                Some(kind) => walk.record(path.clone(), kind, EntryJudgement::Protected(LED_TO)),
            }
        }
        while let Some((path, context)) = walk.pending.pop() {
            walk.visit_dir(path, context);
        }
        walk.found.unreadable.append(&mut walk.pending.skipped);
        self.dirs = walk.seen;
        walk.found
    }
}

/// The clock that file systems use: never later than the time of a change that follows.
pub(super) fn now_nanos() -> i128 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

struct TreeWalk<'a> {
    root: &'a RootDir,
    known: HashMap<PathBuf, CachedDir>,
    large_folders: &'a BTreeSet<PathBuf>,
    seen: HashMap<PathBuf, CachedDir>,
    found: FoundEntries,
    pending: PendingDirs,
    now: i128,
}

/// The folders that are still to be walked: first those that hold settings, then the others from
/// the top down, so that no number of folders hides the settings of the project.
#[derive(Debug, Default)]
struct PendingDirs {
    settings: Vec<(PathBuf, DirContext)>,
    others: VecDeque<(PathBuf, DirContext)>,
    n_settings: usize,
    n_others: usize,
    /// The first folder of each kind that is not walked.
    skipped: Vec<PathBuf>,
}

impl PendingDirs {
    fn push(&mut self, path: PathBuf, context: DirContext) {
        let n_pushed = match context {
            DirContext::Protected(_) | DirContext::Git { .. } => &mut self.n_settings,
            DirContext::Tree(_) | DirContext::Repositories { .. } | DirContext::GitData => {
                &mut self.n_others
            }
        };
        *n_pushed += 1;
        match (*n_pushed).cmp(&(MAX_WALKED_DIRS + 1)) {
            Ordering::Greater => {}
            Ordering::Equal => self.skipped.push(path),
            Ordering::Less => match context {
                DirContext::Protected(_) | DirContext::Git { .. } => {
                    self.settings.push((path, context));
                }
                DirContext::Tree(_) | DirContext::Repositories { .. } | DirContext::GitData => {
                    self.others.push_back((path, context));
                }
            },
        }
    }

    fn pop(&mut self) -> Option<(PathBuf, DirContext)> {
        self.settings.pop().or_else(|| self.others.pop_front())
    }
}

impl TreeWalk<'_> {
    fn record(&mut self, path: PathBuf, kind: EntryType, judgement: EntryJudgement) {
        if judgement == EntryJudgement::Hidden {
            let folders = &mut self.found.hidden_folders;
            let top = path.ancestors().find(|above| folders.contains_key(*above));
            if let Some(n_entries) = top.map(Path::to_owned).and_then(|top| folders.get_mut(&top)) {
                *n_entries += 1;
            }
        }
        self.found.entries.push(FoundEntry { path, kind, judgement });
    }

    fn read_kind(&self, path: &Path) -> Option<EntryType> {
        let name = CString::new(path.as_os_str().as_bytes()).ok()?;
        let stat = rustix::fs::statat(self.root, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(to_entry_type(FileType::from_raw_mode(stat.st_mode)))
    }

    fn visit_dir(&mut self, path: PathBuf, context: DirContext) {
        let Some(dir) = self.list_dir(&path, context) else {
            self.found.unreadable.push(path);
            return;
        };
        let context = self.enter_repository(&path, context, dir.is_repository);
        let names: Vec<String> =
            path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        for (name, kind) in &dir.entries {
            self.judge_entry(&path, &names, name, *kind, context);
        }
        self.seen.insert(path, dir);
    }

    /// A folder that git takes for a repository is judged as one, whatever its name.
    fn enter_repository(
        &mut self,
        path: &Path,
        context: DirContext,
        is_repository: bool,
    ) -> DirContext {
        let n_names = path.components().count();
        match context {
            DirContext::Git { n_names: own, .. } if own == n_names => {
                self.found.git_folders.insert(path.to_owned());
                context
            }
            DirContext::Repositories { worktrees: false } if is_repository => {
                self.found.git_folders.insert(path.to_owned());
                DirContext::Git {
                    folder: GitFolder::Repository,
                    n_names,
                    in_modules: true,
                    bare: None,
                }
            }
            DirContext::GitData if is_repository => {
                self.found.git_folders.insert(path.to_owned());
                let folder = GitFolder::Repository;
                DirContext::Git { folder, n_names, in_modules: false, bare: None }
            }
            DirContext::Tree(place) if is_repository => {
                self.found.git_folders.insert(path.to_owned());
                self.found.bare_repositories.insert(path.to_owned());
                let folder = GitFolder::Repository;
                DirContext::Git { folder, n_names, in_modules: false, bare: Some(place) }
            }
            DirContext::Git { .. }
            | DirContext::Repositories { .. }
            | DirContext::GitData
            | DirContext::Tree(_)
            | DirContext::Protected(_) => context,
        }
    }

    fn judge_entry(
        &mut self,
        dir: &Path,
        names: &[String],
        name: &OsStr,
        kind: EntryType,
        context: DirContext,
    ) {
        let path = dir.join(name);
        let text = name.to_string_lossy();
        let mut all: Vec<&str> = names.iter().map(String::as_str).collect();
        all.push(&text);
        match context {
            DirContext::Tree(place) => self.judge_tree_entry(path, &all, kind, place),
            DirContext::Protected(why) => match kind {
                EntryType::Directory => self.pending.push(path, context),
                EntryType::File | EntryType::Symlink | EntryType::Other => {
                    self.record(path, kind, EntryJudgement::Protected(why));
                }
            },
            DirContext::Git { folder, n_names, in_modules, bare } => {
                let entry = classify_git_entry(folder, &all[n_names..], kind);
                // Inside packages, what is beside a repository's files was never judged.
                let place = bare.map(|place| match place {
                    TreePlace::Packages => TreePlace::Project,
                    TreePlace::Project | TreePlace::Output | TreePlace::Hidden => place,
                });
                if let (Some(place), GitEntry::Unknown) = (place, entry) {
                    // The folder has other files too, such as those of a project.
                    return self.judge_tree_entry(path, &all, kind, place);
                }
                if let (Some(place), GitEntry::DataFolder | GitEntry::Repositories) = (place, entry)
                {
                    // It may be a folder of the project with such a name.
                    self.pending.push(path.clone(), DirContext::Tree(place));
                }
                let depth = in_modules.then_some(n_names);
                self.judge_git_entry(path, &all, kind, entry, context, depth);
            }
            DirContext::GitData => match kind {
                EntryType::Directory => self.pending.push(path, context),
                EntryType::Symlink => self.add_git_leftover(path, kind, LINK_IN_DATA),
                EntryType::File | EntryType::Other => {}
            },
            DirContext::Repositories { worktrees } => {
                if kind == EntryType::Directory {
                    let n_names = all.len();
                    let folder = GitFolder::LinkedWorktree;
                    let context = if worktrees {
                        DirContext::Git { folder, n_names, in_modules: false, bare: None }
                    } else {
                        context
                    };
                    self.pending.push(path, context);
                }
            }
        }
    }

    fn judge_tree_entry(
        &mut self,
        path: PathBuf,
        names: &[&str],
        kind: EntryType,
        place: TreePlace,
    ) {
        let name = names.last().copied().unwrap_or_default();
        if is_git_name(name) {
            return match kind {
                EntryType::Directory => {
                    let n_names = names.len();
                    let folder = GitFolder::Repository;
                    let context =
                        DirContext::Git { folder, n_names, in_modules: false, bare: None };
                    self.pending.push(path, context);
                }
                EntryType::File => self.record(path, kind, EntryJudgement::GitFile),
                EntryType::Symlink | EntryType::Other => {
                    let why = "it makes git use a folder elsewhere, with its hooks and settings";
                    self.record(path, kind, EntryJudgement::GitLeftover(why));
                }
            };
        }
        let in_packages = place == TreePlace::Packages;
        let why = leftover_reason(names, in_packages);
        match (kind, why) {
            (EntryType::Directory, Some(why)) => {
                self.pending.push(path, DirContext::Protected(why));
            }
            (EntryType::Directory, None) => {
                let below = place.enter_folder(name);
                let is_first = (place, below) == (TreePlace::Project, TreePlace::Hidden);
                let below = if is_first {
                    self.found.hidden_folders.insert(path.clone(), 0);
                    let is_large = self.large_folders.contains(&path);
                    if is_large { TreePlace::Output } else { below }
                } else {
                    below
                };
                self.pending.push(path, DirContext::Tree(below));
            }
            (EntryType::File, Some(_)) if name.eq_ignore_ascii_case(".gitmodules") => {
                self.record(path, kind, EntryJudgement::Settings { submodule_depth: None });
            }
            (EntryType::File | EntryType::Symlink | EntryType::Other, Some(why)) => {
                self.record(path, kind, EntryJudgement::Protected(why));
            }
            (EntryType::File | EntryType::Symlink | EntryType::Other, None) => {
                if let Some(judgement) = judge_by_name(names, kind, place) {
                    self.record(path, kind, judgement);
                }
            }
        }
    }

    fn judge_git_entry(
        &mut self,
        path: PathBuf,
        names: &[&str],
        kind: EntryType,
        entry: GitEntry,
        context: DirContext,
        submodule_depth: Option<usize>,
    ) {
        match entry {
            GitEntry::Data => {}
            GitEntry::DataFolder => self.pending.push(path, DirContext::GitData),
            GitEntry::SequenceOptions => {
                self.record(path, kind, EntryJudgement::SequenceOptions);
            }
            GitEntry::Folder => self.pending.push(path, context),
            GitEntry::Repositories => {
                let worktrees = names.last() == Some(&"worktrees");
                self.pending.push(path, DirContext::Repositories { worktrees });
            }
            GitEntry::Settings => {
                self.record(path, kind, EntryJudgement::Settings { submodule_depth });
            }
            GitEntry::RebaseTodo => self.record(path, kind, EntryJudgement::RebaseTodo),
            GitEntry::CommonDir => self.record(path, kind, EntryJudgement::CommonDir),
            GitEntry::Leftover(why) => self.add_git_leftover(path, kind, why),
            GitEntry::Unknown => {
                self.add_git_leftover(path, kind, "git does not write it itself");
            }
        }
    }

    fn add_git_leftover(&mut self, path: PathBuf, kind: EntryType, why: &'static str) {
        if kind == EntryType::Directory {
            self.pending.push(path, DirContext::Protected(why));
        } else {
            self.record(path, kind, EntryJudgement::GitLeftover(why));
        }
    }

    /// The relevant entries of a folder; those of the last walk if it has not changed.
    fn list_dir(&mut self, path: &Path, context: DirContext) -> Option<CachedDir> {
        let at = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let name = CString::new(at.as_os_str().as_bytes()).ok()?;
        let known = self.known.remove(path);
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
        let mask = StatxFlags::INO | StatxFlags::CTIME | StatxFlags::TYPE | StatxFlags::MODE;
        let stat = rustix::fs::statx(self.root, &name, flags, mask).ok()?;
        let device = (u64::from(stat.stx_dev_major) << 32) | u64::from(stat.stx_dev_minor);
        let identity = (device, stat.stx_ino);
        let changed_at =
            i128::from(stat.stx_ctime.tv_sec) * 1_000_000_000 + i128::from(stat.stx_ctime.tv_nsec);
        if let Some(known) = known
            && known.identity == identity
            && known.changed_at == changed_at
            && known.context == context
        {
            return Some(known);
        }
        let (entries, is_repository) = self.read_entries(at, stat.stx_mode.into(), context)?;
        // A change within the granularity of the clock would not be seen.
        let settled = changed_at + CLOCK_GRANULARITY_NANOS < self.now;
        let changed_at = if settled { changed_at } else { i128::MIN };
        Some(CachedDir { context, identity, changed_at, is_repository, entries })
    }

    fn open_dir(&self, at: &Path) -> Option<OwnedFd> {
        let folder = self.root.open_subdir(at).ok()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&folder, c".", flags, Mode::empty()).ok()
    }

    fn read_entries(
        &self,
        at: &Path,
        mode: u32,
        context: DirContext,
    ) -> Option<(Vec<(OsString, EntryType)>, bool)> {
        let folder = self.open_dir(at).or_else(|| {
            // Otherwise a folder could hide what it holds from us and not from others.
            let mode = Mode::from_raw_mode((mode & 0o7777) | 0o700);
            rustix::fs::chmodat(self.root, at, mode, AtFlags::empty()).ok()?;
            self.open_dir(at)
        })?;
        let mut listed = Vec::new();
        for entry in Dir::read_from(&folder).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let mut kind = entry.file_type();
            // Some file systems do not tell.
            if kind == FileType::Unknown {
                match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => kind = FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                }
            }
            listed.push((OsStr::from_bytes(name.to_bytes()).to_owned(), to_entry_type(kind)));
        }
        let is_repository = is_repository_listing(listed.iter().filter_map(|(n, _)| n.to_str()));
        if (context, is_repository) == (DirContext::GitData, false) {
            listed.retain(|(_, kind)| matches!(kind, EntryType::Directory | EntryType::Symlink));
            listed.shrink_to_fit();
        }
        if let (DirContext::Tree(place), false) = (context, is_repository) {
            let parents: Vec<&str> = match at.to_str() {
                Some(".") | None => Vec::new(),
                Some(text) => text.split('/').collect(),
            };
            listed.retain(|(name, kind)| is_relevant(&parents, name, *kind, place));
            listed.shrink_to_fit();
        }
        Some((listed, is_repository))
    }
}

/// How a file or link of the tree is judged that no list of protected paths has, if it is.
fn judge_by_name(names: &[&str], kind: EntryType, place: TreePlace) -> Option<EntryJudgement> {
    let name = names.last().copied().unwrap_or_default();
    if place == TreePlace::Packages {
        return None;
    }
    if place.has_unknown_setting(name) {
        return Some(EntryJudgement::Hidden);
    }
    match kind {
        EntryType::Symlink if is_protected_parent(names) => {
            Some(EntryJudgement::Protected("a link in place of a folder of settings"))
        }
        EntryType::File if is_conditional_path(name) => Some(EntryJudgement::Conditional),
        EntryType::File | EntryType::Symlink if is_env_file(name) => Some(EntryJudgement::EnvFile),
        EntryType::File | EntryType::Symlink if is_build_file(name) => {
            Some(EntryJudgement::BuildFile)
        }
        EntryType::File | EntryType::Symlink | EntryType::Other | EntryType::Directory => None,
    }
}

/// Whether an entry of the tree can be a leftover, or hold one.
fn is_relevant(parents: &[&str], name: &OsStr, kind: EntryType, place: TreePlace) -> bool {
    if kind == EntryType::Directory {
        return true;
    }
    let name = name.to_string_lossy();
    if is_git_name(&name) {
        return true;
    }
    let mut names = parents.to_vec();
    names.push(&name);
    leftover_reason(&names, place == TreePlace::Packages).is_some()
        || judge_by_name(&names, kind, place).is_some()
}

fn to_entry_type(kind: FileType) -> EntryType {
    match kind {
        FileType::RegularFile => EntryType::File,
        FileType::Directory => EntryType::Directory,
        FileType::Symlink => EntryType::Symlink,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => EntryType::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_of_folders_hides_those_with_settings() {
        let mut pending = PendingDirs::default();
        let tree = DirContext::Tree(TreePlace::Project);
        for number in 0..MAX_WALKED_DIRS + 2 {
            pending.push(PathBuf::from(number.to_string()), tree);
        }
        let settings = (PathBuf::from(".vscode"), DirContext::Protected("settings"));
        pending.push(settings.0.clone(), settings.1);
        assert_eq!(pending.pop(), Some(settings));
        assert_eq!(pending.pop(), Some((PathBuf::from("0"), tree)), "from the top down");
        assert_eq!(pending.skipped, [PathBuf::from(MAX_WALKED_DIRS.to_string())], "reported once");
    }
}
