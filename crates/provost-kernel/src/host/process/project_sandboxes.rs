//! The sandboxes of a project, and the paths they are built from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use provost_proto::Code;
use provost_sandbox::confine::{
    LayerSelection, ReservedPorts, ResourceLimits, Sandbox, SandboxError,
};
use provost_sandbox::probe;
use provost_sandbox::sandbox_policy::{
    SandboxPaths, SandboxPolicy, SandboxProfile, find_private_files, find_toolchains,
};

use super::standby_sandbox::{HomeNumber, StandbySandbox};
use crate::ActionError;
use crate::host::HostOptions;
use crate::kernel_dir::{KernelDir, ScratchDir};

/// The sandboxes of one project, each built when it is first needed.
#[derive(Debug)]
pub(in crate::host) struct ProjectSandboxes {
    project: PathBuf,
    home: PathBuf,
    data: PathBuf,
    /// The home of commands and their layers of the caches; it outlives the kernel.
    run_homes: PathBuf,
    /// Toolchains that the environment names.
    toolchains: Vec<PathBuf>,
    /// Settings of Provost that the environment names.
    private: Vec<PathBuf>,
    pub(in crate::host) kernel_dir: KernelDir,
    scratch: OnceLock<ScratchDir>,
    /// The homes of commands with the network that run now.
    network_homes: Arc<Mutex<BTreeSet<usize>>>,
    /// The daemon's ports, on which no run may listen.
    pub(in crate::host) reserved_ports: Arc<ReservedPorts>,
    /// Sandboxes of commands, and what a person made readable in them.
    commands: Mutex<CommandSandboxes>,
}

#[derive(Debug, Default)]
struct CommandSandboxes {
    /// Paths that a person made readable.
    readable: Vec<PathBuf>,
    offline: Option<Arc<StandbySandbox>>,
}

impl ProjectSandboxes {
    pub(super) fn new(options: &HostOptions) -> Self {
        Self {
            project: options.project.clone(),
            home: options.home.clone(),
            data: options.data.clone(),
            run_homes: options
                .data
                .join("homes")
                .join(options.kernel_dir.file_name().unwrap_or_default()),
            toolchains: find_toolchains(&options.environment, &options.home),
            private: find_private_files(&options.environment),
            kernel_dir: KernelDir::new(&options.kernel_dir),
            scratch: OnceLock::new(),
            network_homes: Arc::default(),
            reserved_ports: Arc::default(),
            commands: Mutex::default(),
        }
    }

    /// The sandbox of commands, with or without access to the network.
    pub(super) fn command_sandbox(
        &self,
        network: bool,
    ) -> Result<Arc<StandbySandbox>, ActionError> {
        let readable = self.list_readable();
        if network {
            return self.create_network_sandbox(&readable);
        }
        let mut commands = self.commands.lock();
        if let Some(sandbox) = &commands.offline {
            return Ok(Arc::clone(sandbox));
        }
        let policy = SandboxPolicy::new(SandboxProfile::Build, &self.sandbox_paths(&readable)?);
        let sandbox = StandbySandbox::new(self.create_sandbox(policy)?);
        Ok(Arc::clone(commands.offline.insert(Arc::new(sandbox))))
    }

    /// A sandbox for one command with the network: what an earlier one left in its home, other
    /// than caches, is not there.
    fn create_network_sandbox(
        &self,
        readable: &[PathBuf],
    ) -> Result<Arc<StandbySandbox>, ActionError> {
        let number = HomeNumber::acquire(&self.network_homes);
        let policy = SandboxPolicy::new(SandboxProfile::Build, &self.sandbox_paths(readable)?);
        let policy = self.add_network(policy, number.number)?;
        policy.clear_own_home().map_err(|error| {
            let message = format!("cannot clear the home of commands with the network: {error}");
            ActionError::new(Code::Internal, message)
        })?;
        let sandbox = self.create_sandbox(policy)?;
        Ok(Arc::new(StandbySandbox::new(sandbox).with_home_number(number)))
    }

    fn create_sandbox(&self, policy: SandboxPolicy) -> Result<Sandbox, ActionError> {
        let machine = probe::probe_machine();
        let sandbox =
            Sandbox::new(policy, &machine, LayerSelection::Auto, ResourceLimits::default())
                .map_err(|error| action_error_from_sandbox(&error))?;
        Ok(sandbox.with_reserved_ports(Arc::clone(&self.reserved_ports)))
    }

    /// The policy with the network, and a folder for temporary files that runs without it cannot
    /// write: programs run what they find in caches there.
    fn add_network(
        &self,
        policy: SandboxPolicy,
        number: usize,
    ) -> Result<SandboxPolicy, ActionError> {
        let mut policy = policy.with_full_network(number);
        let missing = || ActionError::new(Code::Internal, "no folder for temporary files");
        self.scratch.get().ok_or_else(missing)?.network().clone_into(&mut policy.scratch);
        Ok(policy)
    }

    /// Sets the paths that a person made readable, `~/` being the home directory.
    /// Commands that run already keep what they have.
    pub(in crate::host) fn set_readable(&self, paths: Vec<String>) {
        let expand = |path: String| match path.strip_prefix("~/") {
            Some(inside) => self.home.join(inside),
            None => PathBuf::from(path),
        };
        let readable: Vec<PathBuf> = paths.into_iter().map(expand).collect();
        let mut commands = self.commands.lock();
        if commands.readable != readable {
            *commands = CommandSandboxes { readable, ..CommandSandboxes::default() };
        }
    }

    /// What commands can read besides the system and the home's usual toolchains.
    pub(in crate::host) fn list_readable(&self) -> Vec<PathBuf> {
        let commands = self.commands.lock();
        self.toolchains.iter().chain(&commands.readable).cloned().collect()
    }

    /// The sandbox of dev servers and builds. Our own program is readable in it, because
    /// it can serve files.
    pub(in crate::host) fn create_server_sandbox(
        &self,
        own_program: &Path,
    ) -> Result<Sandbox, ActionError> {
        let readable = self.list_readable();
        let mut policy = SandboxPolicy::new(SandboxProfile::Serve, &self.sandbox_paths(&readable)?);
        policy.readable.push(own_program.to_owned());
        self.create_sandbox(policy)
    }

    /// The paths that policies are built from; creates the scratch directory.
    pub(in crate::host) fn sandbox_paths<'a>(
        &'a self,
        readable: &'a [PathBuf],
    ) -> Result<SandboxPaths<'a>, ActionError> {
        if self.scratch.get().is_none() {
            let scratch = self.kernel_dir.create_scratch_dir().map_err(|error| {
                let message = format!("cannot create a folder for temporary files: {error}");
                ActionError::new(Code::Internal, message)
            })?;
            drop(self.scratch.set(scratch));
        }
        let missing = || ActionError::new(Code::Internal, "no folder for temporary files");
        Ok(SandboxPaths {
            project: &self.project,
            home: &self.home,
            data: &self.data,
            scratch: self.scratch.get().ok_or_else(missing)?.runs(),
            run_homes: &self.run_homes,
            readable,
            private: &self.private,
        })
    }
}

/// The failure to build a sandbox or to start a command in it, with all causes.
pub(in crate::host) fn action_error_from_sandbox(error: &SandboxError) -> ActionError {
    let code = match error {
        SandboxError::Unavailable { .. } => Code::SandboxUnavailable,
        SandboxError::NotFound { .. } => Code::CmdNotFound,
        SandboxError::WorkingDirectory(_) => Code::NotFound,
        SandboxError::Nul(_) => Code::InvalidAction,
        SandboxError::Start { .. } => Code::SandboxDenied,
        SandboxError::Io { .. } | SandboxError::StillAlive | SandboxError::Unseen => Code::Internal,
    };
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    ActionError::new(code, message)
}
