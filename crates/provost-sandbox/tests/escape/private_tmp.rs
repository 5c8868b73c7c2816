//! Reading and leaving things in the `/tmp` that everybody shares.

use std::fs;

use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::yard::{LAYERS, Yard};

pub(crate) fn test() {
    let yard = Yard::new();
    let shared = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let path = shared.path().to_str().unwrap();
    fs::write(path, "of somebody else").unwrap();
    yard.works_without_wall("read", &[path]);
    yard.must_fail("read", &[path]);
    yard.must_fail("remove", &[path]);
    for layers in LAYERS {
        let wall = yard.wall(SandboxProfile::Build, layers);
        let is_private = wall.applied().private_tmp;
        let name = format!("/tmp/provost-test-{}", std::process::id());
        let report = yard.confined(SandboxProfile::Build, layers, "write", &[&name]);
        assert_eq!(report.did_harm(), is_private, "{report:?}");
        assert!(!fs::exists(&name).unwrap(), "it is in the /tmp of all");
    }
    below_tmp();
}

/// A project that lies in the shared `/tmp` is where it was in the private one,
/// and the wall around it is the same.
fn below_tmp() {
    let yard = Yard::below_tmp();
    let shared = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    yard.must_fail("read", &[shared.path().to_str().unwrap()]);
    yard.must_fail("append", &[".git/hooks/pre-commit"]);
    yard.must_fail("rename", &[".git", "src/old"]);
    yard.must_fail("read", &[&yard.text("outside/secret")]);
    // The folder above the project, to put another project in its place.
    let elsewhere = tempfile::tempdir_in("/tmp").unwrap();
    let elsewhere = elsewhere.path().join("moved");
    let (above, elsewhere) = (yard.text("."), elsewhere.to_str().unwrap());
    let above = above.trim_end_matches("/.");
    yard.must_be_denied("rename", &[above, elsewhere]);
    let control = Yard::below_tmp();
    let moved = control.text(".");
    let moved = moved.trim_end_matches("/.");
    fs::rename(moved, elsewhere).unwrap();
    fs::rename(elsewhere, moved).unwrap();
    for layers in LAYERS {
        let is_private = yard.wall(SandboxProfile::Build, layers).applied().private_tmp;
        assert_eq!(is_private, yard.wall(SandboxProfile::Build, layers).applied().mount_namespace);
        let name = format!("/tmp/provost-test-{}", std::process::id());
        for (profile, attack, path, works) in [
            (SandboxProfile::Build, "write", name.as_str(), is_private),
            (SandboxProfile::Build, "write", "/dev/shm/provost-test", is_private),
            (SandboxProfile::Build, "write", "src/new", true),
            (SandboxProfile::Read, "write", "src/another", false),
            (SandboxProfile::Read, "read", "src/new", true),
        ] {
            let report = yard.confined(profile, layers, attack, &[path]);
            assert_eq!(report.did_harm(), works, "{profile:?} {attack} {path}: {report:?}");
        }
        assert!(!fs::exists(&name).unwrap(), "it is in the /tmp of all");
        assert!(yard.at("project/src/new").exists(), "the project is another one inside");
        fs::remove_file(yard.at("project/src/new")).unwrap();
    }
}
