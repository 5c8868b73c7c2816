//! Driving or reading the process that started it.

use crate::yard::{SECRET, Yard};

pub(crate) fn test() {
    let yard = Yard::new();
    let own = std::process::id().to_string();
    let kept = SECRET.to_owned();
    let place = kept.as_ptr().expose_provenance().to_string();
    if rustix::process::geteuid().is_root() {
        yard.works_without_wall("vm", &[&own, &place]);
    }
    yard.must_fail("vm", &[&own, &place]);
    yard.must_fail("ptrace", &[&own]);
    yard.must_fail("ptrace", &["1"]);
    if yard.machine.landlock_abi >= 6 {
        yard.works_without_wall("kill", &[&own]);
        yard.must_fail("kill", &[&own]);
    }
    drop(kept);
}
