//! What a person types in a conversation. Pure.

use provost_proto::{AnswerScope, ApprovalAnswer};

/// What the commands do.
pub(super) const CHAT_HELP: &str = "/help        this\n\
    /cancel      stop what goes on (as Ctrl-C does)\n\
    /continue    go on with a turn that was cut off or stopped, then with what waits\n\
    /drop        take back what waits to be sent\n\
    /role NAME   begin a new session in another role\n\
    /model NAME  begin a new session with another model\n\
    /cost        what this session used and cost\n\
    /quit        leave (as Ctrl-D does, or Ctrl-C twice); the session stays";

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatInput {
    /// Nothing.
    Empty,
    /// Something for the model.
    Message(String),
    Help,
    Cancel,
    Continue,
    DropQueued,
    SwitchRole(String),
    SwitchModel(String),
    ShowCost,
    Quit,
    /// A command that there is not, and why.
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
            ("role" | "model", _) => Self::Unknown(format!("`/{name}` needs a name behind it")),
            // A path, and no command.
            (path, _) if path.contains('/') => Self::Message(line.to_owned()),
            (name, _) => Self::Unknown(format!("there is no command `/{name}`; /help lists them")),
        }
    }
}

/// What a person answers to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypedAnswer {
    pub(super) decision: ApprovalAnswer,
    pub(super) scope: Option<AnswerScope>,
    pub(super) message: Option<String>,
}

impl TypedAnswer {
    /// Whatever is no clear yes is a no, and words are the reason; one letter that means
    /// nothing is no answer. `d` is as in `provost approvals watch`; `a`, which may mean
    /// always elsewhere, is not offered and allows nothing.
    pub(super) fn parse(line: &str, can: impl Fn(AnswerScope) -> bool) -> Option<Self> {
        let allow =
            |scope| Self { decision: ApprovalAnswer::Allow, scope: Some(scope), message: None };
        let deny = |message| Self { decision: ApprovalAnswer::Deny, scope: None, message };
        Some(match line.trim() {
            "y" | "yes" => allow(AnswerScope::Once),
            "s" | "session" if can(AnswerScope::Session) => allow(AnswerScope::Session),
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
    fn a_line_is_a_command_or_something_for_the_model() {
        let say = |text: &str| ChatInput::Message(text.to_owned());
        for (line, typed) in [
            ("  \n", ChatInput::Empty),
            ("Hello /help\n", say("Hello /help")),
            ("/help\n", ChatInput::Help),
            ("/cancel ", ChatInput::Cancel),
            ("/continue", ChatInput::Continue),
            ("/drop\n", ChatInput::DropQueued),
            ("/role  reader\n", ChatInput::SwitchRole("reader".to_owned())),
            ("/model anthropic/x", ChatInput::SwitchModel("anthropic/x".to_owned())),
            ("/role", ChatInput::Unknown("`/role` needs a name behind it".to_owned())),
            ("/cost", ChatInput::ShowCost),
            ("/quit", ChatInput::Quit),
            ("/etc/hosts is what?", say("/etc/hosts is what?")),
            (
                "/qiut",
                ChatInput::Unknown("there is no command `/qiut`; /help lists them".to_owned()),
            ),
        ] {
            assert_eq!(ChatInput::parse(line), typed, "{line:?}");
        }
    }

    #[test]
    fn only_a_clear_yes_allows() {
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
            assert_eq!(TypedAnswer::parse(line, |_| can), Some(reply), "{line:?}");
        }
        for letter in ["w", "a"] {
            assert_eq!(TypedAnswer::parse(letter, |_| true), None, "it is asked again");
        }
    }
}
