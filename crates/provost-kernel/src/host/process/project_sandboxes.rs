//! The sandboxes of a project, and the paths they are built from.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use provost_proto::Code;
use provost_sandbox::confine::{LayerSelection, ResourceLimits, Sandbox, SandboxError};
use provost_sandbox::probe;
use provost_sandbox::sandbox_policy::{SandboxPaths, SandboxPolicy, SandboxProfile};

use super::standby_sandbox::StandbySandbox;
use crate::ActionError;
use crate::host::HostOptions;
use crate::kernel_dir::{KernelDir, ScratchDir};

/// The sandboxes of one project, each built when it is first needed.
#[derive(Debug)]
pub(in crate::host) struct ProjectSandboxes {
    project: PathBuf,
    home: PathBuf,
    data: PathBuf,
    pub(in crate::host) kernel_dir: KernelDir,
    scratch: OnceLock<ScratchDir>,
    offline: OnceLock<Arc<StandbySandbox>>,
    with_network: OnceLock<Arc<StandbySandbox>>,
}

impl ProjectSandboxes {
    pub(super) fn new(options: &HostOptions) -> Self {
        Self {
            project: options.project.clone(),
            home: options.home.clone(),
            data: options.data.clone(),
            kernel_dir: KernelDir::new(&options.kernel_dir),
            scratch: OnceLock::new(),
            offline: OnceLock::new(),
            with_network: OnceLock::new(),
        }
    }

    /// The sandbox of commands, with or without access to the network.
    pub(super) fn command_sandbox(
        &self,
        network: bool,
    ) -> Result<&Arc<StandbySandbox>, ActionError> {
        let slot = if network { &self.with_network } else { &self.offline };
        if slot.get().is_none() {
            let policy = SandboxPolicy::new(SandboxProfile::Build, &self.sandbox_paths()?);
            let policy = if network { policy.with_full_network() } else { policy };
            let machine = probe::probe_machine();
            let sandbox =
                Sandbox::new(policy, &machine, LayerSelection::Auto, ResourceLimits::default())
                    .map_err(|error| action_error_from_sandbox(&error))?;
            // Of two concurrent callers, the first one wins.
            drop(slot.set(Arc::new(StandbySandbox::new(sandbox))));
        }
        slot.get().ok_or_else(|| ActionError::new(Code::Internal, "cannot store the sandbox"))
    }

    /// The sandbox of dev servers and builds. Our own program is readable in it, because
    /// it can serve files.
    pub(in crate::host) fn create_server_sandbox(
        &self,
        own_program: &Path,
    ) -> Result<Sandbox, ActionError> {
        let mut policy = SandboxPolicy::new(SandboxProfile::Serve, &self.sandbox_paths()?);
        policy.readable.push(own_program.to_owned());
        Sandbox::new(
            policy,
            &probe::probe_machine(),
            LayerSelection::Auto,
            ResourceLimits::default(),
        )
        .map_err(|error| action_error_from_sandbox(&error))
    }

    /// The paths that policies are built from; creates the scratch directory.
    pub(in crate::host) fn sandbox_paths(&self) -> Result<SandboxPaths<'_>, ActionError> {
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
            scratch: self.scratch.get().ok_or_else(missing)?.path(),
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
        SandboxError::Io { .. } | SandboxError::StillAlive => Code::Internal,
    };
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    ActionError::new(code, message)
}
