//! The story of an action, told from its events in plain words: who asked for
//! what, what decided, how it ran, what changed. Pure.

mod ending;

use provost_proto::{
    Actor, AllowedBy, AnswerScope, ApprovalAnswer, ApprovalPrompt, Fact, Grant, GrantId, Principal,
    SessionId, UnixMicros,
};
use serde_json::Value;

use crate::output::{plain, quoted};
use crate::question::scope_name;
use ending::{Printed, ended, wall};

/// One event of the action.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) at: UnixMicros,
    pub(crate) principal: Principal,
    pub(crate) actor: Actor,
    pub(crate) fact: Fact,
}

/// Something that happened, in sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) at: UnixMicros,
    pub(crate) lines: Vec<String>,
}

/// Tells the story. `grants` are those that may have allowed it.
pub(crate) fn tell(steps: &[Step], grants: &[Grant]) -> Vec<Told> {
    let mut printed = Printed::default();
    let mut story = Vec::new();
    for step in steps {
        if let Fact::ActionOutput { output, .. } = &step.fact {
            printed.add(output);
            continue;
        }
        let lines = told(step, grants, &printed);
        if !lines.is_empty() {
            story.push(Told { at: step.at, lines });
        }
    }
    story
}

fn told(step: &Step, grants: &[Grant], printed: &Printed) -> Vec<String> {
    let told = wished(step, grants).or_else(|| by_people(step));
    told.or_else(|| fate(step, grants, printed)).unwrap_or_default()
}

/// What was asked for; a read is told to its end.
fn wished(step: &Step, grants: &[Grant]) -> Option<Vec<String>> {
    if let Fact::ActionRequested { name, params, what, role, session, .. } = &step.fact {
        return Some(vec![wish(step, role.as_deref(), *session, what), parameters(name, params)]);
    }
    if let Fact::ActionRead { name, params, what, role, session, why, outcome, .. } = &step.fact {
        let head = wish(step, role.as_deref(), *session, what);
        let mut lines = vec![head, parameters(name, params), allowed_by(why, grants)];
        lines.extend(ended(outcome, &Printed::default()));
        return Some(lines);
    }
    None
}

/// What people were asked, what they said, and what that means for later.
fn by_people(step: &Step) -> Option<Vec<String>> {
    let fact = &step.fact;
    if let Fact::ApprovalAsked { approval, question, .. } = fact {
        return Some(asked(&approval.to_string(), question));
    }
    let line = if let Fact::ApprovalAnswered { decision, scope, message, .. } = fact {
        answered(step, *decision, *scope, message.as_deref())
    } else if let Fact::ApprovalExpired { .. } = fact {
        "Nobody answered in time.".to_owned()
    } else if let Fact::ApprovalWithdrawn { why, .. } = fact {
        format!("The question fell away: {}", sentence(why))
    } else if let Fact::GrantCreated { grant, what, until, .. } = fact {
        let end = if until.is_some() { "for some time" } else { "for the session" };
        format!("The answer allows the same again {end}: {} ({grant}).", plain(what))
    } else if let Fact::GrantRevoked { grant, .. } = fact {
        format!("{} took that back ({grant}).", person(step))
    } else {
        return None;
    };
    Some(vec![line])
}

/// Whether it ran, how, and what came of it.
fn fate(step: &Step, grants: &[Grant], printed: &Printed) -> Option<Vec<String>> {
    let fact = &step.fact;
    if let Fact::ActionDenied { fault, .. } = fact {
        let mut lines = vec![format!("Denied ({}): {}", fault.code, sentence(&fault.message))];
        lines.extend(denying_rules(fault.details.as_ref()));
        return Some(lines);
    }
    if let Fact::ActionAllowed { by, why, profile, .. } = fact {
        let by = || format!("Allowed by {}.", plain(by));
        let line = why.as_ref().map_or_else(by, |why| allowed_by(why, grants));
        let profile = profile.as_deref().map(plain);
        let once = profile.map(|profile| format!(" It may run once, under profile {profile}."));
        return Some(vec![line + &once.unwrap_or_default()]);
    }
    if let Fact::ActionStarted { pid, profile, layers, .. } = fact {
        let line = format!("It ran as process {pid}, under profile {}.", plain(profile));
        return Some(vec![line, wall(layers)]);
    }
    if let Fact::ActionFinished { outcome, .. } = fact {
        return Some(ended(outcome, printed));
    }
    None
}

/// Text from outside with one period behind it.
fn sentence(text: &str) -> String {
    format!("{}.", plain(text.trim_end().trim_end_matches('.')))
}

/// Who asked for what.
fn wish(step: &Step, role: Option<&str>, session: Option<SessionId>, what: &str) -> String {
    let role = role.map(|role| format!(" in the role {}", quoted(role))).unwrap_or_default();
    let session = session.map(|id| format!(" in session {id}")).unwrap_or_default();
    format!("{}{role}{session} asked to {}.", person(step), plain(what))
}

/// On whose authority, and through what.
fn person(step: &Step) -> String {
    format!("{} ({})", plain(&step.principal), plain(&step.actor.to_string()))
}

fn parameters(name: &str, params: &Value) -> String {
    const SHOWN: usize = 400;
    let text = plain(&params.to_string());
    let long = text.chars().count();
    if long > SHOWN {
        let start: String = text.chars().take(SHOWN).collect();
        return format!("{} {start}… ({long} characters in all)", plain(name));
    }
    format!("{} {text}", plain(name))
}

fn asked(approval: &str, question: &ApprovalPrompt) -> Vec<String> {
    let why = sentence(&question.why);
    let mut lines = vec![format!("A person was asked ({approval}): {why}")];
    if let Some(gate) = &question.gate {
        lines.push(format!("They were shown that it is dangerous: {}", sentence(gate)));
    }
    for rule in &question.rules {
        lines.push(rule_line(&rule.layer, &rule.id, &rule.effect, rule.reason.as_deref()));
    }
    let mut shown = Vec::new();
    if !question.demands.is_empty() {
        shown.push(format!("the {} parts of the command", question.demands.len()));
    }
    if let Some(diff) = &question.diff {
        shown.push(format!("a change of {} lines", changed_lines(diff)));
    }
    shown.extend(
        question.pins.iter().map(|pin| format!("the script {} ({})", quoted(&pin.path), pin.hash)),
    );
    if let Some(trust) = &question.trust {
        shown.push(format!("the file {} to be trusted ({})", quoted(&trust.file), trust.hash));
    }
    if !shown.is_empty() {
        lines.push(format!("They were shown {}.", shown.join(", ")));
    }
    lines
}

/// The lines of a diff that add or remove.
fn changed_lines(diff: &str) -> usize {
    let head = |line: &str| line.starts_with("+++") || line.starts_with("---");
    diff.lines().filter(|line| line.starts_with(['+', '-']) && !head(line)).count()
}

fn rule_line(layer: &str, id: &str, effect: &str, reason: Option<&str>) -> String {
    let reason = reason.map_or_else(|| ".".to_owned(), |reason| format!(": {}", sentence(reason)));
    format!("The {} rule {} says {}{reason}", plain(layer), quoted(id), plain(effect))
}

fn answered(
    step: &Step,
    decision: ApprovalAnswer,
    scope: Option<AnswerScope>,
    message: Option<&str>,
) -> String {
    let message = message.map(|text| format!(": {}", quoted(text))).unwrap_or_default();
    let said = match (decision, scope) {
        (ApprovalAnswer::Deny, _) => "no".to_owned(),
        (ApprovalAnswer::Allow, None) => "yes".to_owned(),
        (ApprovalAnswer::Allow, Some(scope)) => format!("yes ({})", scope_name(scope)),
    };
    format!("{} said {said}{message}.", person(step))
}

fn allowed_by(why: &AllowedBy, grants: &[Grant]) -> String {
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
                .map(|rule| rule_line(&rule.layer, &rule.id, &rule.effect, rule.reason.as_deref()))
                .collect();
            format!("Allowed by rules. {}", rules.join(" "))
        }
        AllowedBy::Grant { grant } => granted(*grant, grants),
        AllowedBy::Approval { approval } => format!("Allowed by the answer to {approval}."),
    }
}

fn granted(id: GrantId, grants: &[Grant]) -> String {
    match grants.iter().find(|grant| grant.id == id) {
        Some(grant) => {
            format!("Allowed by {id}, which {} gave: {}.", plain(&grant.by), plain(&grant.what))
        }
        None => format!("Allowed by {id}."),
    }
}

fn denying_rules(details: Option<&Value>) -> Vec<String> {
    let rules = details.and_then(|details| details.get("rules")).and_then(Value::as_array);
    let rules = rules.into_iter().flatten();
    let text = |rule: &Value, key: &str| rule[key].as_str().unwrap_or_default().to_owned();
    rules
        .map(|rule| {
            let (layer, id, effect) = (text(rule, "layer"), text(rule, "id"), text(rule, "effect"));
            rule_line(&layer, &id, &effect, rule["reason"].as_str())
        })
        .collect()
}

#[cfg(test)]
mod tests;
