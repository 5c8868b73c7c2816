//! Reading and leaving things in the `/tmp` that everybody shares.

use std::fs;

use provost_sandbox::profile::Profile;

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
        let wall = yard.wall(Profile::Build, layers);
        let is_private = wall.applied().private_tmp;
        let name = format!("/tmp/provost-test-{}", std::process::id());
        let report = yard.confined(Profile::Build, layers, "write", &[&name]);
        assert_eq!(report.did_harm(), is_private, "{report:?}");
        assert!(!fs::exists(&name).unwrap(), "it is in the /tmp of all");
    }
}
