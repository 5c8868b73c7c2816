//! Changing files outside in other ways than opening them.

use std::fs;

use crate::sandbox_fixture::{SECRET, SandboxFixture};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let secret = fixture.text("outside/secret");
    fs::write(fixture.at("project/src/mine"), "mine").unwrap();
    fs::write(fixture.at("scratch/mine"), "mine").unwrap();
    let outside = fixture.text("outside/new");
    for from in [fixture.text("project/src/mine"), fixture.text("scratch/mine")] {
        fixture.must_fail("rename", &[&from, &outside]);
        fixture.must_fail("rename", &[&from, &secret]);
        fixture.must_fail("link", &[&from, &outside]);
    }
    fixture.must_fail("rename", &[&secret, &fixture.text("scratch/taken")]);
    fixture.must_fail("link", &[&secret, &fixture.text("scratch/taken")]);
    fixture.must_fail("write", &[&outside]);
    fixture.must_fail("append", &[&secret]);
    fixture.must_fail("truncate", &[&secret]);
    fixture.must_fail("mkdir", &[&outside]);
    fixture.must_be_denied("write", &["/proc/sys/kernel/core_pattern"]);
    fixture.must_fail("write", &[&format!("/proc/self/root{outside}")]);
    std::os::unix::fs::symlink(&secret, fixture.at("scratch/link")).unwrap();
    fixture.must_fail("append", &[&fixture.text("scratch/link")]);
    assert_eq!(fs::read_to_string(&secret).unwrap(), SECRET);
    assert!(!fixture.at("outside/new").exists());
    fixture.works_without_sandbox("write", &[&outside]);
    fixture.works_without_sandbox("rename", &[&outside, &fixture.text("outside/other")]);
}
