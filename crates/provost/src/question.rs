//! A question to a person, told in full: everything they need to decide, and
//! nothing that could disguise itself as something else. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use provost_proto::{
    AnswerScope, Approval, ApprovalChoice, ApprovalPrompt, ApprovalStatus, CommandEffectView,
    GovernanceFileKind, Project, ProjectId, UnixMicros,
};
use serde_json::Value;

use crate::output::{plain, plain_lines, quoted, time};

/// Parameters longer than this are not printed twice, if the change shows them.
const LONG: usize = 400;

/// The names of projects, for people.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names(BTreeMap<ProjectId, String>);

impl Names {
    pub(crate) fn new(projects: &[Project]) -> Self {
        Self(projects.iter().map(|project| (project.id, project.slug.clone())).collect())
    }

    /// A project by its name, or by its id if it is not known.
    pub(crate) fn of(&self, project: ProjectId) -> String {
        self.0.get(&project).map_or_else(|| project.to_string(), |slug| plain(slug))
    }
}

/// How long there is until then, for people.
pub(crate) fn left(until: UnixMicros, now: UnixMicros) -> String {
    let seconds = until.saturating_sub(now) / 1_000_000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// A scope as it is written on the command line.
pub(crate) fn scope_name(scope: AnswerScope) -> &'static str {
    match scope {
        AnswerScope::Once => "once",
        AnswerScope::Session => "session",
        AnswerScope::Until => "until",
        AnswerScope::Always => "always",
    }
}

/// One line: what is asked, by whom, for how long.
pub(crate) fn brief(approval: &Approval, names: &Names, now: UnixMicros) -> String {
    let state = match approval.status {
        ApprovalStatus::Pending => format!("expires in {}", left(approval.expires_at, now)),
        ApprovalStatus::Allowed => "allowed".to_owned(),
        ApprovalStatus::Denied => "denied".to_owned(),
        ApprovalStatus::Expired => "expired".to_owned(),
        ApprovalStatus::Withdrawn => "withdrawn".to_owned(),
    };
    let gate = if approval.question.gate.is_some() { "DANGEROUS: " } else { "" };
    let what = match &approval.question.trust {
        Some(trust) => format!("trust {}", quoted(&trust.file)),
        None => plain(&approval.question.what),
    };
    let place = names.of(approval.project);
    format!("{gate}{what}  ({} in {place}, {state})", plain(&approval.actor.to_string()))
}

/// The whole question.
pub(crate) fn in_full(approval: &Approval, names: &Names, now: UnixMicros) -> String {
    let question = &approval.question;
    let mut text = String::new();
    let mut say = |line: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    };
    say(&format!("Question {} in the project {}", approval.id, names.of(approval.project)));
    let role = approval
        .role
        .as_deref()
        .map_or_else(String::new, |role| format!(" in the role {}", quoted(role)));
    let (actor, principal) = (approval.actor.to_string(), &approval.principal);
    say(&format!("  {} ({}){role} asks to:", plain(&actor), plain(principal)));
    say(&format!("  {}", plain(&question.what)));
    say(&format!(
        "  asked {}, expires in {}",
        time(approval.asked_at),
        left(approval.expires_at, now)
    ));
    if let Some(gate) = &question.gate {
        say(&format!("DANGEROUS: {}", plain(gate)));
    }
    if question.gate.as_ref() != Some(&question.why) {
        say(&format!("Why you are asked: {}", plain(&question.why)));
    }
    details(question, &mut say);
    if let Some(trust) = &question.trust {
        let what = match trust.what {
            GovernanceFileKind::Role => "role",
            GovernanceFileKind::Policy => "rules",
            GovernanceFileKind::Runtime => "commands",
        };
        say(&format!("Trust is asked for the {what} in {}:", quoted(&trust.file)));
        indented(&trust.diff, &mut say);
    }
    say("You can answer:");
    for choice in &question.choices {
        remembers(choice, &mut say);
    }
    say("  deny: it does not run, and the agent is told so");
    say(&format!("Hash: {}", approval.action_hash));
    text
}

/// What a command would do, part by part.
pub(crate) fn demands(demands: &[CommandEffectView]) -> String {
    let mut text = String::new();
    for (at, demand) in demands.iter().enumerate() {
        told(at + 1, demand, "a program", &mut |line: &str| {
            let _ = writeln!(text, "{line}");
        });
    }
    text
}

fn details(question: &ApprovalPrompt, say: &mut impl FnMut(&str)) {
    say(&format!("{} with", plain(&question.name)));
    parameters(question, say);
    for (at, demand) in question.demands.iter().enumerate() {
        told(at + 1, demand, "a program that was NOT FOUND", say);
    }
    // An action on files starts nothing that would run anywhere.
    if question.profile != "none" {
        let cwd = if question.cwd.is_empty() { "." } else { &question.cwd };
        let network = if question.network { "with the NETWORK" } else { "without network" };
        let profile = plain(&question.profile);
        say(&format!("In {} of the project, under profile {profile}, {network}", quoted(cwd)));
    }
    for pin in &question.pins {
        say(&format!("Runs the script {} as it is now ({})", quoted(&pin.path), pin.hash));
    }
    for note in &question.notes {
        say(&format!("Now: {}", plain(note)));
    }
    if let Some(diff) = &question.diff {
        say("It would change:");
        indented(diff, say);
    }
    for rule in &question.rules {
        let reason = rule.reason.as_deref().map(|reason| format!(": {}", plain(reason)));
        say(&format!(
            "Rule: {} rule {} says {}{}",
            plain(&rule.layer),
            quoted(&rule.id),
            plain(&rule.effect),
            reason.unwrap_or_default()
        ));
    }
}

/// The parameters, one per line. What the change shows is not shown twice.
fn parameters(question: &ApprovalPrompt, say: &mut impl FnMut(&str)) {
    let Value::Object(members) = &question.params else {
        return say(&format!("  {}", plain(&question.params.to_string())));
    };
    for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let text = match value {
            Value::String(text) => quoted(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => plain(&value.to_string()),
        };
        if text.len() > LONG && question.diff.is_some() {
            say(&format!("  {}: {} characters, shown below", plain(key), text.chars().count()));
        } else {
            say(&format!("  {}: {text}", plain(key)));
        }
    }
}

/// One part of a command; `unknown` stands for a program without a file.
fn told(number: usize, demand: &CommandEffectView, unknown: &str, say: &mut impl FnMut(&str)) {
    match demand {
        CommandEffectView::Run { argv, through, program, hosts, assignments, builtin } => {
            let program = match program.as_deref() {
                None if *builtin => "a word of the shell itself".to_owned(),
                None => unknown.to_owned(),
                Some(program) => quoted(program),
            };
            say(&format!("{number}. runs {program}"));
            for assignment in assignments {
                say(&format!("     with {} set", quoted(assignment)));
            }
            for word in argv {
                say(&format!("     {}", quoted(word)));
            }
            if !through.is_empty() {
                let through: Vec<_> = through.iter().map(|name| quoted(name)).collect();
                say(&format!("   through {}", through.join(", ")));
            }
            if !hosts.is_empty() {
                let hosts: Vec<_> = hosts.iter().map(|host| quoted(host)).collect();
                say(&format!("   names the hosts {}", hosts.join(", ")));
            }
        }
        CommandEffectView::Write { path } => say(&format!("{number}. writes {}", quoted(path))),
        CommandEffectView::Read { path } => say(&format!("{number}. reads {}", quoted(path))),
        CommandEffectView::Opaque { text, why } => {
            say(&format!("{number}. does what cannot be known before it runs: {}", quoted(text)));
            say(&format!("   {}", plain(why)));
        }
    }
}

fn remembers(choice: &ApprovalChoice, say: &mut impl FnMut(&str)) {
    say(&format!("  {}: {}", scope_name(choice.scope), plain(&choice.remembers)));
    if let Some(rule) = &choice.rule {
        indented(rule, say);
    }
}

fn indented(text: &str, say: &mut impl FnMut(&str)) {
    for line in plain_lines(text).lines() {
        say(&format!("    {line}"));
    }
}

#[cfg(test)]
pub(crate) mod tests;
