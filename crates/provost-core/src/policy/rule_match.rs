//! Rules that matched a query, and their combined effect.

use super::rule::PolicyRule;
use super::{RuleEffect, RuleLayer};

/// Whether a rule certainly matches, or possibly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchCertainty {
    /// It matches.
    Certain,
    /// Part of the query is unknown, so it may match: a person decides.
    Possible,
}

/// A rule that matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleMatch<'r> {
    /// The layer that it is from.
    pub layer: RuleLayer,
    /// The rule.
    pub rule: &'r PolicyRule,
    /// Whether it has an effect.
    pub force: RuleStatus,
    /// Whether it matches certainly.
    pub certainty: MatchCertainty,
}

impl RuleMatch<'_> {
    /// Its effect. A possible match of a rule that denies requires an approval instead.
    pub fn effect(&self) -> RuleEffect {
        match self.certainty {
            MatchCertainty::Certain => self.rule.effect(),
            MatchCertainty::Possible => self.rule.effect().min(RuleEffect::Ask),
        }
    }
}

/// Whether a rule has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleStatus {
    /// It has.
    Effective,
    /// It would allow, but is from a project file that is not trusted.
    Untrusted,
}

/// All rules that matched, from the weakest layer to the strongest, in the order of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleMatches<'r> {
    /// The rules.
    pub hits: Vec<RuleMatch<'r>>,
}

impl<'r> RuleMatches<'r> {
    /// The strictest effect; `None` if no rule has one.
    pub fn combined_effect(&self) -> Option<RuleEffect> {
        self.effective_matches().map(RuleMatch::effect).max()
    }

    /// Turns all matches into possible ones.
    pub(super) fn mark_uncertain(&mut self) {
        self.hits.iter_mut().for_each(|hit| hit.certainty = MatchCertainty::Possible);
    }

    /// The rules that have the combined effect.
    pub fn deciding_matches(&self) -> impl Iterator<Item = &RuleMatch<'r>> {
        let combined = self.combined_effect();
        self.effective_matches().filter(move |hit| Some(hit.effect()) == combined)
    }

    /// All rules with an effect. A built-in rule that asks has none where a rule of the user or
    /// of a trusted project allows.
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
