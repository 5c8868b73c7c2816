//! Paths that try to leave the root.

use std::os::unix::fs::symlink;
use std::path::Path;

use provost_sandbox::root_dir::{FileWriteMode, ReplaceExisting, RootDir, RootDirError};

use crate::sandbox_fixture::{SECRET, SandboxFixture};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let root = RootDir::open(&fixture.at("project")).unwrap();
    symlink("..", fixture.at("project/up")).unwrap();
    symlink("../outside", fixture.at("project/side")).unwrap();
    symlink(fixture.at("outside"), fixture.at("project/absolute")).unwrap();
    symlink("/proc/self/root", fixture.at("project/magic")).unwrap();
    symlink("src/../../outside", fixture.at("project/bent")).unwrap();
    let absolute = fixture.text("outside/secret");
    let deep = "src/../".repeat(50) + "../outside/secret";
    let corpus = [
        "../outside/secret",
        "src/../../outside/secret",
        "./../outside/secret",
        "..//outside/secret",
        "/etc/passwd",
        "//etc/passwd",
        absolute.as_str(),
        "up/outside/secret",
        "side/secret",
        "absolute/secret",
        "bent/secret",
        "magic/etc/passwd",
        "src/..",
        "..",
        "",
        "a\0b",
        "../outside/secret\0.txt",
        deep.as_str(),
    ];
    for path in corpus {
        let path = Path::new(path);
        let inside = Path::new("src");
        let refused = |result: Result<(), RootDirError>| match result {
            Err(RootDirError::OutsideRoot | RootDirError::BadPath(_)) => {}
            other => panic!("{}: {other:?}", path.display()),
        };
        refused(root.open_read(path).map(drop));
        refused(root.stat(path).map(drop));
        refused(root.list(path, 10).map(drop));
        refused(root.open_subdir(path).map(drop));
        for mode in [FileWriteMode::Overwrite, FileWriteMode::Create, FileWriteMode::Append] {
            refused(root.write(path, b"harmed", mode));
        }
        refused(root.edit(path, 100, |_| Ok(b"harmed".to_vec())));
        refused(root.create_dir_all(path));
        refused(root.rename(inside, path, ReplaceExisting::Yes));
        refused(root.rename(path, Path::new("taken"), ReplaceExisting::Yes));
        refused(root.remove_file(path));
        refused(root.remove_dir(path));
        refused(root.remove_tree(path));
    }
    assert_eq!(std::fs::read_to_string(fixture.at("outside/secret")).unwrap(), SECRET);
    // The control: the links do lead out when they are followed.
    assert_eq!(std::fs::read_to_string(fixture.at("project/side/secret")).unwrap(), SECRET);
}
