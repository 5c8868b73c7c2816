//! Whether a rule is about a request, and what the rules that are say together.

use provost_proto::Mode;

use super::place::{Reach, is_inside};
use super::rule::{RUN, Rule, Select};
use super::{Layer, Verdict};
use crate::command::Run;
use crate::glob::Word;

/// One thing that is asked for, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The skill it takes.
    pub skill: &'a str,
    /// The role that asks; an operator has none.
    pub role: Option<&'a str>,
    /// The project's mode.
    pub mode: Mode,
    /// What it is done to.
    pub target: Target<'a>,
}

/// What something is done to.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// A path inside the project, in its one spelling.
    Path(&'a str),
    /// A path that leaves the project, or an absolute one.
    Outside(&'a str),
    /// A command that could be read for certain; it runs in this folder of the project.
    Run(&'a Run),
    /// Something that could not be read for certain.
    Opaque,
    /// Nothing that a rule could narrow.
    Nothing,
}

/// How a rule is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// It allows: only what it surely means.
    Narrow,
    /// It denies or asks: all that it may mean.
    Generous,
}

/// A rule that matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit<'r> {
    /// Whose it is.
    pub layer: Layer,
    /// The rule.
    pub rule: &'r Rule,
    /// Whether it counts.
    pub force: Force,
}

/// Whether a rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// It does.
    Effective,
    /// It would allow, and stands in a project's file that is not trusted.
    Untrusted,
}

/// Every rule that matched, from the weakest layer, in the order of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matched<'r> {
    /// The rules.
    pub hits: Vec<Hit<'r>>,
}

impl<'r> Matched<'r> {
    /// What they say together; nothing if none counts.
    pub fn verdict(&self) -> Option<Verdict> {
        self.counting().map(|hit| hit.rule.effect()).max()
    }

    /// The rules that decide.
    pub fn deciding(&self) -> impl Iterator<Item = &Hit<'r>> {
        let verdict = self.verdict();
        self.counting().filter(move |hit| Some(hit.rule.effect()) == verdict)
    }

    /// All but those without trust, and but the built-in ones that ask where a
    /// person or a project that they trust allows.
    fn counting(&self) -> impl Iterator<Item = &Hit<'r>> {
        let effective = |hit: &&Hit<'_>| hit.force == Force::Effective;
        let allowed = self
            .hits
            .iter()
            .filter(effective)
            .any(|hit| hit.layer > Layer::Builtin && hit.rule.effect() == Verdict::Allow);
        self.hits.iter().filter(effective).filter(move |hit| {
            !(allowed && hit.layer == Layer::Builtin && hit.rule.effect() == Verdict::Ask)
        })
    }
}

impl Rule {
    /// Whether a rule on this skill is about this.
    pub(super) fn matches(&self, subject: &Subject<'_>) -> bool {
        self.is_about(subject.role, subject.mode) && self.selects(subject.skill, subject.target)
    }

    /// Whether it is about what this role asks for in this mode.
    pub(super) fn is_about(&self, role: Option<&str>, mode: Mode) -> bool {
        self.written.modes.as_ref().is_none_or(|modes| modes.contains(&mode)) && self.is_for(role)
    }

    fn is_for(&self, role: Option<&str>) -> bool {
        let any = |roles: &Vec<Word>| {
            roles
                .iter()
                .any(|word| *word == Word::ALL || role.is_some_and(|role| word.matches(role)))
        };
        self.roles.as_ref().is_none_or(any)
    }

    fn reading(&self) -> Reading {
        match self.effect {
            Verdict::Allow => Reading::Narrow,
            Verdict::Ask | Verdict::Deny => Reading::Generous,
        }
    }

    /// Whether what the rule is narrowed to holds the target.
    pub(super) fn selects(&self, skill: &str, target: Target<'_>) -> bool {
        let reading = self.reading();
        match (&self.select, target) {
            (Select::All, Target::Run(run)) => reading == Reading::Generous || is_plain(run),
            // A redirection is a write. Who allows all commands has not allowed that.
            (Select::All, Target::Path(_)) => reading == Reading::Generous || skill != RUN,
            (Select::All, Target::Nothing) => true,
            (Select::All, Target::Outside(_) | Target::Opaque) => reading == Reading::Generous,
            (Select::Paths(paths), Target::Path(path)) => {
                paths.matches(path, reach(skill), reading)
            }
            (Select::Paths(paths), Target::Outside(path)) => {
                reading == Reading::Generous && paths.may_mean(path)
            }
            (Select::Command { .. }, Target::Run(run)) => self.selects_run(run, reading),
            (Select::Paths(_), Target::Run(_) | Target::Opaque | Target::Nothing)
            | (
                Select::Command { .. },
                Target::Path(_) | Target::Outside(_) | Target::Opaque | Target::Nothing,
            ) => false,
        }
    }

    fn selects_run(&self, run: &Run, reading: Reading) -> bool {
        let Select::Command { argv, without, hosts } = &self.select else { return false };
        let wrapped = |pattern: &super::argv::Argv| {
            reading == Reading::Generous && run.through.iter().any(|name| pattern.is_all_of(name))
        };
        let words = argv.as_ref().is_none_or(|pattern| {
            pattern.matches(&run.argv, reading) && !holds(without, &run.argv) || wrapped(pattern)
        });
        words
            && hosts.as_ref().is_none_or(|hosts| reaches(hosts, &run.hosts, reading))
            && (reading == Reading::Generous || is_plain(run))
    }
}

/// A command that sets no variables and surely stays in the project.
fn is_plain(run: &Run) -> bool {
    run.assignments.is_empty() && run.folders.iter().all(|folder| is_inside(".", folder))
}

fn holds(without: &[Word], argv: &[String]) -> bool {
    let mut arguments = argv.iter().skip(1);
    arguments.any(|argument| without.iter().any(|word| word.matches(argument)))
}

fn reaches(hosts: &[Word], named: &[String], reading: Reading) -> bool {
    let is_meant = |host: &String| {
        let host = host.trim_end_matches('.');
        hosts.iter().any(|pattern| pattern.matches(host))
    };
    match reading {
        Reading::Narrow => !named.is_empty() && named.iter().all(is_meant),
        Reading::Generous => named.iter().any(is_meant),
    }
}

/// What is moved or deleted goes with all beneath it.
pub(super) fn reach(skill: &str) -> Reach {
    match skill {
        "fs.moveFile" | "fs.deleteFile" => Reach::Beneath,
        _ => Reach::Itself,
    }
}
