//! Noticing changes of the files that govern as they happen, so that people
//! see them without anyone asking for an action.
//!
//! No decision depends on this: each looks at the files itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use provost_proto::ProjectStatus;
use tokio::sync::Notify;

use crate::Gateway;

/// Changes this close together are looked at once.
const TOGETHER: Duration = Duration::from_millis(50);

/// How long until everything is looked at again, whatever was noticed.
const ANYWAY: Duration = Duration::from_mins(1);

/// The folders of a project where something that governs is, or could come to be.
const FOLDERS: &[&str] = &[
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
    pub async fn watch_the_files(self: Arc<Self>) {
        let touched = Arc::new(Notify::new());
        let told = Arc::clone(&touched);
        let mut eyes = notify::recommended_watcher(move |_| told.notify_one())
            .inspect_err(|error| tracing::warn!(%error, "files that govern are not watched"))
            .ok();
        let mut watched = BTreeSet::new();
        loop {
            let wanted = self.folders();
            if let Some(eyes) = &mut eyes {
                rearm(eyes, &mut watched, wanted);
            }
            for project in self.governance.open() {
                if let Err(error) = self.governed(project).await {
                    tracing::warn!(%error, "what governs a project could not be read");
                }
            }
            tokio::select! {
                () = touched.notified() => tokio::time::sleep(TOGETHER).await,
                () = self.governance.opened.notified() => {}
                () = tokio::time::sleep(ANYWAY) => {}
            }
        }
    }

    /// The folders to watch now: those that are there.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let user = self.governance.user().file.clone();
        let mut folders: BTreeSet<_> = user.parent().map(Path::to_owned).into_iter().collect();
        let projects = self.governance.projects.read().unwrap_or_else(PoisonError::into_inner);
        let open = projects.values().filter(|known| known.project.status == ProjectStatus::Open);
        for governed in open {
            let root = Path::new(&governed.project.path);
            folders.extend(FOLDERS.iter().map(|folder| root.join(folder)));
        }
        drop(projects);
        folders.retain(|folder| folder.is_dir());
        folders
    }
}

fn rearm(
    eyes: &mut RecommendedWatcher,
    watched: &mut BTreeSet<PathBuf>,
    wanted: BTreeSet<PathBuf>,
) {
    for gone in watched.difference(&wanted) {
        if let Err(error) = eyes.unwatch(gone) {
            tracing::debug!(%error, "a folder that went away was not watched");
        }
    }
    let mut now = BTreeSet::new();
    for folder in wanted {
        // One that was removed and made again has to be watched again.
        match eyes.watch(&folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                now.insert(folder);
            }
            Err(error) => tracing::debug!(%error, "a folder cannot be watched"),
        }
    }
    *watched = now;
}
