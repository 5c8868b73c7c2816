//! A file outside that has a name inside.

use std::fs;
use std::path::Path;

use provost_sandbox::root_dir::{FileWriteMode, RootDir, RootDirError};

use crate::sandbox_fixture::{SECRET, SandboxFixture};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let root = RootDir::open(&fixture.at("project")).unwrap();
    fs::hard_link(fixture.at("outside/secret"), fixture.at("project/twin")).unwrap();
    for mode in [FileWriteMode::Overwrite, FileWriteMode::Append] {
        let result = root.write(Path::new("twin"), b"harmed", mode);
        assert!(matches!(result, Err(RootDirError::HardLink)), "{result:?}");
    }
    let result = root.edit(Path::new("twin"), 100, |_| Ok::<_, RootDirError>(b"harmed".to_vec()));
    assert!(matches!(result, Err(RootDirError::HardLink)), "{result:?}");
    assert_eq!(fs::read_to_string(fixture.at("outside/secret")).unwrap(), SECRET);
    // The control: a plain write changes the file outside.
    fs::write(fixture.at("project/twin"), "through").unwrap();
    assert_eq!(fs::read_to_string(fixture.at("outside/secret")).unwrap(), "through");
    // A command cannot make such a name for what it cannot reach.
    let secret = fixture.text("home/.ssh/id_ed25519");
    fixture.must_fail("link", &[&secret, "stolen"]);
}
