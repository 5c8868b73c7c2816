//! The fixture of an attack: a project, a home with secrets, our data, a folder outside.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use provost_sandbox::confine::{
    EarlyStart, LayerSelection, OptionalLayers, ReservedPorts, ResourceLimits, Sandbox,
    SandboxChild, SandboxCommand, SandboxError, SandboxExit,
};
use provost_sandbox::probe::{self, MachineFeatures};
use provost_sandbox::sandbox_policy::{SandboxPaths, SandboxPolicy, SandboxProfile};

pub(crate) const SECRET: &str = "canary-7f3a";

pub(crate) struct SandboxFixture {
    dir: tempfile::TempDir,
    pub(crate) machine: MachineFeatures,
    pub(crate) limits: ResourceLimits,
    /// Paths that a person made readable.
    pub(crate) readable: Vec<PathBuf>,
    /// Files that no run may read.
    pub(crate) private: Vec<PathBuf>,
    /// The ports of Provost.
    pub(crate) reserved_ports: Arc<ReservedPorts>,
}

pub(crate) const BARE: OptionalLayers =
    OptionalLayers { pid: false, net: false, ipc: false, mount: false, uts: false, cgroup: false };
/// The fewest and the most layers.
pub(crate) const LAYERS: [LayerSelection; 2] =
    [LayerSelection::Exactly(BARE), LayerSelection::Auto];
pub(crate) const CONFINED: [SandboxProfile; 3] =
    [SandboxProfile::Read, SandboxProfile::Build, SandboxProfile::Serve];

/// The report of an attacker.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) exit: SandboxExit,
    pub(crate) text: String,
}

/// A folder outside `/tmp`, which is hidden as a whole: there, a test would not show
/// what hides a home. `main` gives ordinary users one.
pub(crate) fn create_base_dir() -> tempfile::TempDir {
    let candidates = ["/var/lib", "/srv", "/opt"];
    let dir = candidates.iter().find_map(|dir| tempfile::tempdir_in(dir).ok());
    dir.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

impl Report {
    pub(crate) fn did_harm(&self) -> bool {
        self.exit == SandboxExit::Code(0)
    }
}

impl SandboxFixture {
    pub(crate) fn new() -> Self {
        Self::populate(create_base_dir())
    }

    /// A fixture whose project is in the shared `/tmp`.
    pub(crate) fn below_tmp() -> Self {
        Self::populate(tempfile::tempdir_in("/tmp").unwrap())
    }

    fn populate(dir: tempfile::TempDir) -> Self {
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
        let (readable, private, reserved_ports) = (Vec::new(), Vec::new(), Arc::default());
        Self { dir, machine: probe::probe_machine(), limits, readable, private, reserved_ports }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn sandbox(&self, profile: SandboxProfile, layers: LayerSelection) -> Sandbox {
        self.prepare(self.policy(profile), layers)
    }

    /// The sandbox of one command whose folders are in memory, begun in advance. `None` where
    /// the machine refuses that.
    fn sandbox_in_memory(&self, profile: SandboxProfile) -> Option<Sandbox> {
        let policy = self.policy(profile).in_memory()?;
        let machine = self.machine.clone();
        let early = EarlyStart::begin(profile, policy.network, self.limits, || machine);
        match Sandbox::new(policy, &self.machine, LayerSelection::Auto, self.limits) {
            Err(SandboxError::Unavailable { .. }) => None,
            sandbox => Some(sandbox.unwrap().with_early_start(early)),
        }
    }

    /// The sandboxes in which each attack is tried: with the fewest and the most layers, from a
    /// standby supervisor, and with folders in memory.
    fn sandboxes(&self, profile: SandboxProfile) -> Vec<Sandbox> {
        let mut all: Vec<_> = LAYERS.map(|layers| self.sandbox(profile, layers)).into();
        let standby = self.sandbox(profile, LayerSelection::Auto);
        standby.start_standby().unwrap();
        all.push(standby);
        all.extend(self.sandbox_in_memory(profile));
        all
    }

    /// The sandbox of a command that was granted the network.
    pub(crate) fn network_sandbox(&self, layers: LayerSelection) -> Sandbox {
        let policy = self.policy(SandboxProfile::Build).with_full_network(0);
        policy.clear_own_home().unwrap();
        self.prepare(policy, layers)
    }

    fn policy(&self, profile: SandboxProfile) -> SandboxPolicy {
        let (project, home) = (self.at("project"), self.at("home"));
        let (data, scratch) = (self.at("data"), self.at("scratch"));
        let paths = SandboxPaths {
            project: &project,
            home: &home,
            data: &data,
            scratch: &scratch,
            run_homes: &self.at("data/homes/1"),
            readable: &self.readable,
            private: &self.private,
        };
        SandboxPolicy::new(profile, &paths)
    }

    fn prepare(&self, policy: SandboxPolicy, layers: LayerSelection) -> Sandbox {
        let sandbox = Sandbox::new(policy, &self.machine, layers, self.limits).unwrap();
        let sandbox = sandbox.with_reserved_ports(Arc::clone(&self.reserved_ports));
        println!("  layers: {}", serde_json::to_string(sandbox.applied()).unwrap());
        sandbox
    }

    pub(crate) fn command(&self, name: &str, args: &[&str]) -> SandboxCommand {
        let all: Vec<&str> = ["--payload", name].into_iter().chain(args.iter().copied()).collect();
        let mut command = SandboxCommand::new(self.at("project/attacker"), &all);
        let home = self.at("home").into();
        command.env = vec![("PATH".into(), "/usr/bin:/bin".into()), ("HOME".into(), home)];
        command
    }

    pub(crate) fn spawn(&self, sandbox: &Sandbox, name: &str, args: &[&str]) -> SandboxChild {
        sandbox.spawn(self.command(name, args)).unwrap()
    }

    pub(crate) fn confined(
        &self,
        profile: SandboxProfile,
        layers: LayerSelection,
        name: &str,
        args: &[&str],
    ) -> Report {
        let sandbox = self.sandbox(profile, layers);
        finish(self.spawn(&sandbox, name, args))
    }

    /// The same attack without the sandbox.
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

    /// Asserts that the attack does no harm in any confined profile, with the fewest and
    /// the most layers, and fails with an error of the sandbox. An attack on files is
    /// shown to work without the sandbox, on a copy of the fixture.
    #[track_caller]
    pub(crate) fn must_fail(&self, name: &str, args: &[&str]) {
        self.must_be_denied(name, args);
        if FILE_ATTACKS.contains(&name) {
            let control = self.copy_for_control();
            let here = self.dir.path().to_str().unwrap();
            let there = control.dir.path().to_str().unwrap();
            let args: Vec<_> = args.iter().map(|arg| arg.replace(here, there)).collect();
            let args: Vec<_> = args.iter().map(String::as_str).collect();
            control.works_without_sandbox(name, &args);
        }
    }

    /// The same for an attack whose control is elsewhere, or which the machine denies
    /// anyway.
    #[track_caller]
    pub(crate) fn must_be_denied(&self, name: &str, args: &[&str]) {
        for profile in CONFINED {
            for (number, sandbox) in self.sandboxes(profile).into_iter().enumerate() {
                let report = finish(self.spawn(&sandbox, name, args));
                println!("  {name} {args:?}: {}", report.text.trim());
                assert!(!report.did_harm(), "{profile:?} {number} {name} {args:?}: {report:?}");
                // Denied, not broken: an attacker that could not run proves nothing.
                assert_eq!(report.exit, SandboxExit::Code(1), "{profile:?} {number} {report:?}");
                let denied = denials(name).iter().any(|way| report.text.contains(way));
                assert!(denied, "not a denial: {profile:?} {number} {name} {args:?}: {report:?}");
            }
        }
    }

    /// A copy in which the attack may do harm.
    fn copy_for_control(&self) -> Self {
        let parent = self.dir.path().parent().unwrap();
        let dir = tempfile::tempdir_in(parent).unwrap();
        copy(self.dir.path(), dir.path(), (self.dir.path(), dir.path()));
        let (readable, private, reserved_ports) = (Vec::new(), Vec::new(), Arc::default());
        let (machine, limits) = (self.machine.clone(), self.limits);
        Self { dir, machine, limits, readable, private, reserved_ports }
    }

    /// Asserts that the attack does harm without the sandbox, so that its test can fail.
    #[track_caller]
    pub(crate) fn works_without_sandbox(&self, name: &str, args: &[&str]) {
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

/// The errors with which the sandbox denies an attack, as the attacker prints them.
fn denials(name: &str) -> &'static [&'static str] {
    match name {
        // No right; mounted read-only; a mount of its own, which can be neither
        // renamed nor left; or, in a private /tmp or /proc, not there at all.
        name if FILE_ATTACKS.contains(&name) || name == "open" => {
            &["(os error 13)", "(os error 30)", "(os error 16)", "(os error 18)", "(os error 2)"]
        }
        // The memory and environment of others: no right, or no such process here.
        "environ" | "mem" => &["(os error 13)", "(os error 1)", "(os error 2)"],
        // Forbidden, or no such process here.
        "kill" | "other-process" => &["(os error 1)", "(os error 3)"],
        // A family that is not to be had, a call that is forbidden, or a network of
        // its own, where nobody listens.
        "tcp" | "udp" | "fastopen" | "mptcp" | "unix" | "abstract" | "socket" => {
            &["(os error 97)", "(os error 1)", "(os error 13)", "(os error 111)", "(os error 101)"]
        }
        // Forbidden, or no such object here.
        "shared-object" => &["(os error 38)", "(os error 22)", "(os error 2)"],
        "open-files" => &["(os error 24)"],
        // These look and find nothing.
        "environment" => &["not in it"],
        "privileges" => &["none"],
        "ask" => &["failed to fill whole buffer"],
        // The same inside; or no program in memory at all.
        "memfd" => &["(os error 13)", "(os error 1)", "(os error 2)", "(os error 38)"],
        // Calls that the filter forbids.
        _ => &["(os error 1)"],
    }
}

/// Copies a folder; links into the original lead into the copy.
fn copy(from: &Path, to: &Path, roots: (&Path, &Path)) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            fs::create_dir_all(&to).unwrap();
            copy(&from, &to, roots);
        } else if kind.is_symlink() {
            let target = fs::read_link(&from).unwrap();
            let moved = target.strip_prefix(roots.0).map(|inside| roots.1.join(inside));
            std::os::unix::fs::symlink(moved.unwrap_or(target), &to).unwrap();
        } else if entry.file_name() == "attacker" {
            // It is large, and no attack is on itself.
            fs::hard_link(&from, &to).unwrap();
        } else if kind.is_file() {
            fs::copy(&from, &to).unwrap();
        }
    }
}
