//! Hashes of files, so that a decision can detect a file that changed since.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use provost_proto::Hash;
use provost_sandbox::root_dir::RootDir;

/// The largest file whose content is hashed, in bytes.
const MAX_HASHED_BYTES: u64 = 16 * 1024 * 1024;

/// A file and its hash now.
#[derive(Debug)]
pub struct PinnedFileState {
    /// Hash of the content or, for `content: None`, of the metadata.
    pub hash: Hash,
    /// `None` if the file is too large to read, or outside the project.
    pub content: Option<Vec<u8>>,
}

/// Hashes a file of the project in `folder`; `None` if it is not a file.
pub fn pin_file(root: &RootDir, folder: &Path, path: &str) -> Option<PinnedFileState> {
    match root.read(Path::new(path), MAX_HASHED_BYTES) {
        Ok(content) => {
            let is_link_free = root.is_link_free(Path::new(path));
            let hash =
                if is_link_free { blake3::hash(&content) } else { hash_linked_content(&content) };
            Some(PinnedFileState { hash: Hash::new(*hash.as_bytes()), content: Some(content) })
        }
        // Too large to read, or a link out of the project: pinned by its metadata.
        Err(_) => Some(PinnedFileState { hash: hash_metadata(&folder.join(path))?, content: None }),
    }
}

/// Differs from the hash without a link: a file behind a link cannot be held in place.
fn hash_linked_content(content: &[u8]) -> blake3::Hash {
    blake3::Hasher::new_derive_key("provost: a file behind a link").update(content).finalize()
}

/// Hashes the metadata that changes with every write. Does not open the file, which
/// may have been replaced by anything.
fn hash_metadata(file: &Path) -> Option<Hash> {
    let meta = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    let changed = (meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
    let identity = format!("{:?}", (meta.dev(), meta.ino(), meta.size(), changed));
    Some(Hash::new(*blake3::hash(identity.as_bytes()).as_bytes()))
}
