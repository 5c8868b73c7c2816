//! A command that waits for input: it reads the end of its input.

use crate::sandbox_fixture::SandboxFixture;

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    fixture.must_fail("ask", &[]);
}
