//! Writing protected paths: hooks, configuration, our own rules.

use std::fs;

use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{LAYERS, SECRET, SandboxFixture};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let attacks: &[(&str, &[&str])] = &[
        ("append", &[".git/hooks/pre-commit"]),
        ("truncate", &[".git/hooks/pre-commit"]),
        ("remove", &[".git/hooks/pre-commit"]),
        ("write", &[".git/hooks/post-merge"]),
        ("append", &[".git/config"]),
        ("rename", &["src/mine", ".git/config"]),
        ("link", &["src/mine", ".git/hooks/post-merge"]),
        ("write", &[".provost/roles.md"]),
        ("rename", &[".provost", "src/old"]),
        ("rename", &[".git/hooks", ".git/old"]),
        // Moves the parent folder away, to replace it.
        ("rename", &[".git", "src/old"]),
        ("rename", &["src/mine", ".provost/policy.toml"]),
    ];
    fs::write(fixture.at("project/src/mine"), "mine").unwrap();
    for (name, args) in attacks {
        fixture.must_fail(name, args);
    }
    for name in [".git/config", ".git/hooks/pre-commit", ".provost/policy.toml"] {
        assert_eq!(fs::read_to_string(fixture.at("project").join(name)).unwrap(), SECRET, "{name}");
    }
    assert_eq!(fs::read_dir(fixture.at("project/.git/hooks")).unwrap().count(), 1);
    honest_work(&fixture);
    worktree();
    nested();
}

/// Repositories inside the project, and those of its submodules.
fn nested() {
    let fixture = SandboxFixture::new();
    for git in ["src/inner/.git", ".git/modules/lib"] {
        let git = fixture.at("project").join(git);
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::create_dir_all(git.join("objects")).unwrap();
        for name in ["HEAD", "config", "hooks/pre-commit"] {
            fs::write(git.join(name), SECRET).unwrap();
        }
    }
    let attacks: &[(&str, &[&str])] = &[
        ("append", &["src/inner/.git/hooks/pre-commit"]),
        ("write", &["src/inner/.git/hooks/post-merge"]),
        ("append", &["src/inner/.git/config"]),
        ("rename", &["src/inner/.git", "src/old"]),
        ("rename", &["src/inner", "src/old"]),
        ("append", &[".git/modules/lib/config"]),
        ("write", &[".git/modules/lib/hooks/post-merge"]),
        ("rename", &[".git/modules/lib", "src/old"]),
    ];
    for (name, args) in attacks {
        fixture.must_fail(name, args);
    }
    // Committing there still works, as far as the layers allow it.
    let report = fixture.confined(
        SandboxProfile::Build,
        LAYERS[1],
        "write",
        &["src/inner/.git/objects/new"],
    );
    assert!(report.did_harm(), "{report:?}");
}

/// In a worktree `.git` is a file with the path of the hooks.
fn worktree() {
    let fixture = SandboxFixture::new();
    fs::remove_dir_all(fixture.at("project/.git")).unwrap();
    fs::write(fixture.at("project/.git"), "gitdir: elsewhere").unwrap();
    for (name, args) in
        [("write", &[".git"][..]), ("remove", &[".git"]), ("rename", &[".git", "src/x"])]
    {
        fixture.must_fail(name, args);
    }
}

/// The rest of the project stays writable, and the protected part readable.
fn honest_work(fixture: &SandboxFixture) {
    for layers in LAYERS {
        for (name, args) in [("write", ["src/new"]), ("read", [".git/config"])] {
            let report = fixture.confined(SandboxProfile::Build, layers, name, &args);
            assert!(report.did_harm(), "{layers:?} {name} {args:?}: {report:?}");
        }
        // New names at the top level need a mount namespace.
        let sandbox = fixture.sandbox(SandboxProfile::Build, layers);
        let report = fixture.confined(SandboxProfile::Build, layers, "write", &["top-level"]);
        assert_eq!(report.did_harm(), sandbox.applied().mount_namespace, "{report:?}");
    }
}
