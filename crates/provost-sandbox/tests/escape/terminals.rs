//! The terminals of others: reading what is typed there, writing what is shown there.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::time::Duration;

use provost_sandbox::confine::SandboxExit;
use provost_sandbox::sandbox_policy::SandboxProfile;
use rustix::pty::OpenptFlags;

use crate::sandbox_fixture::{CONFINED, LAYERS, SandboxFixture, finish};

/// A terminal of somebody else, and its path.
fn open_foreign_terminal() -> (OwnedFd, String) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = rustix::pty::openpt(flags).unwrap();
    rustix::pty::unlockpt(&controller).unwrap();
    let name = rustix::pty::ptsname(&controller, Vec::new()).unwrap();
    (controller, name.into_string().unwrap())
}

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let (_controller, name) = open_foreign_terminal();
    for attack in ["open", "append"] {
        fixture.works_without_sandbox(attack, &[&name]);
        fixture.must_be_denied(attack, &[&name]);
    }
}

/// Where it has terminals of its own, a run can use them, and only so many.
pub(crate) fn own() {
    let fixture = SandboxFixture::new();
    for profile in CONFINED {
        for layers in LAYERS {
            let own = fixture.sandbox(profile, layers).applied().own_terminals;
            let report = fixture.confined(profile, layers, "own-terminal", &[]);
            assert_eq!(report.did_harm(), own, "{profile:?} {layers:?} {report:?}");
            let report = fixture.confined(profile, layers, "many-terminals", &["100"]);
            assert!(!report.did_harm(), "{profile:?} {layers:?} {report:?}");
        }
    }
    fixture.works_without_sandbox("own-terminal", &[]);
    fixture.works_without_sandbox("many-terminals", &["100"]);
}

/// Two runs of one project do not share them.
pub(crate) fn shared() {
    let fixture = SandboxFixture::new();
    let sandbox = fixture.sandbox(SandboxProfile::Build, LAYERS[1]);
    let mut holder = fixture.spawn(&sandbox, "hold-terminal", &[]);
    if !sandbox.applied().own_terminals {
        // It has none that another run could open.
        let report = finish(holder);
        assert_eq!(report.exit, SandboxExit::Code(1), "{report:?}");
        return;
    }
    let mut name = String::new();
    BufReader::new(File::from(holder.stdout.take().unwrap())).read_line(&mut name).unwrap();
    fixture.must_be_denied("open", &[name.trim()]);
    holder.stop(Duration::ZERO).unwrap();
}
