//! Explains an evaluation in plain text.

use std::fmt::Write as _;

use super::evaluate::{PolicyEvaluation, RequiredPermission};
use super::rule_match::{MatchCertainty, RuleMatch, RuleStatus};
use super::{RuleEffect, RuleLayer};
use crate::action::text::excerpt;
use crate::command::OpaquePart;

impl PolicyEvaluation<'_> {
    /// Each permission with the rules that match it, the deciding ones marked, and the result.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        for evaluated in &self.permissions {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", evaluated.permission);
            if evaluated.matched.hits.is_empty() {
                text.push_str("  no rule is about it\n");
            }
            let deciding: Vec<_> = evaluated.matched.deciding_matches().collect();
            for hit in &evaluated.matched.hits {
                let mark = match hit.force {
                    RuleStatus::Effective if deciding.contains(&hit) => match hit.certainty {
                        MatchCertainty::Certain => "",
                        MatchCertainty::Possible => ", which may be about it",
                    },
                    RuleStatus::Effective => ", outweighed",
                    RuleStatus::Untrusted => ", without effect until the project is trusted",
                };
                let reason = hit.rule.reason().map(|reason| format!(": {reason}"));
                let _ = writeln!(text, "  {hit}{mark}{}", reason.unwrap_or_default());
            }
        }
        text.push_str(match self.combined_effect() {
            Some(RuleEffect::Allow) => "allowed: every part of it is\n",
            Some(RuleEffect::Ask) => "a person decides\n",
            Some(RuleEffect::Deny) => "denied\n",
            None => "no rule decides, so the mode does\n",
        });
        text
    }
}

impl std::fmt::Display for RuleMatch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (effect, id) = (self.rule.effect().as_str(), self.rule.id());
        match (self.layer, self.rule.line()) {
            (RuleLayer::Builtin, _) | (RuleLayer::User | RuleLayer::Project, 0) => {
                write!(f, "{effect} by rule `{id}` ({})", self.layer)
            }
            (RuleLayer::User | RuleLayer::Project, line) => {
                write!(f, "{effect} by rule `{id}` ({}, line {line})", self.layer)
            }
        }
    }
}

impl std::fmt::Display for RequiredPermission<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path { skill, path } => write!(f, "{skill} on {}", excerpt(path)),
            Self::OutsidePath { skill, path } => {
                write!(f, "{skill} on {}, outside the project", excerpt(path))
            }
            Self::UnresolvedPath { skill, path } => {
                write!(f, "{skill} on whatever {} becomes", excerpt(path))
            }
            Self::Run(run) => {
                write!(f, "run {}", excerpt(&run.argv.join(" ")))?;
                match run.through.as_slice() {
                    [] => Ok(()),
                    wrappers => write!(f, " through {}", excerpt(&wrappers.join(" "))),
                }
            }
            Self::Variables => f.write_str("variables for the command, which no rule allows"),
            Self::Opaque([]) => f.write_str("what cannot be read, which no rule allows"),
            Self::Opaque(parts) => {
                let part =
                    |part: &OpaquePart| format!("{}, which {}", excerpt(&part.text), part.why);
                let parts: Vec<_> = parts.iter().map(part).collect();
                write!(f, "{}; no rule allows that", parts.join("; "))
            }
            Self::Skill(skill) => f.write_str(skill),
        }
    }
}
