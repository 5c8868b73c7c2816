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

use crate::question::{Names, brief, in_full, left, scope_name};

/// What the other keys mean.
const HELP: &str = "d: deny   m TEXT: deny, and say why\n\
                    l: list what waits   ?: this help   (each with Enter; `a 3` answers question 3)";

/// The keys that allow.
const KEYS: [(AnswerScope, &str); 4] = [
    (AnswerScope::Once, "a: allow once"),
    (AnswerScope::Session, "s: allow for the session"),
    (AnswerScope::Until, "u 30: allow for 30 minutes"),
    (AnswerScope::Always, "w: allow always, and write the rule that is shown"),
];

/// What a person says.
#[derive(Debug, Default)]
struct Reply {
    /// How far it reaches, if it allows.
    scope: Option<AnswerScope>,
    minutes: Option<u32>,
    message: Option<String>,
}

impl Reply {
    fn allow(scope: AnswerScope) -> Self {
        Self { scope: Some(scope), ..Self::default() }
    }
}

/// Remind of a question that expires, when so many seconds are left.
const REMIND: [u64; 2] = [300, 60];

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    /// Print this.
    Say(String),
    /// Send this answer.
    Send(Box<Approval>, AnswerApprovalRequest),
}

/// A question with its number.
#[derive(Debug)]
struct Item {
    number: usize,
    approval: Approval,
    /// How many reminders were given.
    reminded: usize,
}

/// How the question came onto the desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    /// It is the first, or the person's own answer made room for it.
    Expected,
    /// It came after one that was resolved elsewhere.
    Unexpected,
}

/// The desk.
#[derive(Debug)]
pub(super) struct Desk {
    /// The first lies on the desk.
    items: VecDeque<Item>,
    came: Came,
    /// The question that an answer was sent for.
    answered: Option<ApprovalId>,
    numbers: usize,
    names: Names,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self {
            items: VecDeque::new(),
            came: Came::Expected,
            answered: None,
            numbers: 0,
            names: Names::default(),
        }
    }

    /// What the projects are called.
    pub(super) fn learn(&mut self, names: Names) {
        self.names = names;
    }

    /// Someone asks.
    pub(super) fn asked(&mut self, approval: Approval, now: UnixMicros) -> Vec<Effect> {
        if self.items.iter().any(|item| item.approval.id == approval.id) {
            return Vec::new();
        }
        self.numbers += 1;
        let item = Item { number: self.numbers, approval, reminded: 0 };
        let told = brief(&item.approval, &self.names, now);
        let waits = format!("Question {} waits: {told}", item.number);
        self.items.push_back(item);
        if self.items.len() == 1 {
            return vec![self.on_top(now)];
        }
        vec![Effect::Say(waits)]
    }

    /// A question was resolved, here or elsewhere; `how` says so in a sentence.
    pub(super) fn resolved(&mut self, id: ApprovalId, how: &str, now: UnixMicros) -> Vec<Effect> {
        let Some(at) = self.items.iter().position(|item| item.approval.id == id) else {
            return Vec::new();
        };
        let own = self.answered == Some(id);
        let number = self.items.remove(at).map_or(0, |item| item.number);
        let mut effects = vec![Effect::Say(format!("Question {number} {how}"))];
        if at == 0 {
            self.came = if own { Came::Expected } else { Came::Unexpected };
            if !self.items.is_empty() {
                effects.push(self.on_top(now));
            }
        }
        effects
    }

    /// After a time without news: what is not open any more was resolved.
    pub(super) fn still_open(&mut self, open: &[Approval], now: UnixMicros) -> Vec<Effect> {
        let ids: Vec<_> = self.items.iter().map(|item| item.approval.id).collect();
        let gone = ids.into_iter().filter(|id| !open.iter().any(|approval| approval.id == *id));
        gone.flat_map(|id| self.resolved(id, "was resolved meanwhile", now)).collect()
    }

    /// The person typed a line.
    pub(super) fn typed(&mut self, line: &str, now: UnixMicros) -> Vec<Effect> {
        let line = line.trim();
        let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (number, rest) = numbered(rest);
        match key {
            "" => Vec::new(),
            "l" | "list" => self.list(now),
            "a" | "allow" => self.answer(number, Reply::allow(AnswerScope::Once)),
            "s" | "session" => self.answer(number, Reply::allow(AnswerScope::Session)),
            "u" | "until" => self.until(number, rest),
            "w" | "always" => self.answer(number, Reply::allow(AnswerScope::Always)),
            "d" | "deny" => self.answer(number, Reply::default()),
            "m" if rest.is_empty() => say("Write the message behind it: m use npm ci instead"),
            "m" => {
                let message = Some(rest.to_owned());
                self.answer(number, Reply { message, ..Reply::default() })
            }
            _ => say(&self.help()),
        }
    }

    /// Time passed.
    pub(super) fn tick(&mut self, now: UnixMicros) -> Vec<Effect> {
        let mut effects = Vec::new();
        for item in &mut self.items {
            let seconds = item.approval.expires_at.saturating_sub(now) / 1_000_000;
            let due = REMIND.iter().filter(|remind| seconds < **remind).count();
            if due > item.reminded {
                item.reminded = due;
                let left = left(item.approval.expires_at, now);
                effects.push(Effect::Say(format!("Question {} expires in {left}", item.number)));
            }
        }
        effects
    }

    /// An answer was refused; the question stays.
    pub(super) fn refused(&mut self) {
        self.answered = None;
    }

    fn on_top(&self, now: UnixMicros) -> Effect {
        let Some(item) = self.items.front() else { return Effect::Say(String::new()) };
        let hint = match self.came {
            Came::Expected => self.help(),
            Came::Unexpected => {
                format!("Another took its place. Answer with its number: `a {}`", item.number)
            }
        };
        let full = in_full(&item.approval, &self.names, now);
        Effect::Say(format!("\n[{}] {full}{hint}", item.number))
    }

    /// The keys for what can be answered to the question on top.
    fn help(&self) -> String {
        let choices = self.items.front().map(|item| &item.approval.question.choices);
        let offered = |scope: AnswerScope| {
            choices.is_none_or(|choices| choices.iter().any(|choice| choice.scope == scope))
        };
        let keys = KEYS.iter().filter(|(scope, _)| offered(*scope)).map(|(_, key)| *key);
        format!("{}\n{HELP}", keys.collect::<Vec<_>>().join("   "))
    }

    /// `u 30`, or `u 2 30` for question 2.
    fn until(&mut self, number: Option<usize>, rest: &str) -> Vec<Effect> {
        let (number, minutes) = match (number, rest.parse()) {
            (minutes, Err(_)) if rest.is_empty() => {
                (None, minutes.and_then(|minutes| u32::try_from(minutes).ok()))
            }
            (number, minutes) => (number, minutes.ok()),
        };
        match minutes {
            Some(minutes) => {
                let minutes = Some(minutes);
                self.answer(number, Reply { minutes, ..Reply::allow(AnswerScope::Until) })
            }
            None => say("Write behind it for how many minutes: u 30"),
        }
    }

    fn list(&self, now: UnixMicros) -> Vec<Effect> {
        if self.items.is_empty() {
            return say("Nobody asks anything.");
        }
        let line = |item: &Item| {
            let told = brief(&item.approval, &self.names, now);
            Effect::Say(format!("[{}] {told}", item.number))
        };
        self.items.iter().map(line).collect()
    }

    fn answer(&mut self, number: Option<usize>, reply: Reply) -> Vec<Effect> {
        let Reply { scope, minutes, message } = reply;
        let Some(top) = self.items.front() else { return say("Nobody asks anything.") };
        let item = match number {
            None if self.came == Came::Unexpected => {
                return say(&format!(
                    "Question {} took the place of another: say its number, or `l` lists them.",
                    top.number
                ));
            }
            None => top,
            Some(number) => match self.items.iter().find(|item| item.number == number) {
                // Only what was shown in full can be allowed.
                Some(item) if item.number != top.number && scope.is_some() => {
                    return say(&format!(
                        "Question {number} was not shown yet; question {} comes first. `deny` works.",
                        top.number
                    ));
                }
                Some(item) => item,
                None => return say(&format!("There is no question {number}.")),
            },
        };
        let choices = &item.approval.question.choices;
        if let Some(scope) = scope
            && !choices.iter().any(|choice| choice.scope == scope)
        {
            return say(&format!("This cannot be allowed for `{}`.", scope_name(scope)));
        }
        self.answered = Some(item.approval.id);
        let decision = if scope.is_some() { ApprovalAnswer::Allow } else { ApprovalAnswer::Deny };
        let action_hash = item.approval.action_hash;
        let answer =
            AnswerApprovalRequest { decision, scope, action_hash, message, minutes, rule: None };
        vec![Effect::Send(Box::new(item.approval.clone()), answer)]
    }
}

fn say(text: &str) -> Vec<Effect> {
    vec![Effect::Say(text.to_owned())]
}

/// A number at the beginning, and the rest.
fn numbered(text: &str) -> (Option<usize>, &str) {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match first.parse() {
        Ok(number) => (Some(number), rest.trim()),
        Err(_) => (None, text),
    }
}

#[cfg(test)]
mod tests;
