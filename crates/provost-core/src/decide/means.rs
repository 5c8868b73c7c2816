//! The command that an action comes to, where it is not called one.

use std::collections::BTreeMap;

use super::matter::{Matter, command};
use crate::action::{Action, RelPath, RunCommand, RuntimeAction, TerminalAction};
use crate::command::{Analysis, analyze};

/// The command that an action comes to, though it is not called one: what the project
/// runs, what is typed into a shell.
#[derive(Debug, Clone)]
pub(super) struct Means {
    /// As if it had been asked for as a command.
    pub(super) action: Action,
    /// What says so, in plain words.
    source: String,
}

impl Matter {
    /// The same, knowing the command that it comes to: a line with these variables.
    /// It is weighed as that command too.
    #[must_use]
    pub fn meaning(mut self, line: &str, env: BTreeMap<String, String>, source: String) -> Self {
        let read = analyze(line).map_err(|error| error.to_string());
        let given =
            |read: Analysis| env.iter().fold(read, |read, (name, value)| read.given(name, value));
        self.line = Some(read.map(given));
        self.means = Some(Means { action: command_of(line, env), source });
        self
    }

    /// The same, knowing that it is commands or code that cannot be read, and why.
    #[must_use]
    pub fn unread(mut self, text: &str, why: String) -> Self {
        self.line = Some(Err(why.clone()));
        self.means = Some(Means { action: command_of(text, BTreeMap::new()), source: why });
        self
    }

    /// What says which command it comes to, if it is not called one.
    pub fn source(&self) -> Option<&str> {
        self.means.as_ref().map(|means| means.source.as_str())
    }

    /// Whether it starts what the project's files say.
    pub fn runs_project(&self) -> bool {
        matches!(
            self.request.action,
            Action::Runtime(
                RuntimeAction::Run(_) | RuntimeAction::Restart(_) | RuntimeAction::Build(_)
            )
        )
    }

    /// The command that it is, or comes to.
    pub(super) fn command(&self) -> Option<&RunCommand> {
        let means = || command(&self.means.as_ref()?.action);
        command(&self.request.action).or_else(means)
    }
}

/// A line as the action that runs it.
fn command_of(line: &str, env: BTreeMap<String, String>) -> Action {
    Action::Terminal(TerminalAction::RunCommand(RunCommand {
        command: Some(line.to_owned()),
        argv: None,
        cwd: RelPath::root(),
        env,
        stdin: None,
        timeout_ms: 0,
        max_output: 0,
        network: false,
        background: false,
    }))
}
