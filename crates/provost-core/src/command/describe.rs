//! An analysis in plain words, for people who are asked.

use super::{Analysis, Demand, Run};
use crate::action::run_command::words;
use crate::action::text::{quoted, visible};

/// One line for each demand, and one for each part that could not be read.
///
/// Nothing is left out, and what cannot be seen is spelled out.
pub fn describe(analysis: &Analysis) -> String {
    let demands = analysis.demands.iter().map(|demand| match demand {
        Demand::Run(run) => ran(run),
        Demand::Write { path } => format!("write {}", quoted(path)),
        Demand::Read { path } | Demand::Operand { path } => format!("read {}", quoted(path)),
    });
    let opaque = analysis
        .opaque
        .iter()
        .map(|part| format!("not certain: {} {}", quoted(&part.text), part.why));
    let lines: Vec<String> = demands.chain(opaque).collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join("\n") }
}

fn ran(run: &Run) -> String {
    let mut said = format!("run {}", quoted(&words(&run.argv)));
    if !run.through.is_empty() {
        let through: Vec<_> = run.through.iter().map(|name| visible(name)).collect();
        said.extend([" through ", &through.join(", ")]);
    }
    if !run.assignments.is_empty() {
        let set = |(name, value): &(String, String)| format!("{}={}", visible(name), quoted(value));
        let variables: Vec<_> = run.assignments.iter().map(set).collect();
        said.extend([" with ", &variables.join(", ")]);
    }
    if run.folders.iter().any(|folder| !folder.is_empty()) {
        let folder =
            |folder: &String| quoted(if folder.is_empty() { "." } else { folder.as_str() });
        let folders: Vec<_> = run.folders.iter().map(folder).collect();
        said.extend([" in ", &folders.join(" or ")]);
    }
    if !run.hosts.is_empty() {
        let hosts: Vec<_> = run.hosts.iter().map(|host| visible(host)).collect();
        said.extend([", reaching ", &hosts.join(", ")]);
    }
    said
}
