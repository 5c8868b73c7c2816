//! Formats an approval for a person: everything the decision depends on.
//!
//! All text from outside is sanitized or quoted, so that it cannot pass for
//! output of Provost. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use provost_proto::{
    AnswerScope, Approval, ApprovalChoice, ApprovalPrompt, ApprovalStatus, CommandEffectView,
    GovernanceFileKind, Project, ProjectId, UnixMicros,
};
use serde_json::Value;

use crate::output::{format_time, quote_name, quote_text, sanitize_diff, sanitize_text};

/// Longer parameters (in bytes) are not repeated if the diff shows them.
const MAX_INLINE_PARAM_LEN: usize = 400;

/// Parameters that are names of files.
const NAME_PARAMS: &[&str] = &["path", "from", "to", "cwd"];

/// Display names of projects.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectNames(BTreeMap<ProjectId, String>);

impl ProjectNames {
    pub(crate) fn new(projects: &[Project]) -> Self {
        Self(projects.iter().map(|project| (project.id, project.slug.clone())).collect())
    }

    /// The project's short name, or its id if it is unknown.
    pub(crate) fn display_name(&self, project: ProjectId) -> String {
        self.0.get(&project).map_or_else(|| project.to_string(), |slug| sanitize_text(slug))
    }
}

/// The time left until then, in at most two units.
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

/// What allowing does if a file must be trusted first, as an answer: it does more than allow
/// an action once.
pub(crate) fn trust_answer(prompt: &ApprovalPrompt) -> Option<&'static str> {
    prompt.trust.as_ref().map(|trust| match trust.what {
        GovernanceFileKind::Role => "trust this role and continue",
        GovernanceFileKind::Policy => "trust these rules and continue",
        GovernanceFileKind::Runtime => "trust these commands and continue",
    })
}

/// Whether a part of the command cannot be known before it runs.
fn has_unknown_part(prompt: &ApprovalPrompt) -> bool {
    prompt.demands.iter().any(|effect| matches!(effect, CommandEffectView::Opaque { .. }))
}

/// One line: the action, who requested it, and the state of the approval.
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
    let gate = match &approval.question.gate {
        Some(_) => "DANGEROUS: ",
        None if has_unknown_part(&approval.question) => "PARTLY UNKNOWN: ",
        None => "",
    };
    let what = match &approval.question.trust {
        Some(trust) => format!("trust {}", quote_name(&trust.file)),
        None => sanitize_text(&approval.question.what),
    };
    let project = names.display_name(approval.project);
    format!("{gate}{what}  ({} in {project}, {state})", sanitize_text(&approval.actor.to_string()))
}

/// The approval in full.
pub(crate) fn format_approval(
    approval: &Approval,
    names: &ProjectNames,
    now: UnixMicros,
) -> String {
    let prompt = &approval.question;
    let mut text = String::new();
    let mut write = |line: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    };
    write(&format!(
        "Approval {} in the project {}",
        approval.id,
        names.display_name(approval.project)
    ));
    let role = approval
        .role
        .as_deref()
        .map_or_else(String::new, |role| format!(" in the role {}", quote_text(role)));
    let (actor, principal) = (approval.actor.to_string(), &approval.principal);
    write(&format!(
        "  {} ({}){role} requests to:",
        sanitize_text(&actor),
        sanitize_text(principal)
    ));
    write(&format!("  {}", sanitize_text(&prompt.what)));
    if has_unknown_part(prompt) {
        write("UNKNOWN: not everything that it does can be known before it runs");
    }
    write(&format!(
        "  requested {}, expires in {}",
        format_time(approval.asked_at),
        format_time_left(approval.expires_at, now)
    ));
    if let Some(gate) = &prompt.gate {
        write(&format!("DANGEROUS: {}", sanitize_text(gate)));
    }
    if prompt.gate.as_ref() != Some(&prompt.why) {
        write(&format!("Needs approval because: {}", sanitize_text(&prompt.why)));
    }
    write_details(prompt, &mut write);
    if let Some(trust) = &prompt.trust {
        let what = match trust.what {
            GovernanceFileKind::Role => "role",
            GovernanceFileKind::Policy => "rules",
            GovernanceFileKind::Runtime => "commands",
        };
        write(&format!("Trust is requested for the {what} in {}:", quote_name(&trust.file)));
        write_indented(&trust.diff, &mut write);
    }
    write("Possible answers:");
    for choice in &prompt.choices {
        write_choice(choice, &mut write);
    }
    write("  deny: it does not run, and the agent is informed");
    write(&format!("Hash: {}", approval.action_hash));
    text
}

/// The effects of a command, numbered.
pub(crate) fn format_command_effects(effects: &[CommandEffectView]) -> String {
    let mut text = String::new();
    for (index, effect) in effects.iter().enumerate() {
        write_command_effect(index + 1, effect, "a program", &mut |line: &str| {
            let _ = writeln!(text, "{line}");
        });
    }
    text
}

fn write_details(prompt: &ApprovalPrompt, write: &mut impl FnMut(&str)) {
    write(&format!("{} with", sanitize_text(&prompt.name)));
    write_parameters(prompt, write);
    for (index, effect) in prompt.demands.iter().enumerate() {
        write_command_effect(index + 1, effect, "a program that was NOT FOUND", write);
    }
    // Actions on files start no process, so they have no profile.
    if prompt.profile != "none" {
        let cwd = if prompt.cwd.is_empty() { "." } else { &prompt.cwd };
        let network = if prompt.network { "with the NETWORK" } else { "without network" };
        let profile = sanitize_text(&prompt.profile);
        write(&format!(
            "In {} of the project, under profile {profile}, {network}",
            quote_name(cwd)
        ));
    }
    for pin in &prompt.pins {
        write(&format!("Runs the script {} as it is now ({})", quote_name(&pin.path), pin.hash));
    }
    for note in &prompt.notes {
        write(&format!("Note: {}", sanitize_text(note)));
    }
    if let Some(diff) = &prompt.diff {
        write("Changes:");
        write_indented(diff, write);
    }
    for rule in &prompt.rules {
        let reason = rule.reason.as_deref().map(|reason| format!(": {}", sanitize_text(reason)));
        write(&format!(
            "Rule: {} rule {} says {}{}",
            sanitize_text(&rule.layer),
            quote_text(&rule.id),
            sanitize_text(&rule.effect),
            reason.unwrap_or_default()
        ));
    }
}

/// The parameters, one per line. Long ones that a complete diff shows are not repeated.
fn write_parameters(prompt: &ApprovalPrompt, write: &mut impl FnMut(&str)) {
    let Value::Object(members) = &prompt.params else {
        return write(&format!("  {}", sanitize_text(&prompt.params.to_string())));
    };
    let is_shown_below = prompt.diff.as_deref().is_some_and(provost_core::diff::is_complete);
    for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let text = match value {
            Value::String(text) if NAME_PARAMS.contains(&key.as_str()) => quote_name(text),
            Value::String(text) => quote_text(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => sanitize_text(&value.to_string()),
        };
        if text.len() > MAX_INLINE_PARAM_LEN && is_shown_below {
            write(&format!(
                "  {}: {} characters, shown below",
                sanitize_text(key),
                text.chars().count()
            ));
        } else {
            write(&format!("  {}: {text}", sanitize_text(key)));
        }
    }
}

/// One effect of a command; `unknown` is printed for a program without a file.
fn write_command_effect(
    number: usize,
    effect: &CommandEffectView,
    unknown: &str,
    write: &mut impl FnMut(&str),
) {
    match effect {
        CommandEffectView::Run { argv, through, program, hosts, assignments, builtin } => {
            let program = match program.as_deref() {
                None if *builtin => "a shell builtin".to_owned(),
                None => unknown.to_owned(),
                Some(program) => quote_name(program),
            };
            write(&format!("{number}. runs {program}"));
            for assignment in assignments {
                write(&format!("     with {} set", quote_text(assignment)));
            }
            for word in argv {
                write(&format!("     {}", quote_text(word)));
            }
            if !through.is_empty() {
                let through: Vec<_> = through.iter().map(|name| quote_text(name)).collect();
                write(&format!("   through {}", through.join(", ")));
            }
            if !hosts.is_empty() {
                let hosts: Vec<_> = hosts.iter().map(|host| quote_text(host)).collect();
                write(&format!("   names the hosts {}", hosts.join(", ")));
            }
        }
        CommandEffectView::Write { path, deletes } => {
            let verb = if *deletes { "DELETES" } else { "writes" };
            write(&format!("{number}. {verb} {}", quote_name(path)));
        }
        CommandEffectView::Read { path } => write(&format!("{number}. reads {}", quote_name(path))),
        CommandEffectView::Opaque { text, why } => {
            write(&format!("{number}. cannot be analyzed before it runs: {}", quote_text(text)));
            write(&format!("   {}", sanitize_text(why)));
        }
    }
}

fn write_choice(choice: &ApprovalChoice, write: &mut impl FnMut(&str)) {
    write(&format!("  {}: {}", scope_name(choice.scope), sanitize_text(&choice.remembers)));
    if let Some(rule) = &choice.rule {
        write_indented(rule, write);
    }
}

fn write_indented(text: &str, write: &mut impl FnMut(&str)) {
    for line in sanitize_diff(text).lines() {
        write(&format!("    {line}"));
    }
}

#[cfg(test)]
pub(crate) mod tests;
