//! Parses lines typed in a chat. Pure.

use provost_proto::{AnswerScope, ApprovalAnswer};

use crate::typed_answer::HARD_GATE_WORD;

/// Help for the commands.
pub(super) const CHAT_HELP: &str = "/help        show this help\n\
    /cancel      cancel the running turn (as Ctrl-C does)\n\
    /continue    continue an interrupted or cancelled turn, then send queued messages\n\
    /drop        withdraw queued messages\n\
    /role NAME   open a new session in another role\n\
    /model NAME  open a new session with another model\n\
    /cost        show tokens and cost of this session\n\
    /quit        leave (as Ctrl-D or Ctrl-C twice do); the session stays open";

/// A typed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatInput {
    /// An empty line.
    Empty,
    /// A message to the model.
    Message(String),
    Help,
    Cancel,
    Continue,
    DropQueued,
    SwitchRole(String),
    SwitchModel(String),
    ShowCost,
    Quit,
    /// An unknown or incomplete command, with the error to print.
    Unknown(String),
}

impl ChatInput {
    pub(super) fn parse(line: &str) -> Self {
        let line = line.trim();
        let Some(command) = line.strip_prefix('/') else {
            return if line.is_empty() { Self::Empty } else { Self::Message(line.to_owned()) };
        };
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim();
        match (name, rest) {
            ("help" | "?", "") => Self::Help,
            ("cancel", "") => Self::Cancel,
            ("continue", "") => Self::Continue,
            ("drop", "") => Self::DropQueued,
            ("cost" | "usage", "") => Self::ShowCost,
            ("quit" | "exit" | "q", "") => Self::Quit,
            ("role", role) if !role.is_empty() => Self::SwitchRole(role.to_owned()),
            ("model", model) if !model.is_empty() => Self::SwitchModel(model.to_owned()),
            ("role" | "model", _) => Self::Unknown(format!("`/{name}` needs a name")),
            // A path, not a command.
            (path, _) if path.contains('/') => Self::Message(line.to_owned()),
            (name, _) => {
                Self::Unknown(format!("unknown command `/{name}`; /help lists the commands"))
            }
        }
    }
}

/// A typed answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypedAnswer {
    pub(super) decision: ApprovalAnswer,
    pub(super) scope: Option<AnswerScope>,
    pub(super) message: Option<String>,
}

impl TypedAnswer {
    /// Anything but an explicit yes denies, with the words as the reason; an unknown single
    /// letter is no answer (`None`). `d` denies as in `provost approvals watch`; `a`, which
    /// may mean "always" elsewhere, is not accepted. What is behind a hard gate is allowed
    /// by its own word only; a yes is then no answer.
    pub(super) fn parse(
        line: &str,
        has_gate: bool,
        is_offered: impl Fn(AnswerScope) -> bool,
    ) -> Option<Self> {
        let allow =
            |scope| Self { decision: ApprovalAnswer::Allow, scope: Some(scope), message: None };
        let deny = |message| Self { decision: ApprovalAnswer::Deny, scope: None, message };
        Some(match line.trim() {
            HARD_GATE_WORD if has_gate => allow(AnswerScope::Once),
            "y" | "yes" | "s" | "session" if has_gate => return None,
            "y" | "yes" => allow(AnswerScope::Once),
            "s" | "session" if is_offered(AnswerScope::Session) => allow(AnswerScope::Session),
            "" | "n" | "no" | "d" | "s" | "session" => deny(None),
            letter if letter.chars().count() == 1 => return None,
            why => deny(Some(why.to_owned())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_or_a_message() {
        let message = |text: &str| ChatInput::Message(text.to_owned());
        for (line, typed) in [
            ("  \n", ChatInput::Empty),
            ("Hello /help\n", message("Hello /help")),
            ("/help\n", ChatInput::Help),
            ("/cancel ", ChatInput::Cancel),
            ("/continue", ChatInput::Continue),
            ("/drop\n", ChatInput::DropQueued),
            ("/role  reader\n", ChatInput::SwitchRole("reader".to_owned())),
            ("/model anthropic/x", ChatInput::SwitchModel("anthropic/x".to_owned())),
            ("/role", ChatInput::Unknown("`/role` needs a name".to_owned())),
            ("/cost", ChatInput::ShowCost),
            ("/quit", ChatInput::Quit),
            ("/etc/hosts is what?", message("/etc/hosts is what?")),
            (
                "/qiut",
                ChatInput::Unknown("unknown command `/qiut`; /help lists the commands".to_owned()),
            ),
        ] {
            assert_eq!(ChatInput::parse(line), typed, "{line:?}");
        }
    }

    #[test]
    fn only_an_explicit_yes_allows() {
        let (yes, no) = (ApprovalAnswer::Allow, ApprovalAnswer::Deny);
        for (line, can, decision, scope, message) in [
            ("y\n", true, yes, Some(AnswerScope::Once), None),
            ("s", true, yes, Some(AnswerScope::Session), None),
            ("s", false, no, None, None),
            ("", true, no, None, None),
            ("n", true, no, None, None),
            ("d", true, no, None, None),
            ("use npm ci", true, no, None, Some("use npm ci".to_owned())),
        ] {
            let reply = TypedAnswer { decision, scope, message };
            assert_eq!(TypedAnswer::parse(line, false, |_| can), Some(reply), "{line:?}");
        }
        for letter in ["w", "a"] {
            assert_eq!(TypedAnswer::parse(letter, false, |_| true), None, "it is no answer");
        }
    }

    #[test]
    fn a_hard_gate_is_allowed_by_its_own_word_only() {
        let parse = |line| TypedAnswer::parse(line, true, |_| true);
        assert_eq!(parse("dangerous").map(|answer| answer.decision), Some(ApprovalAnswer::Allow));
        for line in ["y", "yes", "s", "session", "a"] {
            assert_eq!(parse(line), None, "{line}");
        }
        for line in ["", "n", "d", "no, use npm ci"] {
            let decision = parse(line).map(|answer| answer.decision);
            assert_eq!(decision, Some(ApprovalAnswer::Deny), "{line}");
        }
    }
}
