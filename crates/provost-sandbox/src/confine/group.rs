//! Groups with limits, made when needed and used again.
//!
//! Making a memory group costs more than starting a program, so an emptied one
//! is kept for the next run of the same policy.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Limits;
use crate::cgroup::{Cgroups, Place};

/// Emptied groups that are kept.
const KEPT: usize = 4;

static GROUPS: AtomicU32 = AtomicU32::new(0);

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
            self.doors.push(OpenOptions::new().write(true).open(folder.join("cgroup.procs"))?);
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
}

impl Groups {
    pub(super) fn new(places: Cgroups, limits: Limits) -> Self {
        Self { places, limits, free: Mutex::default() }
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
