//! Keys, tokens and what our own environment holds.

use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{LAYERS, SECRET, SandboxFixture};

const FILES: &[&str] = &[
    "home/.ssh/id_ed25519",
    "home/.aws/credentials",
    "home/.config/gh/hosts.yml",
    "home/.cargo/credentials.toml",
    "home/.npmrc",
    "home/.bash_history",
    "home/.netrc",
    // The target of a hidden link is hidden too.
    "home/dotfiles/netrc",
    "data/token",
];

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    for name in FILES {
        fixture.works_without_sandbox("read", &[&fixture.text(name)]);
        fixture.must_fail("read", &[&fixture.text(name)]);
        fixture.must_fail("append", &[&fixture.text(name)]);
        fixture.must_fail("truncate", &[&fixture.text(name)]);
        fixture.must_fail("remove", &[&fixture.text(name)]);
    }
    for folder in ["home/.ssh", "data"] {
        fixture.must_fail("list", &[&fixture.text(folder)]);
    }
    for path in ["/etc/shadow", "/etc/gshadow"] {
        fixture.must_be_denied("read", &[path]);
    }
    for disk in std::fs::read_dir("/sys/block").unwrap().filter_map(Result::ok).take(3) {
        let disk = format!("/dev/{}", disk.file_name().to_str().unwrap());
        if fixture.free("open", &[&disk]).did_harm() {
            fixture.must_fail("open", &[&disk]);
        }
    }
    // Only given variables reach the environment.
    fixture.must_fail("environment", &[SECRET]);
}

/// The user's own shell has the user's access, except to our data.
pub(crate) fn terminal() {
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let own = fixture.confined(
            SandboxProfile::Terminal,
            layers,
            "read",
            &[&fixture.text("outside/secret")],
        );
        assert!(own.did_harm(), "{own:?}");
        // It creates and reads files wherever the user may.
        let sandbox = fixture.sandbox(SandboxProfile::Terminal, layers);
        let new = fixture.text("new");
        let made = fixture.confined(SandboxProfile::Terminal, layers, "write", &[&new]);
        assert_eq!(made.did_harm(), sandbox.applied().mount_namespace, "{made:?}");
        let listed = fixture.confined(SandboxProfile::Terminal, layers, "list", &["/"]);
        assert_eq!(listed.did_harm(), sandbox.applied().mount_namespace, "{listed:?}");
        let own = std::process::id().to_string();
        let traced = fixture.confined(SandboxProfile::Terminal, layers, "ptrace", &[&own]);
        assert!(!traced.did_harm(), "{traced:?}");
        let around = format!("/proc/{own}/root{}", fixture.text("data/token"));
        let report = fixture.confined(SandboxProfile::Terminal, layers, "read", &[&around]);
        assert!(!report.did_harm(), "{report:?}");
        for attack in ["read", "append", "remove", "truncate"] {
            let token = fixture.text("data/token");
            let report = fixture.confined(SandboxProfile::Terminal, layers, attack, &[&token]);
            assert!(!report.did_harm(), "{layers:?} {attack}: {report:?}");
        }
    }
}
