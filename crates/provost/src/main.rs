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

use crate::args::{Cli, CliCommand};
use crate::output::{OutputClosed, print_error};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
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
    let config = config::Config::resolve(&cli)?;
    // The first only waits for a program.
    let mut builder = if matches!(cli.command, CliCommand::Sandbox(_)) {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    let runtime = builder.worker_threads(config.worker_threads()).enable_all().build()?;
    runtime.block_on(commands::dispatch(cli.command, config))
}
