//! A program that exists in memory only is behind the same wall.

use crate::yard::Yard;

pub(crate) fn test() {
    let yard = Yard::new();
    let secret = yard.text("home/.ssh/id_ed25519");
    yard.works_without_wall("memfd", &["read", &secret]);
    yard.must_fail("memfd", &["read", &secret]);
    yard.must_fail("memfd", &["call", "unshare-user"]);
}
