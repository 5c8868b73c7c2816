//! In the child: the process that stands over one run.
//!
//! It arranges the namespaces, starts the command, and waits. All orphans of the
//! run fall to it, because it is the first process of a process id namespace or
//! a subreaper. When the command is gone it ends what is left, and when it ends
//! itself, nothing of the run is left: the parent waits for it alone.
//!
//! It shares the parent's memory, as a thread would, which makes it cheap: no
//! page tables are copied. Only for a user namespace it is a copy, because the
//! maps of one can be written by a dumpable process alone, and the parent may not
//! want to be one. Either way it never enters the sandbox's Landlock domain,
//! whose members can look into each other only, stands on a stack of its own,
//! and makes nothing but system calls. The plan is the parent's and is not
//! touched after the report pipe is closed.

use std::ffi::{CStr, c_int, c_void};

use rustix::fs::{Mode, OFlags};

use super::error::Step;
use super::hold::{self, HOLD};
use super::plan::{At as _, Failed, Plan, UserMaps};
use super::raw::{self, at, call, int, place};
use super::{inside, mounts, sweep};

/// Orders from the parent: a signal for the command's group, or for all, or the end.
pub(super) const TO_ALL: u8 = 0x80;
pub(super) const END: u8 = 0xff;

/// Where the warden keeps its two descriptors, having closed all others.
const CONTROL: c_int = 0;
const CHILDREN: c_int = 1;

#[expect(clippy::cast_possible_truncation, reason = "a 16-bit request")]
const SET_FLAGS: usize = libc::SIOCSIFFLAGS as usize;

/// Stack for the command's child until it execs.
const STACK: usize = 64 * 1024;

/// What the warden needs of the plan when it has started the command.
#[derive(Clone, Copy)]
struct Duty {
    own_namespace: bool,
    keep_leftovers: bool,
    die_with_parent: bool,
}

/// Runs the whole life of the warden. Never returns.
///
/// # Safety
///
/// `plan` must point to a [`RuntimePlan`] that lives until the report pipe is closed.
pub(super) unsafe extern "C" fn run(plan: *mut c_void) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let given = &*plan.cast_const().cast::<Plan<'_>>();
        let maps = given.maps.map_or(Ok(()), map_user);
        let mounts = given.mounts.map(|mounts| mounts.proc);
        if let Err(failed) = maps.and_then(|()| prepare(given.loopback, mounts)) {
            given.tell(failed);
            raw::exit(0);
        }
        go_on(plan.cast_const())
    }
}

/// Runs the rest of the warden's life, when its namespaces are prepared. Never returns.
///
/// # Safety
///
/// As for [`run`].
pub(super) unsafe fn go_on(plan: *const c_void) -> ! {
    // SAFETY: as the caller promises.
    let plan = unsafe { &*plan.cast::<Plan<'_>>() };
    let duty = Duty {
        own_namespace: plan.flags & libc::CLONE_NEWPID != 0,
        keep_leftovers: plan.keep_leftovers,
        die_with_parent: plan.die_with_parent,
    };
    match start(plan) {
        Ok(command) => watch(duty, command),
        Err(failed) => plan.tell(failed),
    }
    raw::exit(0)
}

/// What is the same for every run: it can be done before there is a plan.
pub(super) fn prepare(loopback: bool, mounts: Option<bool>) -> Result<(), Failed> {
    reset_signals();
    set(libc::PR_SET_CHILD_SUBREAPER, 1, Step::Warden)?;
    if loopback {
        loopback_up()?;
    }
    mounts.map_or(Ok(()), mounts::begin)
}

fn start(plan: &Plan<'_>) -> Result<c_int, Failed> {
    if let Some(mounts) = plan.mounts {
        mounts::arrange(plan, mounts)?;
    }
    let command = fork_command(plan)?;
    keep_two(plan)?;
    Ok(command)
}

/// What the parent handles or ignores is nothing to us or the command. Real-time
/// signals have no meaning by default, and nobody ignores them.
fn reset_signals() {
    for signal in 1..32 {
        let default = [0u64; 4];
        // SAFETY: all zero is the default action without flags; the kernel's
        // structure is at most this long. Two signals refuse, which is fine.
        let _ = unsafe {
            call(libc::SYS_rt_sigaction, [signal, place(default.as_ptr()), 0, size_of::<u64>()])
        };
    }
}

/// The maps can be written only while the process is dumpable. This is a copy of
/// the parent, with its secrets, so it is so for no longer than that.
fn map_user(maps: &UserMaps) -> Result<(), Failed> {
    set(libc::PR_SET_DUMPABLE, 1, Step::UserNamespace)?;
    put(c"/proc/self/setgroups", b"deny")?;
    put(c"/proc/self/uid_map", maps.uid.as_bytes())?;
    put(c"/proc/self/gid_map", maps.gid.as_bytes())?;
    set(libc::PR_SET_DUMPABLE, 0, Step::UserNamespace)
}

fn set(option: c_int, value: usize, step: Step) -> Result<(), Failed> {
    // SAFETY: the call takes numbers and changes only this process.
    at(unsafe { call(libc::SYS_prctl, [int(option), value]) }, step).map(drop)
}

fn put(file: &CStr, content: &[u8]) -> Result<(), Failed> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(file, flags, Mode::empty()).at(Step::UserNamespace)?;
    rustix::io::write(&file, content).at(Step::UserNamespace).map(drop)
}

/// So that programs can talk to themselves in a network that leads nowhere.
fn loopback_up() -> Result<(), Failed> {
    #[repr(C)]
    struct Request {
        name: [u8; 16],
        flags: i16,
        rest: [u8; 22],
    }
    let mut name = [0; 16];
    name[..2].copy_from_slice(b"lo");
    let up = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(1);
    let request = Request { name, flags: up, rest: [0; 22] };
    // SAFETY: the request has the layout of `ifreq` and outlives the call.
    unsafe {
        let kind = int(libc::SOCK_DGRAM | libc::SOCK_CLOEXEC);
        let socket = at(call(libc::SYS_socket, [int(libc::AF_INET), kind, 0]), Step::Loopback)?;
        let up = call(libc::SYS_ioctl, [socket, SET_FLAGS, place(&raw const request)]);
        let _ = call(libc::SYS_close, [socket]);
        at(up, Step::Loopback).map(drop)
    }
}

/// Starts the command in a child that borrows our memory until its exec, which
/// spares copying the page tables a second time.
fn fork_command(plan: &Plan<'_>) -> Result<c_int, Failed> {
    extern "C" fn main(plan: *mut c_void) -> c_int {
        // SAFETY: the plan outlives the child: we stand still until it execs or ends.
        let plan = unsafe { &*plan.cast_const().cast::<Plan<'_>>() };
        plan.tell(inside::become_command(plan));
        127
    }
    let mut stack = std::mem::MaybeUninit::<[u128; STACK / 16]>::uninit();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack grows down from its end and is used by the child alone;
    // with CLONE_VFORK we do not run before the child is done with it.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(1).cast::<c_void>();
        libc::clone(main, top, flags, std::ptr::from_ref(plan).cast_mut().cast())
    };
    if pid > 0 { Ok(pid) } else { Err((Step::Warden, libc::EAGAIN)) }
}

/// Closes everything but the line to the parent and the news of our children.
fn keep_two(plan: &Plan<'_>) -> Result<(), Failed> {
    let children = 1u64 << (libc::SIGCHLD - 1);
    // SAFETY: the set has the size that is given; the rest are plain numbers.
    unsafe {
        let set = [int(-1), place(&raw const children), 8, int(libc::SFD_NONBLOCK)];
        let news = at(call(libc::SYS_signalfd4, set), Step::Warden)?;
        // First out of the way of each other, then into place.
        let high = |fd| call(libc::SYS_fcntl, [fd, int(libc::F_DUPFD), 3]);
        let control = at(high(int(plan.control)), Step::Warden)?;
        let news = at(high(news), Step::Warden)?;
        at(call(libc::SYS_dup3, [control, int(CONTROL)]), Step::Warden)?;
        at(call(libc::SYS_dup3, [news, int(CHILDREN)]), Step::Warden)?;
        at(call(libc::SYS_close_range, [2, u32::MAX as usize]), Step::Warden).map(drop)
    }
}

/// Waits for the command, for orders and for the end of the parent.
fn watch(duty: Duty, command: c_int) {
    let mut lines = [
        libc::pollfd { fd: CHILDREN, events: libc::POLLIN, revents: 0 },
        libc::pollfd { fd: CONTROL, events: libc::POLLIN, revents: 0 },
    ];
    // All were asked to end: each gets its time, also when the command is gone first.
    let mut stopping = false;
    loop {
        match reap(command) {
            Reaped::Nobody => break,
            Reaped::Command if !duty.keep_leftovers && !stopping => break,
            // Look again before waiting: it may have left nobody behind.
            Reaped::Command => continue,
            Reaped::Others => {}
        }
        // SAFETY: the array has the length that is given.
        let _ = unsafe { call(libc::SYS_ppoll, [place(lines.as_mut_ptr()), lines.len()]) };
        drain_news();
        if lines[1].revents != 0 {
            let mut said = [0u8; hold::LONGEST];
            match order(&mut said) {
                Some([END, ..]) => break,
                Some([HOLD, order @ ..]) => tell(&hold::obey(order)),
                Some([signal, ..]) => {
                    stopping |= signal & TO_ALL != 0;
                    pass_on(*signal, command, duty.own_namespace);
                }
                Some([]) | None if duty.die_with_parent => break,
                // Nobody will give orders any more; a negative number is not polled.
                Some([]) | None => lines[1].fd = -1,
            }
        }
    }
    // In a namespace of our own, our end is everybody's.
    if !duty.own_namespace {
        sweep::end_all(command, tell_status);
    }
}

enum Reaped {
    Command,
    Others,
    Nobody,
}

/// Collects whoever ended. The parent hears of the command's end.
fn reap(command: c_int) -> Reaped {
    let mut seen = Reaped::Others;
    loop {
        match sweep::wait_any() {
            Ok(None) => return seen,
            Ok(Some((pid, status))) if pid == command => {
                tell_status(status);
                seen = Reaped::Command;
            }
            Ok(Some(_)) | Err(libc::EINTR) => {}
            Err(_) => return if matches!(seen, Reaped::Command) { seen } else { Reaped::Nobody },
        }
    }
}

fn tell_status(status: c_int) {
    tell(&status.to_ne_bytes());
}

fn tell(message: &[u8]) {
    let flags = int(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
    let message = [int(CONTROL), place(message.as_ptr()), message.len(), flags];
    // SAFETY: the buffer is as long as is said. If the parent is gone, nobody needs it.
    let _ = unsafe { call(libc::SYS_sendto, message) };
}

fn drain_news() {
    let mut news = [0u8; 1024];
    loop {
        let arguments = [int(CHILDREN), place(news.as_mut_ptr()), news.len()];
        // SAFETY: the buffer is as long as is said; the descriptor does not block.
        if !unsafe { call(libc::SYS_read, arguments) }.is_ok_and(|n_read| n_read > 0) {
            return;
        }
    }
}

/// The next order; `None` when the parent is gone.
fn order(said: &mut [u8]) -> Option<&[u8]> {
    let arguments = [int(CONTROL), place(said.as_mut_ptr()), said.len(), int(libc::MSG_DONTWAIT)];
    // SAFETY: the buffer is as long as is said.
    let n_read = unsafe { call(libc::SYS_recvfrom, arguments) }.ok()?;
    said.get(..n_read).filter(|order| !order.is_empty())
}

fn pass_on(order: u8, command: c_int, own_namespace: bool) {
    let signal = c_int::from(order & !TO_ALL);
    if order & TO_ALL == 0 {
        // The command leads a group of its own number.
        if kill(-command, signal).is_err() {
            let _ = kill(command, signal);
        }
    } else if own_namespace {
        // Inside the namespace this reaches all but ourselves.
        let _ = kill(-1, signal);
    } else {
        sweep::signal_all(signal);
    }
}

fn kill(whom: c_int, signal: c_int) -> Result<usize, i32> {
    // SAFETY: plain numbers.
    unsafe { call(libc::SYS_kill, [int(whom), int(signal)]) }
}
