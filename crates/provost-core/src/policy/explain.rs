//! What the rules say of an action, in plain words.

use std::fmt::Write as _;

use super::evaluate::{Demanded, Evaluation};
use super::matching::{Certainty, Force, Hit};
use super::{Layer, Verdict};
use crate::action::text::excerpt;
use crate::command::Opaque;

impl Evaluation<'_> {
    /// Each demand with the rules that match it, those that decide marked, and
    /// what follows from them.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        for judged in &self.demands {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", judged.demanded);
            if judged.matched.hits.is_empty() {
                text.push_str("  no rule is about it\n");
            }
            let deciding: Vec<_> = judged.matched.deciding().collect();
            for hit in &judged.matched.hits {
                let mark = match hit.force {
                    Force::Effective if deciding.contains(&hit) => match hit.certainty {
                        Certainty::Sure => "",
                        Certainty::Possible => ", which may be about it",
                    },
                    Force::Effective => ", outweighed",
                    Force::Untrusted => ", without effect until the project is trusted",
                };
                let reason = hit.rule.reason().map(|reason| format!(": {reason}"));
                let _ = writeln!(text, "  {hit}{mark}{}", reason.unwrap_or_default());
            }
        }
        text.push_str(match self.verdict() {
            Some(Verdict::Allow) => "allowed: every part of it is\n",
            Some(Verdict::Ask) => "a person decides\n",
            Some(Verdict::Deny) => "denied\n",
            None => "no rule decides, so the mode does\n",
        });
        text
    }
}

impl std::fmt::Display for Hit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (effect, id) = (self.rule.effect().as_str(), self.rule.id());
        match (self.layer, self.rule.line()) {
            (Layer::Builtin, _) | (Layer::User | Layer::Project, 0) => {
                write!(f, "{effect} by rule `{id}` ({})", self.layer)
            }
            (Layer::User | Layer::Project, line) => {
                write!(f, "{effect} by rule `{id}` ({}, line {line})", self.layer)
            }
        }
    }
}

impl std::fmt::Display for Demanded<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path { skill, path } => write!(f, "{skill} on {}", excerpt(path)),
            Self::Outside { skill, path } => {
                write!(f, "{skill} on {}, outside the project", excerpt(path))
            }
            Self::Loose { skill, path } => {
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
                let part = |part: &Opaque| format!("{}, which {}", excerpt(&part.text), part.why);
                let parts: Vec<_> = parts.iter().map(part).collect();
                write!(f, "{}; no rule allows that", parts.join("; "))
            }
            Self::Skill(skill) => f.write_str(skill),
        }
    }
}
