//! What cannot be read: whether it can be shown to be free of what is gated,
//! denied or asked about.
//!
//! Of `ls $X` only the words are open, and rules that may be about them match.
//! Where programs are open, nothing is shown: in `auto` a person decides, and in
//! `full` where a rule denies some commands, or where the text names a program
//! that a gate or a rule names. That a word is not named proves nothing, but
//! `full` does not ask otherwise.

use provost_proto::ProjectMode;

use super::matter::Matter;
use super::standing::Standing;
use crate::action::RunCommand;
use crate::command::{Demand, Extent, Opaque, Run, Why, base};
use crate::policy::{Setting, Subject, Target, Verdict};
use crate::role::Role;

/// What it takes to be told what is in a file.
const READ: &str = "fs.readFile";
/// What it takes to change one.
const WRITE: &str = "fs.writeFile";

/// Why a person must decide, if they must.
pub(super) fn asks(matter: &Matter, role: &Role, standing: &Standing<'_>) -> Option<String> {
    let (role, mode) = (Some(&*role.name), standing.mode);
    if let Some(path) = mentioned(matter, role, standing) {
        return Some(format!(
            "which files it reaches is not known, and it names `{path}`, as a rule does"
        ));
    }
    let open = open(matter);
    if open.is_none() && !is_risky(matter) {
        return None;
    }
    let named = hidden(matter, |word| standing.rules.names(word, role, mode));
    if let Some(word) = named {
        return Some(format!("it cannot be read for certain, and names `{word}`, as a rule does"));
    }
    let open = open?;
    match mode {
        ProjectMode::Full if standing.rules.denies_some_commands(role, mode) => {
            Some(format!("which programs it runs cannot be read, and a rule denies some: {open}"))
        }
        ProjectMode::Full => None,
        ProjectMode::Auto | ProjectMode::Sandbox => {
            Some(format!("which programs it runs cannot be read: {open}"))
        }
    }
}

/// A path that the line names somewhere, and that a rule denies or asks about, where a
/// program is given words that are not known: `f=.env; cat $f`, `find -name .env -exec cat {} +`.
fn mentioned(matter: &Matter, role: Option<&str>, standing: &Standing<'_>) -> Option<String> {
    let fills = |part: &Opaque| match part.why {
        Why::Substitution
        | Why::ProcessSubstitution
        | Why::Expansion
        | Why::Input
        | Why::Function
        | Why::Shell
        | Why::Code
        | Why::Quoting => true,
        Why::Glob
        | Why::Braces
        | Why::Tilde
        | Why::Test
        | Why::Arithmetic
        | Why::History
        | Why::Variable
        | Why::Loads(_)
        | Why::UnknownOption
        | Why::Rights
        | Why::Elsewhere
        | Why::Later
        | Why::Folder
        | Why::Socket
        | Why::Name
        | Why::TooDeep
        | Why::Unreadable => false,
    };
    matter.analysis().filter(|analysis| analysis.opaque.iter().any(fills))?;
    let run = matter.command()?;
    let words = run.argv.iter().flatten().chain(&run.command).chain(run.env.values());
    let at = Setting { project: standing.folder, ..Setting::default() };
    let is_ruled = |skill, path: &str| {
        let loose = path.contains(['*', '?', '[']);
        let target = if loose { Target::Loose(path) } else { Target::Outside(path) };
        let subject = Subject { skill, role, mode: standing.mode, target, at };
        standing.rules.matching(&subject).verdict() > Some(Verdict::Allow)
    };
    let ends = |c: char| c.is_whitespace() || "'\"`;|&()<>=,:@{}".contains(c);
    let (more, patched) = input(matter, run);
    let mut words = words.map(String::as_str).chain(more).flat_map(|text| text.split(ends));
    let read = words.find(|word| word.contains('.') && is_ruled(READ, word));
    let mut written = patched.flat_map(|line| line.split(ends)).filter(|word| !word.is_empty());
    read.or_else(|| written.find(|word| is_ruled(WRITE, word))).map(str::to_owned)
}

/// What of the input that is given along becomes words, and what names the files of a
/// patch. All else is data or code.
fn input<'a>(
    matter: &Matter,
    command: &'a RunCommand,
) -> (Option<&'a str>, impl Iterator<Item = &'a str>) {
    const HEADS: [&str; 5] = ["+++ ", "--- ", "diff --git ", "rename ", "copy "];
    let runs = |is_meant: fn(&Run) -> bool| {
        let is_meant = |demand: &Demand| match demand {
            Demand::Run(run) => is_meant(run),
            Demand::Write { .. } | Demand::Read { .. } | Demand::Operand { .. } => false,
        };
        matter.demands().iter().any(is_meant)
    };
    let input = command.stdin.as_deref();
    let words = input.filter(|_| runs(|run| run.through.iter().any(|it| it.ends_with("xargs"))));
    let patch = input.filter(|_| runs(applies_patches)).unwrap_or_default();
    (words, patch.lines().filter(|line| HEADS.iter().any(|head| line.starts_with(head))))
}

/// `patch`, `git apply`, `git am`.
fn applies_patches(run: &Run) -> bool {
    let Some((program, words)) = run.argv.split_first() else { return false };
    match base(program) {
        "patch" | "git-apply" | "git-am" => true,
        "git" => words.iter().any(|word| word == "apply" || word == "am"),
        _ => false,
    }
}

/// What leaves open which programs run.
fn open(matter: &Matter) -> Option<String> {
    match matter.line.as_ref()? {
        Err(why) => Some(why.clone()),
        Ok(analysis) => {
            let part = analysis.opaque.iter().find(|part| part.extent == Extent::Programs)?;
            Some(format!("{} {}", crate::action::text::excerpt(&part.text), part.why))
        }
    }
}

/// Whether more is uncertain than what words stand for.
fn is_risky(matter: &Matter) -> bool {
    let words = |part: &Opaque| match part.why {
        Why::Substitution
        | Why::ProcessSubstitution
        | Why::Expansion
        | Why::Glob
        | Why::Braces
        | Why::Tilde
        | Why::Test
        | Why::Function => true,
        Why::Arithmetic
        | Why::History
        | Why::Quoting
        | Why::Shell
        | Why::Variable
        | Why::Loads(_)
        | Why::Code
        | Why::Input
        | Why::UnknownOption
        | Why::Rights
        | Why::Elsewhere
        | Why::Later
        | Why::Folder
        | Why::Socket
        | Why::Name
        | Why::TooDeep
        | Why::Unreadable => false,
    };
    matter.analysis().is_some_and(|analysis| !analysis.opaque.iter().all(words))
}

/// A word of a line that cannot be read which `wanted` looks for, and which is
/// not one of the programs that were read, and so judged.
pub(super) fn hidden(matter: &Matter, wanted: impl Fn(&str) -> bool) -> Option<String> {
    if open(matter).is_none() && !is_risky(matter) {
        return None;
    }
    let run = matter.command()?;
    let text = match (&run.command, &run.argv) {
        (Some(line), _) => line.clone(),
        (None, argv) => argv.as_deref().unwrap_or_default().join("\n"),
    };
    let input = run.stdin.as_deref().unwrap_or_default();
    // Quotes end a word or hold one together: `"sudo"`, `su''do`.
    let joined: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    [text.as_str(), &joined, input].into_iter().find_map(|text| {
        let found = words(text).find(|word| {
            wanted(word) && words(text).filter(|other| other == word).count() > read(matter, word)
        });
        found.map(str::to_owned)
    })
}

/// The words of a text, without folders.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let within = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
    text.split(move |c: char| !within(c)).filter(|word| !word.is_empty())
}

/// How often a program was read in the line.
fn read(matter: &Matter, program: &str) -> usize {
    let base = |name: &String| crate::command::base(name) == program;
    let named = |demand: &Demand| match demand {
        Demand::Run(run) => {
            run.through.iter().chain(run.argv.first()).filter(|name| base(name)).count()
        }
        Demand::Write { .. } | Demand::Read { .. } | Demand::Operand { .. } => 0,
    };
    matter.demands().iter().map(named).sum()
}
