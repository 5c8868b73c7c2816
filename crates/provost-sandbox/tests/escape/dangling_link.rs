//! A last component that is a link, leading to a file outside or to nothing yet.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use provost_sandbox::root_dir::{FileKind, FileWriteMode, RootDir, RootDirError};

use crate::yard::{SECRET, Yard};

pub(crate) fn test() {
    let yard = Yard::new();
    let root = RootDir::open(&yard.at("project")).unwrap();
    symlink("../outside/secret", yard.at("project/link")).unwrap();
    symlink("../outside/new", yard.at("project/dangling")).unwrap();
    symlink("src/inside", yard.at("project/within")).unwrap();
    for name in ["link", "dangling", "within"] {
        for mode in [FileWriteMode::Overwrite, FileWriteMode::Append] {
            let result = root.write(Path::new(name), b"harmed", mode);
            assert!(matches!(result, Err(RootDirError::NotRegular(_))), "{name}: {result:?}");
        }
        let result = root.write(Path::new(name), b"harmed", FileWriteMode::Create);
        assert!(matches!(result, Err(RootDirError::Exists)), "{name}: {result:?}");
        assert_eq!(root.stat(Path::new(name)).unwrap().kind, FileKind::Symlink);
    }
    assert!(matches!(root.open_read(Path::new("link")), Err(RootDirError::OutsideRoot)));
    root.remove_file(Path::new("link")).unwrap();
    assert_eq!(fs::read_to_string(yard.at("outside/secret")).unwrap(), SECRET);
    assert!(!yard.at("outside/new").exists());
    // The control: a plain write goes through the link.
    fs::write(yard.at("project/dangling"), "through").unwrap();
    assert!(yard.at("outside/new").exists());
}
