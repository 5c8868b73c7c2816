//! Putting another file in the place of a script that somebody allowed as it is.

use std::fs;
use std::path::PathBuf;

use provost_sandbox::confine::{FileOverride, LayerSelection, SandboxCommand};
use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::yard::{Yard, finish};

/// Tries all ways, once the other waits for it.
const MEDDLE: &str = "while [ ! -e go ]; do sleep 0.01; done
    cp evil e && mv -f e src/build.sh; rm -f src/build.sh; echo 'echo EVIL' > src/build.sh
    mv src old && mkdir src && cp evil src/build.sh; ln -sfn ../evil src/build.sh; : > tried";

const RUN: &str = ": > go; while [ ! -e tried ]; do sleep 0.01; done; sh src/build.sh";

pub(crate) fn test() {
    let yard = Yard::new();
    let wall = yard.wall(SandboxProfile::Build, LayerSelection::Auto);
    let shell = |line: &str| {
        let mut command = SandboxCommand::new("/bin/sh", &["-c", line]);
        command.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        command
    };
    for held in [false, true] {
        for name in ["go", "tried", "e"] {
            drop(fs::remove_file(yard.at("project").join(name)));
        }
        drop(fs::remove_dir_all(yard.at("project/old")));
        fs::create_dir_all(yard.at("project/src")).unwrap();
        drop(fs::remove_file(yard.at("project/src/build.sh")));
        fs::write(yard.at("project/src/build.sh"), "echo good").unwrap();
        fs::write(yard.at("project/evil"), "echo EVIL").unwrap();
        fs::write(yard.at("data/copy"), "echo good").unwrap();
        let mut meddler = wall.spawn(shell(MEDDLE)).unwrap();
        if held {
            let paths = ["src", "src/build.sh"].map(PathBuf::from);
            meddler.hold_paths(&yard.at("project"), &paths).unwrap();
            // What is not there could come back later, with nothing to hold it.
            let gone = meddler.hold_paths(&yard.at("project"), &[PathBuf::from("src/gone.sh")]);
            assert_eq!(gone.is_err(), wall.applied().mount_namespace, "{gone:?}");
        }
        let mut command = shell(RUN);
        let (path, copy) = (PathBuf::from("src/build.sh"), yard.at("data/copy"));
        command.scripts = vec![FileOverride { path, copy }];
        if !wall.applied().mount_namespace {
            command.scripts.clear();
        }
        let report = finish(wall.spawn(command).unwrap());
        meddler.wait().unwrap();
        println!("  held: {held}: {}", report.text.trim());
        // Without the hold the copy falls off, so the test can fail.
        let evil = !(held && wall.applied().mount_namespace);
        assert_eq!(report.text.contains("EVIL"), evil, "held: {held}: {report:?}");
        assert_eq!(report.text.contains("good"), !evil, "held: {held}: {report:?}");
    }
}
