//! The examples of a rule: tests that run whenever the file is read.

use super::RuleEffect;
use super::error::PolicyFault;
use super::path_selector::{ResolvedPath, resolve_path};
use super::rule::{PolicyRule, RUN_SKILL, RuleSelector};
use super::rule_query::{RequestLocation, RuleQuery, RuleTarget};
use crate::command::{self, CommandEffect, CommandInvocation};
use provost_proto::ProjectMode;

/// Checks every example of a rule.
pub(super) fn check_examples(rule: &PolicyRule) -> Result<(), Vec<(&'static str, PolicyFault)>> {
    let mut faults = Vec::new();
    for (key, wanted) in [("match", true), ("not_match", false)] {
        for example in rule.written.lists.get(key).into_iter().flatten() {
            let why = match matches_example(rule, example) {
                Ok(matched) if matched == wanted => continue,
                Ok(true) => "is matched by the rule; expected it not to be".to_owned(),
                Ok(false) => "is not matched by the rule; expected it to be".to_owned(),
                Err(why) => why,
            };
            let fault = PolicyFault::Example { key, example: example.clone(), why };
            faults.push((key, fault));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn example_query<'a>(skill: &'a str, target: RuleTarget<'a>) -> RuleQuery<'a> {
    RuleQuery {
        skill,
        role: None,
        mode: ProjectMode::Sandbox,
        target,
        at: RequestLocation::default(),
    }
}

fn matches_example(rule: &PolicyRule, example: &str) -> Result<bool, String> {
    match &rule.select {
        RuleSelector::Paths(_) => {
            let skill = rule.skills.iter().next().unwrap_or(RUN_SKILL);
            Ok(match resolve_path(".", example) {
                ResolvedPath::Inside(path) => {
                    rule.match_target(&example_query(skill, RuleTarget::Path(&path))).is_some()
                }
                ResolvedPath::Outside(path) => rule
                    .match_target(&example_query(skill, RuleTarget::OutsidePath(&path)))
                    .is_some(),
            })
        }
        RuleSelector::Command { argv: Some(_), .. } => matches_example_line(rule, example),
        RuleSelector::ExactLines(lines) => Ok(lines.iter().any(|line| line == example)),
        RuleSelector::Command { argv: None, .. } => {
            let run = CommandInvocation {
                hosts: vec![example.to_lowercase()],
                ..CommandInvocation::default()
            };
            Ok(rule.match_target(&example_query(RUN_SKILL, RuleTarget::Run(&run))).is_some())
        }
        RuleSelector::All if rule.skills.has(RUN_SKILL) => matches_example_line(rule, example),
        RuleSelector::All => {
            Err("has nothing to be matched with; expected the rule to have `argv`, \
                            `path` or `host`"
                .to_owned())
        }
    }
}

/// As for a request: a rule that allows must match the whole line, any other a part of it.
fn matches_example_line(rule: &PolicyRule, example: &str) -> Result<bool, String> {
    let analysis = command::analyze_line(example)
        .map_err(|error| format!("is no command line that can be read: {error}"))?;
    let mut runs = analysis.effects.iter().filter_map(|effect| match effect {
        CommandEffect::Run(run) => {
            Some(rule.match_target(&example_query(RUN_SKILL, RuleTarget::Run(run))).is_some())
        }
        CommandEffect::Write { .. }
        | CommandEffect::Read { .. }
        | CommandEffect::ReadOperand { .. } => None,
    });
    Ok(match rule.effect() {
        RuleEffect::Allow => analysis.opaque.is_empty() && runs.all(|matched| matched),
        RuleEffect::Ask | RuleEffect::Deny => runs.any(|matched| matched),
    })
}
