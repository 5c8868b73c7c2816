//! `provost sandbox`, parsed alone.
//!
//! Building the commands and options of all others takes longer than most of what starts a
//! command in the sandbox.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::{Cli, CliCommand, SandboxArgs};

/// The arguments before the command's own among which its name is searched for.
const MAX_LEADING_ARGS: usize = 4;

/// The part of [`Cli`] that `provost sandbox` uses.
#[derive(Debug, Parser)]
#[command(name = "provost")]
struct SandboxCli {
    #[arg(long, global = true)]
    data: Option<PathBuf>,
    #[command(subcommand)]
    command: SandboxSubcommand,
}

#[derive(Debug, Subcommand)]
enum SandboxSubcommand {
    Sandbox(SandboxArgs),
}

/// Parses the command line if it is one of `provost sandbox`. `None` for all others, and for
/// help and errors, which name the other commands.
pub(crate) fn parse_sandbox_command(args: &[OsString]) -> Option<Cli> {
    if !args.iter().take(MAX_LEADING_ARGS).any(|arg| arg == "sandbox") {
        return None;
    }
    let SandboxCli { data, command } = SandboxCli::try_parse_from(args).ok()?;
    let SandboxSubcommand::Sandbox(args) = command;
    Some(Cli { data, command: CliCommand::Sandbox(args) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Cli> {
        parse_sandbox_command(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_parsed_alone_is_what_all_commands_parse() {
        for line in [
            "provost sandbox -- true",
            "provost --data /d sandbox -- make -j 2",
            "provost --data=/d sandbox --profile read --explain",
            "provost sandbox --data /d --profile=serve -- sandbox",
            "provost sandbox",
        ] {
            let alone = parse(line);
            assert!(alone.is_some(), "{line}");
            let all = Cli::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(format!("{:?}", alone.unwrap()), format!("{all:?}"), "{line}");
        }
    }

    #[test]
    fn other_commands_help_and_errors_are_left_to_all_commands() {
        for line in [
            "provost mode sandbox",
            "provost sandbox --help",
            "provost --version sandbox",
            "provost help sandbox",
            "provost sandbox --profile none",
            "provost sandbox true",
            "provost a b c sandbox -- true",
        ] {
            assert!(parse(line).is_none(), "{line}");
        }
    }
}
