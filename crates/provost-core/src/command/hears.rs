//! What a command does with what is typed into it later.

use super::{Analysis, Demand, Why, base};

/// What becomes of what a running command is given to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hears {
    /// It is data.
    Data,
    /// A shell reads it line by line.
    Lines,
    /// This program takes it for code or commands of its own.
    Code(String),
}

/// Shells whose lines are read here.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash"];

/// What becomes of what this command is given to read, once it runs.
pub fn hears(analysis: &Analysis) -> Hears {
    let runs = || {
        analysis.demands.iter().filter_map(|demand| match demand {
            Demand::Run(run) => Some(run),
            Demand::Write { .. } | Demand::Read { .. } | Demand::Operand { .. } => None,
        })
    };
    let name = |argv: &[String]| argv.first().map_or("", |program| base(program)).to_owned();
    let input = analysis.opaque.iter().find(|part| part.why == Why::Input);
    // A wrapper that nobody told us of may hand it on to whatever its words name.
    let carried = runs().find_map(|run| {
        let words = run.carried.starts.iter().filter_map(|at| run.argv.get(*at));
        words.map(|word| base(word)).find(|word| super::tools::takes_code(word))
    });
    if let Some(word) = carried {
        return Hears::Code(word.to_owned());
    }
    // Many modules are a prompt (`python3 -m code`, `-m pdb x.py`), and so is a debugger.
    let prompts = |word: &String| word.starts_with("-m") || word == "inspect";
    let prompt = runs().find(|run| {
        super::tools::takes_code(&name(&run.argv)) && run.argv.iter().skip(1).any(prompts)
    });
    if let Some(run) = prompt {
        return Hears::Code(name(&run.argv));
    }
    if !analysis.is_open() && input.is_none() {
        return Hears::Data;
    }
    let mut readers = runs().filter(|run| super::tools::takes_code(&name(&run.argv)));
    match (readers.next(), readers.next()) {
        (Some(run), None) if SHELLS.contains(&name(&run.argv).as_str()) => Hears::Lines,
        (Some(run), _) => Hears::Code(name(&run.argv)),
        (None, _) => {
            let first = runs().next().map(|run| name(&run.argv));
            Hears::Code(first.unwrap_or_default())
        }
    }
}
