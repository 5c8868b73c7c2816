//! The `provost` command: arguments, configuration, wiring, signals. No logic.

mod action_report;
mod approval_text;
mod args;
mod client;
mod commands;
mod config;
mod daemon;
mod memory_trim;
mod output;
mod program_output;
mod typed_answer;

use std::process::ExitCode;

use clap::Parser;
use provost_sandbox::launch;

use crate::args::{Cli, CliCommand, parse_sandbox_command};
use crate::output::{OutputClosed, print_error};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    let cli = parse_sandbox_command(&args).unwrap_or_else(|| Cli::parse_from(args));
    match run(cli) {
        Ok(code) => code,
        // The reader closed the pipe on purpose: `provost events | head`.
        Err(error) if error.is::<OutputClosed>() => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Reads the configuration and runs the command.
fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    // These two must work even if the configuration is invalid.
    if let CliCommand::Completions { shell } = cli.command {
        return commands::daemon::completions::print_completions(shell);
    }
    if let CliCommand::Man { folder } = &cli.command {
        return commands::daemon::completions::print_man_pages(folder.as_deref());
    }
    // This one runs in the sandbox, which cannot read the configuration.
    if let CliCommand::Static(args) = cli.command {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        return runtime.block_on(commands::serve_files(args));
    }
    // This one waits for a program, and needs little of the configuration.
    if let CliCommand::Sandbox(args) = &cli.command {
        let folders = config::SandboxFolders::resolve(&cli)?;
        let code = commands::run_in_sandbox(args, &folders)?;
        output::flush_output();
        launch::exit_at_once(code);
    }
    let config = config::Config::resolve(&cli)?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(config.worker_threads()).enable_all().build()?;
    runtime.block_on(commands::dispatch(cli.command, config))
}
