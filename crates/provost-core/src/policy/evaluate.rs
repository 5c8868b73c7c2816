//! An action as the things it demands, and the worst of what rules say of them.

use std::borrow::Cow;

use provost_proto::ProjectMode;

use super::RuleEffect;
use super::matching::{RequestLocation, RuleMatches, RuleQuery, RuleTarget};
use super::path_selector::{ResolvedPath, resolve_path};
use super::policy_rules::PolicyRules;
use super::rule::RUN_SKILL;
use crate::action::{Action, FileAction, ProcessAction, RelPath, RunCommand};
use crate::command::{CommandAnalysis, CommandEffect, CommandInvocation, OpaquePart};

/// What a command that writes a file would take, were it an action of its own.
const WRITE_SKILL: &str = "fs.writeFile";
/// The same for reading.
pub(super) const READ_SKILL: &str = "fs.readFile";

/// Who asks, and where.
#[derive(Debug, Clone, Copy)]
pub struct PolicyRequester<'a> {
    /// The role; an operator has none.
    pub role: Option<&'a str>,
    /// The project's mode.
    pub mode: ProjectMode,
    /// The project's folder, if it is known.
    pub project: Option<&'a str>,
}

/// One thing that an action demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequiredPermission<'a> {
    /// A path inside the project.
    Path {
        /// What is done to it.
        skill: &'static str,
        /// The path.
        path: Cow<'a, str>,
    },
    /// A path that leaves the project, or an absolute one.
    OutsidePath {
        /// What is done to it.
        skill: &'static str,
        /// The path, as written.
        path: Cow<'a, str>,
    },
    /// A path with globs in it, or with what is not known.
    UnresolvedPath {
        /// What is done to it.
        skill: &'static str,
        /// The path, as written.
        path: Cow<'a, str>,
    },
    /// A command.
    Run(&'a CommandInvocation),
    /// Variables for the command, which no rule allows: they change what programs do.
    Variables,
    /// What could not be read for certain, part by part, which no rule allows.
    Opaque(&'a [OpaquePart]),
    /// The skill itself.
    Skill(&'static str),
}

/// One demand with the rules about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluatedPermission<'a> {
    /// The demand.
    pub demanded: RequiredPermission<'a>,
    /// The rules.
    pub matched: RuleMatches<'a>,
}

/// What the rules say of an action.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyEvaluation<'a> {
    /// Each demand of the action.
    pub demands: Vec<EvaluatedPermission<'a>>,
}

impl PolicyEvaluation<'_> {
    /// Deny if any demand is denied, else ask if any is to be asked, allow only
    /// if every one is allowed. Otherwise nothing: the mode decides.
    pub fn combined_effect(&self) -> Option<RuleEffect> {
        let verdicts = || self.demands.iter().map(|judged| judged.matched.combined_effect());
        match verdicts().flatten().max() {
            Some(RuleEffect::Allow) if verdicts().any(|verdict| verdict.is_none()) => None,
            verdict => verdict,
        }
    }
}

impl PolicyRules {
    /// What the rules say of an action. For a command it takes what the line
    /// would do; without it, nothing of it counts as read.
    pub fn evaluate<'a>(
        &'a self,
        asker: PolicyRequester<'a>,
        action: &'a Action,
        analysis: Option<&'a CommandAnalysis>,
    ) -> PolicyEvaluation<'a> {
        let skill = action.name();
        let at = request_location(asker, action);
        let judge = |demanded| self.evaluate_permission(asker, at, skill, demanded);
        let mut judged: Vec<_> =
            required_permissions(action, analysis).into_iter().map(judge).collect();
        // What a program is given to read may be denied or asked about; it needs
        // nobody to allow it, since looking is what every mode allows.
        let cwd = as_run_command(action).map_or(".", |command| command.cwd.as_str());
        for demand in analysis.into_iter().flat_map(|analysis| &analysis.demands) {
            let given = match demand {
                CommandEffect::ReadOperand { path } => std::slice::from_ref(path),
                CommandEffect::Run(run) => run.named.as_slice(),
                CommandEffect::Write { .. } | CommandEffect::Read { .. } => &[],
            };
            for path in given {
                let mut operand =
                    judge(path_permission(READ_SKILL, cwd, path, may_expand(analysis, path)));
                if let CommandEffect::Run(_) = demand {
                    // That it is a path at all is only possible.
                    operand.matched.mark_uncertain();
                }
                if operand.matched.combined_effect() > Some(RuleEffect::Allow) {
                    judged.push(operand);
                }
            }
        }
        PolicyEvaluation { demands: judged }
    }

    /// What the rules on an action say of a path that it does not name itself.
    pub fn match_action_path<'a>(
        &'a self,
        asker: PolicyRequester<'a>,
        action: &'a Action,
        path: &RelPath,
    ) -> RuleMatches<'a> {
        let PolicyRequester { role, mode, .. } = asker;
        let (target, at) = (RuleTarget::Path(path.as_str()), request_location(asker, action));
        let mut places = Vec::new();
        for skill in [action.name(), path_skill(action)] {
            self.find_matches_into(&RuleQuery { skill, role, mode, target, at }, &mut places);
        }
        places.sort_unstable();
        places.dedup();
        self.collect_matches(places)
    }

    fn evaluate_permission<'a>(
        &'a self,
        asker: PolicyRequester<'a>,
        at: RequestLocation<'a>,
        action: &'static str,
        demanded: RequiredPermission<'a>,
    ) -> EvaluatedPermission<'a> {
        let PolicyRequester { role, mode, .. } = asker;
        let mut places = Vec::new();
        // What a command does to a file is a matter of rules on files and on commands.
        let mut look = |skill: &'static str, target| {
            self.find_matches_into(&RuleQuery { skill, role, mode, target, at }, &mut places);
            if skill != action {
                let subject = RuleQuery { skill: action, role, mode, target, at };
                self.find_matches_into(&subject, &mut places);
            }
        };
        match &demanded {
            RequiredPermission::Path { skill, path } => look(skill, RuleTarget::Path(path)),
            RequiredPermission::OutsidePath { skill, path } => {
                look(skill, RuleTarget::OutsidePath(path))
            }
            RequiredPermission::UnresolvedPath { skill, path } => {
                look(skill, RuleTarget::UnresolvedPath(path))
            }
            RequiredPermission::Run(run) => look(RUN_SKILL, RuleTarget::Run(run)),
            RequiredPermission::Variables | RequiredPermission::Opaque(_) => {
                look(RUN_SKILL, RuleTarget::Opaque)
            }
            RequiredPermission::Skill(skill) => look(skill, RuleTarget::Nothing),
        }
        EvaluatedPermission { demanded, matched: self.collect_matches(places) }
    }
}

fn as_run_command(action: &Action) -> Option<&RunCommand> {
    if let Action::Process(ProcessAction::RunCommand(run)) = action { Some(run) } else { None }
}

fn request_location<'a>(asker: PolicyRequester<'a>, action: &'a Action) -> RequestLocation<'a> {
    let run = as_run_command(action);
    RequestLocation {
        project: asker.project,
        cwd: run.map_or(".", |run| run.cwd.as_str()),
        line: run.and_then(|run| run.command.as_deref()),
    }
}

/// Whether a path of a command may become another when it runs.
fn may_expand(analysis: Option<&CommandAnalysis>, path: &str) -> bool {
    analysis.is_some_and(CommandAnalysis::is_opaque)
        && (path.contains(['$', '`', '*', '?', '[', '{']) || path.starts_with(['~', '<', '>']))
}

fn path_permission<'a>(
    skill: &'static str,
    cwd: &str,
    path: &'a str,
    loose: bool,
) -> RequiredPermission<'a> {
    match resolve_path(cwd, path) {
        ResolvedPath::Inside(path) if loose => RequiredPermission::UnresolvedPath { skill, path },
        ResolvedPath::Outside(path) if loose => RequiredPermission::UnresolvedPath { skill, path },
        ResolvedPath::Inside(path) => RequiredPermission::Path { skill, path },
        ResolvedPath::Outside(path) => RequiredPermission::OutsidePath { skill, path },
    }
}

fn required_permissions<'a>(
    action: &'a Action,
    analysis: Option<&'a CommandAnalysis>,
) -> Vec<RequiredPermission<'a>> {
    let skill = action.name();
    match action {
        Action::Process(ProcessAction::RunCommand(command)) => {
            let mut demands = match analysis {
                Some(analysis) => command_line_permissions(command.cwd.as_str(), analysis),
                None => vec![RequiredPermission::Opaque(&[])],
            };
            if !command.env.is_empty() {
                demands.push(RequiredPermission::Variables);
            }
            demands
        }
        Action::Process(_) | Action::Runtime(_) => vec![RequiredPermission::Skill(skill)],
        Action::File(_) => {
            let path = |path: RelPath| RequiredPermission::Path {
                skill: path_skill(action),
                path: Cow::Owned(path.into()),
            };
            let demands: Vec<_> = action.paths().into_iter().map(path).collect();
            if demands.is_empty() { vec![RequiredPermission::Skill(skill)] } else { demands }
        }
    }
}

/// What an action on a path takes: who searches reads, whatever it is called.
fn path_skill(action: &Action) -> &'static str {
    match action {
        Action::File(FileAction::SearchFiles(_)) => READ_SKILL,
        Action::File(_) | Action::Process(_) | Action::Runtime(_) => action.name(),
    }
}

fn command_line_permissions<'a>(
    cwd: &str,
    analysis: &'a CommandAnalysis,
) -> Vec<RequiredPermission<'a>> {
    let place =
        |skill, path: &'a str| path_permission(skill, cwd, path, may_expand(Some(analysis), path));
    let mut demands: Vec<_> = analysis
        .demands
        .iter()
        .filter_map(|demand| match demand {
            CommandEffect::Run(run) => Some(RequiredPermission::Run(run)),
            CommandEffect::Write { path } => Some(place(WRITE_SKILL, path)),
            CommandEffect::Read { path } => Some(place(READ_SKILL, path)),
            CommandEffect::ReadOperand { .. } => None,
        })
        .collect();
    if !analysis.opaque.is_empty() || demands.is_empty() {
        demands.push(RequiredPermission::Opaque(&analysis.opaque));
    }
    demands
}
