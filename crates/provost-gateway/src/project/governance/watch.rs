//! Watching the governance files, so that people see changes without anyone requesting an
//! action.
//!
//! No decision depends on it: each checks the files itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::net::unix::pipe::Receiver;

use super::Governance;

/// Changes within this time are handled together.
const DEBOUNCE_DELAY: Duration = Duration::from_millis(50);

/// How long until all files are checked again, whether or not a change was seen.
const RESCAN_INTERVAL: Duration = Duration::from_mins(1);

/// The events that count as a change. Opening and reading do not: projects are read all the
/// time.
const WATCHED_EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// The folders of a project that contain governance files, or may do so later.
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

impl Governance {
    /// Reads the governance files whenever they change, for as long as the daemon runs.
    pub async fn run_file_watch_loop(self: Arc<Self>) {
        let mut watcher = DirectoryWatcher::open()
            .inspect_err(|error| tracing::warn!(%error, "governance files are not watched"))
            .ok();
        loop {
            if let Some(watcher) = &mut watcher {
                watcher.watch_only(self.list_watched_folders());
            }
            for project in self.list_open_projects() {
                if let Err(error) = self.load_current(project.id).await {
                    tracing::warn!(%error, "cannot read the governance files of a project");
                }
            }
            tokio::select! {
                () = await_file_change(watcher.as_ref()) => tokio::time::sleep(DEBOUNCE_DELAY).await,
                () = self.projects_changed.notified() => {}
                () = tokio::time::sleep(RESCAN_INTERVAL) => {}
            }
        }
    }

    /// The folders to watch: those that exist now.
    fn list_watched_folders(&self) -> BTreeSet<PathBuf> {
        let user = self.user_rules().file.clone();
        let mut folders: BTreeSet<_> = user.parent().map(Path::to_owned).into_iter().collect();
        for project in self.list_open_projects() {
            let root = Path::new(&project.path);
            folders.extend(WATCHED_FOLDERS.iter().map(|folder| root.join(folder)));
        }
        folders.retain(|folder| folder.is_dir());
        folders
    }
}

/// Waits until something changes in a watched folder.
async fn await_file_change(watcher: Option<&DirectoryWatcher>) {
    match watcher {
        Some(watcher) => watcher.wait_for_change().await,
        None => std::future::pending().await,
    }
}

/// Watches folders through inotify.
#[derive(Debug)]
struct DirectoryWatcher {
    /// The inotify descriptor, which reads like a pipe.
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
            // Also if it is watched already: it may have been removed and created again.
            match inotify::add_watch(&self.queue, &folder, WATCHED_EVENTS) {
                Ok(number) => {
                    self.watched.insert(folder, number);
                }
                Err(error) => tracing::debug!(%error, "cannot watch a folder"),
            }
        }
        let kept: BTreeSet<_> = self.watched.values().copied().collect();
        for number in before.into_values().filter(|number| !kept.contains(number)) {
            if let Err(error) = inotify::remove_watch(&self.queue, number) {
                tracing::debug!(%error, "cannot stop watching a folder");
            }
        }
    }

    /// Waits for a change, and drains the queue.
    async fn wait_for_change(&self) {
        let mut buffer = [0; 4096];
        if self.queue.readable().await.is_err() {
            std::future::pending::<()>().await;
        }
        while self.queue.try_read(&mut buffer).is_ok_and(|length| length > 0) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sees_changes_but_not_reads() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("policy.toml");
        std::fs::write(&file, "").unwrap();
        let mut watcher = DirectoryWatcher::open().unwrap();
        watcher.watch_only(BTreeSet::from([folder.path().to_owned()]));
        let nothing = tokio::time::timeout(Duration::from_millis(50), watcher.wait_for_change());
        std::fs::read(&file).unwrap();
        assert!(nothing.await.is_err(), "the file was only read");
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
