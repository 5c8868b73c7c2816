//! The report of an action, built from its events: who requested it, what
//! decided, how it ran, what changed. Pure.

mod outcome_text;

use provost_proto::{
    Actor, AllowedBy, AnswerScope, ApprovalAnswer, ApprovalPrompt, Fact, Grant, GrantId, Principal,
    SessionId, UnixMicros,
};
use serde_json::Value;

use crate::approval_text::scope_name;
use crate::output::{quote_name, quote_text, sanitize_text};
pub(crate) use outcome_text::describe_sandbox_notes;
use outcome_text::{OutputTotals, describe_outcome, format_sandbox_layers};

/// One event of an action.
#[derive(Debug, Clone)]
pub(crate) struct ActionReportStep {
    pub(crate) at: UnixMicros,
    pub(crate) principal: Principal,
    pub(crate) actor: Actor,
    pub(crate) fact: Fact,
}

/// What one event adds to the report, as sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActionReportEntry {
    pub(crate) at: UnixMicros,
    pub(crate) lines: Vec<String>,
}

/// Builds the report. `grants` holds the grants that may have allowed the action.
pub(crate) fn build_action_report(
    steps: &[ActionReportStep],
    grants: &[Grant],
) -> Vec<ActionReportEntry> {
    let mut printed = OutputTotals::default();
    let mut entries = Vec::new();
    for step in steps {
        if let Fact::ActionOutput { output, .. } = &step.fact {
            printed.add_output(output);
            continue;
        }
        let lines = describe_step(step, grants, &printed);
        if !lines.is_empty() {
            entries.push(ActionReportEntry { at: step.at, lines });
        }
    }
    entries
}

/// What one event adds to the report; nothing for events that repeat what others say.
fn describe_step(step: &ActionReportStep, grants: &[Grant], printed: &OutputTotals) -> Vec<String> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the report is about one action; all other facts add nothing to it"
    )]
    match &step.fact {
        Fact::ActionRequested { name, params, what, role, session, .. } => vec![
            format_request(step, role.as_deref(), *session, what),
            format_parameters(name, params),
        ],
        // A read is one event: request, decision and outcome.
        Fact::ActionRead { name, params, what, role, session, why, outcome, .. } => {
            let mut lines = vec![
                format_request(step, role.as_deref(), *session, what),
                format_parameters(name, params),
                format_allowed_by(why, grants),
            ];
            lines.extend(describe_outcome(outcome, &OutputTotals::default()));
            lines
        }
        Fact::ActionDenied { fault, .. } => {
            let denied = format!("Denied ({}): {}", fault.code, to_sentence(&fault.message));
            let mut lines = vec![denied];
            lines.extend(format_denying_rules(fault.details.as_ref()));
            lines
        }
        Fact::ActionAllowed { by, why, profile, .. } => {
            vec![format_allowed(by, why.as_ref(), profile.as_deref(), grants)]
        }
        Fact::ActionStarted { pid, profile, layers, .. } => vec![
            format!("Started as process {pid}, with profile {}.", sanitize_text(profile)),
            format_sandbox_layers(layers),
        ],
        Fact::ActionFinished { outcome, .. } => describe_outcome(outcome, printed),
        Fact::ApprovalAsked { approval, question, .. } => {
            describe_approval_prompt(&approval.to_string(), question)
        }
        Fact::ApprovalAnswered { decision, scope, message, .. } => {
            vec![format_answer(step, *decision, *scope, message.as_deref())]
        }
        Fact::ApprovalExpired { .. } => vec!["The approval expired without an answer.".to_owned()],
        Fact::ApprovalWithdrawn { why, .. } => {
            vec![format!("The approval was withdrawn: {}", to_sentence(why))]
        }
        Fact::GrantCreated { grant, what, until, .. } => {
            let end = if until.is_some() { "for a limited time" } else { "for the session" };
            let what = sanitize_text(what);
            vec![format!("The answer also grants the same action {end}: {what} ({grant}).")]
        }
        Fact::GrantRevoked { grant, .. } => {
            vec![format!("{} revoked that grant ({grant}).", format_principal(step))]
        }
        _ => Vec::new(),
    }
}

/// Why the action was allowed, and how it may run.
fn format_allowed(
    by: &str,
    why: Option<&AllowedBy>,
    profile: Option<&str>,
    grants: &[Grant],
) -> String {
    let allowed = match why {
        Some(why) => format_allowed_by(why, grants),
        None => format!("Allowed by {}.", sanitize_text(by)),
    };
    match profile {
        Some(profile) => {
            format!("{allowed} It may run once, with profile {}.", sanitize_text(profile))
        }
        None => allowed,
    }
}

/// Text from outside, ending with exactly one period.
fn to_sentence(text: &str) -> String {
    format!("{}.", sanitize_text(text.trim_end().trim_end_matches('.')))
}

/// Who requested what.
fn format_request(
    step: &ActionReportStep,
    role: Option<&str>,
    session: Option<SessionId>,
    what: &str,
) -> String {
    let role = role.map(|role| format!(" in the role {}", quote_text(role))).unwrap_or_default();
    let session = session.map(|id| format!(" in session {id}")).unwrap_or_default();
    format!("{}{role}{session} requested to {}.", format_principal(step), sanitize_text(what))
}

/// The principal, and the actor it used.
fn format_principal(step: &ActionReportStep) -> String {
    format!("{} ({})", sanitize_text(&step.principal), sanitize_text(&step.actor.to_string()))
}

fn format_parameters(name: &str, params: &Value) -> String {
    const SHOWN: usize = 400;
    let text = sanitize_text(&params.to_string());
    let long = text.chars().count();
    if long > SHOWN {
        let start: String = text.chars().take(SHOWN).collect();
        return format!("{} {start}… ({long} characters in total)", sanitize_text(name));
    }
    format!("{} {text}", sanitize_text(name))
}

fn describe_approval_prompt(approval: &str, prompt: &ApprovalPrompt) -> Vec<String> {
    let why = to_sentence(&prompt.why);
    let mut lines = vec![format!("An approval was requested ({approval}): {why}")];
    if let Some(gate) = &prompt.gate {
        lines.push(format!("It was marked as dangerous: {}", to_sentence(gate)));
    }
    for rule in &prompt.rules {
        lines.push(format_rule(&rule.layer, &rule.id, &rule.effect, rule.reason.as_deref()));
    }
    let mut shown = Vec::new();
    if !prompt.demands.is_empty() {
        shown.push(format!("{} effects of the command", prompt.demands.len()));
    }
    if let Some(diff) = &prompt.diff {
        shown.push(format!("a diff of {} lines", count_changed_lines(diff)));
    }
    shown.extend(
        prompt
            .pins
            .iter()
            .map(|pin| format!("the script {} ({})", quote_name(&pin.path), pin.hash)),
    );
    if let Some(trust) = &prompt.trust {
        shown.push(format!("the file {} to be trusted ({})", quote_name(&trust.file), trust.hash));
    }
    if !shown.is_empty() {
        lines.push(format!("The approver was shown {}.", shown.join(", ")));
    }
    lines
}

/// The number of added and removed lines.
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
    let answer = match (decision, scope) {
        (ApprovalAnswer::Deny, _) => "denied it".to_owned(),
        (ApprovalAnswer::Allow, None) => "allowed it".to_owned(),
        (ApprovalAnswer::Allow, Some(scope)) => format!("allowed it ({})", scope_name(scope)),
    };
    format!("{} {answer}{message}.", format_principal(step))
}

fn format_allowed_by(why: &AllowedBy, grants: &[Grant]) -> String {
    match why {
        AllowedBy::Operator => "Allowed: a person executed it.".to_owned(),
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
                "Allowed by {id}, granted by {}: {}.",
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
