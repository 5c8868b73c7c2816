//! Pins the names of commands, options and values: scripts depend on them.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};

use super::Cli;

/// One line per command, and below it one per argument.
fn write_command(path: &str, command: &Command, out: &mut String) {
    let hidden = if command.is_hide_set() { " (hidden)" } else { "" };
    let _ = writeln!(out, "{path}{hidden}");
    for argument in command.get_arguments() {
        let _ = writeln!(out, "    {}", format_argument(argument));
    }
    for subcommand in command.get_subcommands() {
        write_command(&format!("{path} {}", subcommand.get_name()), subcommand, out);
    }
}

fn format_argument(argument: &Arg) -> String {
    let long = argument.get_long().map(|long| format!("--{long}"));
    let short = argument.get_short().map(|short| format!("-{short}"));
    let mut words: Vec<String> = long.into_iter().chain(short).collect();
    if words.is_empty() {
        words.push(format!("<{}>", argument.get_id()));
    }
    if argument.get_action().takes_values() {
        let names = argument.get_value_names().unwrap_or_default();
        words.extend(names.iter().map(ToString::to_string));
    }
    let values = argument.get_possible_values();
    if !values.is_empty() && argument.get_action().takes_values() {
        let values: Vec<_> = values.iter().map(|value| value.get_name().to_owned()).collect();
        words.push(values.join("|"));
    }
    let defaults = argument.get_default_values();
    if !defaults.is_empty() && argument.get_action().takes_values() {
        let defaults: Vec<_> = defaults.iter().map(|value| value.to_string_lossy()).collect();
        words.push(format!("= {}", defaults.join(",")));
    }
    words.join(" ")
}

#[test]
fn the_command_tree_equals_the_golden_file() {
    let mut tree = String::new();
    write_command("provost", &Cli::command(), &mut tree);
    assert_eq!(tree, include_str!("command_tree.txt"), "scripts depend on these names:\n{tree}");
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}
