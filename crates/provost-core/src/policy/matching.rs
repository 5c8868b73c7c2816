//! Whether a rule is about a request, and what the rules that are say together.

use provost_proto::ProjectMode;

use super::names;
use super::place::{Place, Reach, is_inside, resolve};
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
    pub mode: ProjectMode,
    /// What it is done to.
    pub target: Target<'a>,
    /// Where, and as part of what.
    pub at: Setting<'a>,
}

/// Where something is asked for, and as part of what.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The project's folder, if it is known.
    pub project: Option<&'a str>,
    /// The folder of the project that a command starts in.
    pub cwd: &'a str,
    /// The whole command line.
    pub line: Option<&'a str>,
}

impl Default for Setting<'_> {
    fn default() -> Self {
        Self { project: None, cwd: ".", line: None }
    }
}

/// Whether a rule is about something, or may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It is.
    Sure,
    /// It may be: some of what is asked for is not known. Then a person decides.
    Possible,
}

/// What something is done to.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// A path inside the project, in its one spelling.
    Path(&'a str),
    /// A path that leaves the project, or an absolute one.
    Outside(&'a str),
    /// A path with globs in it, or with what is not known.
    Loose(&'a str),
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
    /// Whether it is about this, or may be.
    pub certainty: Certainty,
}

impl Hit<'_> {
    /// What it says: what may be denied is asked about.
    pub fn effect(&self) -> Verdict {
        match self.certainty {
            Certainty::Sure => self.rule.effect(),
            Certainty::Possible => self.rule.effect().min(Verdict::Ask),
        }
    }
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
        self.counting().map(Hit::effect).max()
    }

    /// What they are about is not certain.
    pub(super) fn doubt(&mut self) {
        self.hits.iter_mut().for_each(|hit| hit.certainty = Certainty::Possible);
    }

    /// The rules that decide.
    pub fn deciding(&self) -> impl Iterator<Item = &Hit<'r>> {
        let verdict = self.verdict();
        self.counting().filter(move |hit| Some(hit.effect()) == verdict)
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
    pub(super) fn matches(&self, subject: &Subject<'_>) -> Option<Certainty> {
        let here = self.is_about(subject.role, subject.mode) && self.is_in(subject);
        if here { self.selects(subject) } else { None }
    }

    /// Whether it is about what this role asks for in this mode.
    pub(super) fn is_about(&self, role: Option<&str>, mode: ProjectMode) -> bool {
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

    /// Whether it is for this project and folder.
    pub(super) fn is_in(&self, subject: &Subject<'_>) -> bool {
        let generous = self.reading() == Reading::Generous;
        let project = self.projects.as_ref().is_none_or(|projects| match subject.at.project {
            Some(folder) => projects.iter().any(|word| word.matches(folder)),
            None => generous,
        });
        project
            && self.folders.as_ref().is_none_or(|folders| {
                let meant = |folder: &str| folders.iter().any(|known| known.matches(folder));
                let moved = |folder: &String| match resolve(subject.at.cwd, folder) {
                    Place::Inside(folder) => meant(&folder),
                    Place::Outside(_) => generous,
                };
                match subject.target {
                    Target::Run(run) if generous => run.folders.iter().any(moved),
                    Target::Run(run) => run.folders.iter().all(moved),
                    Target::Path(_)
                    | Target::Outside(_)
                    | Target::Loose(_)
                    | Target::Opaque
                    | Target::Nothing => meant(subject.at.cwd),
                }
            })
    }

    fn reading(&self) -> Reading {
        match self.effect {
            Verdict::Allow => Reading::Narrow,
            Verdict::Ask | Verdict::Deny => Reading::Generous,
        }
    }

    /// Whether it is about some commands and not all, for this role in this mode.
    pub(super) fn is_narrowed_for(&self, role: Option<&str>, mode: ProjectMode) -> bool {
        let commands = match &self.select {
            Select::All => false,
            Select::Command { .. } | Select::Lines(_) => true,
            Select::Paths(_) => {
                self.skills.has(RUN)
                    || self.skills.has("fs.readFile")
                    || self.skills.has("fs.writeFile")
            }
        };
        commands
            && self.written.modes.as_ref().is_none_or(|modes| modes.contains(&mode))
            && self.is_for(role)
    }

    /// Whether it names this program.
    pub(super) fn names(&self, program: &str) -> bool {
        match &self.select {
            Select::Command { argv: Some(argv), .. } => argv.names(program),
            Select::Command { argv: None, .. }
            | Select::All
            | Select::Lines(_)
            | Select::Paths(_) => false,
        }
    }

    /// Whether what is written out of a path tells that the rule is about it.
    pub(super) fn is_told_by(&self, path: &str) -> bool {
        if let Select::Paths(paths) = &self.select { paths.told_by(path) } else { false }
    }

    /// Whether what the rule is narrowed to holds the target.
    pub(super) fn selects(&self, subject: &Subject<'_>) -> Option<Certainty> {
        let Subject { skill, target, .. } = *subject;
        let reading = self.reading();
        let generous = reading == Reading::Generous;
        let sure = |holds: bool| holds.then_some(Certainty::Sure);
        match (&self.select, target) {
            (Select::All, Target::Run(run)) => sure(generous || is_plain(run)),
            // A redirection is a write. Who allows all commands has not allowed that.
            (Select::All, Target::Path(_)) => sure(generous || skill != RUN),
            (Select::All, Target::Nothing) => Some(Certainty::Sure),
            (Select::All, Target::Outside(_) | Target::Loose(_) | Target::Opaque) => sure(generous),
            // What cannot be read is allowed by nothing, not even word for word.
            (Select::Lines(_), Target::Opaque | Target::Loose(_)) if !generous => None,
            (Select::Lines(lines), _) => {
                sure(subject.at.line.is_some_and(|line| lines.iter().any(|known| known == line)))
            }
            (Select::Paths(paths), Target::Path(path)) => {
                sure(paths.matches(path, reach(skill), reading))
            }
            (Select::Paths(paths), Target::Outside(path)) => sure(generous && paths.may_mean(path)),
            (Select::Paths(paths), Target::Loose(path)) => {
                (generous && paths.may_become(path)).then_some(Certainty::Possible)
            }
            (Select::Command { .. }, Target::Run(run)) if generous => self.may_mean(run),
            (Select::Command { .. }, Target::Run(run)) => sure(self.surely_means(run)),
            (Select::Paths(_), Target::Run(_) | Target::Opaque | Target::Nothing)
            | (
                Select::Command { .. },
                Target::Path(_)
                | Target::Outside(_)
                | Target::Loose(_)
                | Target::Opaque
                | Target::Nothing,
            ) => None,
        }
    }

    /// Whether a rule that allows means this command, and nothing is left open.
    fn surely_means(&self, run: &Run) -> bool {
        let Select::Command { argv, with, without, hosts } = &self.select else { return false };
        is_plain(run)
            && argv.as_ref().is_none_or(|pattern| pattern.matches(&run.argv))
            && with.as_ref().is_none_or(|with| has_one(with, &run.argv))
            && !holds(without, &run.argv)
            && hosts.as_ref().is_none_or(|hosts| {
                !run.hosts.is_empty() && run.hosts.iter().all(|host| is_meant(hosts, host))
            })
    }

    /// Whether a rule that denies or asks means this command, or may; or one that its words may be.
    fn may_mean(&self, run: &Run) -> Option<Certainty> {
        self.may_mean_itself(run).or_else(|| self.may_mean_carried(run))
    }

    fn may_mean_carried(&self, run: &Run) -> Option<Certainty> {
        // Else it is about hosts, which are those of the whole command.
        let Select::Command { argv: Some(argv), .. } = &self.select else { return None };
        let starts = |at: &usize| {
            argv.may_match_from(run, *at).is_some()
                && self.may_mean_itself(&run.from(*at)).is_some()
        };
        let texts = |text: &Run| self.may_mean_itself(text).is_some();
        let carried = &run.carried;
        let found = carried.starts.iter().any(starts) || carried.texts.iter().any(texts);
        found.then_some(Certainty::Possible)
    }

    fn may_mean_itself(&self, run: &Run) -> Option<Certainty> {
        let Select::Command { argv, with, without, hosts } = &self.select else { return None };
        let possible = |holds: bool| holds.then_some(Certainty::Possible);
        let words = match argv {
            None => Certainty::Sure,
            Some(pattern) if run.through.iter().any(|name| pattern.is_all_of(name)) => {
                Certainty::Sure
            }
            Some(pattern) => {
                let words = pattern.may_match(run)?;
                if holds(without, &run.argv) {
                    return None;
                }
                match with {
                    Some(with) if !has_one(with, &run.argv) => {
                        let may = run.may_gain_options() || may_have_one(with, &run.argv);
                        words.max(possible(may)?)
                    }
                    Some(_) | None => words,
                }
            }
        };
        match hosts {
            Some(hosts) if !run.hosts.iter().any(|host| is_meant(hosts, host)) => {
                let unknown = !run.unknown.is_empty() && reaches_others(run);
                possible(unknown || is_told_in_a_file(run))
            }
            Some(_) | None => Some(words),
        }
    }
}

/// A command that sets no variables, of which all is known, and that surely stays in the project.
fn is_plain(run: &Run) -> bool {
    run.assignments.is_empty()
        && run.unknown.is_empty()
        && run.folders.iter().all(|folder| is_inside(".", folder))
}

/// Whether one of the words that a rule is narrowed to is there. `-*r*` is about short
/// options: in `--current` it means nothing.
fn has_one(words: &[Word], argv: &[String]) -> bool {
    argv.iter().skip(1).any(|argument| {
        let means = |word: &Word| !(word.is_short_option() && argument.starts_with("--"));
        words.iter().any(|word| means(word) && word.matches(argument))
    })
}

/// Whether one of them may be there in short: `git push --forc`.
fn may_have_one(words: &[Word], argv: &[String]) -> bool {
    let mut arguments = argv.iter().skip(1);
    arguments.any(|argument| {
        words.iter().filter_map(Word::exact).any(|option| names::may_begin(argument, option))
    })
}

fn holds(words: &[Word], argv: &[String]) -> bool {
    let mut arguments = argv.iter().skip(1);
    arguments.any(|argument| words.iter().any(|word| word.matches(argument)))
}

fn is_meant(hosts: &[Word], host: &str) -> bool {
    let host = host.trim_end_matches('.');
    hosts.iter().any(|pattern| pattern.matches(host))
}

/// Programs that are told in their arguments which machine to reach.
const NETWORK: &[&str] = &[
    "curl", "wget", "http", "https", "xh", "nc", "ncat", "socat", "telnet", "ssh", "scp", "sftp",
    "rsync", "ftp", "git", "ping", "dig", "nslookup", "host", "npm", "pip", "pip3", "docker", "gh",
];

/// Options that name a file in which it stands what to reach.
const FILES: &[(&str, char, &[&str])] = &[
    ("curl", 'K', &["--config"]),
    ("wget", 'i', &["--input-file", "--config", "--execute"]),
    ("aria2c", 'i', &["--input-file", "--conf-path"]),
];

fn is_told_in_a_file(run: &Run) -> bool {
    let Some((program, words)) = run.argv.split_first() else { return false };
    let Some((_, short, long)) =
        FILES.iter().find(|(name, ..)| *name == crate::command::base(program))
    else {
        return false;
    };
    words.iter().any(|word| match word.strip_prefix('-') {
        Some(rest) if rest.starts_with('-') => {
            long.iter().any(|option| names::may_begin(word, option))
        }
        Some(rest) => rest.contains(*short),
        None => false,
    })
}

fn reaches_others(run: &Run) -> bool {
    run.argv.first().is_some_and(|program| NETWORK.contains(&crate::command::base(program)))
}

/// What is moved or deleted goes with all beneath it.
pub(super) fn reach(skill: &str) -> Reach {
    match skill {
        "fs.moveFile" | "fs.deleteFile" => Reach::Beneath,
        _ => Reach::Itself,
    }
}
