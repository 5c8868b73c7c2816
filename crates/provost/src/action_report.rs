//! The story of an action, told from its events in plain words: who asked for
//! what, what decided, how it ran, what changed. Pure.

mod outcome_text;

use provost_proto::{
    Actor, AllowedBy, AnswerScope, ApprovalAnswer, ApprovalPrompt, Fact, Grant, GrantId, Principal,
    SessionId, UnixMicros,
};
use serde_json::Value;

use crate::approval_text::scope_name;
use crate::output::{quote_text, sanitize_text};
use outcome_text::{OutputTotals, describe_outcome, format_sandbox_layers};

/// One event of the action.
#[derive(Debug, Clone)]
pub(crate) struct ActionReportStep {
    pub(crate) at: UnixMicros,
    pub(crate) principal: Principal,
    pub(crate) actor: Actor,
    pub(crate) fact: Fact,
}

/// Something that happened, in sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActionReportEntry {
    pub(crate) at: UnixMicros,
    pub(crate) lines: Vec<String>,
}

/// Tells the story. `grants` are those that may have allowed it.
pub(crate) fn build_action_report(
    steps: &[ActionReportStep],
    grants: &[Grant],
) -> Vec<ActionReportEntry> {
    let mut printed = OutputTotals::default();
    let mut story = Vec::new();
    for step in steps {
        if let Fact::ActionOutput { output, .. } = &step.fact {
            printed.add_output(output);
            continue;
        }
        let lines = describe_step(step, grants, &printed);
        if !lines.is_empty() {
            story.push(ActionReportEntry { at: step.at, lines });
        }
    }
    story
}

fn describe_step(step: &ActionReportStep, grants: &[Grant], printed: &OutputTotals) -> Vec<String> {
    let told = describe_request(step, grants).or_else(|| describe_approval(step));
    told.or_else(|| describe_execution(step, grants, printed)).unwrap_or_default()
}

/// What was asked for; a read is told to its end.
fn describe_request(step: &ActionReportStep, grants: &[Grant]) -> Option<Vec<String>> {
    if let Fact::ActionRequested { name, params, what, role, session, .. } = &step.fact {
        return Some(vec![
            format_request(step, role.as_deref(), *session, what),
            format_parameters(name, params),
        ]);
    }
    if let Fact::ActionRead { name, params, what, role, session, why, outcome, .. } = &step.fact {
        let head = format_request(step, role.as_deref(), *session, what);
        let mut lines = vec![head, format_parameters(name, params), format_allowed_by(why, grants)];
        lines.extend(describe_outcome(outcome, &OutputTotals::default()));
        return Some(lines);
    }
    None
}

/// What people were asked, what they said, and what that means for later.
fn describe_approval(step: &ActionReportStep) -> Option<Vec<String>> {
    let fact = &step.fact;
    if let Fact::ApprovalAsked { approval, question, .. } = fact {
        return Some(describe_approval_prompt(&approval.to_string(), question));
    }
    let line = if let Fact::ApprovalAnswered { decision, scope, message, .. } = fact {
        format_answer(step, *decision, *scope, message.as_deref())
    } else if let Fact::ApprovalExpired { .. } = fact {
        "Nobody answered in time.".to_owned()
    } else if let Fact::ApprovalWithdrawn { why, .. } = fact {
        format!("The question fell away: {}", to_sentence(why))
    } else if let Fact::GrantCreated { grant, what, until, .. } = fact {
        let end = if until.is_some() { "for some time" } else { "for the session" };
        format!("The answer allows the same again {end}: {} ({grant}).", sanitize_text(what))
    } else if let Fact::GrantRevoked { grant, .. } = fact {
        format!("{} took that back ({grant}).", format_principal(step))
    } else {
        return None;
    };
    Some(vec![line])
}

/// Whether it ran, how, and what came of it.
fn describe_execution(
    step: &ActionReportStep,
    grants: &[Grant],
    printed: &OutputTotals,
) -> Option<Vec<String>> {
    let fact = &step.fact;
    if let Fact::ActionDenied { fault, .. } = fact {
        let mut lines = vec![format!("Denied ({}): {}", fault.code, to_sentence(&fault.message))];
        lines.extend(format_denying_rules(fault.details.as_ref()));
        return Some(lines);
    }
    if let Fact::ActionAllowed { by, why, profile, .. } = fact {
        let by = || format!("Allowed by {}.", sanitize_text(by));
        let line = why.as_ref().map_or_else(by, |why| format_allowed_by(why, grants));
        let profile = profile.as_deref().map(sanitize_text);
        let once = profile.map(|profile| format!(" It may run once, under profile {profile}."));
        return Some(vec![line + &once.unwrap_or_default()]);
    }
    if let Fact::ActionStarted { pid, profile, layers, .. } = fact {
        let line = format!("It ran as process {pid}, under profile {}.", sanitize_text(profile));
        return Some(vec![line, format_sandbox_layers(layers)]);
    }
    if let Fact::ActionFinished { outcome, .. } = fact {
        return Some(describe_outcome(outcome, printed));
    }
    None
}

/// Text from outside with one period behind it.
fn to_sentence(text: &str) -> String {
    format!("{}.", sanitize_text(text.trim_end().trim_end_matches('.')))
}

/// Who asked for what.
fn format_request(
    step: &ActionReportStep,
    role: Option<&str>,
    session: Option<SessionId>,
    what: &str,
) -> String {
    let role = role.map(|role| format!(" in the role {}", quote_text(role))).unwrap_or_default();
    let session = session.map(|id| format!(" in session {id}")).unwrap_or_default();
    format!("{}{role}{session} asked to {}.", format_principal(step), sanitize_text(what))
}

/// On whose authority, and through what.
fn format_principal(step: &ActionReportStep) -> String {
    format!("{} ({})", sanitize_text(&step.principal), sanitize_text(&step.actor.to_string()))
}

fn format_parameters(name: &str, params: &Value) -> String {
    const SHOWN: usize = 400;
    let text = sanitize_text(&params.to_string());
    let long = text.chars().count();
    if long > SHOWN {
        let start: String = text.chars().take(SHOWN).collect();
        return format!("{} {start}… ({long} characters in all)", sanitize_text(name));
    }
    format!("{} {text}", sanitize_text(name))
}

fn describe_approval_prompt(approval: &str, question: &ApprovalPrompt) -> Vec<String> {
    let why = to_sentence(&question.why);
    let mut lines = vec![format!("A person was asked ({approval}): {why}")];
    if let Some(gate) = &question.gate {
        lines.push(format!("They were shown that it is dangerous: {}", to_sentence(gate)));
    }
    for rule in &question.rules {
        lines.push(format_rule(&rule.layer, &rule.id, &rule.effect, rule.reason.as_deref()));
    }
    let mut shown = Vec::new();
    if !question.demands.is_empty() {
        shown.push(format!("the {} parts of the command", question.demands.len()));
    }
    if let Some(diff) = &question.diff {
        shown.push(format!("a change of {} lines", count_changed_lines(diff)));
    }
    shown.extend(
        question
            .pins
            .iter()
            .map(|pin| format!("the script {} ({})", quote_text(&pin.path), pin.hash)),
    );
    if let Some(trust) = &question.trust {
        shown.push(format!("the file {} to be trusted ({})", quote_text(&trust.file), trust.hash));
    }
    if !shown.is_empty() {
        lines.push(format!("They were shown {}.", shown.join(", ")));
    }
    lines
}

/// The lines of a diff that add or remove.
fn count_changed_lines(diff: &str) -> usize {
    let head = |line: &str| line.starts_with("+++") || line.starts_with("---");
    diff.lines().filter(|line| line.starts_with(['+', '-']) && !head(line)).count()
}

fn format_rule(layer: &str, id: &str, effect: &str, reason: Option<&str>) -> String {
    let reason =
        reason.map_or_else(|| ".".to_owned(), |reason| format!(": {}", to_sentence(reason)));
    format!(
        "The {} rule {} says {}{reason}",
        sanitize_text(layer),
        quote_text(id),
        sanitize_text(effect)
    )
}

fn format_answer(
    step: &ActionReportStep,
    decision: ApprovalAnswer,
    scope: Option<AnswerScope>,
    message: Option<&str>,
) -> String {
    let message = message.map(|text| format!(": {}", quote_text(text))).unwrap_or_default();
    let said = match (decision, scope) {
        (ApprovalAnswer::Deny, _) => "no".to_owned(),
        (ApprovalAnswer::Allow, None) => "yes".to_owned(),
        (ApprovalAnswer::Allow, Some(scope)) => format!("yes ({})", scope_name(scope)),
    };
    format!("{} said {said}{message}.", format_principal(step))
}

fn format_allowed_by(why: &AllowedBy, grants: &[Grant]) -> String {
    match why {
        AllowedBy::Operator => "Allowed: it is a person's own action.".to_owned(),
        AllowedBy::Mode { mode } => {
            let mode = serde_json::to_value(mode).ok();
            let mode = mode.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            format!("Allowed by the mode {mode}.")
        }
        AllowedBy::Rules { rules } => {
            let rules: Vec<_> = rules
                .iter()
                .map(|rule| {
                    format_rule(&rule.layer, &rule.id, &rule.effect, rule.reason.as_deref())
                })
                .collect();
            format!("Allowed by rules. {}", rules.join(" "))
        }
        AllowedBy::Grant { grant } => format_granted_by(*grant, grants),
        AllowedBy::Approval { approval } => format!("Allowed by the answer to {approval}."),
    }
}

fn format_granted_by(id: GrantId, grants: &[Grant]) -> String {
    match grants.iter().find(|grant| grant.id == id) {
        Some(grant) => {
            format!(
                "Allowed by {id}, which {} gave: {}.",
                sanitize_text(&grant.by),
                sanitize_text(&grant.what)
            )
        }
        None => format!("Allowed by {id}."),
    }
}

fn format_denying_rules(details: Option<&Value>) -> Vec<String> {
    let rules = details.and_then(|details| details.get("rules")).and_then(Value::as_array);
    let rules = rules.into_iter().flatten();
    let text = |rule: &Value, key: &str| rule[key].as_str().unwrap_or_default().to_owned();
    rules
        .map(|rule| {
            let (layer, id, effect) = (text(rule, "layer"), text(rule, "id"), text(rule, "effect"));
            format_rule(&layer, &id, &effect, rule["reason"].as_str())
        })
        .collect()
}

#[cfg(test)]
mod tests;
