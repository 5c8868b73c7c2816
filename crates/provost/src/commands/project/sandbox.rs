//! `provost sandbox`: runs a command in the sandbox, without a daemon.

use std::process::ExitCode;

use anyhow::{Context, bail};
use provost_sandbox::confine::{
    LayerSelection, ResourceLimits, Sandbox, SandboxChild, SandboxCommand, SandboxError,
    SandboxExit, SandboxStdio,
};
use provost_sandbox::environment;
use provost_sandbox::probe::{self, MachineFeatures};
use provost_sandbox::sandbox_policy::{
    NetworkAccess, SandboxPaths, SandboxPolicy, find_private_files, find_toolchains,
};

use crate::args::SandboxArgs;
use crate::config::Config;
use crate::output::{print_line, print_stderr};

/// Starts a command with all layers; where the machine refuses one, with those that it has.
/// Probing first would create and remove every namespace twice.
pub(crate) fn start_command(
    policy: &SandboxPolicy,
    build_command: impl Fn() -> SandboxCommand,
) -> Result<SandboxChild, SandboxError> {
    let start = |machine: &MachineFeatures| {
        let (layers, limits) = (LayerSelection::Auto, ResourceLimits::default());
        Sandbox::new(policy.clone(), machine, layers, limits)?.spawn(build_command())
    };
    if policy.is_confined() && policy.network == NetworkAccess::None {
        match start(&MachineFeatures::assume_available()) {
            // Nothing was run.
            Err(SandboxError::Unavailable { .. }) => {}
            started => return started,
        }
    }
    start(&probe::probe_machine())
}

pub(crate) fn run(args: &SandboxArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let project = std::env::current_dir().context("cannot find the current folder")?;
    let home = config.home.clone().unwrap_or_else(|| "/".into());
    let scratch = tempfile::Builder::new().prefix("provost-").tempdir()?;
    let run_homes = tempfile::Builder::new().prefix("provost-").tempdir()?;
    let variables: Vec<_> = std::env::vars_os().collect();
    let toolchains = find_toolchains(&variables, &home);
    let paths = SandboxPaths {
        project: &project,
        home: &home,
        data: &config.data.value,
        scratch: scratch.path(),
        run_homes: run_homes.path(),
        readable: &toolchains,
        private: &find_private_files(&variables),
    };
    let policy = SandboxPolicy::new(args.profile.to_sandbox_profile(), &paths);
    if args.explain {
        print_line(policy.explain().trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some((program, rest)) = args.command.split_first() else {
        bail!("no command to run\nhint: provost sandbox --profile build -- make");
    };
    let missing_paths = policy.find_missing_paths();
    let build_command = || {
        let mut command = SandboxCommand::new(program, rest);
        command.env = environment::filter_allowed(std::env::vars_os());
        command.stdio = [SandboxStdio::Inherit, SandboxStdio::Inherit, SandboxStdio::Inherit];
        command
    };
    let mut child = start_command(&policy, build_command)
        .with_context(|| format!("cannot run `{}`", program.to_string_lossy()))?;
    let exit = child.wait()?;
    for path in missing_paths.find_created() {
        print_stderr(&format!(
            "WARNING: the command created {}, a protected path.",
            path.display()
        ));
    }
    Ok(match exit {
        SandboxExit::Code(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        // As shells do.
        SandboxExit::Signal(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
    })
}
