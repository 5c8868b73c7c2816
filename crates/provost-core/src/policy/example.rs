//! The examples in a rule: tests that run whenever the file is read.

use super::Verdict;
use super::error::PolicyFault;
use super::matching::{Setting, Subject, Target};
use super::place::{Place, resolve};
use super::rule::{RUN, Rule, Select};
use crate::command::{self, Demand, Run};
use provost_proto::ProjectMode;

/// Checks every example of a rule.
pub(super) fn check(rule: &Rule) -> Result<(), Vec<(&'static str, PolicyFault)>> {
    let mut faults = Vec::new();
    for (key, wanted) in [("match", true), ("not_match", false)] {
        for example in rule.written.lists.get(key).into_iter().flatten() {
            let why = match matches(rule, example) {
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

fn about<'a>(skill: &'a str, target: Target<'a>) -> Subject<'a> {
    Subject { skill, role: None, mode: ProjectMode::Sandbox, target, at: Setting::default() }
}

fn matches(rule: &Rule, example: &str) -> Result<bool, String> {
    match &rule.select {
        Select::Paths(_) => {
            let skill = rule.skills.iter().next().unwrap_or(RUN);
            Ok(match resolve(".", example) {
                Place::Inside(path) => rule.selects(&about(skill, Target::Path(&path))).is_some(),
                Place::Outside(path) => {
                    rule.selects(&about(skill, Target::Outside(&path))).is_some()
                }
            })
        }
        Select::Command { argv: Some(_), .. } => line(rule, example),
        Select::Lines(lines) => Ok(lines.iter().any(|line| line == example)),
        Select::Command { argv: None, .. } => {
            let run = Run { hosts: vec![example.to_lowercase()], ..Run::default() };
            Ok(rule.selects(&about(RUN, Target::Run(&run))).is_some())
        }
        Select::All if rule.skills.has(RUN) => line(rule, example),
        Select::All => Err("has nothing to be matched with; expected the rule to have `argv`, \
                            `path` or `host`"
            .to_owned()),
    }
}

/// A line is matched by a rule that allows if all of it is, by another if any
/// of it is, as for a request.
fn line(rule: &Rule, example: &str) -> Result<bool, String> {
    let analysis = command::analyze(example)
        .map_err(|error| format!("is no command line that can be read: {error}"))?;
    let mut runs = analysis.demands.iter().filter_map(|demand| match demand {
        Demand::Run(run) => Some(rule.selects(&about(RUN, Target::Run(run))).is_some()),
        Demand::Write { .. } | Demand::Read { .. } | Demand::Operand { .. } => None,
    });
    Ok(match rule.effect() {
        Verdict::Allow => analysis.opaque.is_empty() && runs.all(|matched| matched),
        Verdict::Ask | Verdict::Deny => runs.any(|matched| matched),
    })
}
