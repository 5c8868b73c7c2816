//! What an action comes to, where its parameters do not say it: the commands that
//! the project's files name, and what a process does with what is typed into it.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use provost_core::action::{Action, ProcessAction, RuntimeAction, WriteProcess};
use provost_core::command::{StdinInterpretation, classify_stdin};
use provost_core::decide::BoundAction;
use provost_core::role::Role;
use provost_core::runtime::plan::{DevServerProgram, PLAN_FILE, ProjectFiles, RuntimePlan};
use provost_kernel::RootProjectFiles;
use provost_proto::{ActionId, Fact, GovernanceFileKind};
use provost_sandbox::root_dir::RootDir;

use crate::project::governance::ProjectGovernance;
use crate::{Gateway, GatewayError};

/// Processes of which it is remembered what they do with what they read.
const MAX_TRACKED_PROCESSES: usize = 4096;

/// What processes do with what they read, as far as it is known. One that is not known
/// here, because it is of another daemon's time, is asked about.
#[derive(Debug, Default)]
pub(crate) struct ProcessStdinRegistry(Mutex<HashMap<ActionId, StdinInterpretation>>);

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

impl Gateway {
    /// The same matter, knowing the command that it comes to.
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
                let heard = bound_action.analysis().map(classify_stdin);
                let unread =
                    || StdinInterpretation::Code("a command that cannot be read".to_owned());
                self.listeners.add(bound_action.request().id, heard.unwrap_or_else(unread));
                Ok(bound_action)
            }
            Action::File(_) | Action::Process(_) | Action::Runtime(_) => Ok(bound_action),
        }
    }

    /// What is typed into a process.
    fn resolve_process_input(
        &self,
        bound_action: BoundAction,
        write: &WriteProcess,
    ) -> BoundAction {
        let WriteProcess { id, text, .. } = write;
        let Ok(id) = id.parse::<ActionId>() else { return bound_action };
        // To end the input is no command.
        if text.is_empty() {
            return bound_action;
        }
        match self.listeners.get(id) {
            Some(StdinInterpretation::Data) => bound_action,
            Some(StdinInterpretation::Code(name)) => bound_action.with_unreadable_command(
                text,
                format!("it is typed into `{name}`, which takes it for code"),
            ),
            // What is left of a line goes on with what is typed next.
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

    /// Why a person must look before this runs: what it does is written in a file that
    /// they neither ran nor said yes to as it is now.
    pub(crate) async fn explain_unreviewed_runtime(
        &self,
        governance: &ProjectGovernance,
        bound_action: &BoundAction,
    ) -> Result<Option<String>, GatewayError> {
        if !bound_action.runs_project() {
            return Ok(None);
        }
        Ok(self.read_untrusted_runtime_file(governance).await?.map(|_| {
            match governance.find_trusted_file(GovernanceFileKind::Runtime, PLAN_FILE) {
                Some(_) => {
                    format!("{PLAN_FILE} changed since a person last ran it or said yes to it")
                }
                None => format!("no person has run what {PLAN_FILE} says, or said yes to it"),
            }
        }))
    }

    /// That a person ran what the file says, or said yes to it: worth a fact if it is not
    /// known yet.
    pub(crate) async fn runtime_trusted_fact(
        &self,
        governance: &ProjectGovernance,
        bound_action: &BoundAction,
    ) -> Result<Option<Fact>, GatewayError> {
        if !bound_action.runs_project() {
            return Ok(None);
        }
        Ok(self.read_untrusted_runtime_file(governance).await?.map(|text| Fact::FileTrusted {
            project: governance.project.id,
            what: GovernanceFileKind::Runtime,
            file: PLAN_FILE.to_owned(),
            hash: Role::hash(text.as_bytes()),
            text,
        }))
    }

    /// What `provost.toml` says, if it is there and is not what a person trusted. One that
    /// is no text is refused by the kernel.
    async fn read_untrusted_runtime_file(
        &self,
        governance: &ProjectGovernance,
    ) -> Result<Option<String>, GatewayError> {
        let folder = PathBuf::from(&governance.project.path);
        let read = move || RootProjectFiles(&RootDir::open(&folder).ok()?).read_text(PLAN_FILE);
        let text = tokio::task::spawn_blocking(read).await.map_err(|_| GatewayError::Stopping)?;
        let trusted = governance
            .find_trusted_file(GovernanceFileKind::Runtime, PLAN_FILE)
            .map(|trusted| trusted.hash);
        Ok(text.filter(|text| trusted != Some(Role::hash(text.as_bytes()))))
    }
}

/// What would run. Where the files say nothing that can be read, the kernel refuses.
fn find_runtime_plan(folder: &Path) -> Option<RuntimePlan> {
    let root = RootDir::open(folder).ok()?;
    RuntimePlan::from_project(&RootProjectFiles(&root)).ok().flatten()
}

/// The commands of a plan, one in each line, with their variables, and why just these.
fn render_plan_commands(
    plan: &RuntimePlan,
    builds: bool,
) -> Option<(String, BTreeMap<String, String>, String)> {
    let build = plan.build.iter().filter(|_| builds || plan.build_first).cloned();
    let dev = plan.dev.iter().filter(|_| !builds).filter_map(|dev| match dev {
        DevServerProgram::Shell(line) => Some(line.clone()),
        // Our own server, which runs nothing.
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
