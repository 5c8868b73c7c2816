//! The command behind an action that is not called one.

use std::collections::BTreeMap;

use super::bound_action::{BoundAction, as_run_command};
use crate::action::{Action, ProcessAction, RelPath, RunCommand, RuntimeAction};
use crate::command::{CommandAnalysis, analyze_line};

/// The command behind an action that is not called one: what the project runs, or what is typed
/// into a shell.
#[derive(Debug, Clone)]
pub(super) struct ImpliedCommand {
    /// The same as a `terminal.run` action.
    pub(super) action: Action,
    /// Where the command comes from, as text for people.
    source: String,
}

impl BoundAction {
    /// Adds the command behind the action: a line with these variables. The decision evaluates it
    /// as that command too.
    #[must_use]
    pub fn with_implied_command(
        mut self,
        line: &str,
        env: BTreeMap<String, String>,
        source: String,
    ) -> Self {
        let read = analyze_line(line).map_err(|error| error.to_string());
        let given = |read: CommandAnalysis| {
            env.iter().fold(read, |read, (name, value)| read.with_variable(name, value))
        };
        self.line = Some(read.map(given));
        self.implied = Some(ImpliedCommand { action: to_run_command(line, env), source });
        self
    }

    /// Marks that the action runs commands or code that cannot be analyzed, and why.
    #[must_use]
    pub fn with_unreadable_command(mut self, text: &str, why: String) -> Self {
        self.line = Some(Err(why.clone()));
        self.implied =
            Some(ImpliedCommand { action: to_run_command(text, BTreeMap::new()), source: why });
        self
    }

    /// Where the command behind the action comes from, if there is one.
    pub fn implied_command_source(&self) -> Option<&str> {
        self.implied.as_ref().map(|implied| implied.source.as_str())
    }

    /// Whether it runs what the project's files say.
    pub fn runs_project(&self) -> bool {
        matches!(
            self.request.action,
            Action::Runtime(
                RuntimeAction::Run(_) | RuntimeAction::Restart(_) | RuntimeAction::Build(_)
            )
        )
    }

    /// The command that it is, or that is behind it.
    pub(super) fn effective_command(&self) -> Option<&RunCommand> {
        let implied = || as_run_command(&self.implied.as_ref()?.action);
        as_run_command(&self.request.action).or_else(implied)
    }
}

/// The action that runs a line.
fn to_run_command(line: &str, env: BTreeMap<String, String>) -> Action {
    Action::Process(ProcessAction::RunCommand(RunCommand {
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
