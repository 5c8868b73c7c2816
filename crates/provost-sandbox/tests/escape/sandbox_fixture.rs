//! A place to attack from: a project, a home with secrets, our data, a world outside.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process;

use provost_sandbox::confine::{
    LayerSelection, OptionalLayers, ResourceLimits, Sandbox, SandboxChild, SandboxCommand,
    SandboxExit,
};
use provost_sandbox::probe::{self, MachineFeatures};
use provost_sandbox::sandbox_policy::{SandboxPaths, SandboxPolicy, SandboxProfile};

pub(crate) const SECRET: &str = "canary-7f3a";

pub(crate) struct Yard {
    dir: tempfile::TempDir,
    pub(crate) machine: MachineFeatures,
    pub(crate) limits: ResourceLimits,
}

pub(crate) const BARE: OptionalLayers =
    OptionalLayers { pid: false, net: false, ipc: false, mount: false, uts: false, cgroup: false };
/// The least and the most.
pub(crate) const LAYERS: [LayerSelection; 2] =
    [LayerSelection::Exactly(BARE), LayerSelection::Auto];
pub(crate) const CONFINED: [SandboxProfile; 3] =
    [SandboxProfile::Read, SandboxProfile::Build, SandboxProfile::Serve];

/// What an attacker reported.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) exit: SandboxExit,
    pub(crate) text: String,
}

/// A folder that is not in `/tmp`, which is hidden as a whole: there, nothing
/// would be learned about what hides a home. `main` gives ordinary users one.
pub(crate) fn place() -> tempfile::TempDir {
    let places = ["/var/lib", "/srv", "/opt"];
    let dir = places.iter().find_map(|place| tempfile::tempdir_in(place).ok());
    dir.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

impl Report {
    pub(crate) fn did_harm(&self) -> bool {
        self.exit == SandboxExit::Code(0)
    }
}

impl Yard {
    pub(crate) fn new() -> Self {
        Self::furnish(place())
    }

    /// One whose project lies in the `/tmp` that everybody shares.
    pub(crate) fn below_tmp() -> Self {
        Self::furnish(tempfile::tempdir_in("/tmp").unwrap())
    }

    fn furnish(dir: tempfile::TempDir) -> Self {
        let folders = [
            "project/src",
            "project/.git/hooks",
            "project/.provost",
            "home/.ssh",
            "home/.aws",
            "home/.config/gh",
            "home/.cargo",
            "data",
            "scratch",
            "outside",
        ];
        for name in folders {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let secrets = [
            "home/.ssh/id_ed25519",
            "home/.aws/credentials",
            "home/.config/gh/hosts.yml",
            "home/.cargo/credentials.toml",
            "home/.npmrc",
            "home/.bash_history",
            "data/token",
            "outside/secret",
            "project/.git/config",
            "project/.git/hooks/pre-commit",
            "project/.provost/policy.toml",
        ];
        for name in secrets {
            fs::write(dir.path().join(name), SECRET).unwrap();
        }
        fs::create_dir(dir.path().join("home/dotfiles")).unwrap();
        fs::write(dir.path().join("home/dotfiles/netrc"), SECRET).unwrap();
        std::os::unix::fs::symlink("dotfiles/netrc", dir.path().join("home/.netrc")).unwrap();
        fs::write(dir.path().join("home/readable"), "readable").unwrap();
        fs::copy(std::env::current_exe().unwrap(), dir.path().join("project/attacker")).unwrap();
        let limits = ResourceLimits { processes: 64, memory: 1 << 30, ..ResourceLimits::default() };
        Self { dir, machine: probe::probe_machine(), limits }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn wall(&self, profile: SandboxProfile, layers: LayerSelection) -> Sandbox {
        let (project, home) = (self.at("project"), self.at("home"));
        let (data, scratch) = (self.at("data"), self.at("scratch"));
        let places =
            SandboxPaths { project: &project, home: &home, data: &data, scratch: &scratch };
        let wall =
            Sandbox::new(SandboxPolicy::new(profile, &places), &self.machine, layers, self.limits);
        let wall = wall.unwrap();
        println!("  layers: {}", serde_json::to_string(wall.applied()).unwrap());
        wall
    }

    pub(crate) fn command(&self, name: &str, args: &[&str]) -> SandboxCommand {
        let all: Vec<&str> = ["--payload", name].into_iter().chain(args.iter().copied()).collect();
        let mut command = SandboxCommand::new(self.at("project/attacker"), &all);
        command.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        command
    }

    pub(crate) fn spawn(&self, wall: &Sandbox, name: &str, args: &[&str]) -> SandboxChild {
        wall.spawn(self.command(name, args)).unwrap()
    }

    pub(crate) fn confined(
        &self,
        profile: SandboxProfile,
        layers: LayerSelection,
        name: &str,
        args: &[&str],
    ) -> Report {
        let wall = self.wall(profile, layers);
        finish(self.spawn(&wall, name, args))
    }

    /// The same attack without the wall.
    pub(crate) fn free(&self, name: &str, args: &[&str]) -> Report {
        let output = process::Command::new(self.at("project/attacker"))
            .arg("--payload")
            .arg(name)
            .args(args)
            .current_dir(self.at("project"))
            .output()
            .unwrap();
        let exit = output.status.code().map_or(SandboxExit::Signal(0), SandboxExit::Code);
        let text = [output.stdout, output.stderr].concat();
        Report { exit, text: String::from_utf8_lossy(&text).into_owned() }
    }

    /// The attack does no harm in any confined profile, with the least and the
    /// most layers, and is refused in one of the ways in which the wall refuses.
    /// An attack on files is shown to work without the wall, on a copy of the yard.
    #[track_caller]
    pub(crate) fn must_fail(&self, name: &str, args: &[&str]) {
        self.must_be_denied(name, args);
        if FILE_ATTACKS.contains(&name) {
            let twin = self.twin();
            let here = self.dir.path().to_str().unwrap();
            let there = twin.dir.path().to_str().unwrap();
            let args: Vec<_> = args.iter().map(|arg| arg.replace(here, there)).collect();
            let args: Vec<_> = args.iter().map(String::as_str).collect();
            twin.works_without_wall(name, &args);
        }
    }

    /// The same for an attack whose control is somewhere else, or which the
    /// machine refuses anyway.
    #[track_caller]
    pub(crate) fn must_be_denied(&self, name: &str, args: &[&str]) {
        for profile in CONFINED {
            // With the most layers also from a warden that was made beforehand.
            for (layers, beforehand) in [(LAYERS[0], false), (LAYERS[1], false), (LAYERS[1], true)]
            {
                let wall = self.wall(profile, layers);
                if beforehand {
                    wall.start_standby().unwrap();
                }
                let report = finish(self.spawn(&wall, name, args));
                println!("  {name} {args:?}: {}", report.text.trim());
                assert!(!report.did_harm(), "{profile:?} {layers:?} {name} {args:?}: {report:?}");
                // Denied, not broken: an attacker that could not run proves nothing.
                assert_eq!(report.exit, SandboxExit::Code(1), "{profile:?} {layers:?} {report:?}");
                let denied = denials(name).iter().any(|way| report.text.contains(way));
                assert!(denied, "not a denial: {profile:?} {layers:?} {name} {args:?}: {report:?}");
            }
        }
    }

    /// A copy to do harm in.
    fn twin(&self) -> Self {
        let parent = self.dir.path().parent().unwrap();
        let dir = tempfile::tempdir_in(parent).unwrap();
        copy(self.dir.path(), dir.path(), (self.dir.path(), dir.path()));
        Self { dir, machine: self.machine.clone(), limits: self.limits }
    }

    /// The attack does its harm without the wall, so the test above can fail.
    #[track_caller]
    pub(crate) fn works_without_wall(&self, name: &str, args: &[&str]) {
        let report = self.free(name, args);
        assert!(report.did_harm(), "the control of {name} {args:?} failed: {report:?}");
    }
}

pub(crate) fn finish(mut child: SandboxChild) -> Report {
    let mut text = String::new();
    File::from(child.stdout.take().unwrap()).read_to_string(&mut text).unwrap();
    File::from(child.stderr.take().unwrap()).read_to_string(&mut text).unwrap();
    Report { exit: child.wait().unwrap(), text }
}

const FILE_ATTACKS: &[&str] =
    &["read", "list", "write", "append", "rename", "link", "mkdir", "remove", "truncate"];

/// How the wall refuses an attack: what the attacker then says.
fn denials(name: &str) -> &'static [&'static str] {
    match name {
        // No right; mounted read-only; a mount of its own, which can be neither
        // renamed nor left; or, in a private /tmp or /proc, not there at all.
        name if FILE_ATTACKS.contains(&name) || name == "open" => {
            &["(os error 13)", "(os error 30)", "(os error 16)", "(os error 18)", "(os error 2)"]
        }
        // The memory and environment of others: no right, or no such process here.
        "environ" | "mem" => &["(os error 13)", "(os error 1)", "(os error 2)"],
        "kill" => &["(os error 1)", "(os error 3)"],
        // A family that is not to be had, a call that is forbidden, or a network of
        // its own, where nobody listens.
        "tcp" | "udp" | "fastopen" | "mptcp" | "unix" | "abstract" | "socket" => {
            &["(os error 97)", "(os error 1)", "(os error 13)", "(os error 111)", "(os error 101)"]
        }
        "open-files" => &["(os error 24)"],
        // These look and find nothing.
        "environment" => &["not in it"],
        "privileges" => &["none"],
        "ask" => &["failed to fill whole buffer"],
        "memfd" => &["(os error 13)", "(os error 1)"],
        // Calls that the filter forbids.
        _ => &["(os error 1)"],
    }
}

/// Copies a folder; links that lead into the old yard lead into the new one.
fn copy(from: &Path, to: &Path, yards: (&Path, &Path)) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            fs::create_dir_all(&to).unwrap();
            copy(&from, &to, yards);
        } else if kind.is_symlink() {
            let target = fs::read_link(&from).unwrap();
            let moved = target.strip_prefix(yards.0).map(|inside| yards.1.join(inside));
            std::os::unix::fs::symlink(moved.unwrap_or(target), &to).unwrap();
        } else if entry.file_name() == "attacker" {
            // It is large, and no attack is on itself.
            fs::hard_link(&from, &to).unwrap();
        } else if kind.is_file() {
            fs::copy(&from, &to).unwrap();
        }
    }
}
