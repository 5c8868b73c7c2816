//! A program that exists in memory only is confined in the same way.

use crate::sandbox_fixture::SandboxFixture;

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let secret = fixture.text("home/.ssh/id_ed25519");
    fixture.works_without_sandbox("memfd", &["read", &secret]);
    fixture.must_fail("memfd", &["read", &secret]);
    fixture.must_fail("memfd", &["call", "unshare-user"]);
}
