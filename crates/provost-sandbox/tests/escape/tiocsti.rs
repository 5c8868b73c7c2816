//! Typing into the terminal it was given.

use std::os::fd::OwnedFd;

use provost_sandbox::confine::{Sandbox, SandboxStdio};
use provost_sandbox::sandbox_policy::SandboxProfile;
use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;

use crate::yard::{LAYERS, Report, Yard, finish};

pub(crate) fn test() {
    let yard = Yard::new();
    for profile in [SandboxProfile::Build, SandboxProfile::Terminal] {
        for layers in LAYERS {
            let wall = yard.wall(profile, layers);
            let report = on_terminal(&yard, &wall);
            println!("  {}", report.text.trim());
            assert!(!report.did_harm(), "{profile:?} {layers:?}: {report:?}");
            assert!(report.text.contains("Operation not permitted"), "{report:?}");
        }
    }
    if rustix::process::geteuid().is_root() {
        // The control, as the user to whom no kernel forbids it.
        let (_controller, terminal) = terminal();
        let mut command = std::process::Command::new(yard.at("project/attacker"));
        command.args(["--payload", "tiocsti"]).stdin(terminal);
        assert!(command.status().unwrap().success());
    }
}

fn on_terminal(yard: &Yard, wall: &Sandbox) -> Report {
    let (_controller, terminal) = terminal();
    let mut command = yard.command("tiocsti", &[]);
    command.stdio[0] = SandboxStdio::Fd(terminal);
    command.controlling_terminal = true;
    finish(wall.spawn(command).unwrap())
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
