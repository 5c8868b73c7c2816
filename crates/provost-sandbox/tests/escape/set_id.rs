//! Set-id programs: they gain no rights, and none can be created.

use crate::sandbox_fixture::SandboxFixture;
use crate::test_environment::TestEnvironment;

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    fixture.works_without_sandbox("chmod", &[&fixture.text("scratch/free")]);
    fixture.must_fail("chmod", &["made"]);
    fixture.works_without_sandbox("create-set-id", &[&fixture.text("scratch/free2")]);
    fixture.must_fail("create-set-id", &["made2"]);
    let report = fixture.free("privileges", &[]);
    assert_eq!(report.did_harm(), !TestEnvironment::has_no_privileges(), "{report:?}");
    fixture.must_fail("privileges", &[]);
}
