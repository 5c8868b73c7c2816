//! Resolving symbolic links in paths that need not exist yet.

use std::path::{Path, PathBuf};

/// How many dangling links are followed: as many as the Linux kernel follows.
pub(crate) const MAX_SYMLINK_DEPTH: u32 = 40;

/// A path without links, as far as they can be resolved.
pub(crate) fn resolve_symlinks(path: &Path) -> PathBuf {
    try_resolve_symlinks(path, MAX_SYMLINK_DEPTH).unwrap_or_else(|| path.to_owned())
}

/// A path without links. Components that do not exist keep their names, also behind a
/// dangling link. `None` after more than `depth` dangling links.
pub(crate) fn try_resolve_symlinks(path: &Path, depth: u32) -> Option<PathBuf> {
    let mut missing = PathBuf::new();
    for ancestor in path.ancestors() {
        if let Ok(found) = ancestor.canonicalize() {
            return Some(found.join(missing));
        }
        if let Ok(target) = ancestor.read_link() {
            let next = ancestor.parent()?.join(target).join(missing);
            return try_resolve_symlinks(&next, depth.checked_sub(1)?);
        }
        missing = Path::new(ancestor.file_name()?).join(missing);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_dangling_links_and_leaves_a_loop_as_it_is() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(base.join("absent"), base.join("dangling")).unwrap();
        std::os::unix::fs::symlink(base.join("loop"), base.join("loop")).unwrap();
        assert_eq!(resolve_symlinks(&base.join("dangling/x")), base.join("absent/x"));
        assert_eq!(resolve_symlinks(&base.join("new/x")), base.join("new/x"));
        assert_eq!(resolve_symlinks(&base.join("loop")), base.join("loop"));
    }
}
