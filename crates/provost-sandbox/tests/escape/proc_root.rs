//! Ways through `/proc`: roots, environments and memories of other processes.

use crate::yard::{SECRET, Yard};

pub(crate) fn test() {
    let yard = Yard::new();
    let secret = yard.text("home/.ssh/id_ed25519");
    let own = std::process::id().to_string();
    yard.works_without_wall("read", &[&format!("/proc/self/root{secret}")]);
    yard.must_fail("read", &[&format!("/proc/self/root{secret}")]);
    yard.must_be_denied("read", &[&format!("/proc/1/root{secret}")]);
    yard.must_be_denied("read", &[&format!("/proc/{own}/root{secret}")]);
    yard.must_be_denied("read", &[&format!("/proc/{own}/cwd/../{secret}")]);
    // Numbers of open files can be listed; what is behind them cannot be reached.
    yard.must_be_denied("read", &[&format!("/proc/{own}/fd/0")]);
    yard.must_be_denied("read", &[&format!("/proc/{own}/maps")]);
    // The parent's environment and memory, where its secrets are.
    let canary = "/usr/bin:/bin";
    yard.must_fail("environ", &[&own, canary]);
    let kept = SECRET.to_owned();
    let place = kept.as_ptr().expose_provenance().to_string();
    if rustix::process::geteuid().is_root() {
        yard.works_without_wall("mem", &[&own, &place]);
    }
    yard.must_fail("mem", &[&own, &place]);
    // Its first process, the warden, who may share the parent's memory.
    yard.must_fail("mem", &["1", &place]);
    drop(kept);
}
