//! Starts a command in a sandbox.

pub(super) mod cgroup_pool;
pub(super) mod child;
pub(super) mod child_handle;
pub(super) mod command;
pub(super) mod early_start;
pub(super) mod layer_slot;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::{PipeFlags, pipe_with};

use super::error::SetupStep;
use super::plan::prepared_policy::build_self_binds;
use super::plan::spawn_plan::{
    CStringArray, MountPlan, SelfBindMount, SpawnPlan, StartDirectory, to_cstring,
};
use super::supervisor::hold_paths;
use super::supervisor::namespace_reaper::MountNamespaceHandle;
use super::supervisor::standby_supervisor::StandbySupervisor;
use super::supervisor::supervisor_stack::SupervisorStack;
use super::{
    OrphanPolicy, ParentExitPolicy, Sandbox, SandboxChild, SandboxCommand, SandboxError,
    SandboxStdio, connect_broker, supervisor,
};
use crate::own_home;
use crate::sandbox_policy::root_entries::RootEntries;
use cgroup_pool::RunCgroup;
use child_handle::{SandboxRun, SandboxRunState};
use layer_slot::RunLayers;

impl Sandbox {
    /// Runs a command in the sandbox. Returns when it has been executed, or why not.
    pub fn spawn(&self, command: SandboxCommand) -> Result<SandboxChild, SandboxError> {
        let program = command.resolve_program()?;
        let shown = program.display().to_string();
        let streams = ChildStreams::new(command.stdio, self.null.as_fd())?;
        let (report, report_write) =
            pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::wrap_errno("create a pipe"))?;
        let prepared = self.refresh_prepared_policy(&command.read_only_paths)?;
        let arguments = [&command.program].into_iter().chain(&command.args);
        let mut standby = self.take_standby();
        let in_cgroup = standby.as_ref().is_some_and(StandbySupervisor::is_in_cgroup);
        let group = if in_cgroup { None } else { self.acquire_cgroup()? };
        let RunLayers { layers, slot } =
            RunLayers::take_or_acquire(standby.as_mut(), &prepared.layer_dirs)?;
        let mounts = prepared.mounts.as_deref();
        let mut plan = SpawnPlan {
            flags: self.clone_flags(),
            maps: self.maps.as_ref(),
            mounts,
            pins: self.find_pins(mounts),
            layers: &layers,
            file_overrides: hold_paths::build_override_mounts(&command.file_overrides)?,
            file_redirects: hold_paths::build_redirect_mounts(&command.file_redirects)?,
            held_paths: hold_paths::build_held_paths(&command.held_paths)?,
            read_only: build_self_binds(command.read_only_paths.iter().map(PathBuf::as_path))?,
            loopback: self.extra.net,
            rules: Some(prepared.rules.clone()),
            filter: &self.filter,
            needs_broker: self.applied.reserved_ports,
            drop_capabilities: self.policy.is_confined(),
            limits: self.limits.clone(),
            cgroup_fds: group.iter().flat_map(RunCgroup::join_fds).collect(),
            start: self.open_start_directory(&command.cwd)?,
            streams: streams.child_fds(),
            terminal: command.controlling_terminal,
            program: to_cstring(program.as_os_str(), "the program's path")?,
            arguments: CStringArray::new(arguments, "an argument")?,
            environment: CStringArray::new(self.build_environment(&command.env), "a variable")?,
            report: report_write.as_raw_fd(),
            control: standby.as_ref().map_or(-1, StandbySupervisor::control_fd),
            keep_orphans: command.orphans == OrphanPolicy::Keep,
            die_with_parent: command.parent == ParentExitPolicy::Terminate,
        };
        let (supervisor, group, supervisor_in_cgroup) =
            self.start_supervisor(standby, &mut plan, group)?;
        drop(report_write);
        let [stdin, stdout, stderr] = streams.into_parent_ends();
        let groups = self.groups.clone().zip(group);
        let state = SandboxRunState::default();
        let Supervisor { pid, pidfd, control, stack, namespace } = supervisor;
        let stack = Some(stack);
        let run = SandboxRun { pid, pidfd, control, groups, stack, namespace, slot, state };
        let child = SandboxChild { stdin, stdout, stderr, applied: self.applied.clone(), run };
        let started = await_exec(&report, child, &shown);
        if supervisor_in_cgroup && let Some(groups) = &self.groups {
            groups.evacuate_supervisor(pid);
        }
        let child = started?;
        if self.applied.reserved_ports {
            self.start_broker(&child.run)?;
        }
        Ok(child)
    }

    /// Those of the protected paths that may exist.
    fn find_pins<'a>(&self, mounts: Option<&'a MountPlan>) -> Vec<&'a SelfBindMount> {
        let Some(mounts) = mounts else { return Vec::new() };
        let there = RootEntries::read(&self.root);
        let may_exist = |pin: &&SelfBindMount| {
            there.may_contain(Path::new(OsStr::from_bytes(pin.path.to_bytes())))
        };
        mounts.pins.iter().filter(may_exist).collect()
    }

    fn start_broker(&self, run: &SandboxRun) -> Result<(), SandboxError> {
        let sockets = connect_broker::UnixSocketDirs::new(&self.policy, self.applied.private_tmp)?;
        let ports = Arc::clone(&self.reserved_ports);
        connect_broker::start_broker_thread(run.control.as_fd(), run.pid, sockets, ports)
    }

    /// Starts a supervisor with this plan, the standby one if there is one. Returns it,
    /// the cgroup of the command, and whether the supervisor is in that cgroup too.
    fn start_supervisor(
        &self,
        standby: Option<StandbySupervisor>,
        plan: &mut SpawnPlan<'_>,
        group: Option<RunCgroup>,
    ) -> Result<(Supervisor, Option<RunCgroup>, bool), SandboxError> {
        let in_cgroup = standby.as_ref().is_some_and(StandbySupervisor::is_in_cgroup);
        if let Some((supervisor, standby_group)) =
            standby.and_then(|standby| standby.begin_plan(plan))
        {
            return Ok((supervisor, standby_group.or(group), in_cgroup));
        }
        let group = if in_cgroup { self.acquire_cgroup()? } else { group };
        plan.cgroup_fds = group.iter().flat_map(RunCgroup::join_fds).collect();
        Ok((Supervisor::new(plan)?, group, false))
    }

    fn acquire_cgroup(&self) -> Result<Option<RunCgroup>, SandboxError> {
        let group = self.groups.as_ref().map(|groups| groups.acquire()).transpose();
        group.map_err(|error| SandboxError::unavailable("cgroup", error.to_string()))
    }

    pub(super) fn clone_flags(&self) -> i32 {
        let user = if self.applied.user_namespace { libc::CLONE_NEWUSER } else { 0 };
        self.extra.namespace_flags() | user
    }

    fn open_start_directory(&self, cwd: &Path) -> Result<StartDirectory, SandboxError> {
        let folder = self.root.open_subdir(cwd).map_err(SandboxError::WorkingDirectory)?;
        Ok(StartDirectory {
            project: to_cstring(self.policy.project.as_os_str(), "the project's path")?,
            identity: self.identity,
            inside: to_cstring(cwd.as_os_str(), "the working directory")?,
            folder,
        })
    }

    /// The environment as `NAME=value`, with a `TMPDIR`.
    fn build_environment(&self, given: &[(OsString, OsString)]) -> Vec<OsString> {
        let tmp = if self.applied.private_tmp { Path::new("/tmp") } else { &self.policy.scratch };
        let missing = !given.iter().any(|(name, _)| name == "TMPDIR");
        let add = missing.then(|| (OsStr::new("TMPDIR"), tmp.as_os_str()));
        let redirected = (self.policy.is_confined() && !self.applied.own_home)
            .then(|| own_home::redirect_home(given, &self.policy));
        let given = redirected.as_deref().unwrap_or(given);
        let given = given.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let join = |(name, value): (&OsStr, &OsStr)| {
            let mut whole = name.to_owned();
            whole.push("=");
            whole.push(value);
            whole
        };
        given.filter(|(name, _)| !name.as_bytes().contains(&b'=')).chain(add).map(join).collect()
    }
}

/// Waits for the exec of the command, or the report of a failure.
fn await_exec(
    report: &OwnedFd,
    child: SandboxChild,
    program: &str,
) -> Result<SandboxChild, SandboxError> {
    let mut report_bytes = [0; 5];
    let mut length = 0;
    // Without the C library: the supervisor's start may change errno.
    while length < report_bytes.len() {
        match rustix::io::read(report, &mut report_bytes[length..]) {
            Ok(0) => break,
            Ok(n_read) => length += n_read,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(SandboxError::wrap_errno("start the command")(errno)),
        }
    }
    match report_bytes[..length] {
        [] => Ok(child),
        [step, a, b, c, d] => {
            let errno = i32::from_ne_bytes([a, b, c, d]);
            Err(SetupStep::error_from_report(step, errno, program))
        }
        _ => Err(SandboxError::Start {
            program: program.to_owned(),
            source: io::Error::from(io::ErrorKind::UnexpectedEof),
        }),
    }
}

/// The socket between us and a supervisor: control messages and status.
#[derive(Debug)]
pub(super) struct ControlSocketPair {
    pub(super) ours: OwnedFd,
    pub(super) theirs: OwnedFd,
}

impl ControlSocketPair {
    pub(super) fn new() -> Result<Self, SandboxError> {
        let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let (ours, theirs) = rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)
            .map_err(SandboxError::wrap_errno("create a socket"))?;
        Ok(Self { ours, theirs })
    }
}

/// A supervisor that has its plan.
pub(super) struct Supervisor {
    pub(super) pid: u32,
    pub(super) pidfd: OwnedFd,
    pub(super) control: OwnedFd,
    pub(super) stack: SupervisorStack,
    pub(super) namespace: MountNamespaceHandle,
}

impl Supervisor {
    /// Starts one with this plan; sets the plan's control descriptor.
    fn new(plan: &mut SpawnPlan<'_>) -> Result<Self, SandboxError> {
        let ControlSocketPair { ours, theirs } = ControlSocketPair::new()?;
        plan.control = theirs.as_raw_fd();
        let stack =
            SupervisorStack::acquire().map_err(SandboxError::wrap_io("allocate a stack"))?;
        // Share our memory unless a user namespace needs a copy.
        let memory = if plan.maps.is_some() { 0 } else { libc::CLONE_VM };
        let argument = std::ptr::from_ref(plan).cast_mut().cast();
        // SAFETY: the stack lives until the supervisor has ended, the plan until we have
        // read the report to its end.
        let (pid, pidfd) =
            unsafe { clone_process(plan.flags | memory, &stack, supervisor_entry, argument) }?;
        let namespace = MountNamespaceHandle::open_for_process(pid, plan.flags);
        Ok(Self { pid, pidfd, control: ours, stack, namespace })
    }
}

/// Clones a process with all signals blocked: a signal that arrives in between would
/// run our handlers in it.
///
/// # Safety
///
/// The stack must live until the process has ended, and what the argument points to
/// as long as `main` needs it.
pub(super) unsafe fn clone_process(
    flags: i32,
    stack: &SupervisorStack,
    main: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    argument: *mut libc::c_void,
) -> Result<(u32, OwnedFd), SandboxError> {
    let mut pidfd: RawFd = -1;
    let (all, mut before) = (u64::MAX, 0u64);
    let flags = flags | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: the masks have the size that Linux expects, `pidfd` is valid for a write,
    // and the rest is as the caller promises.
    let (pid, failed) = unsafe {
        set_signal_mask(&raw const all, &raw mut before);
        let pid = libc::clone(main, stack.top(), flags, argument, &raw mut pidfd);
        let failed = io::Error::last_os_error();
        set_signal_mask(&raw const before, std::ptr::null_mut());
        (pid, failed)
    };
    if pid < 0 {
        return Err(SandboxError::unavailable("process with its namespaces", failed.to_string()));
    }
    // SAFETY: the call just returned the descriptor, and nobody else owns it.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok((pid.unsigned_abs(), pidfd))
}

extern "C" fn supervisor_entry(plan: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `Supervisor::new` passes the plan, which lives as long as needed.
    unsafe { supervisor::supervisor_main(plan) }
}

/// # Safety
///
/// Both pointers must be valid for a 64-bit signal set, or null.
unsafe fn set_signal_mask(new: *const u64, old: *mut u64) {
    // SAFETY: as the caller promises.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, new, old, size_of::<u64>());
    }
}

/// The three standard streams: the child's ends, and ours where there are pipes.
struct ChildStreams {
    theirs: [OwnedFd; 3],
    ours: [Option<OwnedFd>; 3],
}

impl ChildStreams {
    fn new(wanted: [SandboxStdio; 3], null: BorrowedFd<'_>) -> Result<Self, SandboxError> {
        let [input, output, error] = wanted;
        let (stdin, our_in) = open_stream(input, 0, null)?;
        let (stdout, our_out) = open_stream(output, 1, null)?;
        let (stderr, our_err) = open_stream(error, 2, null)?;
        Ok(Self { theirs: [stdin, stdout, stderr], ours: [our_in, our_out, our_err] })
    }

    fn child_fds(&self) -> [RawFd; 3] {
        [0, 1, 2].map(|index| self.theirs[index].as_raw_fd())
    }

    fn into_parent_ends(self) -> [Option<OwnedFd>; 3] {
        self.ours
    }
}

fn open_stream(
    stdio: SandboxStdio,
    number: RawFd,
    null: BorrowedFd<'_>,
) -> Result<(OwnedFd, Option<OwnedFd>), SandboxError> {
    let doing = "connect the streams";
    Ok(match stdio {
        SandboxStdio::Null => (dup_above_stdio(null)?, None),
        SandboxStdio::Pipe => {
            let (read, write) =
                pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::wrap_errno(doing))?;
            let (theirs, ours) = if number == 0 { (read, write) } else { (write, read) };
            (dup_above_stdio(theirs.as_fd())?, Some(ours))
        }
        SandboxStdio::Inherit => {
            // SAFETY: our own streams stay open as long as we run.
            let own = unsafe { BorrowedFd::borrow_raw(number) };
            (dup_above_stdio(own)?, None)
        }
        SandboxStdio::Fd(fd) => (dup_above_stdio(fd.as_fd())?, None),
    })
}

/// Duplicates above the standard streams, so that none is overwritten before its turn.
fn dup_above_stdio(fd: BorrowedFd<'_>) -> Result<OwnedFd, SandboxError> {
    rustix::io::fcntl_dupfd_cloexec(fd, 3).map_err(SandboxError::wrap_errno("connect the streams"))
}
