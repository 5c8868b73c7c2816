//! The golden file of the command line: commands, options, their values; no prose.

use std::fmt::Write as _;

use clap::CommandFactory as _;
use expect_test::expect_file;

use super::Cli;

/// One command with its arguments, then those below it.
fn describe(command: &clap::Command, above: &str, text: &mut String) {
    let name = format!("{above}{}", command.get_name());
    let hidden = if command.is_hide_set() { " (hidden)" } else { "" };
    let aliases: Vec<_> = command.get_all_aliases().map(|alias| format!(" |{alias}")).collect();
    writeln!(text, "{name}{}{hidden}", aliases.concat()).unwrap();
    for arg in command.get_arguments() {
        writeln!(text, "  {}", shown(arg)).unwrap();
    }
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        describe(below, &format!("{name} "), text);
    }
}

fn shown(arg: &clap::Arg) -> String {
    let mut words = Vec::new();
    words.extend(arg.get_short().map(|short| format!("-{short}")));
    words.extend(arg.get_long().map(|long| format!("--{long}")));
    words.extend(arg.get_all_aliases().into_iter().flatten().map(|alias| format!("|--{alias}")));
    if arg.get_action().takes_values() {
        let named = arg.get_value_names().unwrap_or_default();
        words.extend(named.iter().map(|name| format!("<{name}>")));
        let values: Vec<_> = arg.get_possible_values();
        words.extend(values.iter().map(|value| value.get_name().to_owned()));
    }
    let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    words.extend(defaults.map(|value| format!("[default: {value}]")));
    for (is_set, word) in [
        (arg.is_required_set(), "required"),
        (arg.is_global_set(), "global"),
        (arg.is_last_set(), "last"),
        (arg.is_hide_set(), "hidden"),
    ] {
        words.extend(is_set.then(|| format!("({word})")));
    }
    words.extend(arg.get_num_args().map(|number| format!("({number})")));
    words.join(" ")
}

#[test]
fn commands_keep_their_names_and_options() {
    let mut command = Cli::command();
    command.build();
    let mut text = String::new();
    describe(&command, "", &mut text);
    expect_file!["../../tests/golden/commands.txt"].assert_eq(&text);
}
