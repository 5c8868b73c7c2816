//! A daemon whose own log cannot be written keeps working.

use std::fs;
use std::io::Write as _;
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::Home;

#[test]
fn a_daemon_that_nobody_hears_goes_on_answering() {
    let home = Home::new();
    // The only reader of its output is gone before it starts.
    let script = r#"mkfifo "$1"; true <"$1" & exec 4>"$1"; wait
        "$0" serve --log debug >/dev/null 2>&4 &"#;
    let mut command = assert_cmd::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_provost")]).arg(home.path("pipe"));
    command.env("PROVOST_DATA", home.data()).env("HOME", home.path(""));
    command.env("PROVOST_LISTEN", "127.0.0.1:0").assert().success();
    let began = Instant::now();
    while !home.data().join("daemon.json").exists() {
        assert!(began.elapsed() < Duration::from_mins(1), "it did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    for label in ["one", "two", "three"] {
        home.run_ok(&["token", "create", "--class", "viewer", "--label", label]);
    }
    assert!(home.run_ok(&["down"]).contains("has stopped"));
}

#[test]
fn a_daemon_on_a_full_disk_says_so_and_works_again_when_there_is_space() {
    let home = Home::new();
    fs::create_dir(home.data()).unwrap();
    if let Err(error) = mount("tmpfs", home.data(), "tmpfs", MountFlags::empty(), c"size=2m") {
        // Only root may mount; an ordinary user cannot make a small disk.
        assert!(!rustix::process::geteuid().is_root(), "root could not mount: {error}");
        return;
    }
    home.up();
    let ballast = home.data().join("ballast");
    // As much as there is room for, on the disk and in the last page of the daemon's output.
    drop(fs::write(&ballast, vec![0; 4 * 1024 * 1024]));
    let mut log = fs::OpenOptions::new().append(true).open(home.data().join("daemon.log")).unwrap();
    log.write_all(&[b'\n'; 8192]).unwrap_err();
    drop(log);
    let label = "x".repeat(100);
    let create = ["token", "create", "--class", "viewer", "--label", &label];
    let full = || {
        let output = home.provost(&create).output().unwrap();
        (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // There is room in what SQLite has taken already.
    let printed = (0..1000).find_map(|_| full()).unwrap();
    assert!(printed.contains("NO_SPACE"), "{printed}");
    for _ in 0..3 {
        let printed = full().unwrap();
        assert!(printed.contains("NO_SPACE"), "it stays what it was: {printed}");
    }
    fs::remove_file(&ballast).unwrap();
    home.run_ok(&create);
    home.run_ok(&["status"]);
    home.run_ok(&["down"]);
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
    unmount(home.data(), UnmountFlags::DETACH).unwrap();
}
