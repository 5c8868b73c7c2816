//! Processes of the same user outside, and memory and queues that they share.

use std::panic::AssertUnwindSafe;
use std::process::{Child, Command, Stdio};

use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{LAYERS, SandboxFixture};

/// A process that waits, as one of the user's would.
struct NeighborProcess(Child);

impl NeighborProcess {
    fn start() -> Self {
        Self(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for NeighborProcess {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let neighbor = NeighborProcess::start();
    let pid = neighbor.0.id().to_string();
    for how in ["limits", "affinity", "scheduler", "priority", "io-priority"] {
        fixture.must_be_denied("other-process", &[how, &pid]);
        fixture.works_without_sandbox("other-process", &[how, &pid]);
    }
    // Without a control: it would slow down all that the user runs. In a pid namespace
    // it reaches only the run itself.
    let all = ["all-priorities", "0"];
    let report = fixture.confined(SandboxProfile::Build, LAYERS[0], "other-process", &all);
    assert!(!report.did_harm() && report.text.contains("(os error 1)"), "{report:?}");
}

pub(crate) fn shared_memory() {
    let fixture = SandboxFixture::new();
    // SAFETY: plain numbers; the objects are removed below.
    let (memory, queue) = unsafe {
        (libc::shmget(libc::IPC_PRIVATE, 4096, 0o600), libc::msgget(libc::IPC_PRIVATE, 0o600))
    };
    assert!(memory >= 0 && queue >= 0, "{}", std::io::Error::last_os_error());
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| {
        for (kind, id) in [("memory", memory), ("queue", queue)] {
            let id = id.to_string();
            fixture.works_without_sandbox("shared-object", &[kind, &id]);
            fixture.must_be_denied("shared-object", &[kind, &id]);
        }
    }));
    // SAFETY: removes the two objects; nothing is read or written.
    unsafe {
        libc::shmctl(memory, libc::IPC_RMID, std::ptr::null_mut());
        libc::msgctl(queue, libc::IPC_RMID, std::ptr::null_mut());
    }
    result.unwrap();
}
