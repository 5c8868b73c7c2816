//! `provost completions` and `provost man`.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;

pub(crate) fn shell(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "provost", &mut text);
    io::stdout().write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(folder: Option<&Path>) -> anyhow::Result<ExitCode> {
    match folder {
        Some(folder) => {
            fs::create_dir_all(folder)?;
            clap_mangen::generate_to(Cli::command(), folder)?;
        }
        None => clap_mangen::Man::new(Cli::command()).render(&mut io::stdout())?,
    }
    Ok(ExitCode::SUCCESS)
}
