//! Files by what they hold, so that another in their place is noticed.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use provost_proto::Hash;
use provost_sandbox::root_dir::RootDir;

/// The largest file that is pinned by what it holds.
const MAX_HASHED_BYTES: u64 = 16 * 1024 * 1024;

/// A file as it is now.
#[derive(Debug)]
pub struct PinnedFileState {
    /// What stands for it.
    pub hash: Hash,
    /// What it holds; `None` if it is too large to read, or out of reach.
    pub content: Option<Vec<u8>>,
}

/// Looks at a file of the project in `folder`, if it is one.
pub fn pin_file(root: &RootDir, folder: &Path, path: &str) -> Option<PinnedFileState> {
    match root.read(Path::new(path), MAX_HASHED_BYTES) {
        Ok(content) => {
            let is_straight = root.is_link_free(Path::new(path));
            let hash =
                if is_straight { blake3::hash(&content) } else { hash_linked_content(&content) };
            Some(PinnedFileState { hash: Hash::new(*hash.as_bytes()), content: Some(content) })
        }
        // Too large to read, or a link that leads out: pinned all the same.
        Err(_) => Some(PinnedFileState { hash: hash_metadata(&folder.join(path))?, content: None }),
    }
}

/// What is behind a link is not what it was without one, since it cannot be held.
fn hash_linked_content(content: &[u8]) -> blake3::Hash {
    blake3::Hasher::new_derive_key("provost: a file behind a link").update(content).finalize()
}

/// A file by what changes whenever it does, if it is one. It is not opened: what
/// is named here may be anything by then.
fn hash_metadata(file: &Path) -> Option<Hash> {
    let meta = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    let changed = (meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
    let look = format!("{:?}", (meta.dev(), meta.ino(), meta.size(), changed));
    Some(Hash::new(*blake3::hash(look.as_bytes()).as_bytes()))
}
