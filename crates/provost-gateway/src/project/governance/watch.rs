//! Noticing changes of the files that govern as they happen, so that people
//! see them without anyone asking for an action.
//!
//! No decision depends on this: each looks at the files itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use provost_proto::ProjectStatus;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::net::unix::pipe::Receiver;

use crate::Gateway;

/// Changes this close together are looked at once.
const DEBOUNCE_DELAY: Duration = Duration::from_millis(50);

/// How long until everything is looked at again, whatever was noticed.
const RESCAN_INTERVAL: Duration = Duration::from_mins(1);

/// What is a change. Opening and reading are none: projects are read all the time.
const WATCHED_EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// The folders of a project where something that governs is, or could come to be.
const WATCHED_FOLDERS: &[&str] = &[
    "",
    ".provost",
    ".provost/roles",
    ".agent",
    ".agent/rules",
    ".agent/rules/roles",
    ".claude",
    ".claude/agents",
];

impl Gateway {
    /// Looks at the files that govern whenever they change, for as long as the
    /// daemon lives.
    pub async fn run_file_watch_loop(self: Arc<Self>) {
        let mut watcher = DirectoryWatcher::open()
            .inspect_err(|error| tracing::warn!(%error, "files that govern are not watched"))
            .ok();
        loop {
            if let Some(watcher) = &mut watcher {
                watcher.watch_only(self.list_watched_folders());
            }
            for project in self.governance.list_open_projects() {
                if let Err(error) = self.load_governance(project).await {
                    tracing::warn!(%error, "what governs a project could not be read");
                }
            }
            tokio::select! {
                () = await_file_change(watcher.as_ref()) => tokio::time::sleep(DEBOUNCE_DELAY).await,
                () = self.governance.opened.notified() => {}
                () = tokio::time::sleep(RESCAN_INTERVAL) => {}
            }
        }
    }

    /// The folders to watch now: those that are there.
    fn list_watched_folders(&self) -> BTreeSet<PathBuf> {
        let user = self.governance.user_rules().file.clone();
        let mut folders: BTreeSet<_> = user.parent().map(Path::to_owned).into_iter().collect();
        let projects = self.governance.projects.read();
        let open = projects.values().filter(|known| known.project.status == ProjectStatus::Open);
        for governance in open {
            let root = Path::new(&governance.project.path);
            folders.extend(WATCHED_FOLDERS.iter().map(|folder| root.join(folder)));
        }
        drop(projects);
        folders.retain(|folder| folder.is_dir());
        folders
    }
}

/// Waits until something changed in a folder that is watched.
async fn await_file_change(watcher: Option<&DirectoryWatcher>) {
    match watcher {
        Some(watcher) => watcher.wait_for_change().await,
        None => std::future::pending().await,
    }
}

/// Folders that are watched.
#[derive(Debug)]
struct DirectoryWatcher {
    /// Read like a pipe, which is what it looks like.
    queue: Receiver,
    watched: BTreeMap<PathBuf, i32>,
}

impl DirectoryWatcher {
    fn open() -> std::io::Result<Self> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        Ok(Self { queue: Receiver::from_owned_fd_unchecked(queue)?, watched: BTreeMap::new() })
    }

    /// Watches these folders and no others.
    fn watch_only(&mut self, wanted: BTreeSet<PathBuf>) {
        let before = std::mem::take(&mut self.watched);
        for folder in wanted {
            // Also one that is watched: it may have been removed and made again.
            match inotify::add_watch(&self.queue, &folder, WATCHED_EVENTS) {
                Ok(number) => {
                    self.watched.insert(folder, number);
                }
                Err(error) => tracing::debug!(%error, "a folder cannot be watched"),
            }
        }
        let kept: BTreeSet<_> = self.watched.values().copied().collect();
        for number in before.into_values().filter(|number| !kept.contains(number)) {
            if let Err(error) = inotify::remove_watch(&self.queue, number) {
                tracing::debug!(%error, "a folder that went away was not watched");
            }
        }
    }

    /// Waits for a change, and forgets all that are known by then.
    async fn wait_for_change(&self) {
        let mut told = [0; 4096];
        if self.queue.readable().await.is_err() {
            std::future::pending::<()>().await;
        }
        while self.queue.try_read(&mut told).is_ok_and(|length| length > 0) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn changes_are_noticed_and_reading_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("policy.toml");
        std::fs::write(&file, "").unwrap();
        let mut watcher = DirectoryWatcher::open().unwrap();
        watcher.watch_only(BTreeSet::from([folder.path().to_owned()]));
        let nothing = tokio::time::timeout(Duration::from_millis(50), watcher.wait_for_change());
        std::fs::read(&file).unwrap();
        assert!(nothing.await.is_err(), "the file was read only");
        let other = folder.path().join("other");
        let changes: [&dyn Fn() -> std::io::Result<()>; 4] = [
            &|| std::fs::write(&file, "version = 1"),
            &|| std::fs::create_dir(folder.path().join("roles")),
            &|| std::fs::rename(&file, &other),
            &|| std::fs::remove_file(&other),
        ];
        for change in changes {
            change().unwrap();
            tokio::time::timeout(Duration::from_secs(20), watcher.wait_for_change()).await.unwrap();
        }
        watcher.watch_only(BTreeSet::new());
        assert!(watcher.watched.is_empty());
    }
}
