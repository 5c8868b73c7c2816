//! Describes an analysis in plain text, for people.

use super::{CommandAnalysis, CommandEffect, CommandInvocation};
use crate::action::run_command::quote_argv;
use crate::action::text::{escape_invisible, quoted};

/// One line for each effect, and one for each part that could not be analyzed.
///
/// Nothing is left out, and invisible characters are escaped.
pub fn describe_analysis(analysis: &CommandAnalysis) -> String {
    let effects = analysis.effects.iter().map(|effect| match effect {
        CommandEffect::Run(run) => describe_invocation(run),
        CommandEffect::Write { path, deletes } => {
            format!("{} {}", if *deletes { "delete" } else { "write" }, quoted(path))
        }
        CommandEffect::Read { path } | CommandEffect::ReadOperand { path } => {
            format!("read {}", quoted(path))
        }
    });
    let opaque = analysis
        .opaque
        .iter()
        .map(|part| format!("not certain: {} {}", quoted(&part.text), part.why));
    let lines: Vec<String> = effects.chain(opaque).collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join("\n") }
}

fn describe_invocation(run: &CommandInvocation) -> String {
    let mut text = format!("run {}", quoted(&quote_argv(&run.argv)));
    if !run.through.is_empty() {
        let through: Vec<_> = run.through.iter().map(|name| escape_invisible(name)).collect();
        text.extend([" through ", &through.join(", ")]);
    }
    if !run.assignments.is_empty() {
        let set = |(name, value): &(String, String)| {
            format!("{}={}", escape_invisible(name), quoted(value))
        };
        let variables: Vec<_> = run.assignments.iter().map(set).collect();
        text.extend([" with ", &variables.join(", ")]);
    }
    if run.folders.iter().any(|folder| !folder.is_empty()) {
        let folder =
            |folder: &String| quoted(if folder.is_empty() { "." } else { folder.as_str() });
        let folders: Vec<_> = run.folders.iter().map(folder).collect();
        text.extend([" in ", &folders.join(" or ")]);
    }
    if !run.hosts.is_empty() {
        let hosts: Vec<_> = run.hosts.iter().map(|host| escape_invisible(host)).collect();
        text.extend([", reaching ", &hosts.join(", ")]);
    }
    text
}
