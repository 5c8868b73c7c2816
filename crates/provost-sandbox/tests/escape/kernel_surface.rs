//! Kernel interfaces that were broken often: none is reachable.

use crate::yard::Yard;

pub(crate) fn test() {
    let yard = Yard::new();
    yard.works_without_wall("call", &["add_key"]);
    yard.works_without_wall("call", &["io_uring"]);
    for name in ["keyctl", "add_key", "io_uring", "bpf", "perf", "userfaultfd"] {
        yard.must_fail("call", &[name]);
    }
}
