//! A gigabyte of output: it waits for us, not in our memory, and can be stopped.

use std::fs::File;
use std::io::Read as _;
use std::time::Duration;

use provost_sandbox::confine::SandboxExit;
use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{LAYERS, SandboxFixture};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let sandbox = fixture.sandbox(SandboxProfile::Build, layers);
        let mut child = fixture.spawn(&sandbox, "flood", &[]);
        let mut stdout = File::from(child.stdout.take().unwrap());
        let mut block = vec![0; 1 << 20];
        for _ in 0..1024 {
            stdout.read_exact(&mut block).unwrap();
        }
        assert_eq!(child.wait().unwrap(), SandboxExit::Code(0));
        let mut child = fixture.spawn(&sandbox, "flood", &[]);
        // Not read at all: it stands still, and stop ends it.
        assert_eq!(child.wait_for(Duration::from_millis(50)).unwrap(), None);
        child.stop(Duration::from_millis(200)).unwrap();
    }
}
