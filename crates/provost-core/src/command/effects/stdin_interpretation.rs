//! How a running command interprets its stdin.

use crate::command::{CommandAnalysis, CommandEffect, OpaqueReason, program_basename, tools};

/// How a running command interprets its stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StdinInterpretation {
    /// As data.
    Data,
    /// A shell interprets it line by line.
    ShellLines,
    /// This program interprets it as code or commands of its own.
    Code(String),
}

/// Shells whose lines can be analyzed.
const LINE_SHELLS: &[&str] = &["sh", "bash", "dash", "ash"];

/// How this command interprets stdin once it runs.
pub fn classify_stdin(analysis: &CommandAnalysis) -> StdinInterpretation {
    let runs = || {
        analysis.effects.iter().filter_map(|effect| match effect {
            CommandEffect::Run(run) => Some(run),
            CommandEffect::Write { .. }
            | CommandEffect::Read { .. }
            | CommandEffect::ReadOperand { .. } => None,
        })
    };
    let name =
        |argv: &[String]| argv.first().map_or("", |program| program_basename(program)).to_owned();
    let input = analysis.opaque.iter().find(|part| part.why == OpaqueReason::CommandsFromInput);
    // An unknown wrapper may pass stdin to any program that its words name.
    let carried = runs().find_map(|run| {
        let words = run.carried.starts.iter().filter_map(|at| run.argv.get(*at));
        words.map(|word| program_basename(word)).find(|word| tools::takes_code(word))
    });
    if let Some(word) = carried {
        return StdinInterpretation::Code(word.to_owned());
    }
    // Many modules are a prompt (`python3 -m code`, `-m pdb x.py`), and so is a debugger.
    let prompts = |word: &String| word.starts_with("-m") || word == "inspect";
    let prompt = runs()
        .find(|run| tools::takes_code(&name(&run.argv)) && run.argv.iter().skip(1).any(prompts));
    if let Some(run) = prompt {
        return StdinInterpretation::Code(name(&run.argv));
    }
    if !analysis.may_run_any_program() && input.is_none() {
        return StdinInterpretation::Data;
    }
    let mut readers = runs().filter(|run| tools::takes_code(&name(&run.argv)));
    match (readers.next(), readers.next()) {
        (Some(run), None) if LINE_SHELLS.contains(&name(&run.argv).as_str()) => {
            StdinInterpretation::ShellLines
        }
        (Some(run), _) => StdinInterpretation::Code(name(&run.argv)),
        (None, _) => {
            let first = runs().next().map(|run| name(&run.argv));
            StdinInterpretation::Code(first.unwrap_or_default())
        }
    }
}
