//! Reading the environment of a parent that is not dumpable.

use provost_sandbox::launch;

use crate::sandbox_fixture::SandboxFixture;

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let own = std::process::id().to_string();
    let canary = "PATH=";
    fixture.works_without_sandbox("environ", &[&own, canary]);
    launch::protect_own_memory().unwrap();
    // The sandbox still works, although a user namespace needs a dumpable process.
    fixture.must_fail("environ", &[&own, canary]);
    if !rustix::process::geteuid().is_root() {
        assert!(!fixture.free("environ", &[&own, canary]).did_harm(), "it is not protected");
    }
}
