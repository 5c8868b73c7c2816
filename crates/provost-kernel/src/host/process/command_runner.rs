//! Starts commands in their sandbox, and executes the actions on running ones.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use provost_core::action::{self, ProcessAction, RunCommand};
use provost_core::policy::PathVisibility;
use provost_proto::kernel::{ErrorInfo, Preconditions, ReportPayload};
use provost_proto::{ActionId, Code};
use provost_sandbox::confine::{
    AppliedLayers, OrphanPolicy, ParentExitPolicy, Sandbox, SandboxChild, SandboxCommand,
    SandboxStdio,
};
use provost_sandbox::environment;
use provost_sandbox::root_dir::RootDir;
use provost_sandbox::sandbox_policy::NetworkAccess;
use serde_json::{Value, json};
use tokio::sync::{RwLock, oneshot};

use super::change_observer::ChangeObserver;
use super::disk_space::DiskSpaceGuard;
use super::path_holds::{self, PathHoldRegistry, PinnedCopies};
use super::process_handle::{
    ProcessControl, ProcessHandle, RecentOutput, SupervisionContext, supervise_process,
};
use super::process_table::ProcessTable;
use super::project_sandboxes::ProjectSandboxes;
use super::set_aside::spawn_watched;
use crate::ActionError;
use crate::files::find_denied_paths;
use crate::host::HostOptions;
use crate::host::redaction::SharedRedactor;
use crate::host::rpc::report_spool::ReportSpool;
use crate::quarantine::{ActionWatch, Quarantine, QuarantineStore};

/// Commands that may run at one time.
pub(super) const MAX_RUNNING_COMMANDS: usize = 64;

/// Runs the commands of a project.
#[derive(Debug)]
pub(in crate::host) struct CommandRunner {
    project: PathBuf,
    root: RootDir,
    environment: Vec<(OsString, OsString)>,
    spool: Arc<ReportSpool>,
    shared_redactor: Arc<SharedRedactor>,
    pub(in crate::host) sandboxes: ProjectSandboxes,
    pub(in crate::host) processes: ProcessTable,
    /// Locked for writing while a command starts, for reading while files are changed.
    pub(in crate::host) holds: RwLock<PathHoldRegistry>,
    pub(in crate::host) quarantine: Arc<Quarantine>,
}

impl CommandRunner {
    pub(in crate::host) fn new(
        options: &HostOptions,
        root: RootDir,
        spool: Arc<ReportSpool>,
        shared_redactor: Arc<SharedRedactor>,
    ) -> Self {
        let name = options.kernel_dir.file_name().unwrap_or_default().to_string_lossy();
        let store = QuarantineStore::new(&options.data, &name);
        let quarantine = Arc::new(Quarantine::new(&root, &options.project, store));
        Self {
            quarantine,
            project: options.project.clone(),
            root,
            environment: environment::filter_allowed(options.environment.iter().cloned()),
            spool,
            shared_redactor,
            sandboxes: ProjectSandboxes::new(options),
            processes: ProcessTable::default(),
            holds: RwLock::default(),
        }
    }

    pub(in crate::host) async fn execute(
        self: &CommandRunner,
        id: ActionId,
        action: ProcessAction,
        preconditions: Preconditions,
        write_denials: Option<PathVisibility>,
    ) -> Result<Value, ActionError> {
        match action {
            ProcessAction::RunCommand(params) => {
                let read_only = self.find_read_only_paths(write_denials.map(Arc::new)).await?;
                self.start_command(id, params, &preconditions, read_only).await
            }
            ProcessAction::List(_) => Ok(self.list_processes()),
            ProcessAction::Read(params) => self.read_output(&params),
            ProcessAction::Write(params) => {
                let process = self.processes.find_process(&params.id)?;
                if !params.text.is_empty() {
                    let (reply, accepted) = oneshot::channel();
                    send_control(
                        &process,
                        ProcessControl::WriteStdin(params.text.into_bytes(), reply),
                    )
                    .await?;
                    if !accepted.await.unwrap_or(false) {
                        let message = "the process does not read its input; try again, or stop it";
                        return Err(ActionError::new(Code::Conflict, message));
                    }
                }
                if params.eof {
                    send_control(&process, ProcessControl::CloseStdin).await?;
                }
                Ok(json!({ "id": params.id }))
            }
            ProcessAction::Signal(params) => {
                let process = self.processes.find_process(&params.id)?;
                send_control(&process, ProcessControl::Signal(to_os_signal(params.signal))).await?;
                Ok(json!({ "id": params.id }))
            }
            ProcessAction::Stop(params) => {
                let process = self.processes.find_process(&params.id)?;
                if process.outcome().is_none() {
                    let grace = Duration::from_millis(params.grace_ms);
                    // Fails if the process has ended meanwhile.
                    drop(process.control.send(ProcessControl::Stop(grace, None)).await);
                    process.wait_until_ended().await;
                }
                Ok(describe_process(&process))
            }
        }
    }

    /// Starts a command; its output and its outcome are sent as reports.
    async fn start_command(
        &self,
        id: ActionId,
        params: RunCommand,
        preconditions: &Preconditions,
        read_only: Vec<PathBuf>,
    ) -> Result<Value, ActionError> {
        if self.processes.running_actions().len() >= MAX_RUNNING_COMMANDS {
            let message = format!("{MAX_RUNNING_COMMANDS} commands run already; stop one first");
            return Err(ActionError::new(Code::TooManyProcesses, message));
        }
        let redactor = self.shared_redactor.redactor()?;
        let standby = &self.sandboxes.command_sandbox(params.network)?;
        let sandbox = standby.sandbox();
        let policy = sandbox.policy();
        let written = [&policy.project, &policy.scratch, &policy.own_home];
        let disk_space = DiskSpaceGuard::new(written.map(Clone::clone));
        disk_space
            .check()
            .map_err(|ErrorInfo { code, message, .. }| ActionError::new(code, message))?;
        let description =
            action::Action::Process(ProcessAction::RunCommand(params.clone())).describe();
        let mut holds = self.holds.write().await;
        holds.remove_ended();
        let mut command = self.build_command(&params);
        command.read_only_paths = read_only;
        let (copies, held_paths) =
            self.prepare_pinned_files(&mut command, sandbox, preconditions, &holds).await?;
        let changes = ChangeObserver::start(&self.root);
        let (child, watch) = self.spawn_with_settings(sandbox, command).await?;
        drop(copies);
        let (process, control) = ProcessHandle::new(id, description, child.pid());
        self.report_start(&process, params.network, &child.applied).await?;
        self.processes.insert_process(&process);
        holds.add_command(&process, held_paths);
        drop(holds);
        let context = SupervisionContext {
            child,
            spool: Arc::clone(&self.spool),
            redactor,
            control,
            input: params.stdin.map(String::into_bytes),
            interactive: params.background,
            timeout: (!params.background).then(|| Duration::from_millis(params.timeout_ms)),
            max_output: params.max_output,
            watch,
            changes,
            disk_space,
            sandbox: Arc::clone(standby),
        };
        let (supervised, standby) = (Arc::clone(&process), Arc::clone(standby));
        let ended = self.processes.ended_sender();
        drop(tokio::spawn(async move {
            supervise_process(supervised, context).await;
            ended.send_replace(());
            standby.start_standby();
        }));
        Ok(describe_process(&process))
    }

    async fn report_start(
        &self,
        process: &ProcessHandle,
        has_network: bool,
        applied: &AppliedLayers,
    ) -> Result<(), ActionError> {
        let started = ReportPayload::Started {
            pid: process.pid,
            profile: if has_network { "build+network" } else { "build" }.to_owned(),
            layers: layers_to_map(applied),
        };
        self.spool.push(process.id, started).await.map(drop).map_err(|error| {
            ActionError::new(Code::Internal, format!("cannot spool a report: {error}"))
        })
    }

    /// Starts a command that may change the settings of the project's repositories: it changes
    /// copies, which are applied when it is settled.
    async fn spawn_with_settings(
        &self,
        sandbox: &Sandbox,
        mut command: SandboxCommand,
    ) -> Result<(SandboxChild, ActionWatch), ActionError> {
        // A run with the network takes no settings from where other runs can write.
        if sandbox.policy().network == NetworkAccess::Full {
            return spawn_watched(&self.quarantine, sandbox, command).await;
        }
        match self.quarantine.copy_settings(sandbox, self.sandboxes.kernel_dir.path()) {
            Ok(Some(copies)) => {
                command.file_redirects = copies.to_file_redirects();
                let (child, mut watch) = spawn_watched(&self.quarantine, sandbox, command).await?;
                watch.add_settings_copies(copies);
                return Ok((child, watch));
            }
            Ok(None) => {}
            // It then runs with settings that it cannot change.
            Err(error) => tracing::warn!(%error, "cannot copy the settings of git for a command"),
        }
        spawn_watched(&self.quarantine, sandbox, command).await
    }

    /// The existing paths of the project that a command must not write.
    pub(in crate::host) async fn find_read_only_paths(
        &self,
        write_denials: Option<Arc<PathVisibility>>,
    ) -> Result<Vec<PathBuf>, ActionError> {
        let Some(denials) = write_denials else { return Ok(Vec::new()) };
        let root = self.root.clone_handle();
        let search = tokio::task::spawn_blocking(move || find_denied_paths(&root, &denials));
        search.await.unwrap_or_else(|error| {
            Err(ActionError::new(Code::Internal, format!("the search panicked: {error}")))
        })
    }

    /// Makes a command run the pinned content of its scripts. Returns the copies that
    /// it runs, needed until it has started, and the paths that are held meanwhile.
    async fn prepare_pinned_files(
        &self,
        command: &mut SandboxCommand,
        sandbox: &Sandbox,
        preconditions: &Preconditions,
        holds: &PathHoldRegistry,
    ) -> Result<(PinnedCopies, Vec<PathBuf>), ActionError> {
        let mut preconditions = preconditions.clone();
        if !sandbox.applied().mount_namespace {
            preconditions.programs.clear();
        }
        path_holds::reject_linked_programs(&self.project, &preconditions.programs)?;
        let held_paths = path_holds::with_ancestor_dirs(&preconditions.programs);
        if !held_paths.is_empty() {
            holds
                .request_holds(self.processes.running_processes(), &self.project, &held_paths)
                .await?;
        }
        command.held_paths = holds.held_paths();
        let copies =
            PinnedCopies::create(&self.project, self.sandboxes.kernel_dir.path(), &preconditions)?;
        command.file_overrides = copies.to_file_overrides();
        Ok((copies, held_paths))
    }

    /// Fails if a pinned file has changed since the decision.
    pub(in crate::host) fn verify_pins(
        &self,
        preconditions: &Preconditions,
    ) -> Result<(), ActionError> {
        path_holds::verify_pins(&self.project, preconditions)
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
        // Last, so that no given variable overrides them.
        for (name, value) in environment::build_git_variables() {
            command.env.retain(|(known, _)| *known != name);
            command.env.push((name, value));
        }
        command.cwd = if params.cwd.is_root() { ".".into() } else { params.cwd.as_str().into() };
        let needs_stdin = params.stdin.is_some() || params.background;
        let stdin = if needs_stdin { SandboxStdio::Pipe } else { SandboxStdio::Null };
        command.stdio = [stdin, SandboxStdio::Pipe, SandboxStdio::Pipe];
        command.orphans = if params.background { OrphanPolicy::Keep } else { OrphanPolicy::Kill };
        command.parent = ParentExitPolicy::Terminate;
        command
    }

    /// The environment of commands: the allowed part of ours.
    pub(in crate::host) fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    fn list_processes(&self) -> Value {
        let processes: Vec<_> = self
            .processes
            .all_processes()
            .iter()
            .map(|process| describe_process(process))
            .collect();
        json!({ "processes": processes })
    }

    fn read_output(&self, params: &action::ReadProcess) -> Result<Value, ActionError> {
        let process = self.processes.find_process(&params.id)?;
        let limit = usize::try_from(params.limit).unwrap_or(usize::MAX);
        let RecentOutput { offset, data, total } = process.read_output(params.after, limit);
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

async fn send_control(process: &ProcessHandle, control: ProcessControl) -> Result<(), ActionError> {
    let ended = || ActionError::new(Code::NoSuchProcess, "the process has ended");
    if process.outcome().is_some() {
        return Err(ended());
    }
    process.control.send(control).await.map_err(|_| ended())
}

fn describe_process(process: &ProcessHandle) -> Value {
    let outcome = process.outcome();
    json!({
        "id": process.id,
        "pid": process.pid,
        "what": process.description,
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
