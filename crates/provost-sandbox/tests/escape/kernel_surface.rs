//! Kernel interfaces that were broken often: none is reachable.

use crate::sandbox_fixture::SandboxFixture;

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let surface = ["keyctl", "add_key", "io_uring", "bpf", "perf", "userfaultfd"];
    for name in surface {
        fixture.must_fail("call", &[name]);
    }
    // A careful machine closes some of them for everybody; one will be open.
    let open: Vec<_> =
        surface.iter().filter(|name| fixture.free("call", &[name]).did_harm()).collect();
    println!("  open without the sandbox: {open:?}");
    assert!(!open.is_empty(), "the control found nothing open");
}
