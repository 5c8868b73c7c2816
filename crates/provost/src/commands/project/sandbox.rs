//! `provost sandbox`: runs a command in the sandbox, without a daemon.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, bail};
use provost_sandbox::confine::{
    EarlyStart, LayerSelection, ResourceLimits, Sandbox, SandboxChild, SandboxCommand,
    SandboxError, SandboxExit, SandboxStdio,
};
use provost_sandbox::environment;
use provost_sandbox::probe::{self, MachineFeatures};
use provost_sandbox::sandbox_policy::{
    NetworkAccess, SandboxPaths, SandboxPolicy, SandboxProfile, find_private_files, find_toolchains,
};
use tempfile::TempDir;

use crate::args::SandboxArgs;
use crate::config::SandboxFolders;
use crate::output::{print_line, print_stderr};

/// What policies are built from.
struct PolicySource<'a> {
    profile: SandboxProfile,
    project: PathBuf,
    folders: &'a SandboxFolders,
    toolchains: Vec<PathBuf>,
    private_files: Vec<PathBuf>,
}

impl PolicySource<'_> {
    /// The policy of a run with these folders on the disk.
    fn build_policy(&self, disk: &DiskFolders) -> SandboxPolicy {
        let paths = SandboxPaths {
            project: &self.project,
            home: &self.folders.home,
            data: &self.folders.data,
            scratch: &disk.scratch,
            run_homes: &disk.run_homes,
            readable: &self.toolchains,
            private: &self.private_files,
        };
        SandboxPolicy::new(self.profile, &paths)
    }
}

/// The run's own folders on the disk.
struct DiskFolders {
    scratch: PathBuf,
    run_homes: PathBuf,
    /// They are removed with it.
    _created: Option<TempDir>,
}

impl DiskFolders {
    /// Where they would be, for a policy that says what a command can access.
    fn plan() -> Self {
        let folder = std::env::temp_dir();
        Self { scratch: folder.clone(), run_homes: folder, _created: None }
    }

    fn create() -> anyhow::Result<Self> {
        let created = tempfile::Builder::new().prefix("provost-").tempdir()?;
        let scratch = created.path().join("tmp");
        std::fs::create_dir(&scratch)?;
        Ok(Self { scratch, run_homes: created.path().join("homes"), _created: Some(created) })
    }
}

/// A command that runs, and what it needs until it ends.
struct StartedCommand {
    child: SandboxChild,
    _disk: Option<DiskFolders>,
}

/// Begins a start on the assumption that the machine refuses nothing, for a profile without
/// the network: with it, more must be known.
fn begin_assumed_start(profile: SandboxProfile) -> Option<EarlyStart> {
    let without_network = match profile {
        SandboxProfile::Read | SandboxProfile::Build => true,
        SandboxProfile::Serve | SandboxProfile::Terminal => false,
    };
    let (network, limits) = (NetworkAccess::None, ResourceLimits::default());
    let assume = MachineFeatures::assume_available;
    without_network.then(|| EarlyStart::begin(profile, network, limits, assume))
}

/// Starts a command with all layers and its own folders in memory; where the machine refuses
/// one, with those that it has, and folders on the disk. Probing first would create and remove
/// every namespace twice, and the disk takes longer than all the rest.
fn start_command(
    planned: &SandboxPolicy,
    source: &PolicySource<'_>,
    command: &[OsString],
    assumed: Option<EarlyStart>,
) -> anyhow::Result<StartedCommand> {
    let (program, rest) = command.split_first().context("no command")?;
    let start = |policy, machine: &MachineFeatures, early: Option<EarlyStart>| {
        let mut command = SandboxCommand::new(program, rest);
        command.env = environment::filter_allowed(std::env::vars_os());
        command.stdio = [SandboxStdio::Inherit, SandboxStdio::Inherit, SandboxStdio::Inherit];
        let (layers, limits) = (LayerSelection::Auto, ResourceLimits::default());
        let sandbox = Sandbox::new(policy, machine, layers, limits)?;
        let sandbox = match early {
            Some(early) => sandbox.with_early_start(early),
            None => sandbox,
        };
        sandbox.spawn(command)
    };
    let in_memory = planned.in_memory();
    if let (Some(policy), Some(early)) = (&in_memory, assumed) {
        let machine = early.wait_for_machine();
        let machine = machine.unwrap_or_else(MachineFeatures::assume_available);
        match start(policy.clone(), &machine, Some(early)) {
            // Nothing was run.
            Err(SandboxError::Unavailable { .. }) => {}
            started => return Ok(StartedCommand { child: started?, _disk: None }),
        }
    }
    let machine = probe::probe_machine();
    if let Some(policy) = in_memory {
        match start(policy, &machine, None) {
            Err(SandboxError::Unavailable { .. }) => {}
            started => return Ok(StartedCommand { child: started?, _disk: None }),
        }
    }
    let disk = DiskFolders::create().context("cannot create folders for the command")?;
    let child = start(source.build_policy(&disk), &machine, None)?;
    Ok(StartedCommand { child, _disk: Some(disk) })
}

/// Runs the command; returns its exit status.
pub(crate) fn run(args: &SandboxArgs, folders: &SandboxFolders) -> anyhow::Result<u8> {
    let project = std::env::current_dir().context("cannot find the current folder")?;
    let variables: Vec<_> = std::env::vars_os().collect();
    let toolchains = find_toolchains(&variables, &folders.home);
    let private_files = find_private_files(&variables);
    let profile = args.profile.to_sandbox_profile();
    let is_run = !args.explain && !args.command.is_empty();
    let assumed = if is_run { begin_assumed_start(profile) } else { None };
    let source = PolicySource { profile, project, folders, toolchains, private_files };
    let policy = source.build_policy(&DiskFolders::plan());
    if args.explain {
        let policy = policy.in_memory().unwrap_or(policy);
        print_line(policy.explain().trim_end())?;
        return Ok(0);
    }
    let Some(program) = args.command.first() else {
        bail!("no command to run\nhint: provost sandbox --profile build -- make");
    };
    let missing_paths = policy.find_missing_paths();
    let mut started = start_command(&policy, &source, &args.command, assumed)
        .with_context(|| format!("cannot run `{}`", program.to_string_lossy()))?;
    let exit = started.child.wait()?;
    for path in missing_paths.find_created() {
        print_stderr(&format!(
            "WARNING: the command created {}, a protected path.",
            path.display()
        ));
    }
    Ok(match exit {
        SandboxExit::Code(code) => u8::try_from(code).unwrap_or(1),
        // As shells do.
        SandboxExit::Signal(signal) => u8::try_from(128 + signal).unwrap_or(1),
    })
}
