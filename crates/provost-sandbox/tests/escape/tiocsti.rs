//! Typing into the terminal it was given.

use std::os::fd::OwnedFd;

use provost_sandbox::confine::{Sandbox, SandboxStdio};
use provost_sandbox::sandbox_policy::SandboxProfile;
use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;

use crate::sandbox_fixture::{LAYERS, Report, SandboxFixture, finish};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    for profile in [SandboxProfile::Build, SandboxProfile::Terminal] {
        for layers in LAYERS {
            let sandbox = fixture.sandbox(profile, layers);
            let report = on_terminal(&fixture, &sandbox);
            println!("  {}", report.text.trim());
            assert!(!report.did_harm(), "{profile:?} {layers:?}: {report:?}");
            assert!(report.text.contains("Operation not permitted"), "{report:?}");
        }
    }
    if rustix::process::geteuid().is_root() {
        // The control, as root, whom no Linux version forbids it.
        let (_controller, terminal) = terminal();
        let mut command = std::process::Command::new(fixture.at("project/attacker"));
        command.args(["--payload", "tiocsti"]).stdin(terminal);
        assert!(command.status().unwrap().success());
    }
}

fn on_terminal(fixture: &SandboxFixture, sandbox: &Sandbox) -> Report {
    let (_controller, terminal) = terminal();
    let mut command = fixture.command("tiocsti", &[]);
    command.stdio[0] = SandboxStdio::Fd(terminal);
    command.controlling_terminal = true;
    finish(sandbox.spawn(command).unwrap())
}

fn terminal() -> (OwnedFd, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = rustix::pty::openpt(flags).unwrap();
    rustix::pty::unlockpt(&controller).unwrap();
    let name = rustix::pty::ptsname(&controller, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let terminal = rustix::fs::open(name, flags, Mode::empty()).unwrap();
    (controller, terminal)
}
