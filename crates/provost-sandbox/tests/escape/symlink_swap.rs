//! Swapping a folder for a link to outside between check and use, for ten seconds.

use std::fs;
use std::os::unix::fs::symlink;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use provost_sandbox::root_dir::{FileWriteMode, RootDir};
use rustix::fs::{CWD, RenameFlags};

use crate::sandbox_fixture::{SECRET, SandboxFixture};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    fs::create_dir(fixture.at("project/target")).unwrap();
    fs::write(fixture.at("project/target/secret"), "inside").unwrap();
    symlink(fixture.at("outside"), fixture.at("project/trap")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| swap(&fixture, &stop));
        let ended = std::panic::catch_unwind(AssertUnwindSafe(|| attack(&fixture)));
        stop.store(true, Ordering::Relaxed);
        ended.unwrap();
    });
    assert_eq!(fs::read_to_string(fixture.at("outside/secret")).unwrap(), SECRET);
    assert_eq!(
        fs::read_dir(fixture.at("outside")).unwrap().count(),
        1,
        "something was made outside"
    );
}

fn swap(fixture: &SandboxFixture, stop: &AtomicBool) {
    let (target, trap) = (fixture.at("project/target"), fixture.at("project/trap"));
    while !stop.load(Ordering::Relaxed) {
        // Fails while a removal has removed one of them; then it is retried.
        let _ = rustix::fs::renameat_with(CWD, &target, CWD, &trap, RenameFlags::EXCHANGE);
    }
}

fn attack(fixture: &SandboxFixture) {
    let root = RootDir::open(&fixture.at("project")).unwrap();
    let naive = fixture.at("project/target/secret");
    let (mut n_naive, mut n_reads, mut n_inside) = (0u64, 0u64, 0u64);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        // The control: checking first and opening later is vulnerable.
        let is_inside =
            fs::canonicalize(&naive).is_ok_and(|p| p.starts_with(fixture.at("project")));
        if is_inside && fs::read_to_string(&naive).is_ok_and(|text| text == SECRET) {
            n_naive += 1;
        }
        for _ in 0..10 {
            n_reads += 1;
            if let Ok(content) = root.read(Path::new("target/secret"), 100) {
                assert_ne!(content, SECRET.as_bytes(), "read outside");
                n_inside += 1;
            }
        }
        drop(root.write(Path::new("target/secret"), b"inside", FileWriteMode::Overwrite));
        drop(root.write(Path::new("target/new"), b"x", FileWriteMode::Append));
        drop(root.create_dir_all(Path::new("target/a/b")));
        drop(root.remove_tree(Path::new("target/a")));
    }
    println!("  {n_reads} reads, {n_inside} inside, 0 outside; look-then-open: {n_naive} outside");
    assert!(n_inside > 0, "the target was never inside: nothing was tested");
    assert!(n_naive > 0, "the control never read outside: nothing was tested");
}
