//! Detects where limits on processes and memory can be set.
//!
//! Three cases: version 2 with a delegated subtree (a login session under systemd),
//! version 1 hierarchies that we may write (root, older systems), and none. A parent
//! counts only if a cgroup can be created in it now.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The parents in which cgroups with limits can be created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CgroupParents {
    /// For a limit on the number of processes.
    pub pids: Option<CgroupParent>,
    /// For a limit on memory.
    pub memory: Option<CgroupParent>,
}

/// A folder of the cgroup file system in which we can create cgroups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CgroupParent {
    /// The version of the interface, 1 or 2.
    pub version: u8,
    /// The folder.
    pub path: PathBuf,
    /// The cgroup of this process.
    #[serde(skip)]
    pub own: PathBuf,
}

impl CgroupParents {
    /// Finds the cgroup of this process, and tries to create one there.
    pub fn detect() -> Self {
        Self::find(can_create_group)
    }

    /// The same without trying: a run for which none can be created there does not start.
    pub(crate) fn assume_usable() -> Self {
        Self::find(is_writable)
    }

    fn find(is_usable: fn(&Path) -> bool) -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let find = |controller| find_parent(controller, &groups, &mounts, is_usable);
        Self { pids: find("pids"), memory: find("memory") }
    }
}

fn find_parent(
    controller: &str,
    groups: &str,
    mounts: &str,
    is_usable: fn(&Path) -> bool,
) -> Option<CgroupParent> {
    let v2 = find_mount_point(mounts, "cgroup2", None)
        .zip(parse_own_group(groups, ""))
        .and_then(|(mount, group)| find_v2_parent(controller, &mount, group, is_usable));
    v2.or_else(|| {
        let path = join_group_path(
            &find_mount_point(mounts, "cgroup", Some(controller))?,
            parse_own_group(groups, controller)?,
        );
        is_usable(&path).then(|| CgroupParent { version: 1, own: path.clone(), path })
    })
}

/// A cgroup's own folder qualifies if it delegates the controller; otherwise its
/// parent, since a cgroup with processes cannot delegate.
fn find_v2_parent(
    controller: &str,
    mount: &Path,
    group: &str,
    is_usable: fn(&Path) -> bool,
) -> Option<CgroupParent> {
    let own = join_group_path(mount, group);
    own.ancestors()
        .take(2)
        .take_while(|folder| folder.starts_with(mount))
        .find(|folder| {
            fs::read_to_string(folder.join("cgroup.subtree_control"))
                .is_ok_and(|list| list.split_whitespace().any(|name| name == controller))
                && is_usable(folder)
                && is_writable(&folder.join("cgroup.procs"))
        })
        .map(|folder| CgroupParent { version: 2, path: folder.to_owned(), own: own.clone() })
}

/// The path after the controller's name in `/proc/self/cgroup`.
fn parse_own_group<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let names = fields.next()?;
        let found = if controller.is_empty() {
            names.is_empty()
        } else {
            names.split(',').any(|name| name == controller)
        };
        fields.next().filter(|_| found)
    })
}

/// The mount point of a cgroup file system of this kind, with this controller.
fn find_mount_point(mounts: &str, kind: &str, controller: Option<&str>) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        let mut after = back.split(' ');
        let same = after.next() == Some(kind)
            && controller.is_none_or(|name| {
                after.nth(1).is_some_and(|options| options.split(',').any(|option| option == name))
            });
        let point = front.split(' ').nth(4)?;
        same.then(|| PathBuf::from(point))
    })
}

fn join_group_path(mount: &Path, group: &str) -> PathBuf {
    let inside = group.trim_start_matches('/');
    if inside.is_empty() { mount.to_owned() } else { mount.join(inside) }
}

fn can_create_group(folder: &Path) -> bool {
    let probe = folder.join(format!("provost-probe-{}", std::process::id()));
    fs::create_dir(&probe).is_ok() && fs::remove_dir(&probe).is_ok()
}

fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &str = "8:pids:/\n4:memory:/a/b\n0::/user.slice/x.scope\n";
    const MOUNTS: &str = "\
30 25 0:26 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
31 25 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 25 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn own_group_and_mount_are_read_per_controller() {
        assert_eq!(parse_own_group(GROUPS, "memory"), Some("/a/b"));
        assert_eq!(parse_own_group(GROUPS, ""), Some("/user.slice/x.scope"));
        assert_eq!(parse_own_group(GROUPS, "cpu"), None);
        let memory = find_mount_point(MOUNTS, "cgroup", Some("memory")).unwrap();
        assert_eq!(join_group_path(&memory, "/a/b"), Path::new("/sys/fs/cgroup/memory/a/b"));
        assert_eq!(
            find_mount_point(MOUNTS, "cgroup2", None).unwrap(),
            Path::new("/sys/fs/cgroup/unified")
        );
        assert_eq!(find_mount_point(MOUNTS, "cgroup", Some("cpu")), None);
    }

    #[test]
    fn what_is_assumed_is_at_least_what_is_found() {
        let (found, assumed) = (CgroupParents::detect(), CgroupParents::assume_usable());
        for (found, assumed) in [(found.pids, assumed.pids), (found.memory, assumed.memory)] {
            assert!(found.is_none() || assumed.is_some(), "{found:?}");
        }
    }

    #[test]
    fn a_place_that_is_found_can_hold_a_group() {
        let found = CgroupParents::detect();
        for parent in [found.pids, found.memory].into_iter().flatten() {
            assert!(can_create_group(&parent.path), "{parent:?}");
        }
    }
}
