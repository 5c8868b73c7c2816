//! Making a namespace inside, in which one would be root, or changing mounts.

use crate::sandbox_fixture::SandboxFixture;

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    for name in ["unshare-user", "clone-user"] {
        let report = fixture.free("call", &[name]);
        let is_possible = fixture.machine.namespaces.user.is_available();
        assert_eq!(report.did_harm(), is_possible, "the control of {name}: {report:?}");
    }
    for name in
        ["unshare-user", "clone-user", "unshare-mount", "mount", "chroot", "setns", "personality"]
    {
        fixture.must_fail("call", &[name]);
    }
    fixture.must_fail("bind-mount", &[&fixture.text("outside"), "src"]);
}
