//! The commands of a kernel: starting them behind the wall, and what is asked of them.

mod book;
mod walls;

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

use super::HostOptions;
use super::meanwhile::Start;
use super::pinned::{self, Copies, Holds};
use super::process::{Order, Process, Run, see_through};
use super::redacting::Redacting;
use super::space::Space;
use crate::ActionError;
use crate::spool::Spool;
use book::Book;
use walls::Walls;
pub(super) use walls::refused;

/// Commands that may run at one time.
const AT_ONCE: usize = 64;

#[derive(Debug)]
pub(super) struct Commands {
    project: PathBuf,
    root: RootDir,
    environment: Vec<(OsString, OsString)>,
    spool: Arc<Spool>,
    redacting: Arc<Redacting>,
    pub(super) walls: Walls,
    pub(super) book: Book,
    /// Taken to write by whoever starts a command, to read by whoever changes files.
    pub(super) holds: RwLock<Holds>,
}

impl Commands {
    pub(super) fn new(
        options: &HostOptions,
        root: RootDir,
        spool: Arc<Spool>,
        redacting: Arc<Redacting>,
    ) -> Self {
        Self {
            project: options.project.clone(),
            root,
            environment: environment::filter_allowed(options.environment.iter().cloned()),
            spool,
            redacting,
            walls: Walls::new(options),
            book: Book::default(),
            holds: RwLock::default(),
        }
    }

    pub(super) async fn execute(
        self: &Commands,
        id: ActionId,
        action: ProcessAction,
        terms: Preconditions,
    ) -> Result<Value, ActionError> {
        match action {
            ProcessAction::RunCommand(params) => self.start(id, params, &terms).await,
            ProcessAction::List(_) => Ok(self.list()),
            ProcessAction::Read(params) => self.read(&params),
            ProcessAction::Write(params) => {
                let process = self.book.find(&params.id)?;
                if !params.text.is_empty() {
                    let (reply, taken) = oneshot::channel();
                    order(&process, Order::Write(params.text.into_bytes(), reply)).await?;
                    if !taken.await.unwrap_or(false) {
                        let why = "the process does not read its input; try again, or stop it";
                        return Err(ActionError::new(Code::Conflict, why));
                    }
                }
                if params.eof {
                    order(&process, Order::End).await?;
                }
                Ok(json!({ "id": params.id }))
            }
            ProcessAction::Signal(params) => {
                let process = self.book.find(&params.id)?;
                order(&process, Order::Signal(signal(params.signal))).await?;
                Ok(json!({ "id": params.id }))
            }
            ProcessAction::Stop(params) => {
                let process = self.book.find(&params.id)?;
                if process.outcome().is_none() {
                    let grace = Duration::from_millis(params.grace_ms);
                    // It may end by itself in the meantime, and that is as good.
                    drop(process.orders.send(Order::Stop(grace, None)).await);
                    process.ended().await;
                }
                Ok(describe(&process))
            }
        }
    }

    /// Starts a command. What happens to it comes as reports.
    async fn start(
        &self,
        id: ActionId,
        params: RunCommand,
        terms: &Preconditions,
    ) -> Result<Value, ActionError> {
        if self.book.running().len() >= AT_ONCE {
            let message = format!("{AT_ONCE} commands run already; stop one first");
            return Err(ActionError::new(Code::TooManyProcesses, message));
        }
        let redactor = self.redacting.redactor()?;
        let kept = self.walls.of_commands(params.network)?;
        let wall = kept.wall();
        let policy = wall.policy();
        let space = Space::new([policy.project.clone(), policy.scratch.clone()]);
        space.check().map_err(|ErrorInfo { code, message, .. }| ActionError::new(code, message))?;
        let absent = policy.find_missing_paths();
        let what = action::Action::Process(ProcessAction::RunCommand(params.clone())).describe();
        let mut holds = self.holds.write().await;
        holds.tidy();
        let mut command = self.command(&params);
        let (copies, own) = self.hold(&mut command, wall, terms, &holds).await?;
        let start = Start::now(&self.root);
        let child = wall.spawn(command).map_err(|error| refused(&error))?;
        drop(copies);
        let applied = child.applied.clone();
        let (process, orders) = Process::new(id, what, child.pid());
        let started = ReportPayload::Started {
            pid: process.pid,
            profile: if params.network { "build+network" } else { "build" }.to_owned(),
            layers: layers(&applied),
        };
        self.spool.push(id, started).await.map_err(|error| {
            ActionError::new(Code::Internal, format!("the report could not be kept: {error}"))
        })?;
        self.book.remember(&process);
        holds.keep(&process, own);
        drop(holds);
        let run = Run {
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
            see_through(seen, run).await;
            kept.stand_by();
        }));
        Ok(describe(&process))
    }

    /// Has a command run what was pinned, and nothing take the place of it: the
    /// copies that it runs, to be kept until it does, and what is held.
    async fn hold(
        &self,
        command: &mut SandboxCommand,
        wall: &Sandbox,
        terms: &Preconditions,
        holds: &Holds,
    ) -> Result<(Copies, Vec<PathBuf>), ActionError> {
        let mut terms = terms.clone();
        if !wall.applied().mount_namespace {
            terms.programs.clear();
        }
        pinned::straight(&self.project, &terms.programs)?;
        let own = pinned::with_folders(&terms.programs);
        if !own.is_empty() {
            holds.hold_in(self.book.others(), &self.project, &own).await?;
        }
        command.held = holds.paths();
        let copies = Copies::make(&self.project, self.walls.place.folder(), &terms)?;
        command.scripts = copies.scripts();
        Ok((copies, own))
    }

    /// Fails if what was pinned changed since it was decided.
    pub(super) fn unchanged(&self, terms: &Preconditions) -> Result<(), ActionError> {
        super::pinned::compare(&self.project, terms)
    }

    fn command(&self, params: &RunCommand) -> SandboxCommand {
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
    pub(super) fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    fn list(&self) -> Value {
        let processes: Vec<_> = self.book.all().iter().map(|process| describe(process)).collect();
        json!({ "processes": processes })
    }

    fn read(&self, params: &action::ReadProcess) -> Result<Value, ActionError> {
        let process = self.book.find(&params.id)?;
        let limit = usize::try_from(params.limit).unwrap_or(usize::MAX);
        let (offset, data, total) = process.read(params.after, limit);
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

async fn order(process: &Process, order: Order) -> Result<(), ActionError> {
    let ended = || ActionError::new(Code::NoSuchProcess, "the process has ended");
    if process.outcome().is_some() {
        return Err(ended());
    }
    process.orders.send(order).await.map_err(|_| ended())
}

fn describe(process: &Process) -> Value {
    let outcome = process.outcome();
    json!({
        "id": process.id,
        "pid": process.pid,
        "what": process.what,
        "running": outcome.is_none(),
        "outcome": outcome,
    })
}

fn layers(applied: &AppliedLayers) -> std::collections::BTreeMap<String, Value> {
    match serde_json::to_value(applied) {
        Ok(Value::Object(members)) => members.into_iter().collect(),
        Ok(_) | Err(_) => std::collections::BTreeMap::new(),
    }
}

fn signal(signal: action::Signal) -> rustix::process::Signal {
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
