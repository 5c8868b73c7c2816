//! What was set aside, in the data folder of Provost: no command can reach it there.
//!
//! Each entry is a file with the content and a JSON file that describes it. Its id is a hash of
//! path, kind and content, so that the same thing set aside twice is kept once.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use provost_core::quarantine::QUARANTINE_FOLDER;
use provost_proto::Hash;
use serde::{Deserialize, Serialize};

/// How many entries are kept per project; the oldest are dropped.
const MAX_ENTRIES: usize = 512;

/// How much content is kept per project, in bytes; the oldest entries are dropped.
const MAX_TOTAL_BYTES: u64 = 256 * 1024 * 1024;

/// The largest content that is kept. A larger file is dropped: what is kept is shown to a person.
pub(super) const MAX_STORED_BYTES: u64 = 16 * 1024 * 1024;

/// The file that exists while an action runs.
const RUNNING_MARK: &str = "running";

/// The kind of an entry that was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SetAsideKind {
    /// A regular file.
    File,
    /// A symbolic link; the content is its target.
    Symlink,
    /// A pipe, socket or device, which has no content and cannot be put back.
    Other,
}

/// An entry that was set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetAsideEntry {
    /// Identifies the entry: path, kind, permissions and content.
    pub id: Hash,
    /// Where it was, relative to the project.
    pub path: String,
    /// Its kind.
    pub kind: SetAsideKind,
    /// Whether its owner may execute it.
    pub executable: bool,
    /// The size of the content in bytes.
    pub size: u64,
    /// Why it was set aside.
    pub why: String,
    /// What remained at the path.
    pub left: LeftInPlace,
    /// Where the content is, relative to the data folder of Provost.
    pub kept: String,
}

/// What remained at the path of an entry that was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeftInPlace {
    /// Nothing: it is new.
    Nothing,
    /// The content from before the action.
    Former,
    /// The content without what was set aside.
    Rest,
}

/// An entry that was set aside, with its content: of a link, its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry {
    /// Where it was, and why it was set aside.
    pub entry: SetAsideEntry,
    /// The content.
    pub content: Vec<u8>,
}

/// The largest file that an answer puts back, in bytes: its approval shows all of it.
const MAX_SHOWN_BYTES: u64 = 1024 * 1024;

impl StoredEntry {
    /// Why an agent's request to put it back cannot be carried out, whatever the answer.
    pub fn find_obstacle_for_answer(&self) -> Option<&'static str> {
        let is_shown = self.entry.kind != SetAsideKind::File || self.entry.size <= MAX_SHOWN_BYTES;
        let too_large = "it is too large for an approval that shows all of it; \
                         a person can put it back with `provost do fs.restoreFile`";
        self.find_obstacle().or((!is_shown).then_some(too_large))
    }

    /// Why it cannot be put back, if it cannot.
    pub fn find_obstacle(&self) -> Option<&'static str> {
        let n_bytes = u64::try_from(self.content.len()).unwrap_or(u64::MAX);
        match self.entry.kind {
            SetAsideKind::Other => Some("a pipe, socket or device cannot be put back"),
            SetAsideKind::File if self.entry.size != n_bytes => {
                Some("it was too large to be kept, so it cannot be put back")
            }
            // A name that is no text is kept with marks in place of its bytes.
            SetAsideKind::File | SetAsideKind::Symlink
                if self.entry.path.contains(char::REPLACEMENT_CHARACTER) =>
            {
                Some("its name is not text, so it cannot be put back")
            }
            SetAsideKind::File | SetAsideKind::Symlink => None,
        }
    }
}

/// The entries of one project.
#[derive(Debug, Clone)]
pub struct QuarantineStore {
    folder: PathBuf,
}

impl QuarantineStore {
    /// The store of a project, which need not exist, in the data folder of Provost.
    pub fn new(data: &Path, project: &str) -> Self {
        Self { folder: data.join(QUARANTINE_FOLDER).join(project) }
    }

    /// Notes that an action runs since this time, in nanoseconds: after a crash, what changed
    /// since then is looked at.
    pub(super) fn write_running_mark(&self, since: i128) -> io::Result<()> {
        let path = self.folder.join(RUNNING_MARK);
        let write = || fs::write(&path, since.to_string());
        write().or_else(|_| {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            write()
        })
    }

    /// Removes the note, when nothing runs any more.
    pub(super) fn remove_running_mark(&self) {
        if let Err(error) = fs::remove_file(self.folder.join(RUNNING_MARK)) {
            tracing::debug!(%error, "cannot remove the mark of a running action");
        }
    }

    /// The note that a kernel left which was killed.
    pub(super) fn read_running_mark(&self) -> Option<i128> {
        fs::read_to_string(self.folder.join(RUNNING_MARK)).ok()?.parse().ok()
    }

    /// Where the content of an entry is, relative to the data folder.
    pub(super) fn kept_path(&self, id: &Hash) -> String {
        let project = self.folder.file_name().unwrap_or_default().to_string_lossy();
        format!("{QUARANTINE_FOLDER}/{project}/{id}")
    }

    /// Stores an entry; when this returns, its content is on disk.
    pub(super) fn add(&self, entry: &SetAsideEntry, content: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.remove_oldest(u64::try_from(content.len()).unwrap_or(u64::MAX));
        self.write_file(&entry.id.to_string(), content)?;
        self.write_file(&format!("{}.json", entry.id), &serde_json::to_vec(entry)?)
    }

    /// The entry with this id that was set aside at this path. Its content is compared with the
    /// id, so that what is returned is what was set aside.
    pub fn read(&self, id: &Hash, path: &str) -> io::Result<StoredEntry> {
        let text = self.read_file(&format!("{id}.json"))?;
        let entry: SetAsideEntry = serde_json::from_slice(&text)?;
        let content = self.read_file(&id.to_string())?;
        let found = entry_id(&entry.path, entry.kind, entry.executable, &content);
        if found != *id || entry.path != path {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(StoredEntry { entry, content })
    }

    fn read_file(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        let file = fs::File::open(self.folder.join(name))?;
        file.take(MAX_STORED_BYTES).read_to_end(&mut content)?;
        Ok(content)
    }

    fn write_file(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let draft = self.folder.join(format!("{name}.new"));
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(draft, self.folder.join(name))
    }

    /// Removes the oldest entries, so that there is room for one more with so many bytes.
    fn remove_oldest(&self, n_bytes: u64) {
        let Ok(listed) = fs::read_dir(&self.folder) else { return };
        let mut entries: Vec<_> = listed
            .filter_map(Result::ok)
            .filter(|entry| entry.path().extension().is_some_and(|ext| ext == "json"))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        entries.sort();
        let (mut n_kept, mut n_kept_bytes) = (1, n_bytes);
        for (_, path) in entries.iter().rev() {
            let content = path.with_extension("");
            n_kept += 1;
            n_kept_bytes += fs::metadata(&content).map_or(0, |meta| meta.len());
            if n_kept > MAX_ENTRIES || n_kept_bytes > MAX_TOTAL_BYTES {
                // Both may be gone already.
                drop(fs::remove_file(content));
                drop(fs::remove_file(path));
            }
        }
    }
}

/// The id of an entry.
pub(super) fn entry_id(path: &str, kind: SetAsideKind, executable: bool, content: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{}\0{path}\0{kind:?}\0{executable}\0", path.len()).as_bytes());
    hasher.update(content);
    Hash::new(*hasher.finalize().as_bytes())
}
