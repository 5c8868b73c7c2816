//! Reading and writing files in the shared `/tmp`.

use std::fs;

use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{LAYERS, SandboxFixture};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let shared = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let path = shared.path().to_str().unwrap();
    fs::write(path, "of somebody else").unwrap();
    fixture.works_without_sandbox("read", &[path]);
    fixture.must_fail("read", &[path]);
    fixture.must_fail("remove", &[path]);
    for layers in LAYERS {
        let sandbox = fixture.sandbox(SandboxProfile::Build, layers);
        let is_private = sandbox.applied().private_tmp;
        let name = format!("/tmp/provost-test-{}", std::process::id());
        let report = fixture.confined(SandboxProfile::Build, layers, "write", &[&name]);
        assert_eq!(report.did_harm(), is_private, "{report:?}");
        assert!(!fs::exists(&name).unwrap(), "it is in the /tmp of all");
    }
    below_tmp();
}

/// A project in the shared `/tmp` has the same path in the private one, and is
/// confined in the same way.
fn below_tmp() {
    let fixture = SandboxFixture::below_tmp();
    let shared = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    fixture.must_fail("read", &[shared.path().to_str().unwrap()]);
    fixture.must_fail("append", &[".git/hooks/pre-commit"]);
    fixture.must_fail("rename", &[".git", "src/old"]);
    fixture.must_fail("read", &[&fixture.text("outside/secret")]);
    // The folder above the project, to replace the project.
    let elsewhere = tempfile::tempdir_in("/tmp").unwrap();
    let elsewhere = elsewhere.path().join("moved");
    let (above, elsewhere) = (fixture.text("."), elsewhere.to_str().unwrap());
    let above = above.trim_end_matches("/.");
    fixture.must_be_denied("rename", &[above, elsewhere]);
    let control = SandboxFixture::below_tmp();
    let moved = control.text(".");
    let moved = moved.trim_end_matches("/.");
    fs::rename(moved, elsewhere).unwrap();
    fs::rename(elsewhere, moved).unwrap();
    for layers in LAYERS {
        let is_private = fixture.sandbox(SandboxProfile::Build, layers).applied().private_tmp;
        assert_eq!(
            is_private,
            fixture.sandbox(SandboxProfile::Build, layers).applied().mount_namespace
        );
        let name = format!("/tmp/provost-test-{}", std::process::id());
        for (profile, attack, path, works) in [
            (SandboxProfile::Build, "write", name.as_str(), is_private),
            (SandboxProfile::Build, "write", "/dev/shm/provost-test", is_private),
            (SandboxProfile::Build, "write", "src/new", true),
            (SandboxProfile::Read, "write", "src/another", false),
            (SandboxProfile::Read, "read", "src/new", true),
        ] {
            let report = fixture.confined(profile, layers, attack, &[path]);
            assert_eq!(report.did_harm(), works, "{profile:?} {attack} {path}: {report:?}");
        }
        assert!(!fs::exists(&name).unwrap(), "it is in the /tmp of all");
        assert!(fixture.at("project/src/new").exists(), "the project is another one inside");
        fs::remove_file(fixture.at("project/src/new")).unwrap();
    }
}
