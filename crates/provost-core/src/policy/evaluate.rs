//! An action as the things it demands, and the worst of what rules say of them.

use std::borrow::Cow;

use provost_proto::ProjectMode;

use super::Verdict;
use super::matching::{Matched, Setting, Subject, Target};
use super::place::{Place, resolve};
use super::rule::RUN;
use super::rules::Rules;
use crate::action::{Action, FileAction, RelPath, RunCommand, TerminalAction};
use crate::command::{Analysis, Demand, Opaque, Run};

/// What a command that writes a file would take, were it an action of its own.
const WRITE: &str = "fs.writeFile";
/// The same for reading.
pub(super) const READ: &str = "fs.readFile";

/// Who asks, and where.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The role; an operator has none.
    pub role: Option<&'a str>,
    /// The project's mode.
    pub mode: ProjectMode,
    /// The project's folder, if it is known.
    pub project: Option<&'a str>,
}

/// One thing that an action demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Demanded<'a> {
    /// A path inside the project.
    Path {
        /// What is done to it.
        skill: &'static str,
        /// The path.
        path: Cow<'a, str>,
    },
    /// A path that leaves the project, or an absolute one.
    Outside {
        /// What is done to it.
        skill: &'static str,
        /// The path, as written.
        path: Cow<'a, str>,
    },
    /// A path with globs in it, or with what is not known.
    Loose {
        /// What is done to it.
        skill: &'static str,
        /// The path, as written.
        path: Cow<'a, str>,
    },
    /// A command.
    Run(&'a Run),
    /// Variables for the command, which no rule allows: they change what programs do.
    Variables,
    /// What could not be read for certain, part by part, which no rule allows.
    Opaque(&'a [Opaque]),
    /// The skill itself.
    Skill(&'static str),
}

/// One demand with the rules about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged<'a> {
    /// The demand.
    pub demanded: Demanded<'a>,
    /// The rules.
    pub matched: Matched<'a>,
}

/// What the rules say of an action.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evaluation<'a> {
    /// Each demand of the action.
    pub demands: Vec<Judged<'a>>,
}

impl Evaluation<'_> {
    /// Deny if any demand is denied, else ask if any is to be asked, allow only
    /// if every one is allowed. Otherwise nothing: the mode decides.
    pub fn verdict(&self) -> Option<Verdict> {
        let verdicts = || self.demands.iter().map(|judged| judged.matched.verdict());
        match verdicts().flatten().max() {
            Some(Verdict::Allow) if verdicts().any(|verdict| verdict.is_none()) => None,
            verdict => verdict,
        }
    }
}

impl Rules {
    /// What the rules say of an action. For a command it takes what the line
    /// would do; without it, nothing of it counts as read.
    pub fn evaluate<'a>(
        &'a self,
        asker: Asker<'a>,
        action: &'a Action,
        analysis: Option<&'a Analysis>,
    ) -> Evaluation<'a> {
        let skill = action.name();
        let at = setting(asker, action);
        let judge = |demanded| self.judge(asker, at, skill, demanded);
        let mut judged: Vec<_> = demands(action, analysis).into_iter().map(judge).collect();
        // What a program is given to read may be denied or asked about; it needs
        // nobody to allow it, since looking is what every mode allows.
        let cwd = command(action).map_or(".", |command| command.cwd.as_str());
        for demand in analysis.into_iter().flat_map(|analysis| &analysis.demands) {
            let given = match demand {
                Demand::Operand { path } => std::slice::from_ref(path),
                Demand::Run(run) => run.named.as_slice(),
                Demand::Write { .. } | Demand::Read { .. } => &[],
            };
            for path in given {
                let mut operand = judge(placed(READ, cwd, path, loose(analysis, path)));
                if let Demand::Run(_) = demand {
                    // That it is a path at all is only possible.
                    operand.matched.doubt();
                }
                if operand.matched.verdict() > Some(Verdict::Allow) {
                    judged.push(operand);
                }
            }
        }
        Evaluation { demands: judged }
    }

    /// What the rules on an action say of a path that it does not name itself.
    pub fn at<'a>(&'a self, asker: Asker<'a>, action: &'a Action, path: &RelPath) -> Matched<'a> {
        let Asker { role, mode, .. } = asker;
        let (target, at) = (Target::Path(path.as_str()), setting(asker, action));
        let mut places = Vec::new();
        for skill in [action.name(), skill_at(action)] {
            self.matching_into(&Subject { skill, role, mode, target, at }, &mut places);
        }
        places.sort_unstable();
        places.dedup();
        self.matched(places)
    }

    fn judge<'a>(
        &'a self,
        asker: Asker<'a>,
        at: Setting<'a>,
        action: &'static str,
        demanded: Demanded<'a>,
    ) -> Judged<'a> {
        let Asker { role, mode, .. } = asker;
        let mut places = Vec::new();
        // What a command does to a file is a matter of rules on files and on commands.
        let mut look = |skill: &'static str, target| {
            self.matching_into(&Subject { skill, role, mode, target, at }, &mut places);
            if skill != action {
                let subject = Subject { skill: action, role, mode, target, at };
                self.matching_into(&subject, &mut places);
            }
        };
        match &demanded {
            Demanded::Path { skill, path } => look(skill, Target::Path(path)),
            Demanded::Outside { skill, path } => look(skill, Target::Outside(path)),
            Demanded::Loose { skill, path } => look(skill, Target::Loose(path)),
            Demanded::Run(run) => look(RUN, Target::Run(run)),
            Demanded::Variables | Demanded::Opaque(_) => look(RUN, Target::Opaque),
            Demanded::Skill(skill) => look(skill, Target::Nothing),
        }
        Judged { demanded, matched: self.matched(places) }
    }
}

fn command(action: &Action) -> Option<&RunCommand> {
    if let Action::Terminal(TerminalAction::RunCommand(run)) = action { Some(run) } else { None }
}

fn setting<'a>(asker: Asker<'a>, action: &'a Action) -> Setting<'a> {
    let run = command(action);
    Setting {
        project: asker.project,
        cwd: run.map_or(".", |run| run.cwd.as_str()),
        line: run.and_then(|run| run.command.as_deref()),
    }
}

/// Whether a path of a command may become another when it runs.
fn loose(analysis: Option<&Analysis>, path: &str) -> bool {
    analysis.is_some_and(Analysis::is_opaque)
        && (path.contains(['$', '`', '*', '?', '[', '{']) || path.starts_with(['~', '<', '>']))
}

fn placed<'a>(skill: &'static str, cwd: &str, path: &'a str, loose: bool) -> Demanded<'a> {
    match resolve(cwd, path) {
        Place::Inside(path) if loose => Demanded::Loose { skill, path },
        Place::Outside(path) if loose => Demanded::Loose { skill, path },
        Place::Inside(path) => Demanded::Path { skill, path },
        Place::Outside(path) => Demanded::Outside { skill, path },
    }
}

fn demands<'a>(action: &'a Action, analysis: Option<&'a Analysis>) -> Vec<Demanded<'a>> {
    let skill = action.name();
    match action {
        Action::Terminal(TerminalAction::RunCommand(command)) => {
            let mut demands = match analysis {
                Some(analysis) => of_line(command.cwd.as_str(), analysis),
                None => vec![Demanded::Opaque(&[])],
            };
            if !command.env.is_empty() {
                demands.push(Demanded::Variables);
            }
            demands
        }
        Action::Terminal(_) | Action::Runtime(_) => vec![Demanded::Skill(skill)],
        Action::File(_) => {
            let path = |path: RelPath| Demanded::Path {
                skill: skill_at(action),
                path: Cow::Owned(path.into()),
            };
            let demands: Vec<_> = action.paths().into_iter().map(path).collect();
            if demands.is_empty() { vec![Demanded::Skill(skill)] } else { demands }
        }
    }
}

/// What an action on a path takes: who searches reads, whatever it is called.
fn skill_at(action: &Action) -> &'static str {
    match action {
        Action::File(FileAction::SearchFiles(_)) => READ,
        Action::File(_) | Action::Terminal(_) | Action::Runtime(_) => action.name(),
    }
}

fn of_line<'a>(cwd: &str, analysis: &'a Analysis) -> Vec<Demanded<'a>> {
    let place = |skill, path: &'a str| placed(skill, cwd, path, loose(Some(analysis), path));
    let mut demands: Vec<_> = analysis
        .demands
        .iter()
        .filter_map(|demand| match demand {
            Demand::Run(run) => Some(Demanded::Run(run)),
            Demand::Write { path } => Some(place(WRITE, path)),
            Demand::Read { path } => Some(place(READ, path)),
            Demand::Operand { .. } => None,
        })
        .collect();
    if !analysis.opaque.is_empty() || demands.is_empty() {
        demands.push(Demanded::Opaque(&analysis.opaque));
    }
    demands
}
