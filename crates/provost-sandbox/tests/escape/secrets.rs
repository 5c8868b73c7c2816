//! Keys, tokens and what our own environment holds.

use provost_sandbox::profile::Profile;

use crate::yard::{LAYERS, SECRET, Yard};

const FILES: &[&str] = &[
    "home/.ssh/id_ed25519",
    "home/.aws/credentials",
    "home/.config/gh/hosts.yml",
    "home/.cargo/credentials.toml",
    "home/.npmrc",
    "home/.bash_history",
    "data/token",
    "outside/secret",
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
    for folder in ["home/.ssh", "data"] {
        yard.must_fail("list", &[&yard.text(folder)]);
    }
    for path in ["/etc/shadow", "/etc/gshadow"] {
        yard.must_fail("read", &[path]);
    }
    // Only what is given reaches the environment.
    yard.must_fail("environment", &[SECRET]);
}

/// The person's own shell reads what they may read, but not our data.
pub(crate) fn terminal() {
    let yard = Yard::new();
    for layers in LAYERS {
        let own = yard.confined(Profile::Terminal, layers, "read", &[&yard.text("outside/secret")]);
        assert!(own.did_harm(), "{own:?}");
        for attack in ["read", "append", "remove", "truncate"] {
            let token = yard.text("data/token");
            let report = yard.confined(Profile::Terminal, layers, attack, &[&token]);
            assert!(!report.did_harm(), "{layers:?} {attack}: {report:?}");
        }
    }
}
