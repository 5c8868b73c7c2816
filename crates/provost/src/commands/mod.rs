//! One file per command.

mod act;
mod approvals;
mod attach;
mod audit;
pub(crate) mod completions;
mod config;
mod doctor;
mod down;
mod events;
mod grants;
mod kernel;
mod mode;
mod place;
mod policy;
mod projects;
mod roles;
mod sandbox;
mod status;
mod token;
mod up;

use std::process::ExitCode;

use crate::args::Command;
use crate::config::Config;
use crate::daemon;

/// Does what was asked for.
pub(crate) async fn dispatch(command: Command, config: Config) -> anyhow::Result<ExitCode> {
    match command {
        Command::Up(args) => up::run(args, &config).await,
        Command::Serve(_) => daemon::serve(config).await,
        Command::Down { keep } => down::run(keep, &config).await,
        Command::Act(args) => act::run(&args, &config).await,
        Command::Attach { project } => attach::run(project.as_deref(), &config).await,
        Command::Sandbox(args) => sandbox::run(&args, &config),
        Command::Kernel(args) => kernel::run(args, &config).await,
        Command::Status(json) => status::run(&json, &config).await,
        Command::Projects { what, json, all } => projects::run(what, &json, all, &config).await,
        Command::Events(args) => events::run(&args, &config).await,
        Command::Audit(args) => audit::run(args, &config).await,
        Command::Approvals(args) => approvals::run(args, &config).await,
        Command::Mode(args) => mode::run(args, &config).await,
        Command::Roles(args) => roles::run(args, &config).await,
        Command::Policy(args) => policy::run(args, &config).await,
        Command::Grants(args) => grants::run(args, &config).await,
        Command::Token { what } => token::run(what, &config).await,
        Command::Doctor(json) => doctor::run(&json, &config),
        Command::Config(json) => config::run(&json, &config),
        Command::Completions { shell } => completions::shell(shell),
        Command::Man { folder } => completions::man(folder.as_deref()),
    }
}
