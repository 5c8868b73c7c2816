//! A last component that is a link, leading to a file outside or to nothing yet.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use provost_sandbox::root_dir::{FileKind, FileWriteMode, RootDir, RootDirError};

use crate::sandbox_fixture::{SECRET, SandboxFixture};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let root = RootDir::open(&fixture.at("project")).unwrap();
    symlink("../outside/secret", fixture.at("project/link")).unwrap();
    symlink("../outside/new", fixture.at("project/dangling")).unwrap();
    symlink("src/inside", fixture.at("project/within")).unwrap();
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
    assert_eq!(fs::read_to_string(fixture.at("outside/secret")).unwrap(), SECRET);
    assert!(!fixture.at("outside/new").exists());
    // The control: a plain write goes through the link.
    fs::write(fixture.at("project/dangling"), "through").unwrap();
    assert!(fixture.at("outside/new").exists());
}
