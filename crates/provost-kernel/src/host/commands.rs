//! The commands of a kernel: starting them behind the wall, and finding them again.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use provost_core::action::{self, RunCommand, TerminalAction};
use provost_proto::kernel::{Fault, Happened, Outcome, Terms};
use provost_proto::{ActionId, Code};
use provost_sandbox::confine::{
    Applied, Command, Layers, Leftovers, Limits, Parent, SandboxError, Stdio, Wall,
};
use provost_sandbox::environment;
use provost_sandbox::probe;
use provost_sandbox::profile::{Places, Policy, Profile};
use serde_json::{Value, json};
use tokio::sync::{RwLock, oneshot};

use super::HostOptions;
use super::pinned::{self, Copies, Holds};
use super::process::{GRACE, Order, Process, Run, see_through};
use super::redacting::Redacting;
use super::space::Space;
use super::standby::Kept;
use crate::ActionError;
use crate::place::{Place, Scratch};
use crate::spool::Spool;

/// Commands that have ended and can still be looked at.
const REMEMBERED: usize = 64;

/// Outcomes that a daemon can still ask for after it was away.
const OUTCOMES: usize = 4096;

/// Commands that may run at one time.
const AT_ONCE: usize = 64;

#[derive(Debug)]
pub(super) struct Commands {
    project: PathBuf,
    home: PathBuf,
    data: PathBuf,
    environment: Vec<(OsString, OsString)>,
    spool: Arc<Spool>,
    redacting: Arc<Redacting>,
    place: Place,
    scratch: OnceLock<Scratch>,
    wall: OnceLock<Arc<Kept>>,
    open_wall: OnceLock<Arc<Kept>>,
    book: Mutex<Book>,
    /// Taken to write by whoever starts a command, to read by whoever changes files.
    pub(super) holds: RwLock<Holds>,
}

#[derive(Debug, Default)]
struct Book {
    processes: HashMap<ActionId, Arc<Process>>,
    ended: VecDeque<ActionId>,
    /// The actions on files that run, with the flag that stops them.
    files: HashMap<ActionId, Arc<AtomicBool>>,
    outcomes: VecDeque<(ActionId, Outcome)>,
}

impl Commands {
    pub(super) fn new(options: &HostOptions, spool: Arc<Spool>, redacting: Arc<Redacting>) -> Self {
        Self {
            project: options.project.clone(),
            home: options.home.clone(),
            data: options.data.clone(),
            environment: environment::allowed(options.environment.iter().cloned()),
            spool,
            redacting,
            place: Place::at(&options.place),
            scratch: OnceLock::new(),
            wall: OnceLock::new(),
            open_wall: OnceLock::new(),
            book: Mutex::default(),
            holds: RwLock::default(),
        }
    }

    fn book(&self) -> std::sync::MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The actions that are running.
    pub(super) fn running(&self) -> Vec<ActionId> {
        let book = self.book();
        let commands = book.processes.values().filter(|process| process.outcome().is_none());
        commands.map(|process| process.id).chain(book.files.keys().copied()).collect()
    }

    /// Marks the start of an action on files; the flag tells it to stop.
    pub(super) fn begin(&self, id: ActionId) -> Arc<AtomicBool> {
        let flag = Arc::new(AtomicBool::new(false));
        self.book().files.insert(id, Arc::clone(&flag));
        flag
    }

    /// Marks its end.
    pub(super) fn done(&self, id: ActionId, result: &Result<Value, ActionError>, took: Duration) {
        let fault = result.as_ref().err().cloned();
        let changed = result.as_ref().ok().and_then(|value| value.get("changed")).cloned();
        let outcome = Outcome {
            exit_code: None,
            signal: None,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            fault: fault.map(|ActionError { code, message, details }| Fault {
                code,
                message,
                details,
            }),
            summary: json!({ "changed": changed }),
        };
        let mut book = self.book();
        book.files.remove(&id);
        book.outcomes.push_back((id, outcome));
        let over = book.outcomes.len().saturating_sub(OUTCOMES);
        book.outcomes.drain(..over);
    }

    /// What became of these actions: those that run are not among the answers.
    pub(super) fn outcomes(&self, ids: &[ActionId]) -> Vec<(ActionId, Outcome)> {
        let book = self.book();
        ids.iter()
            .filter_map(|id| {
                let done = book.outcomes.iter().find(|(known, _)| known == id);
                let outcome = done.map(|(_, outcome)| outcome.clone());
                let ended = || book.processes.get(id).and_then(|process| process.outcome());
                outcome.or_else(ended).map(|outcome| (*id, outcome))
            })
            .collect()
    }

    /// Stops an action; tells whether there was one to stop.
    pub(super) fn cancel(&self, id: ActionId) -> bool {
        let book = self.book();
        if let Some(flag) = book.files.get(&id) {
            flag.store(true, Ordering::Relaxed);
            return true;
        }
        let fault =
            Fault { code: Code::Cancelled, message: "it was stopped".to_owned(), details: None };
        book.processes.get(&id).is_some_and(|process| {
            process.outcome().is_none()
                && process.orders.try_send(Order::Stop(GRACE, Some(fault))).is_ok()
        })
    }

    /// Stops everything; when it returns, nothing is left.
    pub(super) async fn stop_all(&self) {
        let running: Vec<_> = {
            let book = self.book();
            book.files.values().for_each(|flag| flag.store(true, Ordering::Relaxed));
            book.processes.values().filter(|p| p.outcome().is_none()).cloned().collect()
        };
        for process in &running {
            let message = "the kernel was stopped".to_owned();
            let fault = Fault { code: Code::Cancelled, message, details: None };
            // If it is full of orders it will come to its end all the same.
            drop(process.orders.try_send(Order::Stop(GRACE, Some(fault))));
        }
        for process in running {
            process.ended().await;
        }
    }

    pub(super) async fn execute(
        self: &Commands,
        id: ActionId,
        action: TerminalAction,
        terms: Terms,
    ) -> Result<Value, ActionError> {
        match action {
            TerminalAction::RunCommand(params) => self.start(id, params, &terms).await,
            TerminalAction::List(_) => Ok(self.list()),
            TerminalAction::Read(params) => self.read(&params),
            TerminalAction::Write(params) => {
                let process = self.find(&params.id)?;
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
            TerminalAction::Signal(params) => {
                let process = self.find(&params.id)?;
                order(&process, Order::Signal(signal(params.signal))).await?;
                Ok(json!({ "id": params.id }))
            }
            TerminalAction::Stop(params) => {
                let process = self.find(&params.id)?;
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
        terms: &Terms,
    ) -> Result<Value, ActionError> {
        if self.running().len() >= AT_ONCE {
            let message = format!("{AT_ONCE} commands run already; stop one first");
            return Err(ActionError::new(Code::TooManyProcesses, message));
        }
        let redactor = self.redacting.redactor()?;
        let kept = self.wall(params.network)?;
        let wall = kept.wall();
        let policy = wall.policy();
        let space = Space::new([policy.project.clone(), policy.scratch.clone()]);
        space.check().map_err(|Fault { code, message, .. }| ActionError::new(code, message))?;
        let absent = policy.absent();
        let what = action::Action::Terminal(TerminalAction::RunCommand(params.clone())).describe();
        let mut holds = self.holds.write().await;
        holds.retain(|(process, _)| process.outcome().is_none());
        let mut command = self.command(&params);
        let (copies, own) = self.hold(&mut command, wall, terms, &holds).await?;
        let child = wall.spawn(command).map_err(|error| refused(&error))?;
        drop(copies);
        let applied = child.applied.clone();
        let (process, orders) = Process::new(id, what, child.pid());
        let started = Happened::Started {
            pid: process.pid,
            profile: if params.network { "build+network" } else { "build" }.to_owned(),
            layers: layers(&applied),
        };
        self.spool.push(id, started).await.map_err(|error| {
            ActionError::new(Code::Internal, format!("the report could not be kept: {error}"))
        })?;
        self.remember(&process);
        if !own.is_empty() {
            holds.push((Arc::clone(&process), own));
        }
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
        command: &mut Command,
        wall: &Wall,
        terms: &Terms,
        holds: &Holds,
    ) -> Result<(Copies, Vec<PathBuf>), ActionError> {
        let mut terms = terms.clone();
        if !wall.applied().mount_namespace {
            terms.programs.clear();
        }
        terms.programs = pinned::holdable(&self.project, &terms)?;
        let own = pinned::with_folders(&terms.programs);
        if !own.is_empty() {
            pinned::hold_in(self.others(), &self.project, &own).await?;
        }
        command.held = holds.iter().flat_map(|(_, paths)| paths).cloned().collect();
        command.held.sort();
        command.held.dedup();
        let copies = Copies::make(&self.project, self.place.folder(), &terms)?;
        command.scripts = copies.scripts();
        Ok((copies, own))
    }

    /// Fails if what was pinned changed since it was decided.
    pub(super) fn unchanged(&self, terms: &Terms) -> Result<(), ActionError> {
        super::pinned::compare(&self.project, terms)
    }

    /// The commands that run.
    fn others(&self) -> Vec<Arc<Process>> {
        let book = self.book();
        book.processes.values().filter(|process| process.outcome().is_none()).cloned().collect()
    }

    fn remember(&self, process: &Arc<Process>) {
        let mut book = self.book();
        book.processes.insert(process.id, Arc::clone(process));
        book.ended.push_back(process.id);
        // Forget the oldest that have ended; those that run are never forgotten.
        let mut over = book.processes.len().saturating_sub(REMEMBERED + AT_ONCE);
        let Book { processes, ended, .. } = &mut *book;
        ended.retain(|id| {
            let gone = over > 0 && processes.get(id).is_none_or(|p| p.outcome().is_some());
            if gone {
                over -= 1;
                processes.remove(id);
            }
            !gone
        });
    }

    fn command(&self, params: &RunCommand) -> Command {
        let mut command = match (&params.command, &params.argv) {
            (Some(line), _) => {
                let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
                Command::new(shell, &["-c", line])
            }
            (None, Some(argv)) => {
                let (program, rest) = argv.split_first().map_or(("", &[][..]), |(p, r)| (p, r));
                Command::new(program, rest)
            }
            (None, None) => Command::new("", &[] as &[&str]),
        };
        command.env.clone_from(&self.environment);
        for (name, value) in &params.env {
            command.env.retain(|(known, _)| known != name.as_str());
            command.env.push((name.into(), value.into()));
        }
        // Last, so that nothing that was given takes it away.
        for (name, value) in environment::git() {
            command.env.retain(|(known, _)| *known != name);
            command.env.push((name, value));
        }
        command.cwd = if params.cwd.is_root() { ".".into() } else { params.cwd.as_str().into() };
        let input = params.stdin.is_some() || params.background;
        let input = if input { Stdio::Pipe } else { Stdio::Null };
        command.stdio = [input, Stdio::Pipe, Stdio::Pipe];
        command.leftovers = if params.background { Leftovers::Keep } else { Leftovers::End };
        command.parent = Parent::EndWith;
        command
    }

    /// The wall, made when the first command needs it; another for commands that
    /// were granted the network.
    fn wall(&self, network: bool) -> Result<&Arc<Kept>, ActionError> {
        let kept = if network { &self.open_wall } else { &self.wall };
        if kept.get().is_none() {
            let policy = Policy::new(Profile::Build, &self.places()?);
            let policy = if network { policy.with_network() } else { policy };
            let machine = probe::machine();
            let wall = Wall::new(policy, &machine, Layers::Auto, Limits::default())
                .map_err(|error| refused(&error))?;
            // Two that come at once make two, and one of them is used.
            drop(kept.set(Arc::new(Kept::new(wall))));
        }
        kept.get().ok_or_else(|| ActionError::new(Code::Internal, "the sandbox could not be kept"))
    }

    /// The wall of the dev server and of builds, through which our own program can
    /// be read: it serves files.
    pub(super) fn wall_to_serve(&self, own: &Path) -> Result<Wall, ActionError> {
        let mut policy = Policy::new(Profile::Serve, &self.places()?);
        policy.readable.push(own.to_owned());
        Wall::new(policy, &probe::machine(), Layers::Auto, Limits::default())
            .map_err(|error| refused(&error))
    }

    /// What commands see of our environment.
    pub(super) fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// Where a command may be, with a folder for what it keeps for a while.
    pub(super) fn places(&self) -> Result<Places<'_>, ActionError> {
        if self.scratch.get().is_none() {
            let scratch = self.place.scratch().map_err(|error| {
                let message = format!("no folder for temporary files: {error}");
                ActionError::new(Code::Internal, message)
            })?;
            drop(self.scratch.set(scratch));
        }
        let missing = || ActionError::new(Code::Internal, "no folder for temporary files");
        Ok(Places {
            project: &self.project,
            home: &self.home,
            data: &self.data,
            scratch: self.scratch.get().ok_or_else(missing)?.path(),
        })
    }

    fn list(&self) -> Value {
        let mut processes: Vec<_> = self.book().processes.values().cloned().collect();
        processes.sort_by_key(|process| process.id);
        json!({ "processes": processes.iter().map(|p| describe(p)).collect::<Vec<_>>() })
    }

    fn read(&self, params: &action::ReadProcess) -> Result<Value, ActionError> {
        let process = self.find(&params.id)?;
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

    fn find(&self, id: &str) -> Result<Arc<Process>, ActionError> {
        let known =
            id.parse().ok().and_then(|id: ActionId| self.book().processes.get(&id).cloned());
        known.ok_or_else(|| {
            let message = format!("no process `{id}`; `terminal.list` shows those there are");
            ActionError::new(Code::NoSuchProcess, message)
        })
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

fn layers(applied: &Applied) -> std::collections::BTreeMap<String, Value> {
    match serde_json::to_value(applied) {
        Ok(Value::Object(members)) => members.into_iter().collect(),
        Ok(_) | Err(_) => std::collections::BTreeMap::new(),
    }
}

pub(super) fn refused(error: &SandboxError) -> ActionError {
    let code = match error {
        SandboxError::Unavailable { .. } => Code::SandboxUnavailable,
        SandboxError::NotFound { .. } => Code::CmdNotFound,
        SandboxError::WorkingDirectory(_) => Code::NotFound,
        SandboxError::Nul(_) => Code::InvalidAction,
        SandboxError::Start { .. } => Code::SandboxDenied,
        SandboxError::Io { .. } | SandboxError::StillAlive => Code::Internal,
    };
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    ActionError::new(code, message)
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
