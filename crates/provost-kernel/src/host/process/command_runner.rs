//! The commands of a kernel: starting them behind the wall, and what is asked of them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use provost_core::action::{self, ProcessAction, RunCommand};
use provost_proto::kernel::{ErrorInfo, Preconditions, ReportPayload};
use provost_proto::{ActionId, Code};
use provost_sandbox::confine::{
    AppliedLayers, OrphanPolicy, ParentExitPolicy, Sandbox, SandboxCommand, SandboxStdio,
};
use provost_sandbox::environment;
use provost_sandbox::root_dir::RootDir;
use serde_json::{Value, json};
use tokio::sync::{RwLock, oneshot};

use super::change_observer::ChangeObserver;
use super::disk_space::DiskSpaceGuard;
use super::path_holds::{self, PathHoldRegistry, PinnedCopies};
use super::process_handle::{ProcessControl, ProcessHandle, SupervisionContext, supervise_process};
use super::process_table::ProcessTable;
use super::project_sandboxes::{ProjectSandboxes, action_error_from_sandbox};
use crate::ActionError;
use crate::host::HostOptions;
use crate::host::redaction::SharedRedactor;
use crate::host::rpc::report_spool::ReportSpool;

/// Commands that may run at one time.
pub(super) const MAX_RUNNING_COMMANDS: usize = 64;

#[derive(Debug)]
pub(in crate::host) struct CommandRunner {
    project: PathBuf,
    root: RootDir,
    environment: Vec<(OsString, OsString)>,
    spool: Arc<ReportSpool>,
    redacting: Arc<SharedRedactor>,
    pub(in crate::host) walls: ProjectSandboxes,
    pub(in crate::host) book: ProcessTable,
    /// Taken to write by whoever starts a command, to read by whoever changes files.
    pub(in crate::host) holds: RwLock<PathHoldRegistry>,
}

impl CommandRunner {
    pub(in crate::host) fn new(
        options: &HostOptions,
        root: RootDir,
        spool: Arc<ReportSpool>,
        redacting: Arc<SharedRedactor>,
    ) -> Self {
        Self {
            project: options.project.clone(),
            root,
            environment: environment::filter_allowed(options.environment.iter().cloned()),
            spool,
            redacting,
            walls: ProjectSandboxes::new(options),
            book: ProcessTable::default(),
            holds: RwLock::default(),
        }
    }

    pub(in crate::host) async fn execute(
        self: &CommandRunner,
        id: ActionId,
        action: ProcessAction,
        terms: Preconditions,
    ) -> Result<Value, ActionError> {
        match action {
            ProcessAction::RunCommand(params) => self.start_command(id, params, &terms).await,
            ProcessAction::List(_) => Ok(self.list_processes()),
            ProcessAction::Read(params) => self.read_output(&params),
            ProcessAction::Write(params) => {
                let process = self.book.find_process(&params.id)?;
                if !params.text.is_empty() {
                    let (reply, taken) = oneshot::channel();
                    send_control(
                        &process,
                        ProcessControl::WriteStdin(params.text.into_bytes(), reply),
                    )
                    .await?;
                    if !taken.await.unwrap_or(false) {
                        let why = "the process does not read its input; try again, or stop it";
                        return Err(ActionError::new(Code::Conflict, why));
                    }
                }
                if params.eof {
                    send_control(&process, ProcessControl::CloseStdin).await?;
                }
                Ok(json!({ "id": params.id }))
            }
            ProcessAction::Signal(params) => {
                let process = self.book.find_process(&params.id)?;
                send_control(&process, ProcessControl::Signal(to_os_signal(params.signal))).await?;
                Ok(json!({ "id": params.id }))
            }
            ProcessAction::Stop(params) => {
                let process = self.book.find_process(&params.id)?;
                if process.outcome().is_none() {
                    let grace = Duration::from_millis(params.grace_ms);
                    // It may end by itself in the meantime, and that is as good.
                    drop(process.orders.send(ProcessControl::Stop(grace, None)).await);
                    process.wait_until_ended().await;
                }
                Ok(describe_process(&process))
            }
        }
    }

    /// Starts a command. What happens to it comes as reports.
    async fn start_command(
        &self,
        id: ActionId,
        params: RunCommand,
        terms: &Preconditions,
    ) -> Result<Value, ActionError> {
        if self.book.running_actions().len() >= MAX_RUNNING_COMMANDS {
            let message = format!("{MAX_RUNNING_COMMANDS} commands run already; stop one first");
            return Err(ActionError::new(Code::TooManyProcesses, message));
        }
        let redactor = self.redacting.redactor()?;
        let kept = self.walls.command_sandbox(params.network)?;
        let wall = kept.sandbox();
        let policy = wall.policy();
        let space = DiskSpaceGuard::new([policy.project.clone(), policy.scratch.clone()]);
        space.check().map_err(|ErrorInfo { code, message, .. }| ActionError::new(code, message))?;
        let absent = policy.find_missing_paths();
        let what = action::Action::Process(ProcessAction::RunCommand(params.clone())).describe();
        let mut holds = self.holds.write().await;
        holds.remove_ended();
        let mut command = self.build_command(&params);
        let (copies, own) = self.prepare_pinned_files(&mut command, wall, terms, &holds).await?;
        let start = ChangeObserver::start(&self.root);
        let child = wall.spawn(command).map_err(|error| action_error_from_sandbox(&error))?;
        drop(copies);
        let applied = child.applied.clone();
        let (process, orders) = ProcessHandle::new(id, what, child.pid());
        let started = ReportPayload::Started {
            pid: process.pid,
            profile: if params.network { "build+network" } else { "build" }.to_owned(),
            layers: layers_to_map(&applied),
        };
        self.spool.push(id, started).await.map_err(|error| {
            ActionError::new(Code::Internal, format!("the report could not be kept: {error}"))
        })?;
        self.book.insert_process(&process);
        holds.add_command(&process, own);
        drop(holds);
        let run = SupervisionContext {
            child,
            spool: Arc::clone(&self.spool),
            redactor,
            orders,
            input: params.stdin.map(String::into_bytes),
            interactive: params.background,
            limit: (!params.background).then(|| Duration::from_millis(params.timeout_ms)),
            max_output: params.max_output,
            absent,
            start,
            space,
        };
        let (seen, kept) = (Arc::clone(&process), Arc::clone(kept));
        drop(tokio::spawn(async move {
            supervise_process(seen, run).await;
            kept.start_standby();
        }));
        Ok(describe_process(&process))
    }

    /// Has a command run what was pinned, and nothing take the place of it: the
    /// copies that it runs, to be kept until it does, and what is held.
    async fn prepare_pinned_files(
        &self,
        command: &mut SandboxCommand,
        wall: &Sandbox,
        terms: &Preconditions,
        holds: &PathHoldRegistry,
    ) -> Result<(PinnedCopies, Vec<PathBuf>), ActionError> {
        let mut terms = terms.clone();
        if !wall.applied().mount_namespace {
            terms.programs.clear();
        }
        path_holds::reject_linked_programs(&self.project, &terms.programs)?;
        let own = path_holds::with_ancestor_dirs(&terms.programs);
        if !own.is_empty() {
            holds.request_holds(self.book.running_processes(), &self.project, &own).await?;
        }
        command.held = holds.held_paths();
        let copies = PinnedCopies::create(&self.project, self.walls.place.path(), &terms)?;
        command.scripts = copies.to_file_overrides();
        Ok((copies, own))
    }

    /// Fails if what was pinned changed since it was decided.
    pub(in crate::host) fn verify_pins(&self, terms: &Preconditions) -> Result<(), ActionError> {
        super::path_holds::verify_pins(&self.project, terms)
    }

    fn build_command(&self, params: &RunCommand) -> SandboxCommand {
        let mut command = match (&params.command, &params.argv) {
            (Some(line), _) => {
                let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
                SandboxCommand::new(shell, &["-c", line])
            }
            (None, Some(argv)) => {
                let (program, rest) = argv.split_first().map_or(("", &[][..]), |(p, r)| (p, r));
                SandboxCommand::new(program, rest)
            }
            (None, None) => SandboxCommand::new("", &[] as &[&str]),
        };
        command.env.clone_from(&self.environment);
        for (name, value) in &params.env {
            command.env.retain(|(known, _)| known != name.as_str());
            command.env.push((name.into(), value.into()));
        }
        // Last, so that nothing that was given takes it away.
        for (name, value) in environment::build_git_variables() {
            command.env.retain(|(known, _)| *known != name);
            command.env.push((name, value));
        }
        command.cwd = if params.cwd.is_root() { ".".into() } else { params.cwd.as_str().into() };
        let input = params.stdin.is_some() || params.background;
        let input = if input { SandboxStdio::Pipe } else { SandboxStdio::Null };
        command.stdio = [input, SandboxStdio::Pipe, SandboxStdio::Pipe];
        command.leftovers = if params.background { OrphanPolicy::Keep } else { OrphanPolicy::Kill };
        command.parent = ParentExitPolicy::Terminate;
        command
    }

    /// What commands see of our environment.
    pub(in crate::host) fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    fn list_processes(&self) -> Value {
        let processes: Vec<_> =
            self.book.all_processes().iter().map(|process| describe_process(process)).collect();
        json!({ "processes": processes })
    }

    fn read_output(&self, params: &action::ReadProcess) -> Result<Value, ActionError> {
        let process = self.book.find_process(&params.id)?;
        let limit = usize::try_from(params.limit).unwrap_or(usize::MAX);
        let (offset, data, total) = process.read_output(params.after, limit);
        let next = offset + u64::try_from(data.len()).unwrap_or(0);
        Ok(json!({
            "text": String::from_utf8_lossy(&data),
            "offset": offset,
            "next": next,
            "total": total,
            "running": process.outcome().is_none(),
        }))
    }
}

async fn send_control(process: &ProcessHandle, order: ProcessControl) -> Result<(), ActionError> {
    let ended = || ActionError::new(Code::NoSuchProcess, "the process has ended");
    if process.outcome().is_some() {
        return Err(ended());
    }
    process.orders.send(order).await.map_err(|_| ended())
}

fn describe_process(process: &ProcessHandle) -> Value {
    let outcome = process.outcome();
    json!({
        "id": process.id,
        "pid": process.pid,
        "what": process.what,
        "running": outcome.is_none(),
        "outcome": outcome,
    })
}

fn layers_to_map(applied: &AppliedLayers) -> std::collections::BTreeMap<String, Value> {
    match serde_json::to_value(applied) {
        Ok(Value::Object(members)) => members.into_iter().collect(),
        Ok(_) | Err(_) => std::collections::BTreeMap::new(),
    }
}

fn to_os_signal(signal: action::Signal) -> rustix::process::Signal {
    use rustix::process::Signal as To;
    match signal {
        action::Signal::Term => To::TERM,
        action::Signal::Int => To::INT,
        action::Signal::Hup => To::HUP,
        action::Signal::Kill => To::KILL,
        action::Signal::Usr1 => To::USR1,
        action::Signal::Usr2 => To::USR2,
        action::Signal::Quit => To::QUIT,
        action::Signal::Stop => To::STOP,
        action::Signal::Cont => To::CONT,
    }
}
