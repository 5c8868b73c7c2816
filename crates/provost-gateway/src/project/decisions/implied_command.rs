//! Implied commands: what `runtime.run` starts according to the project's files, and what a
//! process does with text that is written to its standard input.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use provost_core::action::{Action, ProcessAction, RuntimeAction, WriteProcess};
use provost_core::command::{StdinInterpretation, classify_stdin};
use provost_core::decide::BoundAction;
use provost_core::runtime::plan::{DevServerProgram, RuntimePlan};
use provost_kernel::RootProjectFiles;
use provost_proto::ActionId;
use provost_sandbox::root_dir::RootDir;

use super::Decisions;
use crate::GatewayError;
use crate::project::governance::ProjectGovernance;

/// How many processes are tracked; beyond that all are forgotten.
const MAX_TRACKED_PROCESSES: usize = 4096;

/// How processes interpret their standard input. Input to an unknown process, such as one of
/// a former daemon, needs approval.
#[derive(Debug, Default)]
pub(super) struct ProcessStdinRegistry(Mutex<HashMap<ActionId, StdinInterpretation>>);

impl ProcessStdinRegistry {
    fn add(&self, id: ActionId, interpretation: StdinInterpretation) {
        let mut known = self.0.lock();
        if known.len() >= MAX_TRACKED_PROCESSES {
            known.clear();
        }
        known.insert(id, interpretation);
    }

    fn get(&self, id: ActionId) -> Option<StdinInterpretation> {
        self.0.lock().get(&id).cloned()
    }
}

impl Decisions {
    /// Adds the command that an action implies.
    pub(crate) async fn resolve_implied_command(
        &self,
        governance: &ProjectGovernance,
        bound_action: BoundAction,
    ) -> Result<BoundAction, GatewayError> {
        match &bound_action.request().action {
            Action::Runtime(action) if bound_action.runs_project() => {
                let builds = matches!(action, RuntimeAction::Build(_));
                let folder = PathBuf::from(&governance.project.path);
                let plan = tokio::task::spawn_blocking(move || find_runtime_plan(&folder));
                let plan = plan.await.map_err(|_| GatewayError::Stopping)?;
                Ok(match plan.and_then(|plan| render_plan_commands(&plan, builds)) {
                    Some((line, env, why)) => bound_action.with_implied_command(&line, env, why),
                    None => bound_action,
                })
            }
            Action::Process(ProcessAction::Write(write)) => {
                let write = write.clone();
                Ok(self.resolve_process_input(bound_action, &write))
            }
            Action::Process(ProcessAction::RunCommand(_)) => {
                let interpretation = bound_action.analysis().map(classify_stdin);
                let unknown =
                    || StdinInterpretation::Code("a command that cannot be read".to_owned());
                self.process_stdin
                    .add(bound_action.request().id, interpretation.unwrap_or_else(unknown));
                Ok(bound_action)
            }
            Action::File(_) | Action::Process(_) | Action::Runtime(_) => Ok(bound_action),
        }
    }

    /// Adds the command that text for a process implies.
    fn resolve_process_input(
        &self,
        bound_action: BoundAction,
        write: &WriteProcess,
    ) -> BoundAction {
        let WriteProcess { id, text, .. } = write;
        let Ok(id) = id.parse::<ActionId>() else { return bound_action };
        // Closing the input is no command.
        if text.is_empty() {
            return bound_action;
        }
        match self.process_stdin.get(id) {
            Some(StdinInterpretation::Data) => bound_action,
            Some(StdinInterpretation::Code(name)) => bound_action.with_unreadable_command(
                text,
                format!("it is typed into `{name}`, which takes it for code"),
            ),
            // An incomplete line continues with the next write.
            Some(StdinInterpretation::ShellLines)
                if !text.ends_with('\n') || text.ends_with("\\\n") =>
            {
                bound_action
                    .with_unreadable_command(text, "it is a part of a line for a shell".to_owned())
            }
            Some(StdinInterpretation::ShellLines) => {
                let source = "it is typed into a shell, which runs it".to_owned();
                bound_action.with_implied_command(text, BTreeMap::new(), source)
            }
            None => bound_action.with_unreadable_command(
                text,
                "what this process does with what is typed into it is not known".to_owned(),
            ),
        }
    }
}

/// The plan of the project's files. The kernel refuses files that cannot be read.
fn find_runtime_plan(folder: &Path) -> Option<RuntimePlan> {
    let root = RootDir::open(folder).ok()?;
    RuntimePlan::from_project(&RootProjectFiles(&root)).ok().flatten()
}

/// The commands of a plan, one per line, with their variables and where they come from.
fn render_plan_commands(
    plan: &RuntimePlan,
    builds: bool,
) -> Option<(String, BTreeMap<String, String>, String)> {
    let build = plan.build.iter().filter(|_| builds || plan.build_first).cloned();
    let dev = plan.dev.iter().filter(|_| !builds).filter_map(|dev| match dev {
        DevServerProgram::Shell(line) => Some(line.clone()),
        // The built-in server runs no command.
        DevServerProgram::Static { .. } => None,
    });
    let lines: Vec<String> = build.chain(dev).collect();
    if lines.is_empty() {
        return None;
    }
    let line = lines.join("\n");
    let why = format!("it runs `{}`: {}", lines.join("`, then `"), plan.why);
    Some((line, plan.env.clone(), why))
}
