//! Checks the syntax of paths.
//!
//! Linux would resolve odd paths safely too; rejecting them first is a second line of
//! defense, and gives the same error whether or not something is there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::RootDirError;

/// The longest path, in bytes.
const MAX_PATH: usize = 4096;
/// The longest name, in bytes, on common file systems.
const MAX_NAME: usize = 255;

/// A path of an entry inside the root: normal components, separated by one slash.
pub(super) fn validate_relative(path: &Path) -> Result<&OsStr, RootDirError> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() {
        return Err(RootDirError::BadPath("it is empty"));
    }
    if bytes.len() > MAX_PATH {
        return Err(RootDirError::BadPath("it is longer than 4096 bytes"));
    }
    if bytes.contains(&0) {
        return Err(RootDirError::BadPath("it contains a NUL"));
    }
    if bytes.starts_with(b"/") {
        return Err(RootDirError::BadPath("it is absolute; paths are relative to the project"));
    }
    for name in bytes.split(|byte| *byte == b'/') {
        match name {
            b"" => return Err(RootDirError::BadPath("a name in it is empty")),
            b"." => return Err(RootDirError::BadPath("it contains `.`")),
            b".." => return Err(RootDirError::BadPath("it contains `..`")),
            _ if name.len() > MAX_NAME => {
                return Err(RootDirError::BadPath("a name in it is too long"));
            }
            _ => {}
        }
    }
    Ok(path.as_os_str())
}

/// The same, or `.` for the root itself, where a directory makes sense.
pub(super) fn validate_relative_or_root(path: &Path) -> Result<&OsStr, RootDirError> {
    if path.as_os_str() == "." { Ok(path.as_os_str()) } else { validate_relative(path) }
}

/// The parent of a path (`.` at the top level) and its last component.
pub(super) fn split_parent(path: &Path) -> Result<(&OsStr, &OsStr), RootDirError> {
    let whole = validate_relative(path)?.as_bytes();
    Ok(match whole.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (OsStr::from_bytes(&whole[..slash]), OsStr::from_bytes(&whole[slash + 1..])),
        None => (OsStr::new("."), path.as_os_str()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_relative_paths_pass() {
        for good in ["a", "a/b", "...", "a b", "-rf", "ä/ö", ".git/config", "a\\b"] {
            assert!(validate_relative(Path::new(good)).is_ok(), "{good}");
        }
        let long = "x/".repeat(2049);
        let name = "n".repeat(256);
        let bad = ["", "/", "/a", "..", "a/..", "a/../b", "../a", ".", "./a", "a/.", "a//b", "a/"];
        for bad in bad.into_iter().chain(["a\0b", "//a", long.as_str(), name.as_str()]) {
            assert!(
                matches!(validate_relative(Path::new(bad)), Err(RootDirError::BadPath(_))),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_path_splits_into_folder_and_name() {
        assert_eq!(split_parent(Path::new("a")).unwrap(), (OsStr::new("."), OsStr::new("a")));
        assert_eq!(split_parent(Path::new("a/b/c")).unwrap(), (OsStr::new("a/b"), OsStr::new("c")));
    }
}
