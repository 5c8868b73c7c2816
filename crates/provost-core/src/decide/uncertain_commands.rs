//! Commands that could not be analyzed: whether they can contain anything that is gated, denied
//! or asked about.
//!
//! Of `ls $X` only the arguments are unknown, and rules that may be about them match. Where the
//! programs are unknown, nothing can be excluded: in `auto` a person decides, and in `full` only
//! if a rule denies some commands, or if the text contains a program that a gate or a rule names.
//! Code of an interpreter in the line is decided about in `auto` as in `full`: the sandbox holds
//! it as it holds a script.
//! That the text does not contain it proves nothing, but `full` does not ask otherwise.

use std::collections::BTreeMap;

use provost_proto::ProjectMode;

use super::bound_action::BoundAction;
use super::policy_context::PolicyContext;
use crate::action::RunCommand;
use crate::command::{
    CommandEffect, CommandInvocation, OpaquePart, OpaqueReason, Uncertainty, is_interpreter,
    program_basename,
};
use crate::policy::{RequestLocation, RuleEffect, RuleQuery, RuleTarget};
use crate::role::Role;

/// The skill that reading a file needs.
const READ: &str = "fs.readFile";
/// The skill that changing a file needs.
const WRITE: &str = "fs.writeFile";

/// Why a person must decide, if they must.
pub(super) fn find_approval_reason(
    bound: &BoundAction,
    role: &Role,
    context: &PolicyContext<'_>,
) -> Option<String> {
    let (role, mode) = (Some(&*role.name), context.mode);
    if let Some(path) = find_ruled_path(bound, role, context) {
        return Some(format!(
            "which files it reaches is not known, and it names `{path}`, as a rule does"
        ));
    }
    let open = unknown_programs_reason(bound);
    if open.is_none() && !has_uncertainty_beyond_words(bound) {
        return None;
    }
    let named = find_hidden_word(bound, |word| context.rules.restricts_program(word, role, mode));
    if let Some(word) = named {
        return Some(format!("it cannot be read for certain, and names `{word}`, as a rule does"));
    }
    let open = open?;
    match mode {
        ProjectMode::Full if context.rules.denies_some_commands(role, mode) => {
            Some(format!("which programs it runs cannot be read, and a rule denies some: {open}"))
        }
        ProjectMode::Full => None,
        ProjectMode::Auto
            if is_inline_code_only(bound) && !context.rules.denies_some_commands(role, mode) =>
        {
            None
        }
        ProjectMode::Auto | ProjectMode::Sandbox => {
            Some(format!("which programs it runs cannot be read: {open}"))
        }
    }
}

/// A path that occurs in the line and that a rule denies or asks about, if a program gets unknown
/// words: `f=.env; cat $f`, `find -name .env -exec cat {} +`.
fn find_ruled_path(
    bound: &BoundAction,
    role: Option<&str>,
    context: &PolicyContext<'_>,
) -> Option<String> {
    let fills = |part: &OpaquePart| match part.why {
        OpaqueReason::Substitution
        | OpaqueReason::ProcessSubstitution
        | OpaqueReason::Expansion
        | OpaqueReason::CommandsFromInput
        | OpaqueReason::Function
        | OpaqueReason::ShellStateChange
        | OpaqueReason::Code
        | OpaqueReason::Quoting => true,
        OpaqueReason::Glob
        | OpaqueReason::Braces
        | OpaqueReason::Tilde
        | OpaqueReason::ExtendedTest
        | OpaqueReason::Arithmetic
        | OpaqueReason::History
        | OpaqueReason::Variable
        | OpaqueReason::CodeInjection(_)
        | OpaqueReason::UnknownOption
        | OpaqueReason::ChangedPrivileges
        | OpaqueReason::RemoteExecution
        | OpaqueReason::DeferredExecution
        | OpaqueReason::UnknownFolder
        | OpaqueReason::Socket
        | OpaqueReason::MisleadingName
        | OpaqueReason::TooDeep
        | OpaqueReason::Unreadable => false,
    };
    bound.analysis().filter(|analysis| analysis.opaque.iter().any(fills))?;
    let run = bound.effective_command()?;
    let words = run.argv.iter().flatten().chain(&run.command).chain(run.env.values());
    let at = RequestLocation { project: context.folder, ..RequestLocation::default() };
    let is_ruled = |skill, path: &str| {
        let loose = path.contains(['*', '?', '[']);
        let target =
            if loose { RuleTarget::UnresolvedPath(path) } else { RuleTarget::OutsidePath(path) };
        let subject = RuleQuery { skill, role, mode: context.mode, target, at };
        context.rules.find_matches(&subject).combined_effect() > Some(RuleEffect::Allow)
    };
    let ends = |c: char| c.is_whitespace() || "'\"`;|&()<>=,:@{}".contains(c);
    let (more, patched) = split_stdin(bound, run);
    let mut words = words.map(String::as_str).chain(more).flat_map(|text| text.split(ends));
    let read = words.find(|word| word.contains('.') && is_ruled(READ, word));
    let mut written = patched.flat_map(|line| line.split(ends)).filter(|word| !word.is_empty());
    read.or_else(|| written.find(|word| is_ruled(WRITE, word))).map(str::to_owned)
}

/// Splits the input on stdin: what becomes arguments, and what names the files of a patch. The
/// rest is data or code.
fn split_stdin<'a>(
    bound: &BoundAction,
    command: &'a RunCommand,
) -> (Option<&'a str>, impl Iterator<Item = &'a str>) {
    const HEADS: [&str; 5] = ["+++ ", "--- ", "diff --git ", "rename ", "copy "];
    let runs = |is_meant: fn(&CommandInvocation) -> bool| {
        let is_meant = |effect: &CommandEffect| match effect {
            CommandEffect::Run(run) => is_meant(run),
            CommandEffect::Write { .. }
            | CommandEffect::Read { .. }
            | CommandEffect::ReadOperand { .. } => false,
        };
        bound.command_effects().iter().any(is_meant)
    };
    let input = command.stdin.as_deref();
    let words = input.filter(|_| runs(|run| run.through.iter().any(|it| it.ends_with("xargs"))));
    let patch = input.filter(|_| runs(applies_patches)).unwrap_or_default();
    (words, patch.lines().filter(|line| HEADS.iter().any(|head| line.starts_with(head))))
}

/// `patch`, `git apply`, `git am`.
fn applies_patches(run: &CommandInvocation) -> bool {
    let Some((program, words)) = run.argv.split_first() else { return false };
    match program_basename(program) {
        "patch" | "git-apply" | "git-am" => true,
        "git" => words.iter().any(|word| word == "apply" || word == "am"),
        _ => false,
    }
}

/// Why it is unknown which programs run.
fn unknown_programs_reason(bound: &BoundAction) -> Option<String> {
    match bound.line.as_ref()? {
        Err(why) => Some(why.clone()),
        Ok(analysis) => {
            let part =
                analysis.opaque.iter().find(|part| part.uncertainty == Uncertainty::Programs)?;
            Some(format!("{} {}", crate::action::text::excerpt(&part.text), part.why))
        }
    }
}

/// Whether all programs that are unknown are run by code that stands in the line: of an
/// interpreter (`python3 -c …`, `python3 - <<E`), or in arithmetic. The sandbox holds it just as
/// it holds `python3 file.py`, so it is not asked about either.
fn is_inline_code_only(bound: &BoundAction) -> bool {
    let Some(Ok(analysis)) = bound.line.as_ref() else { return false };
    let interpreter = |part: &OpaquePart| {
        let program = part.text.split_whitespace().next().unwrap_or_default();
        is_interpreter(program).then(|| program.to_owned())
    };
    let opens = |part: &&OpaquePart| part.uncertainty == Uncertainty::Programs;
    let from_input = |part: &&OpaquePart| part.why == OpaqueReason::CommandsFromInput;
    let is_fed_by_line = |part: &OpaquePart| {
        let Some(program) = interpreter(part) else { return false };
        let of_program = analysis.opaque.iter().filter(from_input);
        let (read, fed): (Vec<_>, Vec<_>) = of_program
            .filter(|other| interpreter(other).as_ref() == Some(&program))
            .partition(|other| opens(other));
        fed.len() >= read.len()
    };
    analysis.opaque.iter().filter(opens).all(|part| match part.why {
        OpaqueReason::Arithmetic => true,
        OpaqueReason::Code => interpreter(part).is_some(),
        OpaqueReason::CommandsFromInput => is_fed_by_line(part),
        OpaqueReason::Substitution
        | OpaqueReason::ProcessSubstitution
        | OpaqueReason::Expansion
        | OpaqueReason::Glob
        | OpaqueReason::Braces
        | OpaqueReason::Tilde
        | OpaqueReason::ExtendedTest
        | OpaqueReason::Function
        | OpaqueReason::History
        | OpaqueReason::Quoting
        | OpaqueReason::ShellStateChange
        | OpaqueReason::Variable
        | OpaqueReason::CodeInjection(_)
        | OpaqueReason::UnknownOption
        | OpaqueReason::ChangedPrivileges
        | OpaqueReason::RemoteExecution
        | OpaqueReason::DeferredExecution
        | OpaqueReason::UnknownFolder
        | OpaqueReason::Socket
        | OpaqueReason::MisleadingName
        | OpaqueReason::TooDeep
        | OpaqueReason::Unreadable => false,
    })
}

/// Whether more is unknown than the value of words.
fn has_uncertainty_beyond_words(bound: &BoundAction) -> bool {
    let words = |part: &OpaquePart| match part.why {
        OpaqueReason::Substitution
        | OpaqueReason::ProcessSubstitution
        | OpaqueReason::Expansion
        | OpaqueReason::Glob
        | OpaqueReason::Braces
        | OpaqueReason::Tilde
        | OpaqueReason::ExtendedTest
        | OpaqueReason::Function => true,
        OpaqueReason::Arithmetic
        | OpaqueReason::History
        | OpaqueReason::Quoting
        | OpaqueReason::ShellStateChange
        | OpaqueReason::Variable
        | OpaqueReason::CodeInjection(_)
        | OpaqueReason::Code
        | OpaqueReason::CommandsFromInput
        | OpaqueReason::UnknownOption
        | OpaqueReason::ChangedPrivileges
        | OpaqueReason::RemoteExecution
        | OpaqueReason::DeferredExecution
        | OpaqueReason::UnknownFolder
        | OpaqueReason::Socket
        | OpaqueReason::MisleadingName
        | OpaqueReason::TooDeep
        | OpaqueReason::Unreadable => false,
    };
    bound.analysis().is_some_and(|analysis| !analysis.opaque.iter().all(words))
}

/// A word of an opaque line that `wanted` matches, and that is not one of the programs that were
/// analyzed and so evaluated.
pub(super) fn find_hidden_word(
    bound: &BoundAction,
    wanted: impl Fn(&str) -> bool,
) -> Option<String> {
    if unknown_programs_reason(bound).is_none() && !has_uncertainty_beyond_words(bound) {
        return None;
    }
    let run = bound.effective_command()?;
    let text = match (&run.command, &run.argv) {
        (Some(line), _) => line.clone(),
        (None, argv) => argv.as_deref().unwrap_or_default().join("\n"),
    };
    let input = run.stdin.as_deref().unwrap_or_default();
    // Quotes end a word or join its parts: `"sudo"`, `su''do`.
    let joined: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    [text.as_str(), &joined, input].into_iter().find_map(|text| {
        // Each word once, however often it occurs.
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        split_bare_words(text).for_each(|word| *counts.entry(word).or_default() += 1);
        let mut words = counts.into_iter();
        let found =
            words.find(|(word, n)| wanted(word) && *n > count_analyzed_runs(bound, word))?;
        Some(found.0.to_owned())
    })
}

/// The words of a text, without folders.
fn split_bare_words(text: &str) -> impl Iterator<Item = &str> {
    let within = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
    text.split(move |c: char| !within(c)).filter(|word| !word.is_empty())
}

/// How many invocations of a program the analysis found.
fn count_analyzed_runs(bound: &BoundAction, program: &str) -> usize {
    let base = |name: &String| crate::command::program_basename(name) == program;
    let named = |effect: &CommandEffect| match effect {
        CommandEffect::Run(run) => {
            run.through.iter().chain(run.argv.first()).filter(|name| base(name)).count()
        }
        CommandEffect::Write { .. }
        | CommandEffect::Read { .. }
        | CommandEffect::ReadOperand { .. } => 0,
    };
    bound.command_effects().iter().map(named).sum()
}
