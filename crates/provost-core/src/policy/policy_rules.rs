//! The rules of all layers, indexed so that a query compares few of them.

use std::collections::HashMap;

use super::rule_index::RuleIndex;
use provost_proto::ProjectMode;

use super::matching::path_reach;
use super::rule::PolicyRule;
use super::rule_match::{MatchCertainty, RuleMatch, RuleMatches, RuleStatus};
use super::rule_query::{RuleQuery, RuleTarget};
use super::{Policy, PolicyTrust, RuleEffect, RuleLayer};
use crate::skill;

/// The rules of all layers.
#[derive(Debug, Clone)]
pub struct PolicyRules {
    entries: Vec<LayeredRule>,
    skills: HashMap<&'static str, RuleIndex>,
    sandbox_read: Vec<String>,
}

#[derive(Debug, Clone)]
struct LayeredRule {
    layer: RuleLayer,
    force: RuleStatus,
    rule: PolicyRule,
}

impl PolicyRules {
    /// Joins the layers.
    pub fn new(builtin: Policy, user: Policy, project: Option<(Policy, PolicyTrust)>) -> Self {
        let trusted = [(builtin, PolicyTrust::Trusted), (user, PolicyTrust::Trusted)];
        let mut entries = Vec::new();
        let mut sandbox_read = Vec::new();
        for (policy, trust) in trusted.into_iter().chain(project) {
            let layer = policy.layer;
            if trust == PolicyTrust::Trusted {
                sandbox_read.extend(policy.sandbox_read);
            }
            entries.extend(policy.rules.into_iter().map(|rule| {
                let force = match (trust, rule.effect()) {
                    (PolicyTrust::Untrusted, RuleEffect::Allow) => RuleStatus::Untrusted,
                    (PolicyTrust::Untrusted, RuleEffect::Ask | RuleEffect::Deny)
                    | (PolicyTrust::Trusted, _) => RuleStatus::Effective,
                };
                LayeredRule { layer, force, rule }
            }));
        }
        let mut skills = HashMap::new();
        for skill in skill::known_skills() {
            let on = entries.iter().enumerate().filter(|(_, entry)| entry.rule.skills().has(skill));
            let mut index = RuleIndex::default();
            on.for_each(|(number, entry)| index.add(number, &entry.rule));
            skills.insert(skill, index);
        }
        Self { entries, skills, sandbox_read }
    }

    /// Paths that commands can read besides what they always can: those of the user's file
    /// and of a project's file that the user trusts.
    pub fn sandbox_read(&self) -> &[String] {
        &self.sandbox_read
    }

    /// All rules that match.
    pub fn find_matches(&self, query: &RuleQuery<'_>) -> RuleMatches<'_> {
        let mut hits = Vec::new();
        self.find_matches_into(query, &mut hits);
        self.collect_matches(hits)
    }

    /// All rules in order, with layer and status.
    pub fn iter(&self) -> impl Iterator<Item = RuleMatch<'_>> {
        self.entries.iter().map(|entry| entry.to_rule_match(MatchCertainty::Certain))
    }

    pub(super) fn collect_matches(
        &self,
        mut matches: Vec<(usize, MatchCertainty)>,
    ) -> RuleMatches<'_> {
        matches.sort_unstable();
        matches.dedup_by_key(|(number, _)| *number);
        let hit = |(number, certainty): &(usize, MatchCertainty)| {
            self.entries[*number].to_rule_match(*certainty)
        };
        RuleMatches { hits: matches.iter().map(hit).collect() }
    }

    pub(super) fn find_matches_into(
        &self,
        query: &RuleQuery<'_>,
        hits: &mut Vec<(usize, MatchCertainty)>,
    ) {
        let Some(index) = self.skills.get(query.skill) else { return };
        index.visit_candidates(query.target, path_reach(query.skill), |matches| {
            let about = |number: &usize| {
                let entry = &self.entries[*number];
                let certainty = entry.rule.matches(query)?;
                // Built-in rules about paths match only names with literal parts: otherwise every
                // `cat src/*` would require an approval.
                let builtin =
                    entry.layer == RuleLayer::Builtin && certainty == MatchCertainty::Possible;
                let vague = match query.target {
                    RuleTarget::UnresolvedPath(path) => {
                        builtin && !entry.rule.matches_literal_parts(path)
                    }
                    RuleTarget::Path(_)
                    | RuleTarget::OutsidePath(_)
                    | RuleTarget::Run(_)
                    | RuleTarget::Opaque
                    | RuleTarget::Nothing => false,
                };
                (!vague).then_some((*number, certainty))
            };
            hits.extend(matches.iter().filter_map(about));
        });
    }

    /// Whether a rule denies some commands but not all, so that it is unknown whether it matches
    /// a command that could not be analyzed.
    pub fn denies_some_commands(&self, role: Option<&str>, mode: ProjectMode) -> bool {
        self.entries.iter().any(|entry| {
            entry.rule.effect() == RuleEffect::Deny
                && entry.rule.is_command_specific_for(role, mode)
        })
    }

    /// Whether a rule that denies or asks about commands names this program.
    pub fn restricts_program(&self, program: &str, role: Option<&str>, mode: ProjectMode) -> bool {
        self.entries.iter().any(|entry| {
            entry.rule.effect() > RuleEffect::Allow
                && entry.rule.is_command_specific_for(role, mode)
                && entry.rule.names_program(program)
        })
    }
}

impl LayeredRule {
    fn to_rule_match(&self, certainty: MatchCertainty) -> RuleMatch<'_> {
        RuleMatch { layer: self.layer, rule: &self.rule, force: self.force, certainty }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::CommandInvocation;
    use crate::policy::RequestLocation;
    use proptest::prelude::*;
    use proptest::sample::select;

    const PATTERNS: &[&str] =
        &["a/**", "**/b", "*", "**", "a/b", "{a,c}/*.b", "**/a/**", "?", "a/*/c", "*.b", "c/{a,b}"];

    const PATHS: &[&str] =
        &[".", "a", "b", "a/b", "a/b/c", "c/x.b", "x.b", "c", "c/a/b", "/a/b", "../b", "a/c"];

    fn rule() -> impl Strategy<Value = String> {
        let command = select(vec![
            "argv = ['git', '**']",
            "argv = [['git', 'ls'], 'a']",
            "argv = ['g*', '**']",
            "argv = ['*']",
            "host = ['h']",
            "",
        ]);
        let about = prop_oneof![
            (select(vec!["fs.*", "*"]), select(PATTERNS))
                .prop_map(|(on, path)| format!("on = ['{on}']\npath = ['{path}']")),
            command.prop_map(|about| format!("on = ['terminal.*']\n{about}")),
        ];
        let effect = select(vec!["allow", "ask", "deny"]);
        (effect, about).prop_map(|(effect, about)| format!("effect = '{effect}'\n{about}\n"))
    }

    proptest! {
        #[test]
        fn the_index_finds_what_looking_at_every_rule_finds(
            rules in prop::collection::vec(rule(), 1..8),
        ) {
            let number = |(n, rule): (usize, &String)| format!("[[rule]]\nid = 'r{n}'\n{rule}");
            let text = rules.iter().enumerate().map(number).collect::<Vec<_>>().concat();
            let policy = Policy::parse(RuleLayer::User, "x", &text).unwrap();
            let rules = PolicyRules::new(Policy::empty(RuleLayer::Builtin), policy, None);
            let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
            let runs = ["git", "git a", "/bin/git a", "ls a", "x"].map(|argv| CommandInvocation {
                argv: words(argv),
                through: words("ls"),
                hosts: words("h"),
                ..CommandInvocation::default()
            });
            let paths = PATHS.iter().flat_map(|path| [RuleTarget::Path(path), RuleTarget::OutsidePath(path)]);
            let others = [RuleTarget::Opaque, RuleTarget::Nothing];
            for target in paths.chain(runs.iter().map(RuleTarget::Run)).chain(others) {
                for skill in ["fs.readFile", "fs.deleteFile", "terminal.runCommand"] {
                    let at = RequestLocation::default();
                    let query = RuleQuery { skill, role: None, mode: ProjectMode::Auto, target, at };
                    let about = |hit: &RuleMatch<'_>| {
                        hit.rule.skills().has(skill) && hit.rule.matches(&query).is_some()
                    };
                    let expected: Vec<_> = rules.iter().filter(about).collect();
                    prop_assert_eq!(rules.find_matches(&query).hits, expected, "{:?}", query);
                }
            }
        }
    }
}
