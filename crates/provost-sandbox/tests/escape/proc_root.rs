//! Ways through `/proc`: roots, environments and memories of other processes.

use crate::sandbox_fixture::{SECRET, SandboxFixture};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let secret = fixture.text("home/.ssh/id_ed25519");
    let own = std::process::id().to_string();
    fixture.works_without_sandbox("read", &[&format!("/proc/self/root{secret}")]);
    fixture.must_fail("read", &[&format!("/proc/self/root{secret}")]);
    fixture.must_be_denied("read", &[&format!("/proc/1/root{secret}")]);
    fixture.must_be_denied("read", &[&format!("/proc/{own}/root{secret}")]);
    fixture.must_be_denied("read", &[&format!("/proc/{own}/cwd/../{secret}")]);
    // Descriptors can be listed; the files behind them cannot be opened.
    fixture.must_be_denied("read", &[&format!("/proc/{own}/fd/0")]);
    fixture.must_be_denied("read", &[&format!("/proc/{own}/maps")]);
    // The parent's environment and memory, where its secrets are.
    let canary = "/usr/bin:/bin";
    fixture.must_fail("environ", &[&own, canary]);
    let kept = SECRET.to_owned();
    let place = kept.as_ptr().expose_provenance().to_string();
    if rustix::process::geteuid().is_root() {
        fixture.works_without_sandbox("mem", &[&own, &place]);
    }
    fixture.must_fail("mem", &[&own, &place]);
    // Its first process, the supervisor, which may share the parent's memory.
    fixture.must_fail("mem", &["1", &place]);
    drop(kept);
}
