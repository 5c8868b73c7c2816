//! The entries that make programs run something, with their contents.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_core::quarantine::build_files;
use provost_core::quarantine::git_entries::EntryType;
use provost_proto::Hash;
use provost_sandbox::root_dir::RootDir;
use rustix::fs::{AtFlags, Statx, StatxFlags};

use super::referenced_paths::{self, ReferencedPath};
use super::tree_scan::{EntryJudgement, FoundEntry, TreeScanner};

/// The largest file whose content is kept, so that it can be put back.
const MAX_KEPT_BYTES: u64 = 1024 * 1024;

/// The largest file with an unknown name that is compared.
const MAX_HIDDEN_BYTES: u64 = 256 * 1024;

/// How much is kept in memory in total.
const MAX_KEPT_TOTAL_BYTES: u64 = 32 * 1024 * 1024;

/// The clock of file systems has a granularity of up to 10 ms.
const CLOCK_GRANULARITY_NANOS: i128 = 25_000_000;

/// What changes when a file is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileSignature {
    pub(super) inode: u64,
    size: u64,
    modified_at: i128,
    pub(super) changed_at: i128,
}

/// One entry.
#[derive(Debug, Clone)]
pub(super) struct SnapshotEntry {
    pub(super) kind: EntryType,
    pub(super) judgement: EntryJudgement,
    /// The permission bits.
    pub(super) mode: u32,
    pub(super) signature: FileSignature,
    /// Of the content; of a link, of its target.
    pub(super) hash: Hash,
    /// The content, unless it is too large.
    pub(super) content: Option<Arc<[u8]>>,
    /// Whether the signature tells every later change.
    settled: bool,
}

impl SnapshotEntry {
    /// Whether it is the same to a program that reads or runs it.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.hash == other.hash
            && self.mode & 0o111 == other.mode & 0o111
    }
}

impl SnapshotEntry {
    /// The hash of the content, which is read where it is not known.
    pub(super) fn read_hash(&self, root: &RootDir, path: &Path) -> Option<Hash> {
        let is_known = self.content.is_some()
            || !matches!(self.judgement, EntryJudgement::BuildFile | EntryJudgement::Hidden);
        if is_known || self.kind != EntryType::File {
            return Some(self.hash);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(root.open_read(path).ok()?.file).ok()?;
        Some(Hash::new(*hasher.finalize().as_bytes()))
    }
}

/// All entries at one time.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) entries: BTreeMap<PathBuf, SnapshotEntry>,
    pub(super) git_folders: BTreeSet<PathBuf>,
    pub(super) bare_repositories: BTreeSet<PathBuf>,
    pub(super) unreadable: Vec<PathBuf>,
}

impl Snapshot {
    /// Takes a snapshot; contents that have not changed since `last` are not read again.
    pub(super) fn take(
        scanner: &mut TreeScanner,
        root: &RootDir,
        extra: &[ReferencedPath],
        last: &Self,
    ) -> Self {
        Self::take_with(scanner, root, extra, Some(last))
    }

    /// Takes a snapshot and reads all contents: what a process changes through a mapping leaves
    /// the times of the file as they are.
    pub(super) fn take_anew(
        scanner: &mut TreeScanner,
        root: &RootDir,
        extra: &[ReferencedPath],
    ) -> Self {
        Self::take_with(scanner, root, extra, None)
    }

    fn take_with(
        scanner: &mut TreeScanner,
        root: &RootDir,
        extra: &[ReferencedPath],
        last: Option<&Self>,
    ) -> Self {
        let mut found = match last {
            Some(_) => scanner.find_baseline_entries(root, extra),
            None => scanner.find_entries(root, extra),
        };
        // What is known to run something is kept first.
        found.entries.sort_by_key(|entry| entry.judgement == EntryJudgement::Hidden);
        let mut snapshot = Self {
            entries: BTreeMap::new(),
            git_folders: found.git_folders,
            bare_repositories: found.bare_repositories,
            unreadable: found.unreadable,
        };
        let mut left = MAX_KEPT_TOTAL_BYTES;
        for entry in found.entries {
            // What the person's settings lead to is protected whatever it holds.
            let by_content = matches!(
                entry.judgement,
                EntryJudgement::BuildFile | EntryJudgement::EnvFile | EntryJudgement::Hidden
            );
            if by_content && snapshot.entries.contains_key(&entry.path) {
                continue;
            }
            if let Some(read) =
                read_entry(root, &entry, last.and_then(|last| last.entries.get(&entry.path)), left)
            {
                let n_kept = read.content.as_ref().map_or(0, |content| content.len());
                left = left.saturating_sub(u64::try_from(n_kept).unwrap_or(u64::MAX));
                // A path that is found twice keeps the judgement by its name.
                snapshot.entries.insert(entry.path, read);
            }
        }
        snapshot
    }

    /// Whether an entry that leads programs elsewhere was changed since.
    pub(super) fn has_changed_pointer(&self, root: &RootDir) -> bool {
        let is_changed = |path: &Path, entry: &SnapshotEntry| {
            read_stat(root, path).is_none_or(|stat| read_signature(&stat) != entry.signature)
        };
        let mut pointers =
            self.entries.iter().filter(|(path, entry)| referenced_paths::is_pointer(path, entry));
        pointers.any(|(path, entry)| is_changed(path, entry))
    }
}

fn read_stat(root: &RootDir, path: &Path) -> Option<Statx> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(root, &name, flags, StatxFlags::BASIC_STATS).ok()
}

fn read_signature(stat: &Statx) -> FileSignature {
    let nanos = |time: rustix::fs::StatxTimestamp| {
        i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
    };
    FileSignature {
        inode: stat.stx_ino,
        size: stat.stx_size,
        modified_at: nanos(stat.stx_mtime),
        changed_at: nanos(stat.stx_ctime),
    }
}

/// Reads an entry, or takes what is known of it; `None` if it is gone.
fn read_entry(
    root: &RootDir,
    found: &FoundEntry,
    last: Option<&SnapshotEntry>,
    left: u64,
) -> Option<SnapshotEntry> {
    let stat = read_stat(root, &found.path)?;
    let signature = read_signature(&stat);
    let mode = u32::from(stat.stx_mode) & 0o7777;
    if let Some(last) = last
        && last.settled
        && last.signature == signature
        && last.kind == found.kind
        // Of a build file, little is known.
        && (last.judgement == found.judgement || last.judgement != EntryJudgement::BuildFile)
    {
        return Some(SnapshotEntry { judgement: found.judgement, mode, ..last.clone() });
    }
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let now = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
    let settled = signature.changed_at + CLOCK_GRANULARITY_NANOS < now;
    let (hash, content) = match found.kind {
        EntryType::Symlink => {
            let target = rustix::fs::readlinkat(root, &found.path, Vec::new()).ok()?.into_bytes();
            (hash_bytes(&target), Some(target.into()))
        }
        // Only that it is there matters, and some of them are large.
        EntryType::File
            if found.judgement == EntryJudgement::BuildFile && !needs_content(found) =>
        {
            (hash_bytes(b""), None)
        }
        // No settings are so large, and some data of tools is.
        EntryType::File
            if found.judgement == EntryJudgement::Hidden && stat.stx_size > MAX_HIDDEN_BYTES =>
        {
            (hash_bytes(format!("{signature:?}").as_bytes()), None)
        }
        EntryType::File => read_content(root, &found.path, &signature, left),
        EntryType::Directory | EntryType::Other => (hash_bytes(b""), None),
    };
    let (kind, judgement) = (found.kind, found.judgement);
    Some(SnapshotEntry { kind, judgement, mode, signature, hash, content, settled })
}

fn needs_content(found: &FoundEntry) -> bool {
    let name = found.path.file_name().and_then(|name| name.to_str());
    name.is_some_and(build_files::needs_content)
}

/// The hash and, if there is room, the content. A file that cannot be read has a hash of its
/// signature, so that a change of it counts.
fn read_content(
    root: &RootDir,
    path: &Path,
    signature: &FileSignature,
    left: u64,
) -> (Hash, Option<Arc<[u8]>>) {
    let Ok(mut opened) = root.open_read(path) else {
        return (hash_bytes(format!("unreadable {signature:?}").as_bytes()), None);
    };
    if opened.stat.size <= MAX_KEPT_BYTES.min(left) {
        let mut content = Vec::new();
        if opened.file.read_to_end(&mut content).is_ok() {
            return (hash_bytes(&content), Some(content.into()));
        }
    }
    let mut hasher = blake3::Hasher::new();
    drop(hasher.update_reader(&mut opened.file));
    (Hash::new(*hasher.finalize().as_bytes()), None)
}

fn hash_bytes(bytes: &[u8]) -> Hash {
    Hash::new(*blake3::hash(bytes).as_bytes())
}
