//! Making a namespace inside, in which one would be root, or changing mounts.

use crate::sandbox_fixture::SandboxFixture;

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    if fixture.machine.namespaces.user.is_available() {
        fixture.works_without_sandbox("call", &["unshare-user"]);
        fixture.works_without_sandbox("call", &["clone-user"]);
    }
    for name in
        ["unshare-user", "clone-user", "unshare-mount", "mount", "chroot", "setns", "personality"]
    {
        fixture.must_fail("call", &[name]);
    }
    fixture.must_fail("bind-mount", &[&fixture.text("outside"), "src"]);
}
