//! Changing what is outside by other ways than opening it.

use std::fs;

use crate::yard::{SECRET, Yard};

pub(crate) fn test() {
    let yard = Yard::new();
    let secret = yard.text("outside/secret");
    fs::write(yard.at("project/src/mine"), "mine").unwrap();
    fs::write(yard.at("scratch/mine"), "mine").unwrap();
    let outside = yard.text("outside/new");
    for from in [yard.text("project/src/mine"), yard.text("scratch/mine")] {
        yard.must_fail("rename", &[&from, &outside]);
        yard.must_fail("rename", &[&from, &secret]);
        yard.must_fail("link", &[&from, &outside]);
    }
    yard.must_fail("rename", &[&secret, &yard.text("scratch/taken")]);
    yard.must_fail("link", &[&secret, &yard.text("scratch/taken")]);
    yard.must_fail("write", &[&outside]);
    yard.must_fail("append", &[&secret]);
    yard.must_fail("truncate", &[&secret]);
    yard.must_fail("mkdir", &[&outside]);
    yard.must_be_denied("write", &["/proc/sys/kernel/core_pattern"]);
    yard.must_fail("write", &[&format!("/proc/self/root{outside}")]);
    std::os::unix::fs::symlink(&secret, yard.at("scratch/link")).unwrap();
    yard.must_fail("append", &[&yard.text("scratch/link")]);
    assert_eq!(fs::read_to_string(&secret).unwrap(), SECRET);
    assert!(!yard.at("outside/new").exists());
    yard.works_without_wall("write", &[&outside]);
    yard.works_without_wall("rename", &[&outside, &yard.text("outside/other")]);
}
