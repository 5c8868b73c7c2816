//! The head of the log in a file of its own, beside the database.
//!
//! Commits are first in the WAL. If that file is lost after a crash, the database is a consistent
//! but shorter log, and nothing in it says that there was more. This file does. It is written
//! after each commit and not synced: after a power failure only what was synced then counts,
//! which the id of the boot decides.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use provost_core::hash_chain;
use provost_proto::{Hash, Seq, UnixMicros};

use crate::StoreError;

/// A position in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogPosition {
    pub(super) seq: Seq,
    pub(super) hash: Hash,
}

impl LogPosition {
    pub(super) const START: Self = Self { seq: 0, hash: Hash::ZERO };
}

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogHead {
    /// The boot in which it was written.
    boot: String,
    /// The last commit.
    reached: LogPosition,
    /// The last commit that was synced to disk.
    synced: LogPosition,
    /// The latest time that was seen.
    pub(super) at: UnixMicros,
}

impl LogHead {
    /// The position that the log must have reached: after another boot, what was synced.
    pub(super) fn required(&self) -> LogPosition {
        if self.boot == read_boot_id() { self.reached } else { self.synced }
    }

    fn encode(&self) -> String {
        let Self { boot, reached, synced, at } = self;
        let body = format!(
            "provost log head 1\nboot {boot:<36.36}\nreached {:020} {}\nsynced {:020} {}\nat {at:020}\n",
            reached.seq, reached.hash, synced.seq, synced.hash,
        );
        format!("{body}check {}\n", hash_chain::digest(body.as_bytes()))
    }

    fn decode(text: &str) -> Option<Self> {
        let (body, check) = text.split_at_checked(text.find("check ")?)?;
        let check = check.strip_prefix("check ")?.trim_end();
        if check != hash_chain::digest(body.as_bytes()).to_string() {
            return None;
        }
        let mut lines = body.lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name).map(str::trim);
        field("provost log head 1")?;
        let boot = field("boot ")?.to_owned();
        let position = |text: &str| {
            let (seq, hash) = text.split_once(' ')?;
            Some(LogPosition { seq: seq.parse().ok()?, hash: hash.parse().ok()? })
        };
        let reached = position(field("reached ")?)?;
        let synced = position(field("synced ")?)?;
        Some(Self { boot, reached, synced, at: field("at ")?.parse().ok()? })
    }
}

fn read_boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// The path of the file that belongs to a database.
pub(super) fn head_path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-head");
    path.into()
}

/// The content of the file that belongs to a database; `None` if there is none. A power failure
/// may have left it empty.
pub(super) fn read_head(database: &Path) -> Result<Option<LogHead>, StoreError> {
    let path = head_path(database);
    let text = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io(path, &error)),
    };
    if text.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let head = str::from_utf8(&text).ok().and_then(LogHead::decode);
    head.map(Some).ok_or_else(|| StoreError::Damaged(format!("{} is not readable", path.display())))
}

/// The file, open for writing.
#[derive(Debug, Clone)]
pub(super) struct HeadFile {
    file: Arc<File>,
    head: Arc<Mutex<LogHead>>,
}

impl HeadFile {
    /// Opens the file, and writes that the log is at this position.
    pub(super) fn open(
        database: &Path,
        position: LogPosition,
        at: UnixMicros,
    ) -> Result<Self, StoreError> {
        let path = head_path(database);
        let opened =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = Arc::new(opened.map_err(|error| StoreError::io(&path, &error))?);
        let head = LogHead { boot: read_boot_id(), reached: position, synced: position, at };
        let head_file = Self { file, head: Arc::new(Mutex::new(head)) };
        head_file.update(|_| {});
        Ok(head_file)
    }

    /// Records a commit.
    pub(super) fn record_commit(&self, position: LogPosition, is_synced: bool, at: UnixMicros) {
        self.update(|head| {
            head.reached = position;
            if is_synced {
                head.synced = position;
            }
            head.at = head.at.max(at);
        });
    }

    /// Records that a time was seen.
    pub(super) fn record_time(&self, at: UnixMicros) {
        self.update(|head| head.at = head.at.max(at));
    }

    /// The log is complete without this file, so an error is no error of the commit.
    fn update(&self, change: impl FnOnce(&mut LogHead)) {
        let mut head = self.head.lock();
        change(&mut head);
        // The text has always the same length.
        if let Err(error) = self.file.write_all_at(head.encode().as_bytes(), 0) {
            tracing::warn!(%error, "cannot write the head of the log beside it");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> LogHead {
        let reached = LogPosition { seq: 7, hash: hash_chain::digest(b"7") };
        LogHead { boot: "b".to_owned(), reached, synced: LogPosition::START, at: 9 }
    }

    #[test]
    fn a_head_is_read_as_it_was_written_and_any_change_is_noticed() {
        let text = head().encode();
        assert_eq!(LogHead::decode(&text), Some(head()));
        let later = LogHead { at: u64::MAX, boot: read_boot_id(), ..head() };
        assert_eq!(later.encode().len(), text.len());
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = String::from_utf8(bytes).unwrap();
            assert!(LogHead::decode(&changed).is_none_or(|head| head == self::head()), "{at}");
        }
    }

    #[test]
    fn after_another_boot_only_what_was_synced_is_required() {
        assert_eq!(head().required(), LogPosition::START);
        assert_eq!(LogHead { boot: read_boot_id(), ..head() }.required().seq, 7);
    }
}
