//! The walls of a project, and the places they are made from.

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

/// The walls of one project, each made when it is needed first.
#[derive(Debug)]
pub(in crate::host) struct ProjectSandboxes {
    project: PathBuf,
    home: PathBuf,
    data: PathBuf,
    pub(in crate::host) place: KernelDir,
    scratch: OnceLock<ScratchDir>,
    wall: OnceLock<Arc<StandbySandbox>>,
    open_wall: OnceLock<Arc<StandbySandbox>>,
}

impl ProjectSandboxes {
    pub(in crate::host) fn new(options: &HostOptions) -> Self {
        Self {
            project: options.project.clone(),
            home: options.home.clone(),
            data: options.data.clone(),
            place: KernelDir::new(&options.place),
            scratch: OnceLock::new(),
            wall: OnceLock::new(),
            open_wall: OnceLock::new(),
        }
    }

    /// The wall of commands; another for those that were granted the network.
    pub(in crate::host) fn command_sandbox(
        &self,
        network: bool,
    ) -> Result<&Arc<StandbySandbox>, ActionError> {
        let kept = if network { &self.open_wall } else { &self.wall };
        if kept.get().is_none() {
            let policy = SandboxPolicy::new(SandboxProfile::Build, &self.sandbox_paths()?);
            let policy = if network { policy.with_full_network() } else { policy };
            let machine = probe::probe_machine();
            let wall =
                Sandbox::new(policy, &machine, LayerSelection::Auto, ResourceLimits::default())
                    .map_err(|error| action_error_from_sandbox(&error))?;
            // Two that come at once make two, and one of them is used.
            drop(kept.set(Arc::new(StandbySandbox::new(wall))));
        }
        kept.get().ok_or_else(|| ActionError::new(Code::Internal, "the sandbox could not be kept"))
    }

    /// The wall of the dev server and of builds, through which our own program can
    /// be read: it serves files.
    pub(in crate::host) fn create_server_sandbox(
        &self,
        own: &Path,
    ) -> Result<Sandbox, ActionError> {
        let mut policy = SandboxPolicy::new(SandboxProfile::Serve, &self.sandbox_paths()?);
        policy.readable.push(own.to_owned());
        Sandbox::new(
            policy,
            &probe::probe_machine(),
            LayerSelection::Auto,
            ResourceLimits::default(),
        )
        .map_err(|error| action_error_from_sandbox(&error))
    }

    /// Where a command may be, with a folder for what it keeps for a while.
    pub(in crate::host) fn sandbox_paths(&self) -> Result<SandboxPaths<'_>, ActionError> {
        if self.scratch.get().is_none() {
            let scratch = self.place.create_scratch_dir().map_err(|error| {
                let message = format!("no folder for temporary files: {error}");
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

/// Why a wall was not made, or a command not started behind it.
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
