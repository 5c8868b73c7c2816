//! In the child: the process that stands over one run.
//!
//! It arranges the namespaces, starts the command, and waits. All orphans of the
//! run fall to it, because it is the first process of a process id namespace or
//! a subreaper. When the command is gone it ends what is left, and when it ends
//! itself, nothing of the run is left: the parent waits for it alone.
//!
//! It is a copy of the parent, memory included, so it is made undumpable, it
//! never enters the sandbox's Landlock domain (whose members can look at each
//! other only), and it makes nothing but system calls.

use std::ffi::{CStr, c_int, c_void};

use rustix::fs::{Mode, OFlags};

use super::error::Step;
use super::plan::{At as _, Failed, Plan, UserMaps, check};
use super::{inside, mounts, sweep};

/// Orders from the parent: a signal for the command's group, or for all, or the end.
pub(super) const TO_ALL: u8 = 0x80;
pub(super) const END: u8 = 0xff;

/// Where the warden keeps its two descriptors, having closed all others.
const CONTROL: c_int = 0;
const CHILDREN: c_int = 1;

/// Stack for the command's child until it execs.
const STACK: usize = 64 * 1024;

/// Runs the whole life of the warden. Never returns.
pub(super) fn run(plan: &Plan<'_>) -> ! {
    let code = match start(plan) {
        Ok(command) => watch(plan, command),
        Err(failed) => {
            plan.tell(failed);
            1
        }
    };
    // SAFETY: `_exit` runs no destructors, which belong to the parent.
    unsafe { libc::_exit(code) }
}

fn start(plan: &Plan<'_>) -> Result<c_int, Failed> {
    reset_signals();
    if let Some(maps) = plan.maps {
        map_user(maps)?;
    }
    // SAFETY: the calls take numbers and change only this process.
    unsafe {
        check(libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0).into(), Step::Warden)?;
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0).into(), Step::Warden)?;
    }
    if plan.loopback {
        loopback_up()?;
    }
    if let Some(mounts) = plan.mounts {
        mounts::arrange(plan, mounts)?;
    }
    let command = fork_command(plan)?;
    keep_two(plan)?;
    Ok(command)
}

/// What the parent handles or ignores is nothing to us or the command.
fn reset_signals() {
    for signal in 1..=64 {
        let default = [0u64; 4];
        // SAFETY: all zero is the default action without flags; the kernel's
        // structure is at most this long. Two signals refuse, which is fine.
        unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), 0usize, 8usize);
        }
    }
}

/// The maps can be written only while the process is dumpable; the parent may not be.
fn map_user(maps: &UserMaps) -> Result<(), Failed> {
    // SAFETY: the call takes numbers and changes only this process.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) }.into(), Step::UserNamespace)?;
    put(c"/proc/self/setgroups", b"deny")?;
    put(c"/proc/self/uid_map", maps.uid.as_bytes())?;
    put(c"/proc/self/gid_map", maps.gid.as_bytes())
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
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        check(socket.into(), Step::Loopback)?;
        let result = libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request);
        let result = check(result.into(), Step::Loopback);
        libc::close(socket);
        result.map(drop)
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
    check(pid.into(), Step::Warden)?;
    Ok(pid)
}

/// Closes everything but the line to the parent and the news of our children.
fn keep_two(plan: &Plan<'_>) -> Result<(), Failed> {
    let children = 1u64 << (libc::SIGCHLD - 1);
    // SAFETY: the set has the size that is given; the rest are plain numbers.
    unsafe {
        let fd =
            libc::syscall(libc::SYS_signalfd4, -1, &raw const children, 8usize, libc::SFD_NONBLOCK);
        let fd = c_int::try_from(check(fd, Step::Warden)?).unwrap_or(-1);
        // First out of the way of each other, then into place.
        let control = libc::fcntl(plan.control, libc::F_DUPFD, 3);
        let fd = libc::fcntl(fd, libc::F_DUPFD, 3);
        check(libc::dup2(control, CONTROL).into(), Step::Warden)?;
        check(libc::dup2(fd, CHILDREN).into(), Step::Warden)?;
        let closed = libc::syscall(libc::SYS_close_range, 2, libc::c_uint::MAX, 0);
        check(closed, Step::Warden).map(drop)
    }
}

/// Waits for the command, for orders and for the end of the parent.
fn watch(plan: &Plan<'_>, command: c_int) -> c_int {
    let own_namespace = plan.flags & libc::CLONE_NEWPID != 0;
    let mut lines = [
        libc::pollfd { fd: CHILDREN, events: libc::POLLIN, revents: 0 },
        libc::pollfd { fd: CONTROL, events: libc::POLLIN, revents: 0 },
    ];
    let mut done = false;
    loop {
        match reap(command) {
            Reaped::Nobody => break,
            Reaped::Command => done = true,
            Reaped::Others => {}
        }
        if done && !plan.keep_leftovers {
            break;
        }
        // SAFETY: the array has the length that is given.
        unsafe { libc::poll(lines.as_mut_ptr(), 2, -1) };
        drain_news();
        if lines[1].revents != 0 {
            match order() {
                Some(END) => break,
                Some(signal) => pass_on(signal, command, own_namespace),
                None if plan.die_with_parent => break,
                // Nobody will give orders any more; a negative number is not polled.
                None => lines[1].fd = -1,
            }
        }
    }
    // In a namespace of our own, our end is everybody's.
    if !own_namespace {
        sweep::end_all(command, tell_status);
    }
    0
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
        let mut status = 0;
        // SAFETY: `status` is a valid place for the answer.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) } {
            0 => return seen,
            -1 => return if matches!(seen, Reaped::Command) { seen } else { Reaped::Nobody },
            pid if pid == command => {
                tell_status(status);
                seen = Reaped::Command;
            }
            _ => {}
        }
    }
}

fn tell_status(status: c_int) {
    // SAFETY: the buffer is as long as is said. If the parent is gone, nobody needs it.
    unsafe {
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        libc::send(CONTROL, (&raw const status).cast(), size_of::<c_int>(), flags);
    }
}

fn drain_news() {
    let mut news = [0u8; 1024];
    // SAFETY: the buffer is as long as is said; the descriptor does not block.
    while unsafe { libc::read(CHILDREN, news.as_mut_ptr().cast(), news.len()) } > 0 {}
}

/// The next order; `None` when the parent is gone.
fn order() -> Option<u8> {
    let mut byte = 0u8;
    // SAFETY: the buffer is one byte long.
    let n_read = unsafe { libc::recv(CONTROL, (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) };
    (n_read == 1).then_some(byte)
}

fn pass_on(order: u8, command: c_int, own_namespace: bool) {
    let signal = c_int::from(order & !TO_ALL);
    if order & TO_ALL == 0 {
        // SAFETY: plain numbers. The command leads a group of its own number.
        unsafe {
            if libc::kill(-command, signal) != 0 {
                libc::kill(command, signal);
            }
        }
    } else if own_namespace {
        // SAFETY: plain numbers; inside the namespace this reaches all but ourselves.
        unsafe { libc::kill(-1, signal) };
    } else {
        sweep::signal_all(signal);
    }
}
