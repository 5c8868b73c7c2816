//! Groups with limits, made when needed and used again.
//!
//! Making a memory group costs more than starting a program, so an emptied one
//! is kept for the next run of the same policy.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use super::Limits;
use crate::cgroup::{Cgroups, Place};

/// Emptied groups that are kept.
const KEPT: usize = 4;

static GROUPS: AtomicU32 = AtomicU32::new(0);

/// Wardens that may wait to be taken out of their groups.
const WARDENS: usize = 64;

/// A group that allows less is not waited in: see [`Groups::take_early`].
const ROOMY: u64 = 256 * 1024 * 1024;

/// One group in each hierarchy that limits something.
#[derive(Debug)]
pub(super) struct Group {
    folders: Vec<PathBuf>,
    doors: Vec<File>,
    pids_max: Option<PathBuf>,
}

impl Group {
    fn new(places: &Cgroups, limits: &Limits) -> io::Result<Self> {
        let mut group = Self { folders: Vec::new(), doors: Vec::new(), pids_max: None };
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        let name = format!("provost-{}-{number}", std::process::id());
        if let Some(place) = &places.pids {
            let folder = group.enter(place, &name)?;
            fs::write(folder.join("pids.max"), limits.processes.to_string())?;
            group.pids_max = Some(folder.join("pids.max"));
        }
        if let Some(place) = &places.memory {
            let folder = group.enter(place, &name)?;
            limit_memory(&folder, place.version, limits.memory)?;
        }
        Ok(group)
    }

    fn enter(&mut self, place: &Place, name: &str) -> io::Result<PathBuf> {
        let folder = place.path.join(name);
        if !self.folders.contains(&folder) {
            fs::create_dir(&folder)?;
            self.folders.push(folder.clone());
            self.doors.push(OpenOptions::new().write(true).open(door(&folder))?);
        }
        Ok(folder)
    }

    /// Where a process writes `0` to join.
    pub(super) fn doors(&self) -> impl Iterator<Item = RawFd> {
        self.doors.iter().map(AsRawFd::as_raw_fd)
    }

    /// No process of the group can start another from now on.
    pub(super) fn forbid_new(&self) {
        if let Some(file) = &self.pids_max {
            // If it fails, the sweep that follows has more to do, nothing else.
            drop(fs::write(file, "0"));
        }
    }
}

fn all(places: &Cgroups) -> impl Iterator<Item = &Place> {
    [&places.pids, &places.memory].into_iter().flatten()
}

/// Where a process is written to join a group.
fn door(folder: &Path) -> PathBuf {
    folder.join("cgroup.procs")
}

/// Removes the empty groups of processes of ours that were killed.
fn clean(place: &Place) {
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

impl Drop for Group {
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
pub(super) struct Groups {
    places: Cgroups,
    limits: Limits,
    free: Mutex<Vec<Group>>,
    /// The way back out of them, where there is one.
    back: OnceLock<Option<Back>>,
}

/// Takes wardens out of the groups of their commands, on a thread of its own: each
/// may take some ten milliseconds, in which nobody need wait.
#[derive(Debug)]
struct Back {
    wardens: SyncSender<u32>,
    homes: Arc<Vec<File>>,
}

impl Back {
    /// `None` where there is no way back to where our own process is.
    fn find<'a>(places: impl Iterator<Item = &'a Place>) -> Option<Self> {
        let homes = places.map(|place| OpenOptions::new().write(true).open(door(&place.own)));
        let homes = Arc::new(homes.collect::<io::Result<Vec<_>>>().ok()?);
        let (wardens, come): (_, Receiver<u32>) = sync_channel(WARDENS);
        let to = Arc::clone(&homes);
        let work = move || come.iter().for_each(|pid| lead(&to, pid));
        thread::Builder::new().name("wardens".to_owned()).spawn(work).ok()?;
        Some(Self { wardens, homes })
    }

    fn take(&self, pid: u32) {
        if self.wardens.try_send(pid).is_err() {
            lead(&self.homes, pid);
        }
    }
}

fn lead(homes: &[File], pid: u32) {
    for mut home in homes {
        // One that has ended left its group with that.
        drop(home.write_all(pid.to_string().as_bytes()));
    }
}

impl Groups {
    pub(super) fn new(places: Cgroups, limits: Limits) -> Self {
        all(&places).for_each(clean);
        Self { places, limits, free: Mutex::default(), back: OnceLock::new() }
    }

    /// A group for a warden that waits, which then is in it when its command starts.
    ///
    /// Joining a group takes a grace period of the kernel's if nothing has joined any
    /// for a while, which is longer than all the rest of a start. But the warden shares
    /// our memory, and what ends all in a group that uses too much would end us as
    /// well. So it is taken out again when the command runs ([`Self::come_back`]),
    /// long before there can be too much.
    pub(super) fn take_early(&self) -> Option<Group> {
        if self.limits.memory < ROOMY {
            return None;
        }
        let back = self.back.get_or_init(|| Back::find(all(&self.places)));
        back.as_ref().and_then(|_| self.take().ok())
    }

    /// Has a warden taken out of its group, soon.
    pub(super) fn come_back(&self, pid: u32) {
        if let Some(Some(back)) = self.back.get() {
            back.take(pid);
        }
    }

    pub(super) fn take(&self) -> io::Result<Group> {
        let kept = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.map_or_else(|| Group::new(&self.places, &self.limits), Ok)
    }

    /// Takes back an emptied group whose limits are as they were.
    pub(super) fn give_back(&self, group: Group) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < KEPT {
            free.push(group);
        }
    }
}
