//! Groups with limits, made when needed and used again.
//!
//! Making a memory group costs more than starting a program, so an emptied one
//! is kept for the next run of the same policy.

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

/// Emptied groups that are kept.
const MAX_FREE_GROUPS: usize = 4;

static NEXT_GROUP_ID: AtomicU32 = AtomicU32::new(0);

/// Wardens that may wait to be taken out of their groups.
const MAX_QUEUED_SUPERVISORS: usize = 64;

/// A group that allows less is not waited in: see [`CgroupPool::acquire_for_standby`].
const MIN_STANDBY_MEMORY: u64 = 256 * 1024 * 1024;

/// One group in each hierarchy that limits something.
#[derive(Debug)]
pub(in crate::confine) struct RunCgroup {
    folders: Vec<PathBuf>,
    doors: Vec<File>,
    pids_max: Option<PathBuf>,
}

impl RunCgroup {
    fn new(places: &CgroupParents, limits: &ResourceLimits) -> io::Result<Self> {
        let mut group = Self { folders: Vec::new(), doors: Vec::new(), pids_max: None };
        let number = NEXT_GROUP_ID.fetch_add(1, Ordering::Relaxed);
        let name = format!("provost-{}-{number}", std::process::id());
        if let Some(place) = &places.pids {
            let folder = group.create_in(place, &name)?;
            fs::write(folder.join("pids.max"), limits.processes.to_string())?;
            group.pids_max = Some(folder.join("pids.max"));
        }
        if let Some(place) = &places.memory {
            let folder = group.create_in(place, &name)?;
            limit_memory(&folder, place.version, limits.memory)?;
        }
        Ok(group)
    }

    fn create_in(&mut self, place: &CgroupParent, name: &str) -> io::Result<PathBuf> {
        let folder = place.path.join(name);
        if !self.folders.contains(&folder) {
            fs::create_dir(&folder)?;
            self.folders.push(folder.clone());
            self.doors.push(OpenOptions::new().write(true).open(procs_path(&folder))?);
        }
        Ok(folder)
    }

    /// Where a process writes `0` to join.
    pub(in crate::confine) fn procs_fds(&self) -> impl Iterator<Item = RawFd> {
        self.doors.iter().map(AsRawFd::as_raw_fd)
    }

    /// No process of the group can start another from now on.
    pub(in crate::confine) fn forbid_new_processes(&self) {
        if let Some(file) = &self.pids_max {
            // If it fails, the sweep that follows has more to do, nothing else.
            drop(fs::write(file, "0"));
        }
    }
}

fn iter_parents(places: &CgroupParents) -> impl Iterator<Item = &CgroupParent> {
    [&places.pids, &places.memory].into_iter().flatten()
}

/// Where a process is written to join a group.
fn procs_path(folder: &Path) -> PathBuf {
    folder.join("cgroup.procs")
}

/// Removes the empty groups of processes of ours that were killed.
fn remove_stale_groups(place: &CgroupParent) {
    let Ok(entries) = fs::read_dir(&place.path) else { return };
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
        // Swap is not always there; without it the first limit is all.
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
        self.doors.clear();
        for folder in &self.folders {
            // A group that is not empty cannot be removed, and must not be.
            drop(fs::remove_dir(folder));
        }
    }
}

/// The groups of one policy.
#[derive(Debug)]
pub(in crate::confine) struct CgroupPool {
    places: CgroupParents,
    limits: ResourceLimits,
    free: Mutex<Vec<RunCgroup>>,
    /// The way back out of them, where there is one.
    back: OnceLock<Option<CgroupEvacuator>>,
}

/// Takes wardens out of the groups of their commands, on a thread of its own: each
/// may take some ten milliseconds, in which nobody need wait.
#[derive(Debug)]
struct CgroupEvacuator {
    wardens: SyncSender<u32>,
    homes: Arc<Vec<File>>,
}

impl CgroupEvacuator {
    /// `None` where there is no way back to where our own process is.
    fn start<'a>(places: impl Iterator<Item = &'a CgroupParent>) -> Option<Self> {
        let homes = places.map(|place| OpenOptions::new().write(true).open(procs_path(&place.own)));
        let homes = Arc::new(homes.collect::<io::Result<Vec<_>>>().ok()?);
        let (wardens, come): (_, Receiver<u32>) = sync_channel(MAX_QUEUED_SUPERVISORS);
        let to = Arc::clone(&homes);
        let work = move || come.iter().for_each(|pid| move_process(&to, pid));
        thread::Builder::new().name("wardens".to_owned()).spawn(work).ok()?;
        Some(Self { wardens, homes })
    }

    fn evacuate(&self, pid: u32) {
        if self.wardens.try_send(pid).is_err() {
            move_process(&self.homes, pid);
        }
    }
}

fn move_process(homes: &[File], pid: u32) {
    for mut home in homes {
        // One that has ended left its group with that.
        drop(home.write_all(pid.to_string().as_bytes()));
    }
}

impl CgroupPool {
    pub(in crate::confine) fn new(places: CgroupParents, limits: ResourceLimits) -> Self {
        iter_parents(&places).for_each(remove_stale_groups);
        Self { places, limits, free: Mutex::default(), back: OnceLock::new() }
    }

    /// A group for a warden that waits, which then is in it when its command starts.
    ///
    /// Joining a group takes a grace period of the kernel's if nothing has joined any
    /// for a while, which is longer than all the rest of a start. But the warden shares
    /// our memory, and what ends all in a group that uses too much would end us as
    /// well. So it is taken out again when the command runs ([`Self::come_back`]),
    /// long before there can be too much.
    pub(in crate::confine) fn acquire_for_standby(&self) -> Option<RunCgroup> {
        if self.limits.memory < MIN_STANDBY_MEMORY {
            return None;
        }
        let back = self.back.get_or_init(|| CgroupEvacuator::start(iter_parents(&self.places)));
        back.as_ref().and_then(|_| self.acquire().ok())
    }

    /// Has a warden taken out of its group, soon.
    pub(in crate::confine) fn evacuate_supervisor(&self, pid: u32) {
        if let Some(Some(back)) = self.back.get() {
            back.evacuate(pid);
        }
    }

    pub(in crate::confine) fn acquire(&self) -> io::Result<RunCgroup> {
        let kept = self.free.lock().pop();
        kept.map_or_else(|| RunCgroup::new(&self.places, &self.limits), Ok)
    }

    /// Takes back an emptied group whose limits are as they were.
    pub(in crate::confine) fn release(&self, group: RunCgroup) {
        let mut free = self.free.lock();
        if free.len() < MAX_FREE_GROUPS {
            free.push(group);
        }
    }
}
