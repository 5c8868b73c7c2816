//! Which paths a search or a listing may show.
//!
//! A search names a folder only. The rules about paths in it, as far as they apply to the
//! requester, are passed to the code that searches, which leaves out every path that the
//! requester could not have read by name.

use std::collections::BTreeMap;

use provost_proto::ProjectMode;
use provost_proto::kernel::VisibilityRule;

use super::evaluate::{PolicyRequester, READ_SKILL, WRITE_SKILL};
use super::policy_rules::PolicyRules;
use super::rule::{PolicyRule, RuleDefinition, RuleSelector};
use super::rule_match::{RuleMatches, RuleStatus};
use super::rule_query::{RequestLocation, RuleQuery, RuleTarget};
use super::{Policy, PolicyTrust, RuleEffect, RuleLayer};
use crate::action::{Action, FileAction, ListFiles, SearchFiles};

/// A visibility rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{0}`, which limits what may be looked into, cannot be read")]
pub struct BadVisibilityRule(String);

/// Which paths may be shown.
#[derive(Debug, Clone)]
pub struct PathVisibility {
    rules: PolicyRules,
}

impl PolicyRules {
    /// The rules about paths that limit what this requester may see with this action; empty if
    /// nothing is limited.
    ///
    /// A rule that asks about the path that the action names was answered before the action runs,
    /// and so limits nothing any more.
    pub fn visibility_rules(
        &self,
        requester: PolicyRequester<'_>,
        action: &Action,
    ) -> Vec<VisibilityRule> {
        let Action::File(
            FileAction::SearchFiles(SearchFiles { path, .. })
            | FileAction::ListFiles(ListFiles { path, .. }),
        ) = action
        else {
            return Vec::new();
        };
        let named = self.match_action_path(requester, action, path).hits;
        let skill = action.name();
        let PolicyRequester { role, mode, project } = requester;
        let (target, at) = (
            RuleTarget::Path(path.as_str()),
            RequestLocation { project, ..RequestLocation::default() },
        );
        let query = RuleQuery { skill, role, mode, target, at };
        let counts = |hit: &super::RuleMatch<'_>| {
            let skills = hit.rule.skills();
            hit.force == RuleStatus::Effective
                && (skills.has(READ_SKILL) || skills.has(skill))
                && hit.rule.applies_to_requester(requester.role, requester.mode)
                && hit.rule.applies_in_location(&query)
                && !matches!(hit.rule.select, RuleSelector::Command { .. })
                && !(hit.rule.effect() == RuleEffect::Ask && named.contains(hit))
        };
        let limits: Vec<_> = self.iter().filter(counts).collect();
        if limits.iter().all(|hit| hit.rule.effect() == RuleEffect::Allow) {
            return Vec::new();
        }
        limits.iter().map(|hit| hit.rule.to_visibility_rule(hit.layer)).collect()
    }
}

impl PolicyRules {
    /// The rules of the user and the project that deny this requester to write paths. The
    /// sandbox makes those paths read-only for a command, which may write what nobody can
    /// tell from its line.
    pub fn write_denials(&self, requester: PolicyRequester<'_>) -> Vec<VisibilityRule> {
        let PolicyRequester { role, mode, project } = requester;
        let at = RequestLocation { project, ..RequestLocation::default() };
        let query = RuleQuery { skill: WRITE_SKILL, role, mode, target: RuleTarget::Nothing, at };
        let counts = |hit: &super::RuleMatch<'_>| {
            hit.force == RuleStatus::Effective
                && hit.layer != RuleLayer::Builtin
                && hit.rule.effect() == RuleEffect::Deny
                && hit.rule.skills().has(WRITE_SKILL)
                && hit.rule.written.lists.contains_key("path")
                && hit.rule.applies_to_requester(role, mode)
                && hit.rule.applies_in_location(&query)
        };
        let denials = self.iter().filter(counts);
        denials.map(|hit| hit.rule.to_visibility_rule(hit.layer)).collect()
    }
}

impl PolicyRule {
    fn to_visibility_rule(&self, layer: RuleLayer) -> VisibilityRule {
        let list = |key| self.written.lists.get(key).cloned().unwrap_or_default();
        VisibilityRule {
            id: self.id().to_owned(),
            layer: crate::decide::layer_name(layer).to_owned(),
            effect: self.effect().as_str().to_owned(),
            path: list("path"),
            except: list("except"),
        }
    }

    fn from_visibility_rule(
        limit: &VisibilityRule,
    ) -> Result<(RuleLayer, Self), BadVisibilityRule> {
        let bad = || BadVisibilityRule(limit.id.clone());
        let layers = [RuleLayer::Builtin, RuleLayer::User, RuleLayer::Project];
        let named = |layer: &RuleLayer| crate::decide::layer_name(*layer) == limit.layer;
        let layer = layers.into_iter().find(named).ok_or_else(bad)?;
        let effects = [RuleEffect::Allow, RuleEffect::Ask, RuleEffect::Deny];
        let effect = effects.into_iter().find(|effect| effect.as_str() == limit.effect);
        let lists = [("path", &limit.path), ("except", &limit.except)];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        let mut lists: BTreeMap<_, _> = lists.map(|(key, list)| (key, list.clone())).collect();
        lists.insert("on", vec![READ_SKILL.to_owned()]);
        let written = RuleDefinition {
            id: limit.id.clone(),
            effect: Some(effect.ok_or_else(bad)?),
            lists,
            ..RuleDefinition::default()
        };
        Ok((layer, Self::new(written).map_err(|_| bad())?))
    }
}

impl PathVisibility {
    /// Reads rules that were passed on. Fails if one cannot be read, since then it is unknown
    /// what to leave out.
    pub fn new(limits: &[VisibilityRule]) -> Result<Self, BadVisibilityRule> {
        let mut layers =
            [RuleLayer::Builtin, RuleLayer::User, RuleLayer::Project].map(Policy::empty);
        for limit in limits {
            let (layer, rule) = PolicyRule::from_visibility_rule(limit)?;
            layers.iter_mut().filter(|of| of.layer == layer).for_each(|of| {
                of.rules.push(rule.clone());
            });
        }
        let [builtin, user, project] = layers;
        Ok(Self { rules: PolicyRules::new(builtin, user, Some((project, PolicyTrust::Trusted))) })
    }

    /// The rules that match a path inside the project.
    pub fn match_path(&self, path: &str) -> RuleMatches<'_> {
        let target = RuleTarget::Path(path);
        // Requester and mode were checked when the rules were passed on.
        let (mode, at) = (ProjectMode::Sandbox, RequestLocation::default());
        let query = RuleQuery { skill: READ_SKILL, role: None, mode, target, at };
        self.rules.find_matches(&query)
    }
}
