//! Cgroups with limits, created on demand and reused.
//!
//! Creating a memory cgroup costs more than starting a program, so an empty one is
//! kept for the next run of the same policy.

use parking_lot::Mutex;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use crate::cgroup::{CgroupParent, CgroupParents};
use crate::confine::ResourceLimits;

/// Empty cgroups that are kept.
const MAX_FREE_GROUPS: usize = 4;

static NEXT_GROUP_ID: AtomicU32 = AtomicU32::new(0);

/// Supervisors that may be queued for moving out of their cgroups.
const MAX_QUEUED_SUPERVISORS: usize = 64;

/// With a lower limit no supervisor waits in a cgroup: see
/// [`CgroupPool::acquire_for_standby`].
const MIN_STANDBY_MEMORY: u64 = 256 * 1024 * 1024;

/// One cgroup in each hierarchy that limits something.
#[derive(Debug)]
pub(in crate::confine) struct RunCgroup {
    folders: Vec<PathBuf>,
    join_files: Vec<File>,
    pids_max: Option<PathBuf>,
}

impl RunCgroup {
    fn new(parents: &CgroupParents, limits: &ResourceLimits) -> io::Result<Self> {
        let mut group = Self { folders: Vec::new(), join_files: Vec::new(), pids_max: None };
        let number = NEXT_GROUP_ID.fetch_add(1, Ordering::Relaxed);
        let name = format!("provost-{}-{number}", std::process::id());
        if let Some(parent) = &parents.pids {
            let folder = group.create_in(parent, &name)?;
            fs::write(folder.join("pids.max"), limits.processes.to_string())?;
            group.pids_max = Some(folder.join("pids.max"));
        }
        if let Some(parent) = &parents.memory {
            let folder = group.create_in(parent, &name)?;
            limit_memory(&folder, parent.version, limits.memory)?;
        }
        Ok(group)
    }

    fn create_in(&mut self, parent: &CgroupParent, name: &str) -> io::Result<PathBuf> {
        let folder = parent.path.join(name);
        if !self.folders.contains(&folder) {
            fs::create_dir(&folder)?;
            self.folders.push(folder.clone());
            self.join_files
                .push(OpenOptions::new().write(true).open(join_path(&folder, parent.version))?);
        }
        Ok(folder)
    }

    /// The descriptors to which a process with one thread writes `0` to join.
    pub(in crate::confine) fn join_fds(&self) -> impl Iterator<Item = RawFd> {
        self.join_files.iter().map(AsRawFd::as_raw_fd)
    }

    /// Forbids new processes in the cgroup.
    pub(in crate::confine) fn forbid_new_processes(&self) {
        if let Some(file) = &self.pids_max {
            // If it fails, killing the tree only takes longer.
            drop(fs::write(file, "0"));
        }
    }
}

fn iter_parents(parents: &CgroupParents) -> impl Iterator<Item = &CgroupParent> {
    [&parents.pids, &parents.memory].into_iter().flatten()
}

/// The file to which a process with one thread writes `0` to join.
///
/// Version 1 can move a single thread, which takes some 20 µs: only moving a process
/// locks all thread groups of the machine.
fn join_path(folder: &Path, version: u8) -> PathBuf {
    if version == 1 { folder.join("tasks") } else { procs_path(folder) }
}

/// The file to which a process is written to move it.
fn procs_path(folder: &Path) -> PathBuf {
    folder.join("cgroup.procs")
}

/// Removes the empty cgroups of processes of ours that were killed.
fn remove_stale_groups(parent: &CgroupParent) {
    let Ok(entries) = fs::read_dir(&parent.path) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix("provost-")?.split('-').next());
        let is_dead = |pid: u32| !Path::new("/proc").join(pid.to_string()).exists();
        if owner.and_then(|pid| pid.parse().ok()).is_some_and(is_dead) {
            drop(fs::remove_dir(entry.path()));
        }
    }
}

fn limit_memory(folder: &Path, version: u8, bytes: u64) -> io::Result<()> {
    if version == 2 {
        fs::write(folder.join("memory.max"), bytes.to_string())?;
        // Swap is not always available; then the first limit is sufficient.
        drop(fs::write(folder.join("memory.swap.max"), "0"));
        drop(fs::write(folder.join("memory.oom.group"), "1"));
        return Ok(());
    }
    fs::write(folder.join("memory.limit_in_bytes"), bytes.to_string())?;
    drop(fs::write(folder.join("memory.memsw.limit_in_bytes"), bytes.to_string()));
    Ok(())
}

impl Drop for RunCgroup {
    fn drop(&mut self) {
        self.join_files.clear();
        for folder in &self.folders {
            // A cgroup with processes cannot be removed, and must not be.
            drop(fs::remove_dir(folder));
        }
    }
}

/// The cgroups of one policy.
#[derive(Debug)]
pub(in crate::confine) struct CgroupPool {
    parents: CgroupParents,
    limits: ResourceLimits,
    free: Mutex<Vec<RunCgroup>>,
    /// Whether only whole processes can be moved: version 2 of cgroups.
    pub(in crate::confine) is_slow_to_join: bool,
    /// Moves supervisors out of them, where that is possible.
    evacuator: OnceLock<Option<CgroupEvacuator>>,
}

/// Moves supervisors out of the cgroups of their commands, on a thread of its own:
/// each move may take some ten milliseconds.
#[derive(Debug)]
struct CgroupEvacuator {
    queue: SyncSender<u32>,
    own_groups: Arc<Vec<File>>,
}

impl CgroupEvacuator {
    /// `None` if our own process's cgroup cannot be written.
    fn start<'a>(parents: impl Iterator<Item = &'a CgroupParent>) -> Option<Self> {
        let own_groups =
            parents.map(|parent| OpenOptions::new().write(true).open(procs_path(&parent.own)));
        let own_groups = Arc::new(own_groups.collect::<io::Result<Vec<_>>>().ok()?);
        let (queue, pids): (_, Receiver<u32>) = sync_channel(MAX_QUEUED_SUPERVISORS);
        let to = Arc::clone(&own_groups);
        let work = move || pids.iter().for_each(|pid| move_process(&to, pid));
        thread::Builder::new().name("cgroup-evac".to_owned()).spawn(work).ok()?;
        Some(Self { queue, own_groups })
    }

    fn evacuate(&self, pid: u32) {
        if self.queue.try_send(pid).is_err() {
            move_process(&self.own_groups, pid);
        }
    }
}

fn move_process(own_groups: &[File], pid: u32) {
    for mut own_group in own_groups {
        // A process that has ended has left its cgroup.
        drop(own_group.write_all(pid.to_string().as_bytes()));
    }
}

impl CgroupPool {
    pub(in crate::confine) fn new(parents: CgroupParents, limits: ResourceLimits) -> Self {
        iter_parents(&parents).for_each(remove_stale_groups);
        let is_slow_to_join = iter_parents(&parents).any(|parent| parent.version == 2);
        let (free, evacuator) = (Mutex::default(), OnceLock::new());
        Self { parents, limits, free, is_slow_to_join, evacuator }
    }

    /// A cgroup for a standby supervisor, which is in it when its command starts.
    ///
    /// Joining a cgroup of version 2 takes an RCU grace period if no process has joined one
    /// for a while, which is longer than all the rest of a start. But the supervisor shares our
    /// memory, and the OOM killer of the cgroup would kill us too. So it is moved out when
    /// the command runs ([`Self::evacuate_supervisor`]), long before memory can run out.
    pub(in crate::confine) fn acquire_for_standby(&self) -> Option<RunCgroup> {
        if !self.is_slow_to_join || self.limits.memory < MIN_STANDBY_MEMORY {
            return None;
        }
        let evacuator =
            self.evacuator.get_or_init(|| CgroupEvacuator::start(iter_parents(&self.parents)));
        evacuator.as_ref().and_then(|_| self.acquire().ok())
    }

    /// Queues a supervisor for moving out of its cgroup.
    pub(in crate::confine) fn evacuate_supervisor(&self, pid: u32) {
        if let Some(Some(evacuator)) = self.evacuator.get() {
            evacuator.evacuate(pid);
        }
    }

    pub(in crate::confine) fn acquire(&self) -> io::Result<RunCgroup> {
        let kept = self.free.lock().pop();
        kept.map_or_else(|| RunCgroup::new(&self.parents, &self.limits), Ok)
    }

    /// Takes back an empty cgroup whose limits are unchanged.
    pub(in crate::confine) fn release(&self, group: RunCgroup) {
        let mut free = self.free.lock();
        if free.len() < MAX_FREE_GROUPS {
            free.push(group);
        }
    }
}
