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

use super::ignored::{EXCLUDE, FILES, Rules};

/// How many entries of folders are looked at.
const ENTRIES: usize = 20_000;

/// How long is looked: whoever waits for a command waits for this too.
const TIME: Duration = Duration::from_millis(30);

/// As long as no more entries than these were looked at, ten times as long, so that
/// a small project is seen whole on a machine that has much to do.
const FEW: usize = 256;

/// How many names are told.
const NAMES: usize = 100;

/// How long they are together, as JSON: the end of a command is to stay in the log,
/// and not in a blob beside it.
const BYTES: usize = 3000;

/// A time of the clock that files get theirs from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    seconds: i64,
    nanos: u32,
}

impl Moment {
    /// Now: whatever changes from here on has this time or a later one.
    ///
    /// That clock stands still for up to 10 ms, so that what was changed just before
    /// may have the same time. Since Linux 6.13 it is made to move by a file that is
    /// looked at and then changed, and no time that is given later is an earlier one.
    pub(crate) fn now() -> Self {
        Self::precise().unwrap_or_else(|_| {
            use rustix::time::{ClockId, clock_gettime};
            let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::RealtimeCoarse);
            Self { seconds: tv_sec, nanos: u32::try_from(tv_nsec).unwrap_or(0) }
        })
    }

    fn precise() -> io::Result<Self> {
        let file = rustix::fs::memfd_create(c"now", MemfdFlags::CLOEXEC)?;
        Look::at(&file, c"")?;
        let now = || Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let both = Timestamps { last_access: now(), last_modification: now() };
        rustix::fs::futimens(&file, &both)?;
        Ok(Look::at(&file, c"")?.changed)
    }

    /// Whether something that has this time may have got it at or after a start.
    fn is_since(self, start: Self) -> bool {
        // A disk that keeps whole seconds says that it was earlier than it was.
        let whole = Self { nanos: 0, ..start };
        self >= start || (self.nanos == 0 && self >= whole)
    }
}

impl From<StatxTimestamp> for Moment {
    fn from(time: StatxTimestamp) -> Self {
        Self { seconds: time.tv_sec, nanos: time.tv_nsec }
    }
}

/// What is looked at of an entry.
#[derive(Clone, Copy, Debug)]
struct Look {
    kind: FileType,
    changed: Moment,
    /// Of a folder, when names in it were added or removed, if nobody set it.
    modified: Moment,
    /// When it was made; if that is not known, when it was changed.
    made: Moment,
}

impl Look {
    fn at(folder: impl AsFd, name: &CStr) -> Result<Self, Errno> {
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
pub(crate) fn changed_since(root: &RootDir, start: Moment) -> Option<ObservedChanges> {
    Search { root, start, began: Instant::now(), n_seen: 0, found: ObservedChanges::default() }
        .run()
}

struct Search<'a> {
    root: &'a RootDir,
    start: Moment,
    began: Instant,
    n_seen: usize,
    found: ObservedChanges,
}

/// A folder that is still to be looked into.
struct Folder {
    path: PathBuf,
    look: Look,
    rules: Rc<Rules>,
}

/// The entries of a folder that matter: other folders, and what changed.
#[derive(Default)]
struct Entries {
    kept: Vec<(OsString, Look)>,
    /// The files of rules that are as they were.
    rules: Vec<OsString>,
}

impl Entries {
    fn add(&mut self, name: &OsStr, look: Look, start: Moment) {
        if look.is_folder() || look.changed.is_since(start) {
            self.kept.push((name.to_owned(), look));
        } else if look.kind == FileType::RegularFile && FILES.iter().any(|file| name == *file) {
            self.rules.push(name.to_owned());
        }
    }
}

impl Search<'_> {
    /// Looks at the top first, where people look too, in case it has to be cut short.
    fn run(mut self) -> Option<ObservedChanges> {
        let mut next = VecDeque::new();
        match Look::at(self.root, c"") {
            Ok(look) => {
                next.push_back(Folder { path: PathBuf::new(), look, rules: Rules::none() });
            }
            Err(_) => self.found.more = true,
        }
        while let Some(folder) = next.pop_front() {
            if self.is_over() {
                self.found.more = true;
                break;
            }
            let entries = self.entries(&folder.path);
            self.weigh(&folder, entries, &mut next);
        }
        let found = told(self.found);
        (found != ObservedChanges::default()).then_some(found)
    }

    fn is_over(&self) -> bool {
        let time = if self.n_seen > FEW { TIME } else { TIME * 10 };
        self.n_seen >= ENTRIES || self.began.elapsed() > time
    }

    /// The entries of a folder, as far as they can be read.
    fn entries(&mut self, path: &Path) -> Entries {
        let mut entries = Entries::default();
        let at = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let Some((folder, listed)) = self.root.open_subdir(at).ok().and_then(list) else {
            self.found.more = true;
            return entries;
        };
        for entry in listed {
            self.n_seen += 1;
            let is_over = self.n_seen.is_multiple_of(FEW) && self.is_over();
            let Some(entry) = entry.ok().filter(|_| !is_over) else {
                self.found.more = true;
                break;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            match Look::at(&folder, name) {
                Ok(look) => entries.add(OsStr::from_bytes(name.to_bytes()), look, self.start),
                // It went away while we looked.
                Err(Errno::NOENT) => {}
                Err(_) => self.found.more = true,
            }
        }
        entries
    }

    /// Names what changed in a folder, and which folders are next.
    fn weigh(&mut self, folder: &Folder, entries: Entries, next: &mut VecDeque<Folder>) {
        let is_told = !entries.kept.is_empty() && self.go_through(folder, entries, next);
        if folder.look.changed.is_since(self.start) && !is_told {
            self.name_folder(folder);
        }
    }

    /// Whether something that is new there is told: what is left out explains nothing
    /// to whoever reads it.
    fn go_through(
        &mut self,
        folder: &Folder,
        entries: Entries,
        next: &mut VecDeque<Folder>,
    ) -> bool {
        // Rules that came with the command could hide what it did.
        let holds = |name: &str| match name {
            EXCLUDE => self.is_as_it_was(EXCLUDE),
            name => entries.rules.iter().any(|file| file == name),
        };
        let rules = Rules::of_folder(self.root, &folder.path, &folder.rules, holds);
        let mut is_told = false;
        for (name, look) in entries.kept {
            let path = folder.path.join(&name);
            // A repository that is made is told as what governs others.
            let is_git = name == ".git";
            if !is_git && rules.leave_out(&path, look.is_folder()) {
                continue;
            }
            is_told |= look.made.is_since(self.start);
            if is_git {
                continue;
            }
            if look.is_folder() {
                next.push_back(Folder { path, look, rules: Rc::clone(&rules) });
            } else {
                self.found.changed.push(path.to_string_lossy().into_owned());
            }
        }
        is_told
    }

    fn name_folder(&mut self, Folder { path, look, .. }: &Folder) {
        let name = path.to_string_lossy();
        if name.is_empty() {
            self.found.folders.push(".".to_owned());
        } else if look.modified.is_since(self.start) && !look.made.is_since(self.start) {
            self.found.folders.push(name.into_owned());
        } else {
            self.found.changed.push(format!("{name}/"));
        }
    }

    fn is_as_it_was(&self, path: &str) -> bool {
        let Some((folder, name)) = path.rsplit_once('/') else { return false };
        let (Ok(folder), Ok(name)) =
            (self.root.open_subdir(Path::new(folder)), std::ffi::CString::new(name))
        else {
            return false;
        };
        Look::at(&folder, &name).is_ok_and(|look| !look.changed.is_since(self.start))
    }
}

fn list(folder: RootDir) -> Option<(RootDir, Dir)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&folder, c".", flags, Mode::empty()).ok()?;
    Some((folder, Dir::new(opened).ok()?))
}

/// As much of it as is told.
fn told(mut found: ObservedChanges) -> ObservedChanges {
    let (mut n_left, mut bytes_left) = (NAMES, BYTES);
    for names in [&mut found.changed, &mut found.folders] {
        names.sort_unstable();
        let fits = names.iter().take_while(|name| {
            let quoted = serde_json::to_string(name).map_or(BYTES, |quoted| quoted.len() + 1);
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
