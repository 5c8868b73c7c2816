//! Paths that a rule denies to write are read-only for the run, whatever writes there.

use std::fs;

use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{LAYERS, Report, SECRET, SandboxFixture, finish};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    fs::create_dir_all(fixture.at("project/deploy/keys")).unwrap();
    fs::create_dir_all(fixture.at("project/deploy/other")).unwrap();
    for name in ["project/deploy/prod.yaml", "project/deploy/keys/a", "project/src/free"] {
        fs::write(fixture.at(name), SECRET).unwrap();
    }
    for layers in LAYERS {
        for profile in [SandboxProfile::Build, SandboxProfile::Serve] {
            let sandbox = fixture.sandbox(profile, layers);
            let run = |name: &str, args: &[&str]| -> Report {
                let mut command = fixture.command(name, args);
                command.read_only_paths = vec!["deploy/prod.yaml".into(), "deploy/keys".into()];
                finish(sandbox.spawn(command).unwrap())
            };
            let attacks: [(&str, &[&str]); 8] = [
                ("append", &["deploy/prod.yaml"]),
                ("write", &["deploy/prod.yaml"]),
                ("truncate", &["deploy/prod.yaml"]),
                ("remove", &["deploy/prod.yaml"]),
                ("rename", &["src/free", "deploy/prod.yaml"]),
                ("rename", &["deploy", "moved"]),
                ("write", &["deploy/keys/b"]),
                ("append", &["deploy/keys/a"]),
            ];
            for (name, args) in attacks {
                let report = run(name, args);
                assert!(!report.did_harm(), "{layers:?} {name} {args:?}: {report:?}");
            }
            assert!(run("read", &["deploy/prod.yaml"]).did_harm(), "it can be read");
            assert!(run("append", &["src/free"]).did_harm(), "the rest can be written");
            assert!(run("write", &["deploy/other/new"]).did_harm(), "beside it, too");
            // The next run of the same sandbox is not limited by this one.
            let free = finish(fixture.spawn(&sandbox, "write", &["deploy/keys/own"]));
            assert!(free.did_harm(), "{free:?}");
            fs::remove_file(fixture.at("project/deploy/keys/own")).unwrap();
        }
    }
    assert_eq!(fs::read_to_string(fixture.at("project/deploy/prod.yaml")).unwrap(), SECRET);
}
