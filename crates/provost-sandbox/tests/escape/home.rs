//! The home directory: what is not named cannot be read, and nothing that a run writes
//! is read outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use provost_sandbox::confine::LayerSelection;
use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{CONFINED, LAYERS, SECRET, SandboxFixture, finish};

/// Where people and programs keep secrets; no list of them would be complete.
const SECRETS: &[&str] = &[
    ".bitcoin/wallet.dat",
    ".electrum/wallets/default_wallet",
    ".ethereum/keystore/key",
    ".config/solana/id.json",
    ".var/app/org.mozilla.firefox/.mozilla/firefox/p/cookies.sqlite",
    ".var/app/com.google.Chrome/config/google-chrome/Default/Cookies",
    ".config/Slack/Cookies",
    ".config/discord/Local Storage/leveldb/1.ldb",
    ".config/Signal/config.json",
    ".config/Code/User/globalStorage/state.vscdb",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".bash_history",
    ".zhistory",
    ".local/share/atuin/history.db",
    ".config/fish/fish_history",
    ".config/nushell/history.txt",
    ".local/share/TelegramDesktop/tdata/key_datas",
    ".config/stripe/config.toml",
    ".config/heroku/token",
    ".config/netlify/config.json",
    ".config/vercel/auth.json",
    ".local/share/com.vercel.cli/auth.json",
    ".fly/config.yml",
    ".config/hcloud/cli.toml",
    ".config/scw/config.yaml",
    ".linode-cli",
    ".boto",
    ".s3cfg",
    ".config/rclone.conf",
    ".mc/config.json",
    ".snowflake/config.toml",
    ".dbt/profiles.yml",
    ".kaggle/kaggle.json",
    ".jupyter/jupyter_server_config.json",
    ".config/filezilla/sitemanager.xml",
    ".config/remmina/a.remmina",
    ".vnc/passwd",
    ".config/msmtp/config",
    ".muttrc",
    ".config/aerc/accounts.conf",
    ".weechat/sec.conf",
    ".local/share/Steam/config/config.vdf",
    ".minecraft/launcher_accounts.json",
    ".config/borg/keys/k",
    ".config/restic/password",
    ".ansible/vault",
    ".chef/key.pem",
    ".pulumi/credentials.json",
    ".cursor/mcp.json",
    ".aider.conf.yml",
    ".gitconfig",
    ".env",
    "notes.txt",
    "work/other/.env",
    ".local/share/other-provost/token",
    ".cargo/credentials.toml",
    ".gem/credentials",
];

fn plant(fixture: &SandboxFixture, name: &str, text: &str) -> String {
    let path = fixture.at("home").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

pub(crate) fn read() {
    let mut fixture = SandboxFixture::new();
    let secrets: Vec<String> = SECRETS.iter().map(|name| plant(&fixture, name, SECRET)).collect();
    let tool = plant(&fixture, ".cargo/bin/tool", "tool");
    let beside = plant(&fixture, ".aws-shared/config", "shared");
    let inside = plant(&fixture, ".config/app/settings", "settings");
    // A person named these, and not what is hidden in one of them.
    fixture.readable = vec![fixture.at("home/.aws-shared"), fixture.at("home/.config")];
    fixture.readable.push(fixture.at("outside"));
    let hidden = fixture.text("home/.config/gh/hosts.yml");
    fixture.works_without_sandbox("read", &[&hidden]);
    for profile in CONFINED {
        for layers in LAYERS {
            let is_readable =
                |path: &str| fixture.confined(profile, layers, "read", &[path]).did_harm();
            for path in [&tool, &beside, &inside, &fixture.text("outside/secret")] {
                assert!(is_readable(path), "{profile:?} {layers:?} {path}");
            }
            assert!(!is_readable(&hidden), "{profile:?} {layers:?}");
        }
    }
    fixture.readable.clear();
    let paths: Vec<&str> = secrets.iter().map(String::as_str).collect();
    for profile in CONFINED {
        for layers in LAYERS {
            let report = fixture.confined(profile, layers, "read-any", &paths);
            assert!(!report.did_harm(), "{profile:?} {layers:?} {report:?}");
        }
    }
    fixture.works_without_sandbox("read-any", &paths);
    for path in ["/var/backups", "/etc/sudoers.d", "/etc/ssh", "/etc/apt", "/etc/cron.d", "/root"] {
        let work = fixture.free("list", &[path]).did_harm();
        if work && Path::new(path) != fixture.at("home") {
            fixture.must_be_denied("list", &[path]);
        }
    }
}

/// It has a home that it can write, which lasts, and which is not the user's.
pub(crate) fn own() {
    let fixture = SandboxFixture::new();
    plant(&fixture, ".gitconfig", "[user]\n\tname = Ann\n[github]\n\ttoken = canary-7f3a\n");
    for layers in LAYERS {
        let run =
            |name: &str, args: &[&str]| fixture.confined(SandboxProfile::Build, layers, name, args);
        assert!(run("home-write", &[".config/new/file", "mine"]).did_harm());
        assert!(run("home-read", &[".config/new/file"]).text.contains("mine"));
        assert!(!fixture.at("home/.config/new").exists(), "it is in the home of the user");
        let settings = run("home-read", &[".gitconfig"]).text;
        assert!(settings.contains("Ann") && !settings.contains(SECRET), "{settings}");
        fs::remove_dir_all(fixture.at("data/homes")).unwrap();
    }
}

/// It reads the user's caches and adds to its own.
pub(crate) fn caches() {
    let fixture = SandboxFixture::new();
    for name in [".cargo/registry/src/index/shared-1.0/lib.rs", ".cache/pip/wheels/a.whl"] {
        plant(&fixture, name, "theirs");
    }
    let own_layer =
        |layers: LayerSelection| fixture.sandbox(SandboxProfile::Build, layers).applied().own_home;
    for layers in LAYERS {
        let run =
            |name: &str, args: &[&str]| fixture.confined(SandboxProfile::Build, layers, name, args);
        let shared = ".cargo/registry/src/index/shared-1.0/lib.rs";
        let report = run("home-read", &[shared]);
        assert!(report.text.contains("theirs"), "{layers:?} {report:?}");
        // Nothing waits for the disk when it ends.
        let mounts = run("read", &["/proc/self/mountinfo"]).text;
        assert_eq!(mounts.contains("overlay"), own_layer(layers), "{mounts}");
        assert_eq!(mounts.contains("volatile"), own_layer(layers), "{mounts}");
        // A new package beside it, which a later run finds, and nobody else.
        let new = ".cargo/registry/src/index/new-1.0/lib.rs";
        assert!(run("home-write", &[new, "mine"]).did_harm(), "{layers:?}");
        assert!(run("home-read", &[new]).text.contains("mine"), "{layers:?}");
        // What is shared is not changed, whatever the run sees.
        let changed = run("home-write", &[shared, "harmed"]);
        assert_eq!(changed.did_harm(), own_layer(layers), "{layers:?} {changed:?}");
        run("home-write", &[".cache/pip/wheels/a.whl", "harmed"]);
        run("home-write", &[".cache/pip/wheels/b.whl", "harmed"]);
        let index = fixture.at("home/.cargo/registry/src/index");
        assert_eq!(fs::read_dir(&index).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(fixture.at("home").join(shared)).unwrap(), "theirs");
        let wheels = fixture.at("home/.cache/pip/wheels");
        assert_eq!(fs::read_dir(&wheels).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(wheels.join("a.whl")).unwrap(), "theirs");
        // An attack by the real path, past the variables.
        let path = fixture.text("home/.cargo/registry/planted");
        let report = run("write", &[&path]);
        assert_eq!(report.did_harm(), own_layer(layers), "{report:?}");
        assert!(!Path::new(&path).exists());
    }
}

/// What runs without the network leave does not reach those with it, and what one of those
/// leaves does not reach the next, except for caches.
pub(crate) fn network() {
    for layers in LAYERS {
        let fixture = SandboxFixture::new();
        plant(&fixture, ".cache/pip/a", "theirs");
        let offline =
            |name: &str, args: &[&str]| fixture.confined(SandboxProfile::Build, layers, name, args);
        let network = |name: &str, args: &[&str]| {
            finish(fixture.spawn(&fixture.network_sandbox(layers), name, args))
        };
        let has_layers = fixture.network_sandbox(layers).applied().own_home;
        // Names that programs take settings or code from.
        let names = [".gitconfig", ".curlrc", ".cache/pip/b", ".npm/_cacache/x", "bin/git"];
        for name in names {
            assert!(offline("home-write", &[name, "poison"]).did_harm(), "{layers:?} {name}");
            let report = network("home-read", &[name]);
            assert!(!report.text.contains("poison"), "{layers:?} {name} {report:?}");
        }
        for name in [".gitconfig", ".config/git/config", "bin/git", ".ssh/config", ".bashrc"] {
            assert!(network("home-write", &[name, "poison"]).did_harm(), "{layers:?} {name}");
            let report = network("home-read", &[name]);
            assert!(!report.text.contains("poison"), "{layers:?} {name} {report:?}");
        }
        // Caches stay warm, also those that the user does not have.
        for name in [".cache/pip/fetched", ".cache/uv/fetched"] {
            assert!(network("home-write", &[name, "fetched"]).did_harm(), "{layers:?} {name}");
            assert!(network("home-read", &[name]).text.contains("fetched"), "{layers:?} {name}");
        }
        if has_layers {
            // Both the user's and those of runs with the network.
            assert!(network("home-read", &[".cache/pip/a"]).text.contains("theirs"));
            for (name, text) in [(".cache/pip/a", "theirs"), (".cache/pip/fetched", "fetched")] {
                assert!(offline("home-read", &[name]).text.contains(text), "{name}");
            }
            assert!(offline("home-write", &[".cache/pip/fetched", "poison"]).did_harm());
            assert!(network("home-read", &[".cache/pip/fetched"]).text.contains("fetched"));
        }
    }
}

/// Links that a run left in its home lead nobody astray: not the next run, and not us,
/// who create mount points there.
pub(crate) fn links() {
    let fixture = SandboxFixture::new();
    plant(&fixture, ".cargo/bin/tool", "tool");
    plant(&fixture, ".cargo/registry/cache/index/a.crate", "theirs");
    let own = fixture.at("data/homes/1/home");
    for layers in LAYERS {
        fs::create_dir_all(&own).unwrap();
        for name in [".cargo", ".gitconfig", ".cache"] {
            symlink(fixture.at("outside"), own.join(name)).unwrap();
        }
        plant(&fixture, ".cache/pip/a", "theirs");
        let report = fixture.confined(SandboxProfile::Build, layers, "write", &["src/made"]);
        assert!(report.did_harm(), "{report:?}");
        let names = fs::read_dir(fixture.at("outside")).unwrap().count();
        assert_eq!(names, 1, "{layers:?}: something was made outside");
        fs::remove_dir_all(fixture.at("data/homes")).unwrap();
    }
}

/// Settings of Provost with keys, in a folder that runs can read because the `PATH` names it.
pub(crate) fn settings_in_program_folder() {
    let mut fixture = SandboxFixture::new();
    let (folder, file) =
        (fixture.at("home/tools/bin"), fixture.at("home/tools/bin/etc/config.toml"));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, SECRET).unwrap();
    fs::write(folder.join("tool"), SECRET).unwrap();
    symlink("etc/config.toml", folder.join("link")).unwrap();
    fixture.readable = vec![folder];
    fixture.private = vec![fixture.at("home/tools/bin/link")];
    for name in ["etc/config.toml", "link"] {
        let path = fixture.text(&format!("home/tools/bin/{name}"));
        fixture.works_without_sandbox("read", &[&path]);
        for attack in ["read", "append", "truncate", "remove"] {
            fixture.must_fail(attack, &[&path]);
        }
    }
    for layers in LAYERS {
        let tool = fixture.text("home/tools/bin/tool");
        let report = fixture.confined(SandboxProfile::Build, layers, "read", &[&tool]);
        assert!(report.did_harm(), "the rest stays readable: {report:?}");
    }
}
