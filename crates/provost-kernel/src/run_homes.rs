//! The homes of the runs of closed projects: kept for a while, since a project is often opened
//! again, and then removed, with the oldest first.
//!
//! `<data>/homes/<project>` was changed last when its project was closed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long the home of a closed project is kept.
const MAX_AGE: Duration = Duration::from_hours(30 * 24);

/// The extension of a home that is about to be removed.
const RETIRED: &str = "removed";

/// How many homes of closed projects are kept.
const MAX_KEPT: usize = 16;

/// The folder of all homes.
fn homes_dir(data: &Path) -> PathBuf {
    data.join("homes")
}

/// Remembers when a project was closed.
pub fn mark_closed(data: &Path, project: &str, now: SystemTime) -> io::Result<()> {
    match File::open(homes_dir(data).join(project)) {
        Ok(home) => home.set_modified(now),
        // Nothing ran in it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Renames homes of projects that are not open: those that were closed long ago, and the oldest
/// if there are many. So a project that is opened meanwhile gets a new home. Returns what
/// [`remove_homes`] has to remove, with what an earlier daemon did not get to.
pub fn retire_unused(
    data: &Path,
    is_open: impl Fn(&str) -> bool,
    now: SystemTime,
) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(homes_dir(data)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut retired = Vec::new();
    let mut closed = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == RETIRED) {
            retired.push(entry.path());
        } else if !is_open(&entry.file_name().to_string_lossy()) {
            closed.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    // The newest first.
    closed.sort_by(|a, b| b.cmp(a));
    for (n_newer, (closed_at, path)) in closed.iter().enumerate() {
        let is_old = now.duration_since(*closed_at).is_ok_and(|age| age > MAX_AGE);
        if is_old || n_newer >= MAX_KEPT {
            let to = path.with_extension(RETIRED);
            // The same project may have been retired before.
            if !retired.contains(&to) {
                fs::rename(path, &to)?;
                retired.push(to);
            }
        }
    }
    Ok(retired)
}

/// Removes retired homes.
pub fn remove_homes(retired: &[PathBuf]) -> io::Result<()> {
    retired.iter().try_for_each(|home| remove_home(home))
}

/// Removes a home with all that runs left in it. Nothing runs in it any more.
fn remove_home(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        // Runs, and the work folders of overlays, leave folders that nobody may enter.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_removable(path)?;
            fs::remove_dir_all(path)
        }
        done => done,
    }
}

/// Lets us list and change a folder and all below it. Links are not followed.
fn make_removable(folder: &Path) -> io::Result<()> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn start() -> SystemTime {
        SystemTime::UNIX_EPOCH + 20_000 * DAY
    }

    /// Removes the unused homes; returns how many there were.
    fn remove_unused(data: &Path, is_open: impl Fn(&str) -> bool, now: SystemTime) -> usize {
        let retired = retire_unused(data, is_open, now).unwrap();
        remove_homes(&retired).unwrap();
        retired.len()
    }

    /// A home that its project closed so many days after the start.
    fn closed_home(data: &Path, name: &str, days: u32) -> PathBuf {
        let home = data.join("homes").join(name);
        fs::create_dir_all(home.join("home/.cache")).unwrap();
        fs::write(home.join("home/.cache/x"), "x").unwrap();
        mark_closed(data, name, start() + days * DAY).unwrap();
        home
    }

    #[test]
    fn homes_are_removed_some_time_after_their_project_was_closed() {
        let data = tempfile::tempdir().unwrap();
        let data = data.path();
        let homes = [("open", 0), ("old", 1), ("new", 20)];
        let [open, old, new] = homes.map(|(name, days)| closed_home(data, name, days));
        let is_open = |name: &str| name == "open";
        assert_eq!(remove_unused(data, is_open, start() + 30 * DAY), 0);
        // A folder that nobody may enter, and a link to elsewhere.
        let kept = tempfile::tempdir().unwrap();
        fs::write(kept.path().join("kept"), "x").unwrap();
        std::os::unix::fs::symlink(kept.path(), old.join("home/link")).unwrap();
        let shut = old.join("home/shut");
        fs::create_dir_all(shut.join("below")).unwrap();
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
        mark_closed(data, "old", start() + DAY).unwrap();
        assert_eq!(remove_unused(data, is_open, start() + 40 * DAY), 1);
        assert!(open.exists() && !old.exists() && new.exists());
        assert!(kept.path().join("kept").exists());
    }

    #[test]
    fn of_many_closed_projects_the_newest_homes_are_kept() {
        let data = tempfile::tempdir().unwrap();
        let homes: Vec<_> =
            (0..20).map(|n| closed_home(data.path(), &format!("p{n}"), n)).collect();
        assert_eq!(remove_unused(data.path(), |_| false, start() + 20 * DAY), 4);
        let left: Vec<_> = homes.iter().map(|home| home.exists()).collect();
        assert_eq!(left, [[false; 4].as_slice(), &[true; 16]].concat());
    }

    #[test]
    fn what_a_daemon_did_not_get_to_remove_the_next_one_does() {
        let data = tempfile::tempdir().unwrap();
        let home = closed_home(data.path(), "p", 0);
        let retired = retire_unused(data.path(), |_| false, start() + 40 * DAY).unwrap();
        assert!(!home.exists() && retired[0].exists());
        assert_eq!(remove_unused(data.path(), |_| false, start()), 1);
        assert!(!retired[0].exists());
    }

    #[test]
    fn a_project_without_a_home_is_closed_all_the_same() {
        let data = tempfile::tempdir().unwrap();
        mark_closed(data.path(), "none", start()).unwrap();
        assert_eq!(remove_unused(data.path(), |_| false, start()), 0);
    }
}
