//! Arguments of the commands for projects and for actions without an agent.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use provost_sandbox::sandbox_policy::SandboxProfile;

use super::JsonArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ProjectsCommand {
    /// Open a folder as a project.
    Open {
        /// The folder.
        path: PathBuf,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Close a project; its folder and history stay.
    Close {
        /// Id or short name.
        project: String,
        #[command(flatten)]
        json: JsonArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The folder; default: the current folder.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Print what would be written, and do not write it.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Overwrite an existing file.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoActionArgs {
    /// The action: fs.readFile, fs.writeFile, terminal.runCommand, …
    pub(crate) action: String,
    /// Parameters of the action.
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    /// All parameters as one JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) json: Option<String>,
    /// The project: id or short name; default: the project of the current folder.
    #[arg(long, value_name = "P")]
    pub(crate) project: Option<String>,
    /// The role to act in; default: act as yourself.
    #[arg(long, value_name = "R")]
    pub(crate) role: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    /// The sandbox profile.
    #[arg(long, value_enum, default_value = "build")]
    pub(crate) profile: ProfileArg,
    /// Print what the command could access, and do not run it.
    #[arg(long)]
    pub(crate) explain: bool,
    /// The command.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// [`SandboxProfile`] as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ProfileArg {
    /// Read the project; no network.
    Read,
    /// Write the project and the caches of tools; no network.
    Build,
    /// Like build, and may listen on ports.
    Serve,
    /// Everything but Provost's own data.
    Terminal,
}

impl ProfileArg {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Build => "build",
            Self::Serve => "serve",
            Self::Terminal => "terminal",
        }
    }

    /// The profile.
    pub(crate) fn to_sandbox_profile(self) -> SandboxProfile {
        match self {
            Self::Read => SandboxProfile::Read,
            Self::Build => SandboxProfile::Build,
            Self::Serve => SandboxProfile::Serve,
            Self::Terminal => SandboxProfile::Terminal,
        }
    }
}
