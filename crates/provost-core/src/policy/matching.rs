//! Whether a rule is about a request, and what the rules that are say together.

use provost_proto::ProjectMode;

use super::aliases;
use super::path_selector::{PathReach, ResolvedPath, is_inside_project, resolve_path};
use super::rule::{PolicyRule, RUN_SKILL, RuleSelector};
use super::{RuleEffect, RuleLayer};
use crate::command::CommandInvocation;
use crate::glob::WordPattern;

/// One thing that is asked for, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct RuleQuery<'a> {
    /// The skill it takes.
    pub skill: &'a str,
    /// The role that asks; an operator has none.
    pub role: Option<&'a str>,
    /// The project's mode.
    pub mode: ProjectMode,
    /// What it is done to.
    pub target: RuleTarget<'a>,
    /// Where, and as part of what.
    pub at: RequestLocation<'a>,
}

/// Where something is asked for, and as part of what.
#[derive(Debug, Clone, Copy)]
pub struct RequestLocation<'a> {
    /// The project's folder, if it is known.
    pub project: Option<&'a str>,
    /// The folder of the project that a command starts in.
    pub cwd: &'a str,
    /// The whole command line.
    pub line: Option<&'a str>,
}

impl Default for RequestLocation<'_> {
    fn default() -> Self {
        Self { project: None, cwd: ".", line: None }
    }
}

/// Whether a rule is about something, or may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchCertainty {
    /// It is.
    Certain,
    /// It may be: some of what is asked for is not known. Then a person decides.
    Possible,
}

/// What something is done to.
#[derive(Debug, Clone, Copy)]
pub enum RuleTarget<'a> {
    /// A path inside the project, in its one spelling.
    Path(&'a str),
    /// A path that leaves the project, or an absolute one.
    OutsidePath(&'a str),
    /// A path with globs in it, or with what is not known.
    UnresolvedPath(&'a str),
    /// A command that could be read for certain; it runs in this folder of the project.
    Run(&'a CommandInvocation),
    /// Something that could not be read for certain.
    Opaque,
    /// Nothing that a rule could narrow.
    Nothing,
}

/// How a rule is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchStrictness {
    /// It allows: only what it surely means.
    Strict,
    /// It denies or asks: all that it may mean.
    Lenient,
}

/// A rule that matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleMatch<'r> {
    /// Whose it is.
    pub layer: RuleLayer,
    /// The rule.
    pub rule: &'r PolicyRule,
    /// Whether it counts.
    pub force: RuleStatus,
    /// Whether it is about this, or may be.
    pub certainty: MatchCertainty,
}

impl RuleMatch<'_> {
    /// What it says: what may be denied is asked about.
    pub fn effect(&self) -> RuleEffect {
        match self.certainty {
            MatchCertainty::Certain => self.rule.effect(),
            MatchCertainty::Possible => self.rule.effect().min(RuleEffect::Ask),
        }
    }
}

/// Whether a rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleStatus {
    /// It does.
    Effective,
    /// It would allow, and stands in a project's file that is not trusted.
    Untrusted,
}

/// Every rule that matched, from the weakest layer, in the order of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleMatches<'r> {
    /// The rules.
    pub hits: Vec<RuleMatch<'r>>,
}

impl<'r> RuleMatches<'r> {
    /// What they say together; nothing if none counts.
    pub fn combined_effect(&self) -> Option<RuleEffect> {
        self.effective_matches().map(RuleMatch::effect).max()
    }

    /// What they are about is not certain.
    pub(super) fn mark_uncertain(&mut self) {
        self.hits.iter_mut().for_each(|hit| hit.certainty = MatchCertainty::Possible);
    }

    /// The rules that decide.
    pub fn deciding_matches(&self) -> impl Iterator<Item = &RuleMatch<'r>> {
        let verdict = self.combined_effect();
        self.effective_matches().filter(move |hit| Some(hit.effect()) == verdict)
    }

    /// All but those without trust, and but the built-in ones that ask where a
    /// person or a project that they trust allows.
    fn effective_matches(&self) -> impl Iterator<Item = &RuleMatch<'r>> {
        let effective = |hit: &&RuleMatch<'_>| hit.force == RuleStatus::Effective;
        let allowed =
            self.hits.iter().filter(effective).any(|hit| {
                hit.layer > RuleLayer::Builtin && hit.rule.effect() == RuleEffect::Allow
            });
        self.hits.iter().filter(effective).filter(move |hit| {
            !(allowed && hit.layer == RuleLayer::Builtin && hit.rule.effect() == RuleEffect::Ask)
        })
    }
}

impl PolicyRule {
    /// Whether a rule on this skill is about this.
    pub(super) fn matches(&self, subject: &RuleQuery<'_>) -> Option<MatchCertainty> {
        let here = self.applies_to_requester(subject.role, subject.mode)
            && self.applies_in_location(subject);
        if here { self.match_target(subject) } else { None }
    }

    /// Whether it is about what this role asks for in this mode.
    pub(super) fn applies_to_requester(&self, role: Option<&str>, mode: ProjectMode) -> bool {
        self.written.modes.as_ref().is_none_or(|modes| modes.contains(&mode))
            && self.applies_to_role(role)
    }

    fn applies_to_role(&self, role: Option<&str>) -> bool {
        let any = |roles: &Vec<WordPattern>| {
            roles.iter().any(|word| {
                *word == WordPattern::ALL || role.is_some_and(|role| word.matches(role))
            })
        };
        self.roles.as_ref().is_none_or(any)
    }

    /// Whether it is for this project and folder.
    pub(super) fn applies_in_location(&self, subject: &RuleQuery<'_>) -> bool {
        let generous = self.match_strictness() == MatchStrictness::Lenient;
        let project = self.projects.as_ref().is_none_or(|projects| match subject.at.project {
            Some(folder) => projects.iter().any(|word| word.matches(folder)),
            None => generous,
        });
        project
            && self.folders.as_ref().is_none_or(|folders| {
                let meant = |folder: &str| folders.iter().any(|known| known.matches(folder));
                let moved = |folder: &String| match resolve_path(subject.at.cwd, folder) {
                    ResolvedPath::Inside(folder) => meant(&folder),
                    ResolvedPath::Outside(_) => generous,
                };
                match subject.target {
                    RuleTarget::Run(run) if generous => run.folders.iter().any(moved),
                    RuleTarget::Run(run) => run.folders.iter().all(moved),
                    RuleTarget::Path(_)
                    | RuleTarget::OutsidePath(_)
                    | RuleTarget::UnresolvedPath(_)
                    | RuleTarget::Opaque
                    | RuleTarget::Nothing => meant(subject.at.cwd),
                }
            })
    }

    fn match_strictness(&self) -> MatchStrictness {
        match self.effect {
            RuleEffect::Allow => MatchStrictness::Strict,
            RuleEffect::Ask | RuleEffect::Deny => MatchStrictness::Lenient,
        }
    }

    /// Whether it is about some commands and not all, for this role in this mode.
    pub(super) fn is_command_specific_for(&self, role: Option<&str>, mode: ProjectMode) -> bool {
        let commands = match &self.select {
            RuleSelector::All => false,
            RuleSelector::Command { .. } | RuleSelector::ExactLines(_) => true,
            RuleSelector::Paths(_) => {
                self.skills.has(RUN_SKILL)
                    || self.skills.has("fs.readFile")
                    || self.skills.has("fs.writeFile")
            }
        };
        commands
            && self.written.modes.as_ref().is_none_or(|modes| modes.contains(&mode))
            && self.applies_to_role(role)
    }

    /// Whether it names this program.
    pub(super) fn names_program(&self, program: &str) -> bool {
        match &self.select {
            RuleSelector::Command { argv: Some(argv), .. } => argv.names_program(program),
            RuleSelector::Command { argv: None, .. }
            | RuleSelector::All
            | RuleSelector::ExactLines(_)
            | RuleSelector::Paths(_) => false,
        }
    }

    /// Whether what is written out of a path tells that the rule is about it.
    pub(super) fn matches_literal_parts(&self, path: &str) -> bool {
        if let RuleSelector::Paths(paths) = &self.select {
            paths.matches_literal_parts(path)
        } else {
            false
        }
    }

    /// Whether what the rule is narrowed to holds the target.
    pub(super) fn match_target(&self, subject: &RuleQuery<'_>) -> Option<MatchCertainty> {
        let RuleQuery { skill, target, .. } = *subject;
        let reading = self.match_strictness();
        let generous = reading == MatchStrictness::Lenient;
        let sure = |holds: bool| holds.then_some(MatchCertainty::Certain);
        match (&self.select, target) {
            (RuleSelector::All, RuleTarget::Run(run)) => sure(generous || is_fully_known(run)),
            // A redirection is a write. Who allows all commands has not allowed that.
            (RuleSelector::All, RuleTarget::Path(_)) => sure(generous || skill != RUN_SKILL),
            (RuleSelector::All, RuleTarget::Nothing) => Some(MatchCertainty::Certain),
            (
                RuleSelector::All,
                RuleTarget::OutsidePath(_) | RuleTarget::UnresolvedPath(_) | RuleTarget::Opaque,
            ) => sure(generous),
            // What cannot be read is allowed by nothing, not even word for word.
            (RuleSelector::ExactLines(_), RuleTarget::Opaque | RuleTarget::UnresolvedPath(_))
                if !generous =>
            {
                None
            }
            (RuleSelector::ExactLines(lines), _) => {
                sure(subject.at.line.is_some_and(|line| lines.iter().any(|known| known == line)))
            }
            (RuleSelector::Paths(paths), RuleTarget::Path(path)) => {
                sure(paths.matches(path, path_reach(skill), reading))
            }
            (RuleSelector::Paths(paths), RuleTarget::OutsidePath(path)) => {
                sure(generous && paths.matches_any_suffix(path))
            }
            (RuleSelector::Paths(paths), RuleTarget::UnresolvedPath(path)) => {
                (generous && paths.may_expand_to_match(path)).then_some(MatchCertainty::Possible)
            }
            (RuleSelector::Command { .. }, RuleTarget::Run(run)) if generous => {
                self.match_leniently(run)
            }
            (RuleSelector::Command { .. }, RuleTarget::Run(run)) => {
                sure(self.certainly_matches(run))
            }
            (
                RuleSelector::Paths(_),
                RuleTarget::Run(_) | RuleTarget::Opaque | RuleTarget::Nothing,
            )
            | (
                RuleSelector::Command { .. },
                RuleTarget::Path(_)
                | RuleTarget::OutsidePath(_)
                | RuleTarget::UnresolvedPath(_)
                | RuleTarget::Opaque
                | RuleTarget::Nothing,
            ) => None,
        }
    }

    /// Whether a rule that allows means this command, and nothing is left open.
    fn certainly_matches(&self, run: &CommandInvocation) -> bool {
        let RuleSelector::Command { argv, with, without, hosts } = &self.select else {
            return false;
        };
        is_fully_known(run)
            && argv.as_ref().is_none_or(|pattern| pattern.matches(&run.argv))
            && with.as_ref().is_none_or(|with| has_any_option(with, &run.argv))
            && !has_any_argument(without, &run.argv)
            && hosts.as_ref().is_none_or(|hosts| {
                !run.hosts.is_empty() && run.hosts.iter().all(|host| matches_any_host(hosts, host))
            })
    }

    /// Whether a rule that denies or asks means this command, or may; or one that its words may be.
    fn match_leniently(&self, run: &CommandInvocation) -> Option<MatchCertainty> {
        self.match_invocation(run).or_else(|| self.match_embedded_commands(run))
    }

    fn match_embedded_commands(&self, run: &CommandInvocation) -> Option<MatchCertainty> {
        // Else it is about hosts, which are those of the whole command.
        let RuleSelector::Command { argv: Some(argv), .. } = &self.select else { return None };
        let starts = |at: &usize| {
            argv.may_match_from(run, *at).is_some()
                && self.match_invocation(&run.invocation_from(*at)).is_some()
        };
        let texts = |text: &CommandInvocation| self.match_invocation(text).is_some();
        let carried = &run.carried;
        let found = carried.starts.iter().any(starts) || carried.texts.iter().any(texts);
        found.then_some(MatchCertainty::Possible)
    }

    fn match_invocation(&self, run: &CommandInvocation) -> Option<MatchCertainty> {
        let RuleSelector::Command { argv, with, without, hosts } = &self.select else {
            return None;
        };
        let possible = |holds: bool| holds.then_some(MatchCertainty::Possible);
        let words = match argv {
            None => MatchCertainty::Certain,
            Some(pattern)
                if run.through.iter().any(|name| pattern.matches_every_command_of(name)) =>
            {
                MatchCertainty::Certain
            }
            Some(pattern) => {
                let words = pattern.may_match(run)?;
                if has_any_argument(without, &run.argv) {
                    return None;
                }
                match with {
                    Some(with) if !has_any_option(with, &run.argv) => {
                        let may = run.may_gain_options() || may_abbreviate_any(with, &run.argv);
                        words.max(possible(may)?)
                    }
                    Some(_) | None => words,
                }
            }
        };
        match hosts {
            Some(hosts) if !run.hosts.iter().any(|host| matches_any_host(hosts, host)) => {
                let unknown = !run.unknown.is_empty() && is_network_program(run);
                possible(unknown || reads_hosts_from_file(run))
            }
            Some(_) | None => Some(words),
        }
    }
}

/// A command that sets no variables, of which all is known, and that surely stays in the project.
fn is_fully_known(run: &CommandInvocation) -> bool {
    run.assignments.is_empty()
        && run.unknown.is_empty()
        && run.folders.iter().all(|folder| is_inside_project(".", folder))
}

/// Whether one of the words that a rule is narrowed to is there. `-*r*` is about short
/// options: in `--current` it means nothing.
fn has_any_option(words: &[WordPattern], argv: &[String]) -> bool {
    argv.iter().skip(1).any(|argument| {
        let means = |word: &WordPattern| !(word.is_short_option() && argument.starts_with("--"));
        words.iter().any(|word| means(word) && word.matches(argument))
    })
}

/// Whether one of them may be there in short: `git push --forc`.
fn may_abbreviate_any(words: &[WordPattern], argv: &[String]) -> bool {
    let mut arguments = argv.iter().skip(1);
    arguments.any(|argument| {
        words
            .iter()
            .filter_map(WordPattern::exact)
            .any(|option| aliases::may_abbreviate(argument, option))
    })
}

fn has_any_argument(words: &[WordPattern], argv: &[String]) -> bool {
    let mut arguments = argv.iter().skip(1);
    arguments.any(|argument| words.iter().any(|word| word.matches(argument)))
}

fn matches_any_host(hosts: &[WordPattern], host: &str) -> bool {
    let host = host.trim_end_matches('.');
    hosts.iter().any(|pattern| pattern.matches(host))
}

/// Programs that are told in their arguments which machine to reach.
const NETWORK_PROGRAMS: &[&str] = &[
    "curl", "wget", "http", "https", "xh", "nc", "ncat", "socat", "telnet", "ssh", "scp", "sftp",
    "rsync", "ftp", "git", "ping", "dig", "nslookup", "host", "npm", "pip", "pip3", "docker", "gh",
];

/// Options that name a file in which it stands what to reach.
const HOST_FILE_OPTIONS: &[(&str, char, &[&str])] = &[
    ("curl", 'K', &["--config"]),
    ("wget", 'i', &["--input-file", "--config", "--execute"]),
    ("aria2c", 'i', &["--input-file", "--conf-path"]),
];

fn reads_hosts_from_file(run: &CommandInvocation) -> bool {
    let Some((program, words)) = run.argv.split_first() else { return false };
    let Some((_, short, long)) = HOST_FILE_OPTIONS
        .iter()
        .find(|(name, ..)| *name == crate::command::program_basename(program))
    else {
        return false;
    };
    words.iter().any(|word| match word.strip_prefix('-') {
        Some(rest) if rest.starts_with('-') => {
            long.iter().any(|option| aliases::may_abbreviate(word, option))
        }
        Some(rest) => rest.contains(*short),
        None => false,
    })
}

fn is_network_program(run: &CommandInvocation) -> bool {
    run.argv.first().is_some_and(|program| {
        NETWORK_PROGRAMS.contains(&crate::command::program_basename(program))
    })
}

/// What is moved or deleted goes with all beneath it.
pub(super) fn path_reach(skill: &str) -> PathReach {
    match skill {
        "fs.moveFile" | "fs.deleteFile" => PathReach::Subtree,
        _ => PathReach::Itself,
    }
}
