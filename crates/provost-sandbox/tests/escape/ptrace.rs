//! Tracing or reading the process that started it.

use crate::sandbox_fixture::{SECRET, SandboxFixture};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let own = std::process::id().to_string();
    let kept = SECRET.to_owned();
    let place = kept.as_ptr().expose_provenance().to_string();
    if rustix::process::geteuid().is_root() {
        fixture.works_without_sandbox("vm", &[&own, &place]);
    }
    fixture.must_fail("vm", &[&own, &place]);
    fixture.must_fail("ptrace", &[&own]);
    fixture.must_fail("ptrace", &["1"]);
    if fixture.machine.landlock_abi >= 6 {
        fixture.works_without_sandbox("kill", &[&own]);
        fixture.must_fail("kill", &[&own]);
    }
    drop(kept);
}
