//! `provost completions` and `provost man`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::output;

pub(crate) fn print_completions(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "provost", &mut text);
    output::print_bytes(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn print_man_pages(folder: Option<&Path>) -> anyhow::Result<ExitCode> {
    if let Some(folder) = folder {
        fs::create_dir_all(folder)?;
        clap_mangen::generate_to(Cli::command(), folder)?;
    } else {
        let mut text = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut text)?;
        output::print_bytes(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}
