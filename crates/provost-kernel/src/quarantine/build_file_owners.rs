//! Whose the project's build files are, and which of them a tool would use in place of a
//! person's.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use provost_core::quarantine::build_files::{BuildFile, is_build_file};

use super::leftovers::LeftoverEntry;
use super::snapshot::{Snapshot, SnapshotEntry};
use super::tree_scan::EntryJudgement;

/// The owners of build files. An agent may replace the person's file by one of another name; if
/// the former comes back later, both are there and only the person's may stay.
#[derive(Debug, Default)]
pub(super) struct BuildFileOwners {
    /// Those that were there while nothing of an agent ran.
    persons: BTreeSet<PathBuf>,
    /// Those that appeared while something of an agent ran, and are still there.
    agents: BTreeSet<PathBuf>,
}

impl BuildFileOwners {
    /// Takes what is there as the person's, except what agents made before.
    pub(super) fn adopt(&mut self, now: &Snapshot) {
        self.agents.retain(|path| now.entries.contains_key(path));
        let new = list_build_files(now).filter(|path| !self.agents.contains(*path));
        self.persons.extend(new.cloned());
    }

    /// Takes one file as the person's, because they were shown it.
    pub(super) fn adopt_path(&mut self, path: &Path, entry: &SnapshotEntry) {
        self.agents.remove(path);
        if is_listed(path, entry) {
            self.persons.insert(path.to_owned());
        }
    }

    /// Notes what appeared during an action and was not set aside.
    pub(super) fn note_new(&mut self, before: &Snapshot, now: &Snapshot) {
        let is_new =
            |path: &&PathBuf| !before.entries.contains_key(*path) && !self.persons.contains(*path);
        let new: Vec<PathBuf> = list_build_files(now).filter(is_new).cloned().collect();
        // One that was set aside may be a person's when it is there again.
        self.agents.retain(|path| now.entries.contains_key(path));
        self.agents.extend(new);
    }

    /// Whether a build file that was there before is an agent's.
    pub(super) fn is_agents(&self, path: &Path) -> bool {
        self.agents.contains(path)
    }

    /// The build files of agents beside one of the person's that the same tool uses.
    pub(super) fn find_shadowing(&self, before: &Snapshot, now: &Snapshot) -> Vec<LeftoverEntry> {
        let is_agents = |path: &Path| {
            self.agents.contains(path)
                || !before.entries.contains_key(path) && !self.persons.contains(path)
        };
        let mut leftovers = Vec::new();
        for path in list_build_files(now).filter(|path| is_agents(path)) {
            let folder = path.parent();
            // The entries of a folder follow it, together with those of its subfolders.
            let first = Bound::Included(folder.unwrap_or(Path::new("")));
            let beside = now.entries.range::<Path, _>((first, Bound::Unbounded));
            let beside = beside
                .take_while(|(other, _)| folder.is_none_or(|folder| other.starts_with(folder)))
                .filter(|(other, _)| other.parent() == folder && !is_agents(other));
            let mut shared = beside.filter_map(|(other, entry)| {
                let tool = to_build_file(path, now.entries.get(path)?)?
                    .find_shared_tool(to_build_file(other, entry)?)?;
                Some((tool, other.file_name()?.to_string_lossy()))
            });
            if let Some((tool, other)) = shared.next() {
                let why = format!("{tool} uses only one of it and {other}, which was there before");
                let path = path.clone();
                leftovers.push(LeftoverEntry { path, why: why.into(), replacement: None });
            }
        }
        leftovers
    }
}

fn list_build_files(snapshot: &Snapshot) -> impl Iterator<Item = &PathBuf> {
    snapshot.entries.iter().filter(|(path, entry)| is_listed(path, entry)).map(|(path, _)| path)
}

/// Whether an entry is a build file.
fn is_listed(path: &Path, entry: &SnapshotEntry) -> bool {
    match entry.judgement {
        EntryJudgement::BuildFile => true,
        EntryJudgement::Conditional => {
            path.file_name().and_then(|name| name.to_str()).is_some_and(is_build_file)
        }
        EntryJudgement::Protected(_)
        | EntryJudgement::EnvFile
        | EntryJudgement::Hidden
        | EntryJudgement::Settings { .. }
        | EntryJudgement::RebaseTodo
        | EntryJudgement::SequenceOptions
        | EntryJudgement::CommonDir
        | EntryJudgement::GitFile
        | EntryJudgement::GitLeftover(_) => false,
    }
}

fn to_build_file<'a>(path: &'a Path, entry: &'a SnapshotEntry) -> Option<BuildFile<'a>> {
    Some(BuildFile { name: path.file_name()?.to_str()?, content: entry.content.as_deref() })
}
