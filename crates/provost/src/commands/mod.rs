//! One file per command, in one folder per concept.

mod audit;
mod chat;
pub(crate) mod daemon;
mod govern;
mod lookup;
mod notebook_runtime;
mod project;
mod runtime;

use std::process::ExitCode;

use crate::args::{CliCommand, SandboxArgs, StaticArgs};
use crate::config::{Config, SandboxFolders};

/// Serves files inside a sandbox, where the configuration cannot be read.
pub(crate) async fn serve_files(args: StaticArgs) -> anyhow::Result<ExitCode> {
    runtime::static_files::run(args).await
}

/// Runs a command in the sandbox; returns its exit status.
pub(crate) fn run_in_sandbox(args: &SandboxArgs, folders: &SandboxFolders) -> anyhow::Result<u8> {
    project::sandbox::run(args, folders)
}

/// Runs the command.
pub(crate) async fn dispatch(command: CliCommand, config: Config) -> anyhow::Result<ExitCode> {
    match command {
        CliCommand::Up(args) => daemon::up::run(args, &config).await,
        CliCommand::Serve(_) => crate::daemon::serve(config).await,
        CliCommand::Down { keep } => daemon::down::run(keep, &config).await,
        CliCommand::Act(args) => project::do_action::run(&args, &config).await,
        CliCommand::Attach { project } => runtime::attach::run(project.as_deref(), &config).await,
        CliCommand::Sandbox(args) => {
            run_in_sandbox(&args, &SandboxFolders::from_config(&config)).map(ExitCode::from)
        }
        CliCommand::Kernel(args) => daemon::kernel::run(args, &config).await,
        CliCommand::Run(args) => runtime::run(args, false, &config).await,
        CliCommand::Restart(args) => runtime::run(args, true, &config).await,
        CliCommand::Stop(args) => runtime::stop(args, &config).await,
        CliCommand::Build(args) => runtime::build(args, &config).await,
        CliCommand::Logs(args) => runtime::logs::run(args, &config).await,
        CliCommand::Preview(args) => runtime::preview::run(args, &config).await,
        CliCommand::Init(args) => project::init::run(&args),
        CliCommand::Static(args) => runtime::static_files::run(args).await,
        CliCommand::Status(json) => daemon::status::run(&json, &config).await,
        CliCommand::Projects { what, json, all } => {
            project::projects::run(what, &json, all, &config).await
        }
        CliCommand::Chat(args) => chat::run(args, &config).await,
        CliCommand::Sessions(args) => chat::sessions::run(args, &config).await,
        CliCommand::Usage(args) => chat::usage::run(&args, &config).await,
        CliCommand::Events(args) => audit::events::run(&args, &config).await,
        CliCommand::Audit(args) => audit::run(args, &config).await,
        CliCommand::Log(args) => audit::log::run(args, &config).await,
        CliCommand::Approvals(args) => govern::approvals::run(args, &config).await,
        CliCommand::Mode(args) => govern::mode::run(args, &config).await,
        CliCommand::Roles(args) => govern::roles::run(args, &config).await,
        CliCommand::Policy(args) => govern::policy::run(args, &config).await,
        CliCommand::Grants(args) => govern::grants::run(args, &config).await,
        CliCommand::Token { what } => govern::token::run(what, &config).await,
        CliCommand::Notebook { what } => project::notebooks::run(what, &config).await,
        CliCommand::NotebookRuntime(args) => notebook_runtime::run(args, &config).await,
        CliCommand::Doctor(json) => daemon::doctor::run(&json, &config),
        CliCommand::Config(json) => daemon::config::run(&json, &config).await,
        CliCommand::Completions { shell } => daemon::completions::print_completions(shell),
        CliCommand::Man { folder } => daemon::completions::print_man_pages(folder.as_deref()),
    }
}
