//! Evaluates the rules: splits an action into the permissions that it requires, and combines the
//! effects of the rules that match them.

use std::borrow::Cow;

use provost_proto::ProjectMode;

use super::RuleEffect;
use super::path_selector::{ResolvedPath, resolve_path};
use super::policy_rules::PolicyRules;
use super::rule::RUN_SKILL;
use super::rule_match::RuleMatches;
use super::rule_query::{RequestLocation, RuleQuery, RuleTarget};
use crate::action::{Action, FileAction, ProcessAction, RelPath, RunCommand};
use crate::command::{CommandAnalysis, CommandEffect, CommandInvocation, OpaquePart};

/// The skill that a command needs to write a file.
pub(super) const WRITE_SKILL: &str = "fs.writeFile";
/// The skill that a command needs to read a file.
pub(super) const READ_SKILL: &str = "fs.readFile";

/// Who makes a request, and where.
#[derive(Debug, Clone, Copy)]
pub struct PolicyRequester<'a> {
    /// The role; an operator has none.
    pub role: Option<&'a str>,
    /// The project's mode.
    pub mode: ProjectMode,
    /// The absolute path of the project, if it is known.
    pub project: Option<&'a str>,
}

/// One permission that an action requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequiredPermission<'a> {
    /// A path inside the project.
    Path {
        /// The skill that it needs.
        skill: &'static str,
        /// The path.
        path: Cow<'a, str>,
    },
    /// An absolute path, or one that leaves the project.
    OutsidePath {
        /// The skill that it needs.
        skill: &'static str,
        /// The path, as written.
        path: Cow<'a, str>,
    },
    /// A path with globs or unknown parts.
    UnresolvedPath {
        /// The skill that it needs.
        skill: &'static str,
        /// The path, as written.
        path: Cow<'a, str>,
    },
    /// A command.
    Run(&'a CommandInvocation),
    /// Variables for a command. No rule allows them, because they change what programs do.
    Variables,
    /// Parts that could not be analyzed. No rule allows them.
    Opaque(&'a [OpaquePart]),
    /// The skill itself, without a target.
    Skill(&'static str),
}

/// One required permission with the rules that match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluatedPermission<'a> {
    /// The permission.
    pub permission: RequiredPermission<'a>,
    /// The rules that match it.
    pub matched: RuleMatches<'a>,
}

/// The rules evaluated for one action.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyEvaluation<'a> {
    /// Each permission that the action requires.
    pub permissions: Vec<EvaluatedPermission<'a>>,
}

impl PolicyEvaluation<'_> {
    /// Deny if any permission is denied, else ask if any requires it; allow only if all are
    /// allowed. Otherwise `None`: the mode decides.
    pub fn combined_effect(&self) -> Option<RuleEffect> {
        let effects =
            || self.permissions.iter().map(|evaluated| evaluated.matched.combined_effect());
        match effects().flatten().max() {
            Some(RuleEffect::Allow) if effects().any(|effect| effect.is_none()) => None,
            effect => effect,
        }
    }
}

impl PolicyRules {
    /// Evaluates the rules for an action. A command needs the analysis of its line; without it,
    /// everything in the line counts as opaque.
    pub fn evaluate<'a>(
        &'a self,
        requester: PolicyRequester<'a>,
        action: &'a Action,
        analysis: Option<&'a CommandAnalysis>,
    ) -> PolicyEvaluation<'a> {
        let skill = action.name();
        let at = request_location(requester, action);
        let evaluate_one = |permission| self.evaluate_permission(requester, at, skill, permission);
        let mut evaluated: Vec<_> =
            required_permissions(action, analysis).into_iter().map(evaluate_one).collect();
        // A rule can deny or ask about an operand that a program reads. None has to allow it,
        // because every mode allows reads.
        let cwd = as_run_command(action).map_or(".", |command| command.cwd.as_str());
        for effect in analysis.into_iter().flat_map(|analysis| &analysis.effects) {
            let given = match effect {
                CommandEffect::ReadOperand { path } => std::slice::from_ref(path),
                CommandEffect::Run(run) => run.named.as_slice(),
                CommandEffect::Write { .. } | CommandEffect::Read { .. } => &[],
            };
            for path in given {
                let mut operand = evaluate_one(path_permission(
                    READ_SKILL,
                    cwd,
                    path,
                    may_expand(analysis, path),
                ));
                if let CommandEffect::Run(_) = effect {
                    // An operand is not certain to be a path at all.
                    operand.matched.mark_uncertain();
                }
                if operand.matched.combined_effect() > Some(RuleEffect::Allow) {
                    evaluated.push(operand);
                }
            }
        }
        PolicyEvaluation { permissions: evaluated }
    }

    /// The rules on this action that match a path that the action does not name itself.
    pub fn match_action_path<'a>(
        &'a self,
        requester: PolicyRequester<'a>,
        action: &'a Action,
        path: &RelPath,
    ) -> RuleMatches<'a> {
        let PolicyRequester { role, mode, .. } = requester;
        let (target, at) = (RuleTarget::Path(path.as_str()), request_location(requester, action));
        let mut matches = Vec::new();
        for skill in [action.name(), path_skill(action)] {
            self.find_matches_into(&RuleQuery { skill, role, mode, target, at }, &mut matches);
        }
        matches.sort_unstable();
        matches.dedup();
        self.collect_matches(matches)
    }

    fn evaluate_permission<'a>(
        &'a self,
        requester: PolicyRequester<'a>,
        at: RequestLocation<'a>,
        action: &'static str,
        permission: RequiredPermission<'a>,
    ) -> EvaluatedPermission<'a> {
        let PolicyRequester { role, mode, .. } = requester;
        let mut matches = Vec::new();
        // Rules on files and rules on commands both apply to a file that a command touches.
        let mut add_matches = |skill: &'static str, target| {
            self.find_matches_into(&RuleQuery { skill, role, mode, target, at }, &mut matches);
            if skill != action {
                let query = RuleQuery { skill: action, role, mode, target, at };
                self.find_matches_into(&query, &mut matches);
            }
        };
        match &permission {
            RequiredPermission::Path { skill, path } => add_matches(skill, RuleTarget::Path(path)),
            RequiredPermission::OutsidePath { skill, path } => {
                add_matches(skill, RuleTarget::OutsidePath(path));
            }
            RequiredPermission::UnresolvedPath { skill, path } => {
                add_matches(skill, RuleTarget::UnresolvedPath(path));
            }
            RequiredPermission::Run(run) => add_matches(RUN_SKILL, RuleTarget::Run(run)),
            RequiredPermission::Variables | RequiredPermission::Opaque(_) => {
                add_matches(RUN_SKILL, RuleTarget::Opaque);
            }
            RequiredPermission::Skill(skill) => add_matches(skill, RuleTarget::Nothing),
        }
        EvaluatedPermission { permission, matched: self.collect_matches(matches) }
    }
}

fn as_run_command(action: &Action) -> Option<&RunCommand> {
    if let Action::Process(ProcessAction::RunCommand(run)) = action { Some(run) } else { None }
}

fn request_location<'a>(requester: PolicyRequester<'a>, action: &'a Action) -> RequestLocation<'a> {
    let run = as_run_command(action);
    RequestLocation {
        project: requester.project,
        cwd: run.map_or(".", |run| run.cwd.as_str()),
        line: run.and_then(|run| run.command.as_deref()),
    }
}

/// Whether a path of a command may expand to another one when it runs.
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
            let mut permissions = match analysis {
                Some(analysis) => command_line_permissions(command.cwd.as_str(), analysis),
                None => vec![RequiredPermission::Opaque(&[])],
            };
            if !command.env.is_empty() {
                permissions.push(RequiredPermission::Variables);
            }
            permissions
        }
        Action::Process(_) | Action::Runtime(_) => vec![RequiredPermission::Skill(skill)],
        Action::File(_) => {
            let path = |path: RelPath| RequiredPermission::Path {
                skill: path_skill(action),
                path: Cow::Owned(path.into()),
            };
            let permissions: Vec<_> = action.paths().into_iter().map(path).collect();
            if permissions.is_empty() {
                vec![RequiredPermission::Skill(skill)]
            } else {
                permissions
            }
        }
    }
}

/// The skill of an action on a path: a search reads, whatever it is called.
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
    let path_permission =
        |skill, path: &'a str| path_permission(skill, cwd, path, may_expand(Some(analysis), path));
    let mut permissions: Vec<_> = analysis
        .effects
        .iter()
        .filter_map(|effect| match effect {
            CommandEffect::Run(run) => Some(RequiredPermission::Run(run)),
            CommandEffect::Write { path, .. } => Some(path_permission(WRITE_SKILL, path)),
            CommandEffect::Read { path } => Some(path_permission(READ_SKILL, path)),
            CommandEffect::ReadOperand { .. } => None,
        })
        .collect();
    if !analysis.opaque.is_empty() || permissions.is_empty() {
        permissions.push(RequiredPermission::Opaque(&analysis.opaque));
    }
    permissions
}
