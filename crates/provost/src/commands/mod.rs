//! One file per command.

mod approvals;
mod attach;
mod audit;
mod chat;
pub(crate) mod completions;
mod config;
mod do_action;
mod doctor;
mod down;
mod events;
mod grants;
mod init;
mod kernel;
mod logs;
mod lookup;
mod mode;
mod policy;
mod preview;
mod projects;
mod roles;
mod runtime;
mod sandbox;
mod sessions;
mod static_files;
mod status;
mod token;
mod up;
mod usage;

use std::process::ExitCode;

use crate::args::{CliCommand, StaticArgs};
use crate::config::Config;
use crate::daemon;

/// Serves files, behind the wall: no configuration is read there.
pub(crate) async fn serve_files(args: StaticArgs) -> anyhow::Result<ExitCode> {
    static_files::run(args).await
}

/// Does what was asked for.
pub(crate) async fn dispatch(command: CliCommand, config: Config) -> anyhow::Result<ExitCode> {
    match command {
        CliCommand::Up(args) => up::run(args, &config).await,
        CliCommand::Serve(_) => daemon::serve(config).await,
        CliCommand::Down { keep } => down::run(keep, &config).await,
        CliCommand::Act(args) => do_action::run(&args, &config).await,
        CliCommand::Attach { project } => attach::run(project.as_deref(), &config).await,
        CliCommand::Sandbox(args) => sandbox::run(&args, &config),
        CliCommand::Kernel(args) => kernel::run(args, &config).await,
        CliCommand::Run(args) => runtime::run(args, false, &config).await,
        CliCommand::Restart(args) => runtime::run(args, true, &config).await,
        CliCommand::Stop(args) => runtime::stop(args, &config).await,
        CliCommand::Build(args) => runtime::build(args, &config).await,
        CliCommand::Logs(args) => logs::run(args, &config).await,
        CliCommand::Preview(args) => preview::run(args, &config).await,
        CliCommand::Init(args) => init::run(&args),
        CliCommand::Static(args) => static_files::run(args).await,
        CliCommand::Status(json) => status::run(&json, &config).await,
        CliCommand::Projects { what, json, all } => projects::run(what, &json, all, &config).await,
        CliCommand::Chat(args) => chat::run(args, &config).await,
        CliCommand::Sessions(args) => sessions::run(args, &config).await,
        CliCommand::Usage(json) => usage::run(&json, &config).await,
        CliCommand::Events(args) => events::run(&args, &config).await,
        CliCommand::Audit(args) => audit::run(args, &config).await,
        CliCommand::Approvals(args) => approvals::run(args, &config).await,
        CliCommand::Mode(args) => mode::run(args, &config).await,
        CliCommand::Roles(args) => roles::run(args, &config).await,
        CliCommand::Policy(args) => policy::run(args, &config).await,
        CliCommand::Grants(args) => grants::run(args, &config).await,
        CliCommand::Token { what } => token::run(what, &config).await,
        CliCommand::Doctor(json) => doctor::run(&json, &config),
        CliCommand::Config(json) => config::run(&json, &config),
        CliCommand::Completions { shell } => completions::print_completions(shell),
        CliCommand::Man { folder } => completions::print_man_pages(folder.as_deref()),
    }
}
