//! One file per command.

mod act;
mod approvals;
mod attach;
mod audit;
mod chat;
pub(crate) mod completions;
mod config;
mod doctor;
mod down;
mod events;
mod files;
mod grants;
mod init;
mod kernel;
mod logs;
mod mode;
mod place;
mod policy;
mod preview;
mod projects;
mod roles;
mod runtime;
mod sandbox;
mod sessions;
mod status;
mod token;
mod up;
mod usage;

use std::process::ExitCode;

use crate::args::{Command, StaticArgs};
use crate::config::Config;
use crate::daemon;

/// Serves files, behind the wall: no configuration is read there.
pub(crate) async fn serve_files(args: StaticArgs) -> anyhow::Result<ExitCode> {
    files::run(args).await
}

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
        Command::Run(args) => runtime::run(args, false, &config).await,
        Command::Restart(args) => runtime::run(args, true, &config).await,
        Command::Stop(args) => runtime::stop(args, &config).await,
        Command::Build(args) => runtime::build(args, &config).await,
        Command::Logs(args) => logs::run(args, &config).await,
        Command::Preview(args) => preview::run(args, &config).await,
        Command::Init(args) => init::run(&args),
        Command::Static(args) => files::run(args).await,
        Command::Status(json) => status::run(&json, &config).await,
        Command::Projects { what, json, all } => projects::run(what, &json, all, &config).await,
        Command::Chat(args) => chat::run(args, &config).await,
        Command::Sessions(args) => sessions::run(args, &config).await,
        Command::Usage(json) => usage::run(&json, &config).await,
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
