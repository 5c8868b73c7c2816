//! Keys, tokens and what our own environment holds.

use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::yard::{CONFINED, LAYERS, SECRET, Yard};

const FILES: &[&str] = &[
    "home/.ssh/id_ed25519",
    "home/.aws/credentials",
    "home/.config/gh/hosts.yml",
    "home/.cargo/credentials.toml",
    "home/.npmrc",
    "home/.bash_history",
    "home/.netrc",
    // Where a hidden link leads is hidden too.
    "home/dotfiles/netrc",
    "data/token",
];

pub(crate) fn test() {
    let yard = Yard::new();
    for name in FILES {
        yard.works_without_wall("read", &[&yard.text(name)]);
        yard.must_fail("read", &[&yard.text(name)]);
        yard.must_fail("append", &[&yard.text(name)]);
        yard.must_fail("truncate", &[&yard.text(name)]);
        yard.must_fail("remove", &[&yard.text(name)]);
    }
    // What is beside a secret can be read: the wall hides the secret, not the home.
    for profile in CONFINED {
        for layers in LAYERS {
            let report = yard.confined(profile, layers, "read", &[&yard.text("home/readable")]);
            assert!(report.did_harm(), "{report:?}");
        }
    }
    for folder in ["home/.ssh", "data"] {
        yard.must_fail("list", &[&yard.text(folder)]);
    }
    for path in ["/etc/shadow", "/etc/gshadow"] {
        yard.must_be_denied("read", &[path]);
    }
    for disk in std::fs::read_dir("/sys/block").unwrap().filter_map(Result::ok).take(3) {
        let disk = format!("/dev/{}", disk.file_name().to_str().unwrap());
        if yard.free("open", &[&disk]).did_harm() {
            yard.must_fail("open", &[&disk]);
        }
    }
    // Only what is given reaches the environment.
    yard.must_fail("environment", &[SECRET]);
}

/// The person's own shell reads what they may read, but not our data.
pub(crate) fn terminal() {
    let yard = Yard::new();
    for layers in LAYERS {
        let own = yard.confined(
            SandboxProfile::Terminal,
            layers,
            "read",
            &[&yard.text("outside/secret")],
        );
        assert!(own.did_harm(), "{own:?}");
        // A person makes and reads files wherever they may, where the machine permits it.
        let wall = yard.wall(SandboxProfile::Terminal, layers);
        let new = yard.text("new");
        let made = yard.confined(SandboxProfile::Terminal, layers, "write", &[&new]);
        assert_eq!(made.did_harm(), wall.applied().mount_namespace, "{made:?}");
        let listed = yard.confined(SandboxProfile::Terminal, layers, "list", &["/"]);
        assert_eq!(listed.did_harm(), wall.applied().mount_namespace, "{listed:?}");
        let own = std::process::id().to_string();
        let traced = yard.confined(SandboxProfile::Terminal, layers, "ptrace", &[&own]);
        assert!(!traced.did_harm(), "{traced:?}");
        let around = format!("/proc/{own}/root{}", yard.text("data/token"));
        let report = yard.confined(SandboxProfile::Terminal, layers, "read", &[&around]);
        assert!(!report.did_harm(), "{report:?}");
        for attack in ["read", "append", "remove", "truncate"] {
            let token = yard.text("data/token");
            let report = yard.confined(SandboxProfile::Terminal, layers, attack, &[&token]);
            assert!(!report.did_harm(), "{layers:?} {attack}: {report:?}");
        }
    }
}
