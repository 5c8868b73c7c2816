//! Outliving the run: daemons, ignored signals, closed output, orphans of a killed parent.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use provost_sandbox::confine::{OrphanPolicy, SandboxChild, SandboxError, SandboxExit};
use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{LAYERS, SandboxFixture};

/// How many processes run the fixture's attacker.
pub(crate) fn n_alive(fixture: &SandboxFixture) -> usize {
    find_alive(fixture).len()
}

fn is_running(process: &Path, program: &Path) -> bool {
    // The command line, since reading the link to the program needs more rights.
    let Ok(line) = fs::read(process.join("cmdline")) else { return false };
    line.split(|byte| *byte == 0).next() == program.to_str().map(str::as_bytes)
}

fn read_line(child: &mut SandboxChild) -> String {
    let mut line = String::new();
    BufReader::new(File::from(child.stdout.take().unwrap())).read_line(&mut line).unwrap();
    line
}

pub(crate) fn double_setsid() {
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let sandbox = fixture.sandbox(SandboxProfile::Build, layers);
        let mut command = fixture.command("daemon", &["alive"]);
        command.orphans = OrphanPolicy::Keep;
        let mut child = sandbox.spawn(command).unwrap();
        assert_eq!(read_line(&mut child), "alive\n");
        wait_for_daemon(&fixture);
        let start = Instant::now();
        child.stop(Duration::from_millis(100)).unwrap();
        assert_eq!(n_alive(&fixture), 0, "{layers:?}");
        println!("  {layers:?}: gone after {:?}", start.elapsed());
    }
}

/// A supervisor that cannot list the processes does not report them as stopped.
pub(crate) fn blinded() {
    let fixture = SandboxFixture::new();
    let sandbox = fixture.sandbox(SandboxProfile::Build, LAYERS[0]);
    let mut command = fixture.command("daemon", &["alive"]);
    command.orphans = OrphanPolicy::Keep;
    let mut child = sandbox.spawn(command).unwrap();
    assert_eq!(read_line(&mut child), "alive\n");
    wait_for_daemon(&fixture);
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let supervisor = i32::try_from(child.pid()).unwrap();
    // SAFETY: the limit outlives the call.
    let limited = unsafe {
        libc::prlimit(supervisor, libc::RLIMIT_NOFILE, &raw const none, std::ptr::null_mut())
    };
    assert_eq!(limited, 0, "{}", io::Error::last_os_error());
    let stopped = child.stop(Duration::ZERO);
    let survivors = find_alive(&fixture);
    for pid in &survivors {
        // SAFETY: ends a process that this test started.
        unsafe { libc::kill(*pid, libc::SIGKILL) };
    }
    assert!(matches!(stopped, Err(SandboxError::Unseen)), "{stopped:?}");
    assert_eq!(survivors.len(), 1, "the control: something survives");
}

/// Waits until the daemon is the only process: its parents end after it was started.
fn wait_for_daemon(fixture: &SandboxFixture) {
    let start = Instant::now();
    while n_alive(fixture) != 1 {
        assert!(start.elapsed() < Duration::from_mins(1), "the control: without stop it lives");
        std::thread::yield_now();
    }
}

/// The processes of the attacker.
fn find_alive(fixture: &SandboxFixture) -> Vec<i32> {
    let attacker = fixture.at("project/attacker");
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let alive = processes.filter(|process| is_running(&process.path(), &attacker));
    alive.map(|process| process.file_name().to_str().unwrap().parse().unwrap()).collect()
}

/// When the command ends, the processes it left are killed.
pub(crate) fn orphans() {
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let sandbox = fixture.sandbox(SandboxProfile::Build, layers);
        let mut child = fixture.spawn(&sandbox, "daemon", &["alive"]);
        assert_eq!(child.wait().unwrap(), SandboxExit::Code(0));
        assert_eq!(n_alive(&fixture), 0, "{layers:?}");
    }
}

pub(crate) fn ignores_term() {
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let sandbox = fixture.sandbox(SandboxProfile::Build, layers);
        let mut child = fixture.spawn(&sandbox, "stubborn", &[]);
        assert_eq!(read_line(&mut child), "ready\n");
        let exit = child.stop(Duration::from_millis(100)).unwrap();
        assert_eq!(exit, SandboxExit::Signal(9), "{layers:?}");
        assert_eq!(n_alive(&fixture), 0);
    }
}

pub(crate) fn closes_output() {
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let sandbox = fixture.sandbox(SandboxProfile::Build, layers);
        let mut child = fixture.spawn(&sandbox, "silent", &[]);
        let mut nothing = String::new();
        File::from(child.stdout.take().unwrap()).read_to_string(&mut nothing).unwrap();
        // It has closed its output, and lives.
        assert_eq!(child.try_wait().unwrap(), None, "{layers:?}");
        let exit = child.stop(Duration::from_secs(10)).unwrap();
        assert_eq!(exit, SandboxExit::Signal(15), "{layers:?}");
        assert_eq!(n_alive(&fixture), 0);
    }
}

/// The process that started a run is killed; the run ends with it.
pub(crate) fn parent_dies() {
    for layers in ["bare", "auto"] {
        let fixture = SandboxFixture::new();
        let mut parent = Command::new(std::env::current_exe().unwrap())
            .args(["--payload", "parent", layers])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
        let attacker = lines.find_map(|line| Some(line.unwrap().strip_prefix("at ")?.to_owned()));
        let attacker = attacker.unwrap();
        parent.kill().unwrap();
        parent.wait().unwrap();
        let start = Instant::now();
        let is_alive = || {
            let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
            processes.into_iter().any(|p| is_running(&p.path(), Path::new(&attacker)))
        };
        while is_alive() {
            assert!(start.elapsed() < Duration::from_secs(10), "{layers}: it outlived its parent");
            std::thread::yield_now();
        }
        // The killed parent could not clean up after itself.
        drop(fs::remove_dir_all(Path::new(&attacker).parent().unwrap().parent().unwrap()));
        drop(fixture);
    }
}

/// In another process: starts a daemon in a sandbox, prints where, and waits.
pub(crate) fn parent(layers: &[&str]) -> io::Result<String> {
    let fixture = SandboxFixture::new();
    let layers = if layers == ["bare"] { LAYERS[0] } else { LAYERS[1] };
    let sandbox = fixture.sandbox(SandboxProfile::Build, layers);
    let mut command = fixture.command("daemon", &["alive"]);
    command.orphans = OrphanPolicy::Keep;
    let mut child = sandbox.spawn(command).unwrap();
    assert_eq!(read_line(&mut child), "alive\n");
    println!("at {}", fixture.text("project/attacker"));
    io::stdout().flush()?;
    loop {
        std::thread::park();
    }
}
