//! Whether a rule matches a query.

mod command;

use provost_proto::ProjectMode;

use super::RuleEffect;
use super::path_selector::{PathReach, ResolvedPath, is_inside_project, resolve_path};
use super::rule::{PolicyRule, RUN_SKILL, RuleSelector};
use super::rule_match::MatchCertainty;
use super::rule_query::{RuleQuery, RuleTarget};
use crate::command::CommandInvocation;
use crate::glob::WordPattern;

/// How leniently a rule is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchStrictness {
    /// For rules that allow: only what certainly matches.
    Strict,
    /// For rules that deny or ask: everything that may match.
    Lenient,
}

impl PolicyRule {
    /// Whether the rule matches; its skills were compared before.
    pub(super) fn matches(&self, query: &RuleQuery<'_>) -> Option<MatchCertainty> {
        let applies =
            self.applies_to_requester(query.role, query.mode) && self.applies_in_location(query);
        if applies { self.match_target(query) } else { None }
    }

    /// Whether it applies to this role in this mode.
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

    /// Whether it applies to this project and folder.
    pub(super) fn applies_in_location(&self, query: &RuleQuery<'_>) -> bool {
        let lenient = self.match_strictness() == MatchStrictness::Lenient;
        let project = self.projects.as_ref().is_none_or(|projects| match query.at.project {
            Some(folder) => projects.iter().any(|word| word.matches(folder)),
            None => lenient,
        });
        project
            && self.folders.as_ref().is_none_or(|folders| {
                let matches_folder =
                    |folder: &str| folders.iter().any(|known| known.matches(folder));
                let moved = |folder: &String| match resolve_path(query.at.cwd, folder) {
                    ResolvedPath::Inside(folder) => matches_folder(&folder),
                    ResolvedPath::Outside(_) => lenient,
                };
                match query.target {
                    RuleTarget::Run(run) if lenient => run.folders.iter().any(moved),
                    RuleTarget::Run(run) => run.folders.iter().all(moved),
                    RuleTarget::Path(_)
                    | RuleTarget::OutsidePath(_)
                    | RuleTarget::UnresolvedPath(_)
                    | RuleTarget::Opaque
                    | RuleTarget::Nothing => matches_folder(query.at.cwd),
                }
            })
    }

    fn match_strictness(&self) -> MatchStrictness {
        match self.effect {
            RuleEffect::Allow => MatchStrictness::Strict,
            RuleEffect::Ask | RuleEffect::Deny => MatchStrictness::Lenient,
        }
    }

    /// Whether it applies to this role in this mode and is about some commands, not all.
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

    /// Whether the literal parts of a path suffice to match the rule.
    pub(super) fn matches_literal_parts(&self, path: &str) -> bool {
        if let RuleSelector::Paths(paths) = &self.select {
            paths.matches_literal_parts(path)
        } else {
            false
        }
    }

    /// Whether the rule's selector contains the target.
    pub(super) fn match_target(&self, query: &RuleQuery<'_>) -> Option<MatchCertainty> {
        let RuleQuery { skill, target, .. } = *query;
        let reading = self.match_strictness();
        let lenient = reading == MatchStrictness::Lenient;
        let sure = |holds: bool| holds.then_some(MatchCertainty::Certain);
        match (&self.select, target) {
            (RuleSelector::All, RuleTarget::Run(run)) => sure(lenient || is_fully_known(run)),
            // A redirection is a write, which a rule that allows all commands does not cover.
            (RuleSelector::All, RuleTarget::Path(_)) => sure(lenient || skill != RUN_SKILL),
            (RuleSelector::All, RuleTarget::Nothing) => Some(MatchCertainty::Certain),
            (
                RuleSelector::All,
                RuleTarget::OutsidePath(_) | RuleTarget::UnresolvedPath(_) | RuleTarget::Opaque,
            ) => sure(lenient),
            // No rule allows a line that could not be analyzed, not even one with its exact text.
            (RuleSelector::ExactLines(_), RuleTarget::Opaque | RuleTarget::UnresolvedPath(_))
                if !lenient =>
            {
                None
            }
            (RuleSelector::ExactLines(lines), _) => {
                sure(query.at.line.is_some_and(|line| lines.iter().any(|known| known == line)))
            }
            (RuleSelector::Paths(paths), RuleTarget::Path(path)) => {
                sure(paths.matches(path, path_reach(skill), reading))
            }
            (RuleSelector::Paths(paths), RuleTarget::OutsidePath(path)) => {
                sure(lenient && paths.matches_any_suffix(path))
            }
            (RuleSelector::Paths(paths), RuleTarget::UnresolvedPath(path)) => {
                (lenient && paths.may_expand_to_match(path)).then_some(MatchCertainty::Possible)
            }
            (RuleSelector::Command { .. }, RuleTarget::Run(run)) if lenient => {
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
}

/// Whether a command sets no variables, has no unknown words and stays in the project.
fn is_fully_known(run: &CommandInvocation) -> bool {
    run.assignments.is_empty()
        && run.unknown.is_empty()
        && run.folders.iter().all(|folder| is_inside_project(".", folder))
}

/// Moving or deleting a folder affects everything below it.
pub(super) fn path_reach(skill: &str) -> PathReach {
    match skill {
        "fs.moveFile" | "fs.deleteFile" => PathReach::Subtree,
        _ => PathReach::Itself,
    }
}
