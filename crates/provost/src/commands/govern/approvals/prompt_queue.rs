//! Queue of pending approvals: the first is shown and can be answered, the others wait.
//!
//! A person who types `a` means the approval on the screen. So an approval stays at the
//! front until it is resolved, and what was typed before it could be read does not answer it.
//! If it is resolved elsewhere, the next one can only be answered by its number. The others
//! wait in the order of their gravity. Pure; effects are returned.

use std::collections::VecDeque;
use std::time::Instant;

use provost_proto::{
    AnswerApprovalRequest, AnswerScope, Approval, ApprovalAnswer, ApprovalId, UnixMicros,
};

use crate::approval_text::{
    ProjectNames, format_approval, format_approval_line, format_time_left, scope_name,
};
use crate::typed_answer::{AnswerWindow, HARD_GATE_WORD, TypedLine, has_hard_gate};

/// Help for the keys that do not allow.
const OTHER_KEYS_HELP: &str = "d: deny   m TEXT: deny with a reason\n\
                    l: list pending approvals   ?: help   (each with Enter; `a 3` answers approval 3)";

/// The keys that allow.
const ALLOW_KEYS: [(AnswerScope, &str); 4] = [
    (AnswerScope::Once, "a: allow once"),
    (AnswerScope::Session, "s: allow for the session"),
    (AnswerScope::Until, "u 30: allow for 30 minutes"),
    (AnswerScope::Always, "w: allow always, and save the rule that is shown"),
];

/// A typed answer.
#[derive(Debug, Default)]
struct AnswerDraft {
    /// What the answer covers; `None` denies.
    scope: Option<AnswerScope>,
    /// Whether the word for hard gates was typed.
    with_gate_word: bool,
    minutes: Option<u32>,
    message: Option<String>,
}

impl AnswerDraft {
    fn allow(scope: AnswerScope) -> Self {
        Self { scope: Some(scope), ..Self::default() }
    }
}

/// Seconds before the expiry at which a reminder is printed.
const REMINDER_SECONDS: [u64; 2] = [300, 60];

/// An effect for the caller to execute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PromptQueueEffect {
    /// Print this text.
    Print(String),
    /// Print the front approval, and call [`ApprovalPromptQueue::mark_front_shown`] then.
    ShowFront(String),
    /// Send this answer.
    SendAnswer(Box<Approval>, AnswerApprovalRequest),
}

/// An approval with the number it is answered by.
#[derive(Debug)]
struct NumberedApproval {
    number: usize,
    approval: Approval,
    /// Number of reminders that were printed.
    reminded: usize,
}

/// How the front approval came to the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrontArrival {
    /// It is the first, or the user answered the one before it.
    Expected,
    /// The one before it was resolved elsewhere.
    Unexpected,
}

/// Sorts approvals: those behind a hard gate, those with network access, the others; each in
/// the order in which they were requested.
pub(super) fn gravity_order(approval: &Approval) -> (bool, bool, UnixMicros) {
    (!has_hard_gate(approval), !approval.question.network, approval.asked_at)
}

/// The pending approvals.
#[derive(Debug)]
pub(super) struct ApprovalPromptQueue {
    /// The front one is shown, the others are in the order of their gravity.
    items: VecDeque<NumberedApproval>,
    /// Whether the front one accepts an answer.
    window: AnswerWindow,
    front_arrival: FrontArrival,
    /// The approval that an answer was sent for.
    answered: Option<ApprovalId>,
    last_number: usize,
    names: ProjectNames,
}

impl ApprovalPromptQueue {
    pub(super) fn new() -> Self {
        Self {
            items: VecDeque::new(),
            window: AnswerWindow::Closed,
            front_arrival: FrontArrival::Expected,
            answered: None,
            last_number: 0,
            names: ProjectNames::default(),
        }
    }

    /// Sets the display names of projects.
    pub(super) fn set_project_names(&mut self, names: ProjectNames) {
        self.names = names;
    }

    /// Adds a pending approval.
    pub(super) fn add_approval(
        &mut self,
        approval: Approval,
        now: UnixMicros,
    ) -> Vec<PromptQueueEffect> {
        if self.items.iter().any(|item| item.approval.id == approval.id) {
            return Vec::new();
        }
        self.last_number += 1;
        let item = NumberedApproval { number: self.last_number, approval, reminded: 0 };
        let line = format_approval_line(&item.approval, &self.names, now);
        let queued = format!("Approval {} is queued: {line}", item.number);
        if self.items.is_empty() {
            self.items.push_back(item);
            return vec![self.show_front(now)];
        }
        let order = gravity_order(&item.approval);
        let is_graver = |other: &NumberedApproval| gravity_order(&other.approval) <= order;
        let at = 1 + self.items.iter().skip(1).take_while(|other| is_graver(other)).count();
        self.items.insert(at, item);
        vec![PromptQueueEffect::Print(queued)]
    }

    /// Whether the front approval accepts an answer.
    pub(super) fn window(&self) -> AnswerWindow {
        self.window
    }

    /// The front approval was printed.
    pub(super) fn mark_front_shown(&mut self, at: Instant) {
        self.window = AnswerWindow::Shown(at);
    }

    /// The front approval accepts an answer from now on; returns the keys that answer it.
    pub(super) fn open_for_answer(&mut self, at: Instant) -> Vec<PromptQueueEffect> {
        let Some(item) = self.items.front() else { return Vec::new() };
        self.window = AnswerWindow::Accepting(at);
        match self.front_arrival {
            FrontArrival::Expected => print_effect(&self.render_key_help()),
            FrontArrival::Unexpected => {
                let (number, key) = (item.number, allow_key(&item.approval));
                print_effect(&format!(
                    "This is another approval. Answer it by its number: `{key} {number}`"
                ))
            }
        }
    }

    /// Removes an approval that was resolved, here or elsewhere; `how` completes "Approval 1 …".
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
        let mut effects = vec![PromptQueueEffect::Print(format!("Approval {number} {how}"))];
        if at == 0 {
            self.front_arrival =
                if own { FrontArrival::Expected } else { FrontArrival::Unexpected };
            self.window = AnswerWindow::Closed;
            if !self.items.is_empty() {
                effects.push(self.show_front(now));
            }
        }
        effects
    }

    /// After a reconnect: removes approvals that are no longer pending.
    pub(super) fn retain_open(
        &mut self,
        open: &[Approval],
        now: UnixMicros,
    ) -> Vec<PromptQueueEffect> {
        let ids: Vec<_> = self.items.iter().map(|item| item.approval.id).collect();
        let gone = ids.into_iter().filter(|id| !open.iter().any(|approval| approval.id == *id));
        gone.flat_map(|id| self.remove_resolved(id, "was resolved in the meantime", now)).collect()
    }

    /// Handles a typed line.
    pub(super) fn handle_line(
        &mut self,
        typed: &TypedLine,
        now: UnixMicros,
    ) -> Vec<PromptQueueEffect> {
        let line = typed.text.trim();
        let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (number, rest) = split_leading_number(rest);
        match key {
            "" => Vec::new(),
            "l" | "list" => self.list_waiting(now),
            "?" | "h" | "help" => print_effect(&self.render_key_help()),
            _ if !self.items.is_empty() && !self.window.accepts_line_at(typed.at) => {
                print_effect("Ignored: it was typed before this approval could be read.")
            }
            HARD_GATE_WORD => {
                let draft = AnswerDraft::allow(AnswerScope::Once);
                self.answer_approval(number, AnswerDraft { with_gate_word: true, ..draft })
            }
            "a" | "allow" => self.answer_approval(number, AnswerDraft::allow(AnswerScope::Once)),
            "s" | "session" => {
                self.answer_approval(number, AnswerDraft::allow(AnswerScope::Session))
            }
            "u" | "until" => self.answer_until(number, rest),
            "w" | "always" => self.answer_approval(number, AnswerDraft::allow(AnswerScope::Always)),
            "d" | "deny" => self.answer_approval(number, AnswerDraft::default()),
            "m" if rest.is_empty() => print_effect("Add the reason: m use npm ci instead"),
            "m" => {
                let message = Some(rest.to_owned());
                self.answer_approval(number, AnswerDraft { message, ..AnswerDraft::default() })
            }
            _ => print_effect(&self.render_key_help()),
        }
    }

    /// Reminds of approvals that expire soon.
    pub(super) fn remind_expiring(&mut self, now: UnixMicros) -> Vec<PromptQueueEffect> {
        let mut effects = Vec::new();
        for item in &mut self.items {
            let seconds = item.approval.expires_at.saturating_sub(now) / 1_000_000;
            let due = REMINDER_SECONDS.iter().filter(|remind| seconds < **remind).count();
            if due > item.reminded {
                item.reminded = due;
                let left = format_time_left(item.approval.expires_at, now);
                effects.push(PromptQueueEffect::Print(format!(
                    "Approval {} expires in {left}",
                    item.number
                )));
            }
        }
        effects
    }

    /// The daemon rejected an answer; the approval stays pending.
    pub(super) fn mark_answer_rejected(&mut self) {
        self.answered = None;
    }

    fn show_front(&mut self, now: UnixMicros) -> PromptQueueEffect {
        self.window = AnswerWindow::Closed;
        let Some(item) = self.items.front() else { return PromptQueueEffect::Print(String::new()) };
        let full = format_approval(&item.approval, &self.names, now);
        PromptQueueEffect::ShowFront(format!("\n[{}] {}", item.number, full.trim_end()))
    }

    /// Help for the keys that the front approval accepts.
    fn render_key_help(&self) -> String {
        if self.items.front().is_some_and(|item| has_hard_gate(&item.approval)) {
            return format!("{HARD_GATE_WORD}: allow once\n{OTHER_KEYS_HELP}");
        }
        let choices = self.items.front().map(|item| &item.approval.question.choices);
        let offered = |scope: AnswerScope| {
            choices.is_none_or(|choices| choices.iter().any(|choice| choice.scope == scope))
        };
        let keys = ALLOW_KEYS.iter().filter(|(scope, _)| offered(*scope)).map(|(_, key)| *key);
        format!("{}\n{OTHER_KEYS_HELP}", keys.collect::<Vec<_>>().join("   "))
    }

    /// `u 30`, or `u 2 30` for approval 2.
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
            None => print_effect("Add the number of minutes: u 30"),
        }
    }

    fn list_waiting(&self, now: UnixMicros) -> Vec<PromptQueueEffect> {
        if self.items.is_empty() {
            return print_effect("No pending approvals.");
        }
        let line = |item: &NumberedApproval| {
            let line = format_approval_line(&item.approval, &self.names, now);
            PromptQueueEffect::Print(format!("[{}] {line}", item.number))
        };
        self.items.iter().map(line).collect()
    }

    fn answer_approval(
        &mut self,
        number: Option<usize>,
        draft: AnswerDraft,
    ) -> Vec<PromptQueueEffect> {
        let AnswerDraft { scope, with_gate_word, minutes, message } = draft;
        let Some(front) = self.items.front() else { return print_effect("No pending approvals.") };
        let item = match number {
            None if self.front_arrival == FrontArrival::Unexpected => {
                return print_effect(&format!(
                    "Approval {} replaced the one you saw: answer by number, `l` lists them.",
                    front.number
                ));
            }
            None => front,
            Some(number) => match self.items.iter().find(|item| item.number == number) {
                // Only an approval that was shown in full can be allowed.
                Some(item) if item.number != front.number && scope.is_some() => {
                    return print_effect(&format!(
                        "Approval {number} was not shown yet; answer approval {} first. Only `deny` is possible.",
                        front.number
                    ));
                }
                Some(item) => item,
                None => return print_effect(&format!("There is no approval {number}.")),
            },
        };
        // A second answer would be rejected, and the first be taken for someone else's.
        if self.answered == Some(item.approval.id) {
            return print_effect("Ignored: an answer to this approval was sent already.");
        }
        if scope.is_some() && has_hard_gate(&item.approval) != with_gate_word {
            let key = allow_key(&item.approval);
            return print_effect(&format!("This is allowed with `{key}` and Enter."));
        }
        let choices = &item.approval.question.choices;
        if let Some(scope) = scope
            && !choices.iter().any(|choice| choice.scope == scope)
        {
            return print_effect(&format!(
                "This cannot be allowed with scope `{}`.",
                scope_name(scope)
            ));
        }
        self.answered = Some(item.approval.id);
        let decision = if scope.is_some() { ApprovalAnswer::Allow } else { ApprovalAnswer::Deny };
        let action_hash = item.approval.action_hash;
        let answer =
            AnswerApprovalRequest { decision, scope, action_hash, message, minutes, rule: None };
        vec![PromptQueueEffect::SendAnswer(Box::new(item.approval.clone()), answer)]
    }
}

/// What is typed to allow an approval once.
fn allow_key(approval: &Approval) -> &'static str {
    if has_hard_gate(approval) { HARD_GATE_WORD } else { "a" }
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
