//! From a wall and a command to a running child.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::{PipeFlags, pipe_with};

use super::afterwards::Namespace;
use super::error::Step;
use super::group::Group;
use super::handle::{Run, State};
use super::plan::{Plan, Start, Strings, text};
use super::stack::Stack;
use super::standby::Standby;
use super::{Child, Command, Leftovers, Parent, SandboxError, Stdio, Wall, exchange, hold, warden};

impl Wall {
    /// Runs a command behind the wall. Returns when it runs, or why it does not.
    pub fn spawn(&self, command: Command) -> Result<Child, SandboxError> {
        let program = command.resolve()?;
        let shown = program.display().to_string();
        let streams = Streams::new(command.stdio, self.null.as_fd())?;
        let (report, report_write) =
            pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::os("make a pipe"))?;
        let ready = self.ready()?;
        let names = [command.program.as_os_str()];
        let arguments = names.into_iter().chain(command.args.iter().map(OsString::as_os_str));
        let waiting = self.standby();
        let early = waiting.as_ref().is_some_and(Standby::is_in_group);
        let group = if early { None } else { self.group()? };
        let mut plan = Plan {
            flags: self.clone_flags(),
            maps: self.maps.as_ref(),
            mounts: ready.mounts.as_deref(),
            covers: hold::covers(&command.scripts)?,
            held: hold::held(&command.held)?,
            loopback: self.extra.net,
            rules: Some(ready.rules.clone()),
            filter: &self.filter,
            asks: self.applied.own_ports,
            drop_capabilities: self.policy.is_confined(),
            limits: self.limits.clone(),
            doors: group.iter().flat_map(Group::doors).collect(),
            start: self.start(&command.cwd)?,
            streams: streams.numbers(),
            terminal: command.controlling_terminal,
            program: text(program.as_os_str(), "the program's path")?,
            arguments: Strings::new(arguments, "an argument")?,
            environment: Strings::new(self.environment(&command.env), "a variable")?,
            report: report_write.as_raw_fd(),
            control: waiting.as_ref().map_or(-1, Standby::control),
            keep_leftovers: command.leftovers == Leftovers::Keep,
            die_with_parent: command.parent == Parent::EndWith,
        };
        let (warden, group, entered) = self.warden(waiting, &mut plan, group)?;
        drop(report_write);
        let [stdin, stdout, stderr] = streams.ours();
        let groups = self.groups.clone().zip(group);
        let state = State::default();
        let Warden { pid, pidfd, control, stack, namespace } = warden;
        let run = Run { pid, pidfd, control, groups, stack: Some(stack), namespace, state };
        let child = Child { stdin, stdout, stderr, applied: self.applied.clone(), run };
        let started = started(&report, child, &shown);
        if entered && let Some(groups) = &self.groups {
            groups.come_back(pid);
        }
        let child = started?;
        if self.applied.own_ports {
            let sockets = exchange::Named::new(&self.policy, self.applied.private_tmp)?;
            exchange::attend(child.run.control.as_fd(), pid, sockets)?;
        }
        Ok(child)
    }

    /// Has a warden begin with this plan, the one that waits or another. Tells in which
    /// group the command is, and whether the warden is there too.
    fn warden(
        &self,
        waiting: Option<Standby>,
        plan: &mut Plan<'_>,
        group: Option<Group>,
    ) -> Result<(Warden, Option<Group>, bool), SandboxError> {
        let early = waiting.as_ref().is_some_and(Standby::is_in_group);
        if let Some((warden, waited_in)) = waiting.and_then(|waiting| waiting.begin(plan)) {
            return Ok((warden, waited_in.or(group), early));
        }
        let group = if early { self.group()? } else { group };
        plan.doors = group.iter().flat_map(Group::doors).collect();
        Ok((Warden::new(plan)?, group, false))
    }

    fn group(&self) -> Result<Option<Group>, SandboxError> {
        let group = self.groups.as_ref().map(|groups| groups.take()).transpose();
        group.map_err(|error| SandboxError::unavailable("cgroup", error.to_string()))
    }

    pub(super) fn clone_flags(&self) -> i32 {
        let user = if self.applied.user_namespace { libc::CLONE_NEWUSER } else { 0 };
        self.extra.flags() | user
    }

    fn start(&self, cwd: &Path) -> Result<Start, SandboxError> {
        let folder = self.root.descend(cwd).map_err(SandboxError::WorkingDirectory)?;
        Ok(Start {
            project: text(self.policy.project.as_os_str(), "the project's path")?,
            identity: self.identity,
            inside: text(cwd.as_os_str(), "the working directory")?,
            folder,
        })
    }

    /// `NAME=value` for each, with a place for temporary files.
    fn environment(&self, given: &[(OsString, OsString)]) -> Vec<OsString> {
        let tmp = if self.applied.private_tmp { Path::new("/tmp") } else { &self.policy.scratch };
        let missing = !given.iter().any(|(name, _)| name == "TMPDIR");
        let add = missing.then(|| (OsStr::new("TMPDIR"), tmp.as_os_str()));
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

/// Waits until the command runs or says why it does not.
fn started(report: &OwnedFd, child: Child, program: &str) -> Result<Child, SandboxError> {
    let mut said = [0; 5];
    let mut length = 0;
    // Without the C library, whose error number the warden's start may disturb.
    while length < said.len() {
        match rustix::io::read(report, &mut said[length..]) {
            Ok(0) => break,
            Ok(n_read) => length += n_read,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(SandboxError::os("start the command")(errno)),
        }
    }
    match said[..length] {
        [] => Ok(child),
        [step, a, b, c, d] => {
            let errno = i32::from_ne_bytes([a, b, c, d]);
            Err(Step::failed(step, errno, program))
        }
        _ => Err(SandboxError::Start {
            program: program.to_owned(),
            source: io::Error::from(io::ErrorKind::UnexpectedEof),
        }),
    }
}

/// The line between us and a warden: orders one way, news the other.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) ours: OwnedFd,
    pub(super) theirs: OwnedFd,
}

impl Line {
    pub(super) fn new() -> Result<Self, SandboxError> {
        let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let (ours, theirs) = rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)
            .map_err(SandboxError::os("make a socket"))?;
        Ok(Self { ours, theirs })
    }
}

/// A warden that has its plan.
pub(super) struct Warden {
    pub(super) pid: u32,
    pub(super) pidfd: OwnedFd,
    pub(super) control: OwnedFd,
    pub(super) stack: Stack,
    pub(super) namespace: Namespace,
}

impl Warden {
    /// Makes one for this plan, which learns of the line to it.
    fn new(plan: &mut Plan<'_>) -> Result<Self, SandboxError> {
        let Line { ours, theirs } = Line::new()?;
        plan.control = theirs.as_raw_fd();
        let stack = Stack::take().map_err(SandboxError::io("make a stack"))?;
        // A copy of our memory only where it must be one.
        let memory = if plan.maps.is_some() { 0 } else { libc::CLONE_VM };
        let argument = std::ptr::from_ref(plan).cast_mut().cast();
        // SAFETY: the stack lives until the warden is gone, the plan until we have
        // read the report to its end.
        let (pid, pidfd) = unsafe { clone(plan.flags | memory, &stack, run_warden, argument) }?;
        let namespace = Namespace::of(pid, plan.flags);
        Ok(Self { pid, pidfd, control: ours, stack, namespace })
    }
}

/// Makes a process, with all signals blocked: one that arrives in the midst would
/// run our handlers there.
///
/// # Safety
///
/// The stack must live until the process is gone, and what the argument points to
/// as long as `main` needs it.
pub(super) unsafe fn clone(
    flags: i32,
    stack: &Stack,
    main: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    argument: *mut libc::c_void,
) -> Result<(u32, OwnedFd), SandboxError> {
    let mut pidfd: RawFd = -1;
    let (all, mut before) = (u64::MAX, 0u64);
    let flags = flags | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: the masks have the kernel's size, `pidfd` is a valid place, and the
    // rest is as the caller promises.
    let (pid, failed) = unsafe {
        mask(&raw const all, &raw mut before);
        let pid = libc::clone(main, stack.top(), flags, argument, &raw mut pidfd);
        let failed = io::Error::last_os_error();
        mask(&raw const before, std::ptr::null_mut());
        (pid, failed)
    };
    if pid < 0 {
        return Err(SandboxError::unavailable("process with its namespaces", failed.to_string()));
    }
    // SAFETY: the kernel just made the descriptor, for us alone.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok((pid.unsigned_abs(), pidfd))
}

extern "C" fn run_warden(plan: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `Warden::new` gives the plan, which lives as long as it must.
    unsafe { warden::run(plan) }
}

/// # Safety
///
/// Both pointers must be valid for the kernel's 64-bit set, or null.
unsafe fn mask(new: *const u64, old: *mut u64) {
    // SAFETY: as the caller promises.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, new, old, size_of::<u64>());
    }
}

/// The three streams: the child's ends, and ours where there are pipes.
struct Streams {
    theirs: [OwnedFd; 3],
    ours: [Option<OwnedFd>; 3],
}

impl Streams {
    fn new(wanted: [Stdio; 3], null: BorrowedFd<'_>) -> Result<Self, SandboxError> {
        let [input, output, error] = wanted;
        let (stdin, our_in) = stream(input, 0, null)?;
        let (stdout, our_out) = stream(output, 1, null)?;
        let (stderr, our_err) = stream(error, 2, null)?;
        Ok(Self { theirs: [stdin, stdout, stderr], ours: [our_in, our_out, our_err] })
    }

    fn numbers(&self) -> [RawFd; 3] {
        [0, 1, 2].map(|index| self.theirs[index].as_raw_fd())
    }

    fn ours(self) -> [Option<OwnedFd>; 3] {
        self.ours
    }
}

fn stream(
    stdio: Stdio,
    number: RawFd,
    null: BorrowedFd<'_>,
) -> Result<(OwnedFd, Option<OwnedFd>), SandboxError> {
    let doing = "connect the streams";
    Ok(match stdio {
        Stdio::Null => (high(null)?, None),
        Stdio::Pipe => {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::os(doing))?;
            let (theirs, ours) = if number == 0 { (read, write) } else { (write, read) };
            (high(theirs.as_fd())?, Some(ours))
        }
        // SAFETY: our own streams stay open as long as we run.
        Stdio::Inherit => (high(unsafe { BorrowedFd::borrow_raw(number) })?, None),
        Stdio::Given(fd) => (high(fd.as_fd())?, None),
    })
}

/// A copy above the numbers of the streams, so that none is overwritten before its turn.
fn high(fd: BorrowedFd<'_>) -> Result<OwnedFd, SandboxError> {
    rustix::io::fcntl_dupfd_cloexec(fd, 3).map_err(SandboxError::os("connect the streams"))
}
