//! What the file API must do in normal use; the attacks are in `tests/escape`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn temp_root() -> (tempfile::TempDir, RootDir) {
    let dir = tempfile::tempdir().unwrap();
    let root = RootDir::open(dir.path()).unwrap();
    (dir, root)
}

fn at(path: &str) -> &Path {
    Path::new(path)
}

#[test]
fn what_was_written_is_read_back() {
    let (dir, root) = temp_root();
    root.create_dir_all(at("a/b")).unwrap();
    root.create_dir_all(at("a/b")).unwrap();
    root.write(at("a/b/f"), b"one", FileWriteMode::Create).unwrap();
    root.write(at("a/b/f"), b"two", FileWriteMode::Overwrite).unwrap();
    root.write(at("a/b/f"), b"+three", FileWriteMode::Append).unwrap();
    root.write(at("a/b/g"), b"new", FileWriteMode::Append).unwrap();
    assert_eq!(root.read(at("a/b/f"), 100).unwrap(), b"two+three");
    assert_eq!(root.read(at("a/b/g"), 3).unwrap(), b"new");
    let taken = root.write(at("a/b/f"), b"x", FileWriteMode::Create);
    assert!(matches!(taken, Err(RootDirError::Exists)), "{taken:?}");
    let long = root.read(at("a/b/f"), 8);
    assert!(matches!(long, Err(RootDirError::TooLarge { size: 9, limit: 8 })), "{long:?}");
    assert_eq!(fs::read_dir(dir.path().join("a/b")).unwrap().count(), 2, "a staged file was left");
}

#[test]
fn a_replacement_keeps_permissions_and_loses_set_id() {
    let (dir, root) = temp_root();
    let file = dir.path().join("tool");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
    let append = root.write(at("tool"), b"x", FileWriteMode::Append);
    assert!(matches!(append, Err(RootDirError::NotRegular("a set-id program"))), "{append:?}");
    root.write(at("tool"), b"new", FileWriteMode::Overwrite).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o755);
}

#[test]
fn an_edit_sees_what_it_replaces_and_can_refuse() {
    let (_dir, root) = temp_root();
    let made = root.edit(at("f"), 10, |old| {
        assert_eq!(old, None);
        Ok::<_, RootDirError>(b"1".to_vec())
    });
    made.unwrap();
    root.edit(at("f"), 10, |old| Ok::<_, RootDirError>([old.unwrap(), b"2"].concat())).unwrap();
    let refused = root.edit(at("f"), 10, |_| Err(RootDirError::Exists));
    assert!(matches!(refused, Err(RootDirError::Exists)));
    assert_eq!(root.read(at("f"), 10).unwrap(), b"12");
}

#[test]
fn things_that_are_not_files_are_told_apart() {
    let (dir, root) = temp_root();
    fs::create_dir(dir.path().join("dir")).unwrap();
    symlink("dir", dir.path().join("link")).unwrap();
    let fifo = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(&root, c"fifo", rustix::fs::FileType::Fifo, fifo, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("sock")).unwrap();
    assert!(matches!(root.open_read(at("dir")), Err(RootDirError::IsDirectory)));
    assert!(matches!(root.open_read(at("fifo")), Err(RootDirError::NotRegular(_))));
    assert!(matches!(root.open_read(at("sock")), Err(RootDirError::NotRegular(_))));
    assert!(matches!(root.open_read(at("none")), Err(RootDirError::NotFound)));
    assert!(matches!(root.open_read(at("fifo/x")), Err(RootDirError::NotADirectory)));
    for mode in [FileWriteMode::Overwrite, FileWriteMode::Append] {
        for name in ["fifo", "sock", "link"] {
            let write = root.write(at(name), b"x", mode);
            assert!(matches!(write, Err(RootDirError::NotRegular(_))), "{name}: {write:?}");
        }
        assert!(matches!(root.write(at("dir"), b"", mode), Err(RootDirError::IsDirectory)));
    }
    let link = root.stat(at("link")).unwrap();
    assert_eq!((link.kind, link.target.unwrap()), (FileKind::Symlink, "dir".into()));
    assert_eq!(root.stat(at(".")).unwrap().kind, FileKind::Directory);
    let mut names: Vec<_> =
        root.list(at("."), 10).unwrap().entries.into_iter().map(|entry| entry.name).collect();
    names.sort();
    assert_eq!(names, ["dir", "fifo", "link", "sock"]);
    assert!(root.list(at("."), 3).unwrap().more);
}

#[test]
fn a_rename_replaces_only_when_told() {
    let (_dir, root) = temp_root();
    root.write(at("a"), b"a", FileWriteMode::Create).unwrap();
    root.write(at("b"), b"b", FileWriteMode::Create).unwrap();
    let kept = root.rename(at("a"), at("b"), ReplaceExisting::No);
    assert!(matches!(kept, Err(RootDirError::Exists)), "{kept:?}");
    root.rename(at("a"), at("b"), ReplaceExisting::Yes).unwrap();
    assert_eq!(root.read(at("b"), 9).unwrap(), b"a");
    assert!(matches!(root.remove_dir(at("b")), Err(RootDirError::NotADirectory)));
    root.remove_file(at("b")).unwrap();
    assert!(matches!(root.remove_file(at("b")), Err(RootDirError::NotFound)));
}

#[test]
fn a_tree_is_removed_without_following_its_links() {
    let (dir, root) = temp_root();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("kept"), "kept").unwrap();
    // Deeper than descriptors are held, and deeper than the longest path.
    let mut inner = RootDir::open(dir.path()).unwrap();
    for _ in 0..600 {
        inner.create_dir_all(at("dddddddd")).unwrap();
        inner = inner.open_subdir(at("dddddddd")).unwrap();
        rustix::fs::symlinkat(outside.path(), &inner, "out").unwrap();
    }
    let full = root.remove_dir(at("dddddddd"));
    assert!(matches!(full, Err(RootDirError::NotEmpty)), "{full:?}");
    root.remove_tree(at("dddddddd")).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    symlink(outside.path(), dir.path().join("link")).unwrap();
    root.remove_tree(at("link")).unwrap();
    assert!(outside.path().join("kept").exists());
}
