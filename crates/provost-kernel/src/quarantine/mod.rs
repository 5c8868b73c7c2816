//! Sets aside what an agent's action left that would run outside the sandbox.
//!
//! Before an action starts, a snapshot holds every file that makes a program run something: git's
//! settings and hooks, and the settings of editors, shells, builds and agents. When the action
//! has ended, and before it is reported as finished, what appeared or changed among them is moved
//! into the [`QuarantineStore`], and the former content is put back. An agent can request that it
//! is put back (`fs.restoreFile`), or to write it (`fs.writeFile`): a person is asked and shown it.
//!
//! While anything of an agent runs, whatever changes counts as its work, except for what its
//! sandbox holds read-only. What changes while nothing runs is the person's.

mod build_file_owners;
mod leftovers;
mod put_back;
mod referenced_paths;
mod restore;
pub mod settings_copies;
mod snapshot;
pub mod store;
mod tree_scan;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use provost_core::action::RelPath;
use provost_core::action::protected_paths::{command_read_only_paths, fold_case};
use provost_core::quarantine::git_entries::EntryType;
use provost_proto::Hash;
use provost_sandbox::confine::Sandbox;
use provost_sandbox::root_dir::{FileKind, RootDir, RootDirEntry, SymlinkSnapshot};
use serde::Serialize;

use build_file_owners::BuildFileOwners;
use leftovers::{LeftoverContext, LeftoverEntry};
pub use put_back::RestoreFileResult;
use referenced_paths::{ReferencedPath, find_referenced_paths};
use settings_copies::SettingsCopies;
use snapshot::Snapshot;
pub use store::{LeftInPlace, QuarantineStore, SetAsideEntry, SetAsideKind, StoredEntry};
use tree_scan::{EntryJudgement, TreeScanner};

use crate::ActionError;

/// How often leftovers are looked for again while other processes may create more.
const MAX_PASSES: usize = 3;

/// How many names at the top of a project are read to find out which paths exist there.
const MAX_TOP_NAMES: usize = 200;

/// How many entries a result names.
const MAX_REPORTED_ENTRIES: usize = 50;

/// The quarantine of one project.
#[derive(Debug)]
pub struct Quarantine {
    root: RootDir,
    project: PathBuf,
    store: QuarantineStore,
    state: Mutex<QuarantineState>,
}

#[derive(Debug, Default)]
struct QuarantineState {
    scanner: TreeScanner,
    baseline: Snapshot,
    /// Paths that links and configurations of the baseline lead to.
    extra: Vec<ReferencedPath>,
    /// When the baseline was the person's, if it was taken.
    taken_at: Option<i128>,
    /// Whose the build files are.
    build_files: BuildFileOwners,
    /// Actions that are under way.
    n_running: usize,
    /// Those of them that run for long: background processes and dev servers.
    n_background: usize,
    /// Whether something may have been left that was not looked at.
    is_unsettled: bool,
    /// The paths at the top of the project that the sandboxes of all actions hold read-only
    /// which ran since the baseline was a person's.
    held: BTreeSet<PathBuf>,
    /// What was set aside after a crash, for the next report.
    recovered: SetAsideReport,
}

/// What an action left that was set aside.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetAsideReport {
    /// The entries that were set aside.
    pub entries: Vec<SetAsideEntry>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
    /// Paths that could not be set aside or not be looked at: a person should.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl SetAsideReport {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    fn add(&mut self, entry: SetAsideEntry) {
        if self.entries.len() < MAX_REPORTED_ENTRIES {
            self.entries.push(entry);
        } else {
            self.more += 1;
        }
    }

    fn prepend(&mut self, earlier: Self) {
        self.more += earlier.more;
        for entry in earlier.entries {
            self.add(entry);
        }
        for text in earlier.failed {
            self.add_failure(text);
        }
    }

    fn add_failure(&mut self, text: String) {
        if self.failed.len() < MAX_REPORTED_ENTRIES && !self.failed.contains(&text) {
            self.failed.push(text);
        }
    }
}

/// What of a path becomes the person's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdoptedContent {
    /// Whatever is there and below, if nothing of an agent runs: a person changed it themselves.
    Any,
    /// The file that is there, if nothing of an agent runs: a person was shown the change.
    File,
    /// Only what the person was shown.
    Shown {
        /// Its kind.
        kind: EntryType,
        /// Of its content; of a link, of its target.
        hash: Hash,
        /// Whether it may be executed, if that was shown.
        is_executable: Option<bool>,
    },
}

/// An action that is under way: what changes counts as its work.
#[derive(Debug)]
#[must_use = "an action that is not settled leaves what it changed"]
pub struct ActionWatch {
    quarantine: Arc<Quarantine>,
    settings: Option<SettingsCopies>,
    is_background: bool,
    is_settled: bool,
}

impl Quarantine {
    /// The quarantine of the project that is open as `root`.
    pub fn new(root: &RootDir, project: &Path, store: QuarantineStore) -> Self {
        // Names are found without following links, and so must be what is done with them.
        let root = root.with_allowed_links(SymlinkSnapshot::new([]));
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        let quarantine = Self { root, project, store, state: Mutex::default() };
        if let Some(since) = quarantine.store.read_running_mark() {
            quarantine.recover_after_crash(since);
        }
        quarantine
    }

    /// Sets aside what was left by actions of a kernel that was killed: all that changed since
    /// they began. What was there before is not known any more.
    fn recover_after_crash(&self, since: i128) {
        let mut state = self.state.lock();
        let QuarantineState { scanner, baseline, .. } = &mut *state;
        let mut before = Snapshot::take(scanner, &self.root, &[], baseline);
        before.entries.retain(|_, entry| entry.signature.changed_at < since);
        before.git_folders.clear();
        *baseline = before;
        state.taken_at = Some(since);
        let large: Vec<PathBuf> = state.scanner.list_large_folders().cloned().collect();
        let mut report = self.set_aside_leftovers(&mut state);
        for path in large {
            report.add_failure(format!("{} is too large to be looked at", path.display()));
        }
        if !report.is_empty() {
            tracing::warn!(?report, "a kernel was killed while an action ran");
        }
        state.recovered = report;
        self.store.remove_running_mark();
    }

    /// Begins an action. `is_read_only` tells whether its sandbox holds the existing protected
    /// paths read-only.
    pub fn begin_action(self: &Arc<Self>, is_read_only: bool) -> ActionWatch {
        let mut state = self.state.lock();
        if state.n_running == 0 && !state.is_unsettled {
            self.adopt_all(&mut state);
            state.held = self.list_existing_read_only_paths();
        }
        if state.n_running == 0
            && let Err(error) = self.store.write_running_mark(tree_scan::now_nanos())
        {
            tracing::warn!(%error, "what an action leaves is not found after a crash");
        }
        state.n_running += 1;
        if is_read_only {
            let existing = self.list_existing_read_only_paths();
            state.held.retain(|path| existing.contains(path));
        } else {
            state.held.clear();
        }
        drop(state);
        ActionWatch {
            quarantine: Arc::clone(self),
            settings: None,
            is_background: false,
            is_settled: false,
        }
    }

    /// The paths at the top of the project that a sandbox which starts now holds read-only.
    fn list_existing_read_only_paths(&self) -> BTreeSet<PathBuf> {
        let exists = |path: &PathBuf| {
            let stat = self.root.stat(path);
            stat.is_ok_and(|stat| matches!(stat.kind, FileKind::File | FileKind::Directory))
        };
        let names = self.list_top_names();
        // Opening each of some hundred paths would take longer than starting a command.
        let may_exist = |path: &String| {
            let first = path.split('/').next().unwrap_or_default();
            names.as_ref().is_none_or(|names| names.contains(&fold_case(first)))
        };
        command_read_only_paths().filter(may_exist).map(PathBuf::from).filter(exists).collect()
    }

    /// The names at the top of the project without their case, which some file systems ignore.
    /// `None` if there are too many to read them for each command.
    fn list_top_names(&self) -> Option<HashSet<String>> {
        let listing = self.root.list(Path::new("."), MAX_TOP_NAMES).ok()?;
        let fold_name = |entry: &RootDirEntry| fold_case(&entry.name.to_string_lossy());
        (!listing.more).then(|| listing.entries.iter().map(fold_name).collect())
    }

    /// Copies git's settings for a command in this sandbox; the links to the copies are created
    /// in `private`.
    pub fn copy_settings(
        &self,
        sandbox: &Sandbox,
        private: &Path,
    ) -> io::Result<Option<SettingsCopies>> {
        SettingsCopies::create(&self.root, sandbox.policy(), sandbox.applied(), private)
    }

    /// Takes what is there now as the person's.
    fn adopt_all(&self, state: &mut QuarantineState) {
        state.taken_at = Some(tree_scan::now_nanos());
        let QuarantineState { scanner, baseline, extra, .. } = state;
        *baseline = Snapshot::take(scanner, &self.root, extra, baseline);
        let found = find_referenced_paths(&self.project, baseline, baseline);
        if found != *extra {
            *extra = found;
            *baseline = Snapshot::take(scanner, &self.root, extra, baseline);
        }
        state.build_files.adopt(&state.baseline);
    }

    /// Those of the paths that a link or a setting of the person refers programs to.
    pub fn find_referenced(&self, paths: &[RelPath]) -> Vec<RelPath> {
        let mut state = self.state.lock();
        if state.n_running == 0
            && !state.is_unsettled
            && (state.taken_at.is_none() || state.baseline.has_changed_pointer(&self.root))
        {
            self.adopt_all(&mut state);
        }
        let covers = |known: &ReferencedPath, path: &Path| {
            path == known.path || known.with_content && path.starts_with(&known.path)
        };
        let is_referenced = |path: &&RelPath| {
            state.extra.iter().any(|known| covers(known, Path::new(path.as_str())))
        };
        paths.iter().filter(is_referenced).cloned().collect()
    }

    /// The hash of the person's content at a path, which a change must be based on while other
    /// actions run; `None` if nothing else runs.
    pub fn required_hash(&self, path: &Path) -> Option<Hash> {
        let state = self.state.lock();
        let known = match state.baseline.entries.get(path) {
            // Of most of them, only that they are there is known.
            Some(entry) if entry.judgement == EntryJudgement::BuildFile => return None,
            Some(entry) => entry.hash,
            None => Hash::ZERO,
        };
        (state.n_running > 1).then_some(known)
    }

    /// Takes what is there now at these paths as the person's, after an answer. While other
    /// actions run, they may have replaced it.
    pub fn adopt_paths(&self, adopted: &BTreeMap<PathBuf, AdoptedContent>) {
        if adopted.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        let is_alone = state.n_running <= 1;
        let QuarantineState { scanner, baseline, extra, build_files, .. } = &mut *state;
        let now = Snapshot::take_anew(scanner, &self.root, extra);
        for (path, entry) in now.entries {
            let is_executable = entry.mode & 0o100 != 0;
            let is_named = match adopted.get(&path) {
                None => false,
                Some(AdoptedContent::Any | AdoptedContent::File) => is_alone,
                Some(AdoptedContent::Shown { kind, hash, is_executable: shown }) => {
                    entry.kind == *kind
                        && entry.read_hash(&self.root, &path) == Some(*hash)
                        && (entry.kind != EntryType::File
                            || shown.is_none_or(|shown| shown == is_executable))
                }
            };
            let is_below = || {
                let mut above = path.ancestors().skip(1);
                above.any(|above| adopted.get(above) == Some(&AdoptedContent::Any))
            };
            if is_named || is_alone && is_below() {
                build_files.adopt_path(&path, &entry);
                baseline.entries.insert(path, entry);
            }
        }
    }

    /// Sets aside what was left since the baseline.
    fn set_aside_leftovers(&self, state: &mut QuarantineState) -> SetAsideReport {
        let mut report = SetAsideReport::default();
        for pass in 0..MAX_PASSES {
            let QuarantineState { scanner, baseline, extra, held, taken_at, build_files, .. } =
                state;
            let mut now = Snapshot::take_anew(scanner, &self.root, extra);
            // A new worktree has places of its own for the programs that settings name.
            let found = find_referenced_paths(&self.project, baseline, &now);
            if found.iter().any(|path| !extra.contains(path)) {
                extra.extend(found);
                extra.sort();
                extra.dedup();
                now = Snapshot::take_anew(scanner, &self.root, extra);
            }
            let context =
                LeftoverContext { project: &self.project, held, taken_at: *taken_at, build_files };
            let leftovers = leftovers::find_leftovers(context, baseline, &now);
            for path in &now.unreadable {
                if !baseline.unreadable.contains(path) {
                    report.add_failure(format!("{} cannot be looked at", path.display()));
                }
            }
            if leftovers.is_empty() {
                // What remains is harmless, or the person's.
                build_files.note_new(baseline, &now);
                *baseline = now;
                return report;
            }
            for LeftoverEntry { path, why, replacement } in leftovers {
                // Of a file that was never the person's, nothing is put back.
                if build_files.is_agents(&path) {
                    baseline.entries.remove(&path);
                }
                match self.set_aside(&path, &why, replacement.as_deref(), baseline, &now) {
                    Ok(entry) => report.add(entry),
                    Err(error) if pass + 1 == MAX_PASSES => {
                        report.add_failure(format!("{}: {error}", path.display()));
                    }
                    Err(error) => tracing::debug!(%error, ?path, "cannot set a path aside yet"),
                }
            }
        }
        report
    }

    /// Sets aside what background processes left so far; the next action reports it. Not while a
    /// command runs: it may need what it has just created, and is settled when it ends.
    pub fn set_aside_in_background(&self) {
        let mut state = self.state.lock();
        if state.n_background == 0 || state.n_running > state.n_background {
            return;
        }
        let mut report = self.set_aside_leftovers(&mut state);
        if !report.is_empty() {
            tracing::warn!(?report, "a background process left what would run elsewhere");
            report.prepend(std::mem::take(&mut state.recovered));
            state.recovered = report;
        }
    }

    fn set_aside(
        &self,
        path: &Path,
        why: &str,
        replacement: Option<&[u8]>,
        baseline: &Snapshot,
        now: &Snapshot,
    ) -> Result<SetAsideEntry, ActionError> {
        let former = baseline.entries.get(path);
        let found = now.entries.get(path);
        restore::set_aside(
            &self.root,
            &self.store,
            &restore::SetAsideRequest { path, why, replacement, former, found },
        )
    }
}

impl ActionWatch {
    /// Gives the action copies of git's settings to change; when it is settled, they are applied.
    pub fn add_settings_copies(&mut self, copies: SettingsCopies) {
        self.settings = Some(copies);
    }

    /// Marks an action that runs while the person goes on working, such as a dev server. Returns
    /// the quarantine, for [`Quarantine::set_aside_in_background`].
    pub fn mark_background(&mut self) -> Arc<Quarantine> {
        if !std::mem::replace(&mut self.is_background, true) {
            self.quarantine.state.lock().n_background += 1;
        }
        Arc::clone(&self.quarantine)
    }

    fn end_action(&self, state: &mut QuarantineState) {
        state.n_running = state.n_running.saturating_sub(1);
        if self.is_background {
            state.n_background = state.n_background.saturating_sub(1);
        }
    }

    /// Ends an action that did not start.
    pub fn cancel(mut self) {
        self.is_settled = true;
        let mut state = self.quarantine.state.lock();
        self.end_action(&mut state);
        if state.n_running == 0 && !state.is_unsettled {
            self.quarantine.store.remove_running_mark();
        }
    }

    /// Sets aside what the action left, when all its processes have ended.
    pub fn settle(mut self) -> SetAsideReport {
        self.is_settled = true;
        let settings = self.settings.take();
        let mut state = self.quarantine.state.lock();
        self.end_action(&mut state);
        let mut applied = SetAsideReport::default();
        if let Some(copies) = settings {
            copies.apply_changes(&self.quarantine.root, &self.quarantine.store, &mut applied);
        }
        let mut report = self.quarantine.set_aside_leftovers(&mut state);
        report.prepend(applied);
        report.prepend(std::mem::take(&mut state.recovered));
        state.is_unsettled = false;
        if state.n_running == 0 {
            self.quarantine.store.remove_running_mark();
        }
        drop(state);
        if !report.is_empty() {
            tracing::warn!(?report, "an action left what would run outside the sandbox");
        }
        report
    }
}

impl Drop for ActionWatch {
    fn drop(&mut self) {
        if !self.is_settled {
            let mut state = self.quarantine.state.lock();
            self.end_action(&mut state);
            // The next action looks at what this one may have left.
            state.is_unsettled = true;
        }
    }
}
