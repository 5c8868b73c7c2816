//! The desk at which a person answers: one question lies on it, the others wait.
//!
//! Whoever types `a` means what they are looking at. So a question stays on the
//! desk until it is resolved, and if it was resolved elsewhere, the one that
//! takes its place is answered by its number only: the person may have typed
//! before they saw it. Pure; what is to be done is returned.

use std::collections::VecDeque;

use provost_proto::{
    AnswerApprovalRequest, AnswerScope, Approval, ApprovalAnswer, ApprovalId, UnixMicros,
};

use crate::approval_text::{
    ProjectNames, format_approval, format_approval_line, format_time_left, scope_name,
};

/// What the other keys mean.
const OTHER_KEYS_HELP: &str = "d: deny   m TEXT: deny, and say why\n\
                    l: list what waits   ?: this help   (each with Enter; `a 3` answers question 3)";

/// The keys that allow.
const ALLOW_KEYS: [(AnswerScope, &str); 4] = [
    (AnswerScope::Once, "a: allow once"),
    (AnswerScope::Session, "s: allow for the session"),
    (AnswerScope::Until, "u 30: allow for 30 minutes"),
    (AnswerScope::Always, "w: allow always, and write the rule that is shown"),
];

/// What a person says.
#[derive(Debug, Default)]
struct AnswerDraft {
    /// How far it reaches, if it allows.
    scope: Option<AnswerScope>,
    minutes: Option<u32>,
    message: Option<String>,
}

impl AnswerDraft {
    fn allow(scope: AnswerScope) -> Self {
        Self { scope: Some(scope), ..Self::default() }
    }
}

/// Remind of a question that expires, when so many seconds are left.
const REMINDER_SECONDS: [u64; 2] = [300, 60];

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PromptQueueEffect {
    /// Print this.
    Print(String),
    /// Send this answer.
    SendAnswer(Box<Approval>, AnswerApprovalRequest),
}

/// A question with its number.
#[derive(Debug)]
struct NumberedApproval {
    number: usize,
    approval: Approval,
    /// How many reminders were given.
    reminded: usize,
}

/// How the question came onto the desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrontArrival {
    /// It is the first, or the person's own answer made room for it.
    Expected,
    /// It came after one that was resolved elsewhere.
    Unexpected,
}

/// The desk.
#[derive(Debug)]
pub(super) struct ApprovalPromptQueue {
    /// The first lies on the desk.
    items: VecDeque<NumberedApproval>,
    came: FrontArrival,
    /// The question that an answer was sent for.
    answered: Option<ApprovalId>,
    numbers: usize,
    names: ProjectNames,
}

impl ApprovalPromptQueue {
    pub(super) fn new() -> Self {
        Self {
            items: VecDeque::new(),
            came: FrontArrival::Expected,
            answered: None,
            numbers: 0,
            names: ProjectNames::default(),
        }
    }

    /// What the projects are called.
    pub(super) fn set_project_names(&mut self, names: ProjectNames) {
        self.names = names;
    }

    /// Someone asks.
    pub(super) fn add_approval(
        &mut self,
        approval: Approval,
        now: UnixMicros,
    ) -> Vec<PromptQueueEffect> {
        if self.items.iter().any(|item| item.approval.id == approval.id) {
            return Vec::new();
        }
        self.numbers += 1;
        let item = NumberedApproval { number: self.numbers, approval, reminded: 0 };
        let told = format_approval_line(&item.approval, &self.names, now);
        let waits = format!("Question {} waits: {told}", item.number);
        self.items.push_back(item);
        if self.items.len() == 1 {
            return vec![self.render_front(now)];
        }
        vec![PromptQueueEffect::Print(waits)]
    }

    /// A question was resolved, here or elsewhere; `how` says so in a sentence.
    pub(super) fn remove_resolved(
        &mut self,
        id: ApprovalId,
        how: &str,
        now: UnixMicros,
    ) -> Vec<PromptQueueEffect> {
        let Some(at) = self.items.iter().position(|item| item.approval.id == id) else {
            return Vec::new();
        };
        let own = self.answered == Some(id);
        let number = self.items.remove(at).map_or(0, |item| item.number);
        let mut effects = vec![PromptQueueEffect::Print(format!("Question {number} {how}"))];
        if at == 0 {
            self.came = if own { FrontArrival::Expected } else { FrontArrival::Unexpected };
            if !self.items.is_empty() {
                effects.push(self.render_front(now));
            }
        }
        effects
    }

    /// After a time without news: what is not open any more was resolved.
    pub(super) fn retain_open(
        &mut self,
        open: &[Approval],
        now: UnixMicros,
    ) -> Vec<PromptQueueEffect> {
        let ids: Vec<_> = self.items.iter().map(|item| item.approval.id).collect();
        let gone = ids.into_iter().filter(|id| !open.iter().any(|approval| approval.id == *id));
        gone.flat_map(|id| self.remove_resolved(id, "was resolved meanwhile", now)).collect()
    }

    /// The person typed a line.
    pub(super) fn handle_line(&mut self, line: &str, now: UnixMicros) -> Vec<PromptQueueEffect> {
        let line = line.trim();
        let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (number, rest) = split_leading_number(rest);
        match key {
            "" => Vec::new(),
            "l" | "list" => self.list_waiting(now),
            "a" | "allow" => self.answer_approval(number, AnswerDraft::allow(AnswerScope::Once)),
            "s" | "session" => {
                self.answer_approval(number, AnswerDraft::allow(AnswerScope::Session))
            }
            "u" | "until" => self.answer_until(number, rest),
            "w" | "always" => self.answer_approval(number, AnswerDraft::allow(AnswerScope::Always)),
            "d" | "deny" => self.answer_approval(number, AnswerDraft::default()),
            "m" if rest.is_empty() => {
                print_effect("Write the message behind it: m use npm ci instead")
            }
            "m" => {
                let message = Some(rest.to_owned());
                self.answer_approval(number, AnswerDraft { message, ..AnswerDraft::default() })
            }
            _ => print_effect(&self.render_key_help()),
        }
    }

    /// Time passed.
    pub(super) fn remind_expiring(&mut self, now: UnixMicros) -> Vec<PromptQueueEffect> {
        let mut effects = Vec::new();
        for item in &mut self.items {
            let seconds = item.approval.expires_at.saturating_sub(now) / 1_000_000;
            let due = REMINDER_SECONDS.iter().filter(|remind| seconds < **remind).count();
            if due > item.reminded {
                item.reminded = due;
                let left = format_time_left(item.approval.expires_at, now);
                effects.push(PromptQueueEffect::Print(format!(
                    "Question {} expires in {left}",
                    item.number
                )));
            }
        }
        effects
    }

    /// An answer was refused; the question stays.
    pub(super) fn mark_answer_rejected(&mut self) {
        self.answered = None;
    }

    fn render_front(&self, now: UnixMicros) -> PromptQueueEffect {
        let Some(item) = self.items.front() else { return PromptQueueEffect::Print(String::new()) };
        let hint = match self.came {
            FrontArrival::Expected => self.render_key_help(),
            FrontArrival::Unexpected => {
                format!("Another took its place. Answer with its number: `a {}`", item.number)
            }
        };
        let full = format_approval(&item.approval, &self.names, now);
        PromptQueueEffect::Print(format!("\n[{}] {full}{hint}", item.number))
    }

    /// The keys for what can be answered to the question on top.
    fn render_key_help(&self) -> String {
        let choices = self.items.front().map(|item| &item.approval.question.choices);
        let offered = |scope: AnswerScope| {
            choices.is_none_or(|choices| choices.iter().any(|choice| choice.scope == scope))
        };
        let keys = ALLOW_KEYS.iter().filter(|(scope, _)| offered(*scope)).map(|(_, key)| *key);
        format!("{}\n{OTHER_KEYS_HELP}", keys.collect::<Vec<_>>().join("   "))
    }

    /// `u 30`, or `u 2 30` for question 2.
    fn answer_until(&mut self, number: Option<usize>, rest: &str) -> Vec<PromptQueueEffect> {
        let (number, minutes) = match (number, rest.parse()) {
            (minutes, Err(_)) if rest.is_empty() => {
                (None, minutes.and_then(|minutes| u32::try_from(minutes).ok()))
            }
            (number, minutes) => (number, minutes.ok()),
        };
        match minutes {
            Some(minutes) => {
                let minutes = Some(minutes);
                self.answer_approval(
                    number,
                    AnswerDraft { minutes, ..AnswerDraft::allow(AnswerScope::Until) },
                )
            }
            None => print_effect("Write behind it for how many minutes: u 30"),
        }
    }

    fn list_waiting(&self, now: UnixMicros) -> Vec<PromptQueueEffect> {
        if self.items.is_empty() {
            return print_effect("Nobody asks anything.");
        }
        let line = |item: &NumberedApproval| {
            let told = format_approval_line(&item.approval, &self.names, now);
            PromptQueueEffect::Print(format!("[{}] {told}", item.number))
        };
        self.items.iter().map(line).collect()
    }

    fn answer_approval(
        &mut self,
        number: Option<usize>,
        reply: AnswerDraft,
    ) -> Vec<PromptQueueEffect> {
        let AnswerDraft { scope, minutes, message } = reply;
        let Some(top) = self.items.front() else { return print_effect("Nobody asks anything.") };
        let item = match number {
            None if self.came == FrontArrival::Unexpected => {
                return print_effect(&format!(
                    "Question {} took the place of another: say its number, or `l` lists them.",
                    top.number
                ));
            }
            None => top,
            Some(number) => match self.items.iter().find(|item| item.number == number) {
                // Only what was shown in full can be allowed.
                Some(item) if item.number != top.number && scope.is_some() => {
                    return print_effect(&format!(
                        "Question {number} was not shown yet; question {} comes first. `deny` works.",
                        top.number
                    ));
                }
                Some(item) => item,
                None => return print_effect(&format!("There is no question {number}.")),
            },
        };
        let choices = &item.approval.question.choices;
        if let Some(scope) = scope
            && !choices.iter().any(|choice| choice.scope == scope)
        {
            return print_effect(&format!("This cannot be allowed for `{}`.", scope_name(scope)));
        }
        self.answered = Some(item.approval.id);
        let decision = if scope.is_some() { ApprovalAnswer::Allow } else { ApprovalAnswer::Deny };
        let action_hash = item.approval.action_hash;
        let answer =
            AnswerApprovalRequest { decision, scope, action_hash, message, minutes, rule: None };
        vec![PromptQueueEffect::SendAnswer(Box::new(item.approval.clone()), answer)]
    }
}

fn print_effect(text: &str) -> Vec<PromptQueueEffect> {
    vec![PromptQueueEffect::Print(text.to_owned())]
}

/// A number at the beginning, and the rest.
fn split_leading_number(text: &str) -> (Option<usize>, &str) {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match first.parse() {
        Ok(number) => (Some(number), rest.trim()),
        Err(_) => (None, text),
    }
}

#[cfg(test)]
mod tests;
