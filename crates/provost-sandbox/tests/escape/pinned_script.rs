//! Replacing a script that was approved with its content.

use std::fs;
use std::path::PathBuf;

use provost_sandbox::confine::{FileOverride, LayerSelection, SandboxCommand};
use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{SandboxFixture, finish};

/// Tries all ways, once the other waits for it. Both tell each other in a folder: without a
/// mount namespace they create nothing at the top of the project.
const MEDDLE: &str = "while [ ! -e sync/go ]; do sleep 0.01; done
    cp evil sync/e && mv -f sync/e src/build.sh; rm -f src/build.sh; echo 'echo EVIL' > src/build.sh
    mv src old && mkdir src && cp evil src/build.sh; ln -sfn ../evil src/build.sh; : > sync/tried";

const RUN: &str = ": > sync/go; while [ ! -e sync/tried ]; do sleep 0.01; done; sh src/build.sh";

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let sandbox = fixture.sandbox(SandboxProfile::Build, LayerSelection::Auto);
    let shell = |line: &str| {
        let mut command = SandboxCommand::new("/bin/sh", &["-c", line]);
        command.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        command
    };
    for held in [false, true] {
        for name in ["sync", "old"] {
            drop(fs::remove_dir_all(fixture.at("project").join(name)));
        }
        fs::create_dir(fixture.at("project/sync")).unwrap();
        fs::create_dir_all(fixture.at("project/src")).unwrap();
        drop(fs::remove_file(fixture.at("project/src/build.sh")));
        fs::write(fixture.at("project/src/build.sh"), "echo good").unwrap();
        fs::write(fixture.at("project/evil"), "echo EVIL").unwrap();
        fs::write(fixture.at("data/copy"), "echo good").unwrap();
        let mut meddler = sandbox.spawn(shell(MEDDLE)).unwrap();
        if held {
            let paths = ["src", "src/build.sh"].map(PathBuf::from);
            meddler.hold_paths(&fixture.at("project"), &paths).unwrap();
            // A missing path could be created later, and would not be held.
            let gone = meddler.hold_paths(&fixture.at("project"), &[PathBuf::from("src/gone.sh")]);
            assert_eq!(gone.is_err(), sandbox.applied().mount_namespace, "{gone:?}");
        }
        let mut command = shell(RUN);
        let (path, copy) = (PathBuf::from("src/build.sh"), fixture.at("data/copy"));
        command.file_overrides = vec![FileOverride { path, copy }];
        if !sandbox.applied().mount_namespace {
            command.file_overrides.clear();
        }
        let report = finish(sandbox.spawn(command).unwrap());
        meddler.wait().unwrap();
        println!("  held: {held}: {}", report.text.trim());
        // Without the hold the copy is detached, so the test can fail.
        let evil = !(held && sandbox.applied().mount_namespace);
        assert_eq!(report.text.contains("EVIL"), evil, "held: {held}: {report:?}");
        assert_eq!(report.text.contains("good"), !evil, "held: {held}: {report:?}");
    }
}
