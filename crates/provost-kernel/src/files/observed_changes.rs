//! Finds the files that changed in a project's folder while a command ran.
//!
//! There is one scan, after the command: everything with a change time at or after
//! the start is reported. That is the ctime, which a command cannot set. A deleted
//! entry has no ctime any more, and there is no listing from before, so its folder
//! is reported.

use std::collections::VecDeque;
use std::ffi::{CStr, OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use provost_proto::kernel::ObservedChanges;
use provost_sandbox::root_dir::RootDir;
use rustix::fs::{
    AtFlags, Dir, FileType, MemfdFlags, Mode, OFlags, StatxFlags, StatxTimestamp, Timespec,
    Timestamps,
};
use rustix::io::Errno;

use super::ignore_rules::{GIT_EXCLUDE_PATH, IGNORE_FILE_NAMES, IgnoreRules};

/// How many directory entries are scanned.
const MAX_SCANNED_ENTRIES: usize = 20_000;

/// How long the scan may take: whoever waits for the command waits for it too.
const SCAN_TIME_BUDGET: Duration = Duration::from_millis(30);

/// Up to this many entries the scan may take ten times as long, so that a small
/// project is scanned completely on a busy machine.
const SMALL_SCAN_ENTRIES: usize = 256;

/// How many names are reported.
const MAX_REPORTED_NAMES: usize = 100;

/// Their total size as JSON: the outcome of a command shall stay in the log, not
/// move to a blob.
const MAX_REPORTED_BYTES: usize = 3000;

/// A time of the clock that files get their times from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileTimestamp {
    seconds: i64,
    nanos: u32,
}

impl FileTimestamp {
    /// The current time: a change from now on has this time or a later one.
    ///
    /// The clock has a granularity of up to 10 ms, so that a change directly before may
    /// have the same time. Since Linux 6.13, a file whose time was read gets a finer
    /// time on its next change, and no later change gets an earlier time.
    pub(crate) fn now() -> Self {
        Self::now_precise().unwrap_or_else(|_| {
            use rustix::time::{ClockId, clock_gettime};
            let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::RealtimeCoarse);
            Self { seconds: tv_sec, nanos: u32::try_from(tv_nsec).unwrap_or(0) }
        })
    }

    fn now_precise() -> io::Result<Self> {
        let file = rustix::fs::memfd_create(c"now", MemfdFlags::CLOEXEC)?;
        EntryStat::read_at(&file, c"")?;
        let now = || Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let both = Timestamps { last_access: now(), last_modification: now() };
        rustix::fs::futimens(&file, &both)?;
        Ok(EntryStat::read_at(&file, c"")?.changed)
    }

    /// Whether an entry with this time may have changed at or after a start.
    fn may_be_since(self, start: Self) -> bool {
        // A file system with whole seconds rounds down.
        let whole = Self { nanos: 0, ..start };
        self >= start || (self.nanos == 0 && self >= whole)
    }
}

impl From<StatxTimestamp> for FileTimestamp {
    fn from(time: StatxTimestamp) -> Self {
        Self { seconds: time.tv_sec, nanos: time.tv_nsec }
    }
}

/// The metadata of an entry.
#[derive(Clone, Copy, Debug)]
struct EntryStat {
    kind: FileType,
    changed: FileTimestamp,
    /// Of a folder: when names were added or removed, unless somebody set it.
    modified: FileTimestamp,
    /// When it was created; if that is not known, when it was changed.
    created: FileTimestamp,
}

impl EntryStat {
    fn read_at(folder: impl AsFd, name: &CStr) -> Result<Self, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let mask = StatxFlags::TYPE | StatxFlags::CTIME | StatxFlags::MTIME | StatxFlags::BTIME;
        let stat = rustix::fs::statx(folder, name, flags, mask)?;
        let knows = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
        Ok(Self {
            kind: FileType::from_raw_mode(stat.stx_mode.into()),
            changed: stat.stx_ctime.into(),
            modified: stat.stx_mtime.into(),
            created: if knows { stat.stx_btime } else { stat.stx_ctime }.into(),
        })
    }

    fn is_folder(&self) -> bool {
        self.kind == FileType::Directory
    }
}

/// The changes in the root since a start; `None` if there are none.
pub(crate) fn find_changes_since(root: &RootDir, start: FileTimestamp) -> Option<ObservedChanges> {
    ChangeScan {
        root,
        start,
        started_at: Instant::now(),
        n_scanned: 0,
        found: ObservedChanges::default(),
    }
    .run()
}

struct ChangeScan<'a> {
    root: &'a RootDir,
    start: FileTimestamp,
    started_at: Instant,
    n_scanned: usize,
    found: ObservedChanges,
}

/// A folder that is still to be scanned.
struct PendingDir {
    path: PathBuf,
    stat: EntryStat,
    rules: Rc<IgnoreRules>,
}

/// The relevant entries of a folder: subfolders, and what changed.
#[derive(Default)]
struct RelevantEntries {
    relevant: Vec<(OsString, EntryStat)>,
    /// Ignore files that did not change.
    rules: Vec<OsString>,
}

impl RelevantEntries {
    fn add(&mut self, name: &OsStr, entry: EntryStat, start: FileTimestamp) {
        if entry.is_folder() || entry.changed.may_be_since(start) {
            self.relevant.push((name.to_owned(), entry));
        } else if entry.kind == FileType::RegularFile
            && IGNORE_FILE_NAMES.iter().any(|file| name == *file)
        {
            self.rules.push(name.to_owned());
        }
    }
}

impl ChangeScan<'_> {
    /// Scans breadth first, so that the top is complete if the limits are reached.
    fn run(mut self) -> Option<ObservedChanges> {
        let mut next = VecDeque::new();
        match EntryStat::read_at(self.root, c"") {
            Ok(stat) => {
                next.push_back(PendingDir {
                    path: PathBuf::new(),
                    stat,
                    rules: IgnoreRules::empty(),
                });
            }
            Err(_) => self.found.more = true,
        }
        while let Some(folder) = next.pop_front() {
            if self.is_budget_spent() {
                self.found.more = true;
                break;
            }
            let entries = self.read_entries(&folder.path);
            self.record_dir_changes(&folder, entries, &mut next);
        }
        let found = truncate_changes(self.found);
        (found != ObservedChanges::default()).then_some(found)
    }

    fn is_budget_spent(&self) -> bool {
        let time = if self.n_scanned > SMALL_SCAN_ENTRIES {
            SCAN_TIME_BUDGET
        } else {
            SCAN_TIME_BUDGET * 10
        };
        self.n_scanned >= MAX_SCANNED_ENTRIES || self.started_at.elapsed() > time
    }

    /// The entries of a folder, as far as they can be read.
    fn read_entries(&mut self, path: &Path) -> RelevantEntries {
        let mut entries = RelevantEntries::default();
        let at = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let Some((folder, listed)) = self.root.open_subdir(at).ok().and_then(open_dir) else {
            self.found.more = true;
            return entries;
        };
        for entry in listed {
            self.n_scanned += 1;
            let is_over =
                self.n_scanned.is_multiple_of(SMALL_SCAN_ENTRIES) && self.is_budget_spent();
            let Some(entry) = entry.ok().filter(|_| !is_over) else {
                self.found.more = true;
                break;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            match EntryStat::read_at(&folder, name) {
                Ok(stat) => entries.add(OsStr::from_bytes(name.to_bytes()), stat, self.start),
                // It was removed during the scan.
                Err(Errno::NOENT) => {}
                Err(_) => self.found.more = true,
            }
        }
        entries
    }

    /// Reports what changed in a folder, and queues its subfolders.
    fn record_dir_changes(
        &mut self,
        folder: &PendingDir,
        entries: RelevantEntries,
        next: &mut VecDeque<PendingDir>,
    ) {
        let is_reported = !entries.relevant.is_empty() && self.scan_entries(folder, entries, next);
        if folder.stat.changed.may_be_since(self.start) && !is_reported {
            self.record_dir(folder);
        }
    }

    /// Returns whether a new entry was reported: an ignored one does not explain why the
    /// folder changed.
    fn scan_entries(
        &mut self,
        folder: &PendingDir,
        entries: RelevantEntries,
        next: &mut VecDeque<PendingDir>,
    ) -> bool {
        // Ignore rules that the command wrote could hide what it did.
        let holds = |name: &str| match name {
            GIT_EXCLUDE_PATH => self.is_unchanged(GIT_EXCLUDE_PATH),
            name => entries.rules.iter().any(|file| file == name),
        };
        let rules = IgnoreRules::extended_with_dir(self.root, &folder.path, &folder.rules, holds);
        let mut is_reported = false;
        for (name, stat) in entries.relevant {
            let path = folder.path.join(&name);
            // A new repository is reported, because it is a protected path.
            let is_git = name == ".git";
            if !is_git && rules.is_ignored(&path, stat.is_folder()) {
                continue;
            }
            is_reported |= stat.created.may_be_since(self.start);
            if is_git {
                continue;
            }
            if stat.is_folder() {
                next.push_back(PendingDir { path, stat, rules: Rc::clone(&rules) });
            } else {
                self.found.changed.push(path.to_string_lossy().into_owned());
            }
        }
        is_reported
    }

    fn record_dir(&mut self, PendingDir { path, stat, .. }: &PendingDir) {
        let name = path.to_string_lossy();
        if name.is_empty() {
            self.found.folders.push(".".to_owned());
        } else if stat.modified.may_be_since(self.start) && !stat.created.may_be_since(self.start) {
            self.found.folders.push(name.into_owned());
        } else {
            self.found.changed.push(format!("{name}/"));
        }
    }

    fn is_unchanged(&self, path: &str) -> bool {
        let Some((folder, name)) = path.rsplit_once('/') else { return false };
        let (Ok(folder), Ok(name)) =
            (self.root.open_subdir(Path::new(folder)), std::ffi::CString::new(name))
        else {
            return false;
        };
        EntryStat::read_at(&folder, &name).is_ok_and(|stat| !stat.changed.may_be_since(self.start))
    }
}

fn open_dir(folder: RootDir) -> Option<(RootDir, Dir)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&folder, c".", flags, Mode::empty()).ok()?;
    Some((folder, Dir::new(opened).ok()?))
}

/// Truncates to the limits of a report.
fn truncate_changes(mut found: ObservedChanges) -> ObservedChanges {
    let (mut n_left, mut bytes_left) = (MAX_REPORTED_NAMES, MAX_REPORTED_BYTES);
    for names in [&mut found.changed, &mut found.folders] {
        names.sort_unstable();
        let fits = names.iter().take_while(|name| {
            let quoted =
                serde_json::to_string(name).map_or(MAX_REPORTED_BYTES, |quoted| quoted.len() + 1);
            let fits = n_left > 0 && quoted <= bytes_left;
            if fits {
                (n_left, bytes_left) = (n_left - 1, bytes_left - quoted);
            }
            fits
        });
        let n_told = fits.count();
        found.more |= n_told < names.len();
        names.truncate(n_told);
    }
    found
}

#[cfg(test)]
mod tests;
