//! Making a namespace inside, in which one would be root, or changing mounts.

use crate::yard::Yard;

pub(crate) fn test() {
    let yard = Yard::new();
    if yard.machine.namespaces.user.is_available() {
        yard.works_without_wall("call", &["unshare-user"]);
        yard.works_without_wall("call", &["clone-user"]);
    }
    for name in
        ["unshare-user", "clone-user", "unshare-mount", "mount", "chroot", "setns", "personality"]
    {
        yard.must_fail("call", &[name]);
    }
    yard.must_fail("bind-mount", &[&yard.text("outside"), "src"]);
}
