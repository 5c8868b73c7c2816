//! Using up the machine: processes, memory, open files, disk.

use std::fs::File;
use std::io::Read as _;
use std::time::{Duration, Instant};

use provost_sandbox::confine::{LayerSelection, SandboxExit};
use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::stop;
use crate::yard::{LAYERS, Yard};

pub(crate) fn fork_bomb() {
    let yard = Yard::new();
    for layers in LAYERS {
        let wall = yard.wall(SandboxProfile::Build, layers);
        let is_limited = wall.applied().cgroup_pids || !rustix::process::geteuid().is_root();
        if !is_limited {
            println!("  skipped with {layers:?}: the kernel does not count root's processes");
            continue;
        }
        let mut child = yard.spawn(&wall, "fork-bomb", &[]);
        let mut started = [0; 7];
        File::from(child.stdout.take().unwrap()).read_exact(&mut started).unwrap();
        let start = Instant::now();
        assert_eq!(child.wait_for(Duration::from_millis(500)).unwrap(), None);
        let n_alive = stop::n_alive(&yard);
        assert!(n_alive <= 70, "{n_alive} processes");
        child.stop(Duration::from_millis(100)).unwrap();
        println!("  {n_alive} processes at most, all gone after {:?}", start.elapsed());
        assert_eq!(stop::n_alive(&yard), 0);
    }
}

pub(crate) fn memory() {
    let mut yard = Yard::new();
    yard.limits.memory = 256 << 20;
    for layers in LAYERS {
        let report = yard.confined(SandboxProfile::Build, layers, "allocate", &["64"]);
        println!("  {report:?}");
        assert!(!report.did_harm(), "{report:?}");
        // Either refused, or ended by the kernel: for its own group alone.
        assert!(matches!(report.exit, SandboxExit::Code(1) | SandboxExit::Signal(9)), "{report:?}");
    }
}

pub(crate) fn open_files() {
    let yard = Yard::new();
    yard.must_fail("open-files", &[]);
}

pub(crate) fn file_size() {
    let yard = Yard::new();
    for layers in [LAYERS[0], LayerSelection::Auto] {
        let report = yard.confined(SandboxProfile::Build, layers, "grow", &["src/big", "10"]);
        assert!(!report.did_harm() && report.text.contains("too large"), "{report:?}");
    }
    yard.works_without_wall("grow", &["src/sparse", "10"]);
}
