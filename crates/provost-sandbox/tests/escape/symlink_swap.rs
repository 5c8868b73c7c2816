//! A folder that is swapped for a link to outside while we look, for ten seconds.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use provost_sandbox::root_dir::{FileWriteMode, RootDir};
use rustix::fs::{CWD, RenameFlags};

use crate::yard::{SECRET, Yard};

pub(crate) fn test() {
    let yard = Yard::new();
    fs::create_dir(yard.at("project/door")).unwrap();
    fs::write(yard.at("project/door/secret"), "inside").unwrap();
    symlink(yard.at("outside"), yard.at("project/trap")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| swap(&yard, &stop));
        let ended = std::panic::catch_unwind(|| attack(&yard));
        stop.store(true, Ordering::Relaxed);
        ended.unwrap();
    });
    assert_eq!(fs::read_to_string(yard.at("outside/secret")).unwrap(), SECRET);
    assert_eq!(fs::read_dir(yard.at("outside")).unwrap().count(), 1, "something was made outside");
}

fn swap(yard: &Yard, stop: &AtomicBool) {
    let (door, trap) = (yard.at("project/door"), yard.at("project/trap"));
    while !stop.load(Ordering::Relaxed) {
        // Fails while a removal has taken one away; then it is tried again.
        let _ = rustix::fs::renameat_with(CWD, &door, CWD, &trap, RenameFlags::EXCHANGE);
    }
}

fn attack(yard: &Yard) {
    let root = RootDir::open(&yard.at("project")).unwrap();
    let naive = yard.at("project/door/secret");
    let (mut n_naive, mut n_reads, mut n_inside) = (0u64, 0u64, 0u64);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        // The control: looking first and opening then falls for it.
        let is_inside = fs::canonicalize(&naive).is_ok_and(|p| p.starts_with(yard.at("project")));
        if is_inside && fs::read_to_string(&naive).is_ok_and(|text| text == SECRET) {
            n_naive += 1;
        }
        for _ in 0..10 {
            n_reads += 1;
            if let Ok(content) = root.read(Path::new("door/secret"), 100) {
                assert_ne!(content, SECRET.as_bytes(), "read outside");
                n_inside += 1;
            }
        }
        drop(root.write(Path::new("door/secret"), b"inside", FileWriteMode::Overwrite));
        drop(root.write(Path::new("door/new"), b"x", FileWriteMode::Append));
        drop(root.create_dir_all(Path::new("door/a/b")));
        drop(root.remove_tree(Path::new("door/a")));
    }
    println!("  {n_reads} reads, {n_inside} inside, 0 outside; look-then-open: {n_naive} outside");
    assert!(n_inside > 0, "the door was never open: nothing was tried");
    assert!(n_naive > 0, "the control never fell for it: nothing was tried");
}
