//! Using up the machine: processes, memory, open files, disk.

use std::fs::File;
use std::io::Read as _;
use std::time::{Duration, Instant};

use provost_sandbox::confine::{LayerSelection, SandboxExit};
use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{LAYERS, SandboxFixture};
use crate::stop;

pub(crate) fn fork_bomb() {
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let sandbox = fixture.sandbox(SandboxProfile::Build, layers);
        let is_limited = sandbox.applied().cgroup_pids || !rustix::process::geteuid().is_root();
        let more = fixture.confined(SandboxProfile::Build, layers, "fork", &["100"]);
        assert_eq!(more.did_harm(), !is_limited, "{layers:?} {more:?}");
        assert_eq!(stop::n_alive(&fixture), 0);
        if !is_limited {
            // Linux does not count root's processes, so a bomb would take the machine.
            continue;
        }
        let mut child = fixture.spawn(&sandbox, "fork-bomb", &[]);
        let mut started = [0; 7];
        File::from(child.stdout.take().unwrap()).read_exact(&mut started).unwrap();
        let start = Instant::now();
        assert_eq!(child.wait_for(Duration::from_millis(500)).unwrap(), None);
        let n_alive = stop::n_alive(&fixture);
        assert!(n_alive <= 70, "{n_alive} processes");
        child.stop(Duration::from_millis(100)).unwrap();
        println!("  {n_alive} processes at most, all gone after {:?}", start.elapsed());
        assert_eq!(stop::n_alive(&fixture), 0);
    }
}

pub(crate) fn memory() {
    let mut fixture = SandboxFixture::new();
    fixture.limits.memory = 256 << 20;
    for layers in LAYERS {
        let report = fixture.confined(SandboxProfile::Build, layers, "allocate", &["64"]);
        println!("  {report:?}");
        assert!(!report.did_harm(), "{report:?}");
        // Either refused, or killed by Linux, in its own cgroup only.
        assert!(matches!(report.exit, SandboxExit::Code(1) | SandboxExit::Signal(9)), "{report:?}");
    }
}

/// Without a limit for the whole run, there is no memory that no limit counts.
pub(crate) fn memory_files() {
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let counted = fixture.sandbox(SandboxProfile::Build, layers).applied().cgroup_memory;
        let report = fixture.confined(SandboxProfile::Build, layers, "allocate-file", &[]);
        assert_eq!(report.did_harm(), counted, "{report:?}");
    }
    fixture.works_without_sandbox("allocate-file", &[]);
}

/// A user namespace limits the watchers of a run, so that others find some left.
pub(crate) fn watchers() {
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let limited = fixture.sandbox(SandboxProfile::Build, layers).applied().user_namespace;
        let report = fixture.confined(SandboxProfile::Build, layers, "watchers", &["40"]);
        assert_eq!(report.did_harm(), !limited, "{report:?}");
        let few = fixture.confined(SandboxProfile::Build, layers, "watchers", &["20"]);
        assert!(few.did_harm(), "{few:?}");
    }
}

pub(crate) fn open_files() {
    let fixture = SandboxFixture::new();
    fixture.must_fail("open-files", &[]);
}

pub(crate) fn file_size() {
    let fixture = SandboxFixture::new();
    for layers in [LAYERS[0], LayerSelection::Auto] {
        let report = fixture.confined(SandboxProfile::Build, layers, "grow", &["src/big", "10"]);
        assert!(!report.did_harm() && report.text.contains("too large"), "{report:?}");
    }
    fixture.works_without_sandbox("grow", &["src/sparse", "10"]);
}
