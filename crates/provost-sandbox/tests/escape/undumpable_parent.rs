//! Reading the environment of a parent that protects itself, and being started by it.

use provost_sandbox::launch;

use crate::yard::Yard;

pub(crate) fn test() {
    let yard = Yard::new();
    let own = std::process::id().to_string();
    let canary = "PATH=";
    yard.works_without_wall("environ", &[&own, canary]);
    launch::protect_own_memory().unwrap();
    // The wall still stands, though a user namespace needs a dumpable process.
    yard.must_fail("environ", &[&own, canary]);
    if !rustix::process::geteuid().is_root() {
        assert!(!yard.free("environ", &[&own, canary]).did_harm(), "it is not protected");
    }
}
