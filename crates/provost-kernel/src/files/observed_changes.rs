//! What changed in a project's folder while a command ran.
//!
//! There is one walk, at its end: whatever has a change time of the start or later
//! is named. That time is the file system's own; a command can set when a file was
//! modified, and not when it was changed. What is gone has no time any more, and
//! nothing was listed before, so the folder is named in which it was.

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

/// How many entries of folders are looked at.
const MAX_SCANNED_ENTRIES: usize = 20_000;

/// How long is looked: whoever waits for a command waits for this too.
const SCAN_TIME_BUDGET: Duration = Duration::from_millis(30);

/// As long as no more entries than these were looked at, ten times as long, so that
/// a small project is seen whole on a machine that has much to do.
const SMALL_SCAN_ENTRIES: usize = 256;

/// How many names are told.
const MAX_REPORTED_NAMES: usize = 100;

/// How long they are together, as JSON: the end of a command is to stay in the log,
/// and not in a blob beside it.
const MAX_REPORTED_BYTES: usize = 3000;

/// A time of the clock that files get theirs from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileTimestamp {
    seconds: i64,
    nanos: u32,
}

impl FileTimestamp {
    /// Now: whatever changes from here on has this time or a later one.
    ///
    /// That clock stands still for up to 10 ms, so that what was changed just before
    /// may have the same time. Since Linux 6.13 it is made to move by a file that is
    /// looked at and then changed, and no time that is given later is an earlier one.
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

    /// Whether something that has this time may have got it at or after a start.
    fn may_be_since(self, start: Self) -> bool {
        // A disk that keeps whole seconds says that it was earlier than it was.
        let whole = Self { nanos: 0, ..start };
        self >= start || (self.nanos == 0 && self >= whole)
    }
}

impl From<StatxTimestamp> for FileTimestamp {
    fn from(time: StatxTimestamp) -> Self {
        Self { seconds: time.tv_sec, nanos: time.tv_nsec }
    }
}

/// What is looked at of an entry.
#[derive(Clone, Copy, Debug)]
struct EntryStat {
    kind: FileType,
    changed: FileTimestamp,
    /// Of a folder, when names in it were added or removed, if nobody set it.
    modified: FileTimestamp,
    /// When it was made; if that is not known, when it was changed.
    made: FileTimestamp,
}

impl EntryStat {
    fn read_at(folder: impl AsFd, name: &CStr) -> Result<Self, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let wanted = StatxFlags::TYPE | StatxFlags::CTIME | StatxFlags::MTIME | StatxFlags::BTIME;
        let stat = rustix::fs::statx(folder, name, flags, wanted)?;
        let knows = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
        Ok(Self {
            kind: FileType::from_raw_mode(stat.stx_mode.into()),
            changed: stat.stx_ctime.into(),
            modified: stat.stx_mtime.into(),
            made: if knows { stat.stx_btime } else { stat.stx_ctime }.into(),
        })
    }

    fn is_folder(&self) -> bool {
        self.kind == FileType::Directory
    }
}

/// What changed beneath the root since a start, if anything did or may have.
pub(crate) fn find_changes_since(root: &RootDir, start: FileTimestamp) -> Option<ObservedChanges> {
    ChangeScan { root, start, began: Instant::now(), n_seen: 0, found: ObservedChanges::default() }
        .run()
}

struct ChangeScan<'a> {
    root: &'a RootDir,
    start: FileTimestamp,
    began: Instant,
    n_seen: usize,
    found: ObservedChanges,
}

/// A folder that is still to be looked into.
struct PendingDir {
    path: PathBuf,
    look: EntryStat,
    rules: Rc<IgnoreRules>,
}

/// The entries of a folder that matter: other folders, and what changed.
#[derive(Default)]
struct RelevantEntries {
    kept: Vec<(OsString, EntryStat)>,
    /// The files of rules that are as they were.
    rules: Vec<OsString>,
}

impl RelevantEntries {
    fn add(&mut self, name: &OsStr, look: EntryStat, start: FileTimestamp) {
        if look.is_folder() || look.changed.may_be_since(start) {
            self.kept.push((name.to_owned(), look));
        } else if look.kind == FileType::RegularFile
            && IGNORE_FILE_NAMES.iter().any(|file| name == *file)
        {
            self.rules.push(name.to_owned());
        }
    }
}

impl ChangeScan<'_> {
    /// Looks at the top first, where people look too, in case it has to be cut short.
    fn run(mut self) -> Option<ObservedChanges> {
        let mut next = VecDeque::new();
        match EntryStat::read_at(self.root, c"") {
            Ok(look) => {
                next.push_back(PendingDir {
                    path: PathBuf::new(),
                    look,
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
        let time =
            if self.n_seen > SMALL_SCAN_ENTRIES { SCAN_TIME_BUDGET } else { SCAN_TIME_BUDGET * 10 };
        self.n_seen >= MAX_SCANNED_ENTRIES || self.began.elapsed() > time
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
            self.n_seen += 1;
            let is_over = self.n_seen.is_multiple_of(SMALL_SCAN_ENTRIES) && self.is_budget_spent();
            let Some(entry) = entry.ok().filter(|_| !is_over) else {
                self.found.more = true;
                break;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            match EntryStat::read_at(&folder, name) {
                Ok(look) => entries.add(OsStr::from_bytes(name.to_bytes()), look, self.start),
                // It went away while we looked.
                Err(Errno::NOENT) => {}
                Err(_) => self.found.more = true,
            }
        }
        entries
    }

    /// Names what changed in a folder, and which folders are next.
    fn record_dir_changes(
        &mut self,
        folder: &PendingDir,
        entries: RelevantEntries,
        next: &mut VecDeque<PendingDir>,
    ) {
        let is_told = !entries.kept.is_empty() && self.scan_entries(folder, entries, next);
        if folder.look.changed.may_be_since(self.start) && !is_told {
            self.record_dir(folder);
        }
    }

    /// Whether something that is new there is told: what is left out explains nothing
    /// to whoever reads it.
    fn scan_entries(
        &mut self,
        folder: &PendingDir,
        entries: RelevantEntries,
        next: &mut VecDeque<PendingDir>,
    ) -> bool {
        // Rules that came with the command could hide what it did.
        let holds = |name: &str| match name {
            GIT_EXCLUDE_PATH => self.is_unchanged(GIT_EXCLUDE_PATH),
            name => entries.rules.iter().any(|file| file == name),
        };
        let rules = IgnoreRules::extended_with_dir(self.root, &folder.path, &folder.rules, holds);
        let mut is_told = false;
        for (name, look) in entries.kept {
            let path = folder.path.join(&name);
            // A repository that is made is told as what governs others.
            let is_git = name == ".git";
            if !is_git && rules.is_ignored(&path, look.is_folder()) {
                continue;
            }
            is_told |= look.made.may_be_since(self.start);
            if is_git {
                continue;
            }
            if look.is_folder() {
                next.push_back(PendingDir { path, look, rules: Rc::clone(&rules) });
            } else {
                self.found.changed.push(path.to_string_lossy().into_owned());
            }
        }
        is_told
    }

    fn record_dir(&mut self, PendingDir { path, look, .. }: &PendingDir) {
        let name = path.to_string_lossy();
        if name.is_empty() {
            self.found.folders.push(".".to_owned());
        } else if look.modified.may_be_since(self.start) && !look.made.may_be_since(self.start) {
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
        EntryStat::read_at(&folder, &name).is_ok_and(|look| !look.changed.may_be_since(self.start))
    }
}

fn open_dir(folder: RootDir) -> Option<(RootDir, Dir)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&folder, c".", flags, Mode::empty()).ok()?;
    Some((folder, Dir::new(opened).ok()?))
}

/// As much of it as is told.
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
