//! A question to a person, told in full: everything they need to decide, and
//! nothing that could disguise itself as something else. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use provost_proto::{
    AnswerScope, Approval, ApprovalChoice, ApprovalPrompt, ApprovalStatus, CommandEffectView,
    GovernanceFileKind, Project, ProjectId, UnixMicros,
};
use serde_json::Value;

use crate::output::{format_time, quote_text, sanitize_lines, sanitize_text};

/// Parameters longer than this are not printed twice, if the change shows them.
const MAX_INLINE_PARAM_LEN: usize = 400;

/// The names of projects, for people.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectNames(BTreeMap<ProjectId, String>);

impl ProjectNames {
    pub(crate) fn new(projects: &[Project]) -> Self {
        Self(projects.iter().map(|project| (project.id, project.slug.clone())).collect())
    }

    /// A project by its name, or by its id if it is not known.
    pub(crate) fn display_name(&self, project: ProjectId) -> String {
        self.0.get(&project).map_or_else(|| project.to_string(), |slug| sanitize_text(slug))
    }
}

/// How long there is until then, for people.
pub(crate) fn format_time_left(until: UnixMicros, now: UnixMicros) -> String {
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
pub(crate) fn format_approval_line(
    approval: &Approval,
    names: &ProjectNames,
    now: UnixMicros,
) -> String {
    let state = match approval.status {
        ApprovalStatus::Pending => {
            format!("expires in {}", format_time_left(approval.expires_at, now))
        }
        ApprovalStatus::Allowed => "allowed".to_owned(),
        ApprovalStatus::Denied => "denied".to_owned(),
        ApprovalStatus::Expired => "expired".to_owned(),
        ApprovalStatus::Withdrawn => "withdrawn".to_owned(),
    };
    let gate = if approval.question.gate.is_some() { "DANGEROUS: " } else { "" };
    let what = match &approval.question.trust {
        Some(trust) => format!("trust {}", quote_text(&trust.file)),
        None => sanitize_text(&approval.question.what),
    };
    let place = names.display_name(approval.project);
    format!("{gate}{what}  ({} in {place}, {state})", sanitize_text(&approval.actor.to_string()))
}

/// The whole question.
pub(crate) fn format_approval(
    approval: &Approval,
    names: &ProjectNames,
    now: UnixMicros,
) -> String {
    let question = &approval.question;
    let mut text = String::new();
    let mut say = |line: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    };
    say(&format!(
        "Question {} in the project {}",
        approval.id,
        names.display_name(approval.project)
    ));
    let role = approval
        .role
        .as_deref()
        .map_or_else(String::new, |role| format!(" in the role {}", quote_text(role)));
    let (actor, principal) = (approval.actor.to_string(), &approval.principal);
    say(&format!("  {} ({}){role} asks to:", sanitize_text(&actor), sanitize_text(principal)));
    say(&format!("  {}", sanitize_text(&question.what)));
    say(&format!(
        "  asked {}, expires in {}",
        format_time(approval.asked_at),
        format_time_left(approval.expires_at, now)
    ));
    if let Some(gate) = &question.gate {
        say(&format!("DANGEROUS: {}", sanitize_text(gate)));
    }
    if question.gate.as_ref() != Some(&question.why) {
        say(&format!("Why you are asked: {}", sanitize_text(&question.why)));
    }
    write_details(question, &mut say);
    if let Some(trust) = &question.trust {
        let what = match trust.what {
            GovernanceFileKind::Role => "role",
            GovernanceFileKind::Policy => "rules",
            GovernanceFileKind::Runtime => "commands",
        };
        say(&format!("Trust is asked for the {what} in {}:", quote_text(&trust.file)));
        write_indented(&trust.diff, &mut say);
    }
    say("You can answer:");
    for choice in &question.choices {
        write_choice(choice, &mut say);
    }
    say("  deny: it does not run, and the agent is told so");
    say(&format!("Hash: {}", approval.action_hash));
    text
}

/// What a command would do, part by part.
pub(crate) fn format_command_effects(demands: &[CommandEffectView]) -> String {
    let mut text = String::new();
    for (at, demand) in demands.iter().enumerate() {
        write_command_effect(at + 1, demand, "a program", &mut |line: &str| {
            let _ = writeln!(text, "{line}");
        });
    }
    text
}

fn write_details(question: &ApprovalPrompt, say: &mut impl FnMut(&str)) {
    say(&format!("{} with", sanitize_text(&question.name)));
    write_parameters(question, say);
    for (at, demand) in question.demands.iter().enumerate() {
        write_command_effect(at + 1, demand, "a program that was NOT FOUND", say);
    }
    // An action on files starts nothing that would run anywhere.
    if question.profile != "none" {
        let cwd = if question.cwd.is_empty() { "." } else { &question.cwd };
        let network = if question.network { "with the NETWORK" } else { "without network" };
        let profile = sanitize_text(&question.profile);
        say(&format!("In {} of the project, under profile {profile}, {network}", quote_text(cwd)));
    }
    for pin in &question.pins {
        say(&format!("Runs the script {} as it is now ({})", quote_text(&pin.path), pin.hash));
    }
    for note in &question.notes {
        say(&format!("Now: {}", sanitize_text(note)));
    }
    if let Some(diff) = &question.diff {
        say("It would change:");
        write_indented(diff, say);
    }
    for rule in &question.rules {
        let reason = rule.reason.as_deref().map(|reason| format!(": {}", sanitize_text(reason)));
        say(&format!(
            "Rule: {} rule {} says {}{}",
            sanitize_text(&rule.layer),
            quote_text(&rule.id),
            sanitize_text(&rule.effect),
            reason.unwrap_or_default()
        ));
    }
}

/// The parameters, one per line. What the change shows is not shown twice.
fn write_parameters(question: &ApprovalPrompt, say: &mut impl FnMut(&str)) {
    let Value::Object(members) = &question.params else {
        return say(&format!("  {}", sanitize_text(&question.params.to_string())));
    };
    for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let text = match value {
            Value::String(text) => quote_text(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => sanitize_text(&value.to_string()),
        };
        if text.len() > MAX_INLINE_PARAM_LEN && question.diff.is_some() {
            say(&format!(
                "  {}: {} characters, shown below",
                sanitize_text(key),
                text.chars().count()
            ));
        } else {
            say(&format!("  {}: {text}", sanitize_text(key)));
        }
    }
}

/// One part of a command; `unknown` stands for a program without a file.
fn write_command_effect(
    number: usize,
    demand: &CommandEffectView,
    unknown: &str,
    say: &mut impl FnMut(&str),
) {
    match demand {
        CommandEffectView::Run { argv, through, program, hosts, assignments, builtin } => {
            let program = match program.as_deref() {
                None if *builtin => "a word of the shell itself".to_owned(),
                None => unknown.to_owned(),
                Some(program) => quote_text(program),
            };
            say(&format!("{number}. runs {program}"));
            for assignment in assignments {
                say(&format!("     with {} set", quote_text(assignment)));
            }
            for word in argv {
                say(&format!("     {}", quote_text(word)));
            }
            if !through.is_empty() {
                let through: Vec<_> = through.iter().map(|name| quote_text(name)).collect();
                say(&format!("   through {}", through.join(", ")));
            }
            if !hosts.is_empty() {
                let hosts: Vec<_> = hosts.iter().map(|host| quote_text(host)).collect();
                say(&format!("   names the hosts {}", hosts.join(", ")));
            }
        }
        CommandEffectView::Write { path } => say(&format!("{number}. writes {}", quote_text(path))),
        CommandEffectView::Read { path } => say(&format!("{number}. reads {}", quote_text(path))),
        CommandEffectView::Opaque { text, why } => {
            say(&format!(
                "{number}. does what cannot be known before it runs: {}",
                quote_text(text)
            ));
            say(&format!("   {}", sanitize_text(why)));
        }
    }
}

fn write_choice(choice: &ApprovalChoice, say: &mut impl FnMut(&str)) {
    say(&format!("  {}: {}", scope_name(choice.scope), sanitize_text(&choice.remembers)));
    if let Some(rule) = &choice.rule {
        write_indented(rule, say);
    }
}

fn write_indented(text: &str, say: &mut impl FnMut(&str)) {
    for line in sanitize_lines(text).lines() {
        say(&format!("    {line}"));
    }
}

#[cfg(test)]
pub(crate) mod tests;
