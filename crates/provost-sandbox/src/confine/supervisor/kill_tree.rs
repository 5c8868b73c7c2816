//! In the supervisor: kills a process tree without a pid namespace.
//!
//! The supervisor is a subreaper, so a process that double-forked and left its session
//! is still its descendant. Descendants are found by reading `/proc`; first all are
//! stopped, repeatedly until no new one appears, because stopped processes cannot fork
//! and still count for a process limit; then all are killed.

use std::ffi::{CStr, c_int};

use rustix::fs::{Mode, OFlags, RawDir};

use crate::confine::raw_syscall::{int_arg, ptr_arg, syscall};

/// The highest process id.
const MAX_PID: usize = 1 << 22;
/// Processes that are read in one pass.
const MAX_PROCESSES: usize = 1 << 16;
/// Passes after which we no longer wait for the tree to become stable.
const STOP_PASSES: u32 = 200;

/// Memory for one pass, mapped: the supervisor must not use the heap.
struct DescendantTable {
    processes: &'static mut [(u32, u32)],
    descendants: &'static mut [u64],
}

/// Kills every descendant and waits until none is left; `false` if the processes could
/// not be listed, so that some may be.
pub(in crate::confine) fn kill_descendants(command: c_int, report_status: fn(c_int)) -> bool {
    if reap_children(command, report_status) {
        return true;
    }
    let Some(mut table) = DescendantTable::new() else {
        return false;
    };
    let mut before = 0;
    for _ in 0..STOP_PASSES {
        let Some(now) = table.signal_descendants(libc::SIGSTOP) else { return false };
        if now == before {
            break;
        }
        before = now;
    }
    loop {
        if table.signal_descendants(libc::SIGKILL).is_none() {
            return false;
        }
        if reap_children(command, report_status) {
            return true;
        }
        // Killed processes take a moment until they can be reaped.
        let moment = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        // SAFETY: the time outlives the call, which polls nothing.
        let _ = unsafe { syscall(libc::SYS_ppoll, [0, 0, ptr_arg(&raw const moment)]) };
    }
}

/// Signals every descendant once.
pub(in crate::confine) fn signal_descendants(signal: c_int) {
    if let Some(mut table) = DescendantTable::new() {
        table.signal_descendants(signal);
    }
}

/// Reaps one child that has ended, if there is one.
pub(in crate::confine) fn try_reap_one() -> Result<Option<(c_int, c_int)>, i32> {
    let mut status: c_int = 0;
    let options = int_arg(libc::WNOHANG | libc::__WALL);
    // SAFETY: `status` is valid for a write.
    let pid =
        unsafe { syscall(libc::SYS_wait4, [int_arg(-1), ptr_arg(&raw mut status), options])? };
    Ok(c_int::try_from(pid).ok().filter(|pid| *pid != 0).map(|pid| (pid, status)))
}

/// Reaps children that have ended; returns whether no child is left.
fn reap_children(command: c_int, report_status: fn(c_int)) -> bool {
    loop {
        match try_reap_one() {
            Ok(None) => return false,
            Ok(Some((pid, status))) if pid == command => report_status(status),
            Ok(Some(_)) | Err(libc::EINTR) => {}
            Err(_) => return true,
        }
    }
}

impl Drop for DescendantTable {
    fn drop(&mut self) {
        let size = size_of_val(self.descendants) + size_of_val(self.processes);
        // SAFETY: exactly what was mapped; the memory may be shared with the parent, so it
        // must not be leaked.
        let _ = unsafe { syscall(libc::SYS_munmap, [ptr_arg(self.descendants.as_ptr()), size]) };
    }
}

impl DescendantTable {
    fn new() -> Option<Self> {
        let (n_processes, n_words) = (MAX_PROCESSES, MAX_PID / 64);
        let size = n_processes * size_of::<(u32, u32)>() + n_words * size_of::<u64>();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: fresh memory, zeroed and ours until the drop; the two parts do not
        // overlap, and zero is a valid value of both types.
        unsafe {
            let arguments = [0, size, int_arg(protection), int_arg(flags), int_arg(-1), 0];
            let memory = syscall(libc::SYS_mmap, arguments).ok()?;
            // The type with the stricter alignment comes first.
            let descendants = std::ptr::with_exposed_provenance_mut::<u64>(memory);
            let processes = descendants.add(n_words).cast::<(u32, u32)>();
            Some(Self {
                processes: std::slice::from_raw_parts_mut(processes, n_processes),
                descendants: std::slice::from_raw_parts_mut(descendants, n_words),
            })
        }
    }

    /// Signals all descendants; returns how many there were, or `None` if the processes
    /// could not be listed: ourselves at least must be among them.
    fn signal_descendants(&mut self, signal: c_int) -> Option<usize> {
        let own = rustix::process::getpid().as_raw_nonzero().get().cast_unsigned();
        let n_processes = self.read_processes();
        if !self.processes.get(..n_processes)?.iter().any(|(pid, _)| *pid == own) {
            return None;
        }
        self.descendants.fill(0);
        self.mark_descendant(own);
        let mut n_found = 0;
        loop {
            let before = n_found;
            for index in 0..n_processes {
                let (pid, parent) = self.processes[index];
                if self.is_descendant(parent) && !self.is_descendant(pid) {
                    self.mark_descendant(pid);
                    n_found += 1;
                    // SAFETY: plain numbers. A reused pid is no problem: what we see is a live
                    // descendant of ours.
                    let _ = unsafe { syscall(libc::SYS_kill, [pid as usize, int_arg(signal)]) };
                }
            }
            if n_found == before {
                return Some(n_found);
            }
        }
    }

    fn mark_descendant(&mut self, pid: u32) {
        if let Some(word) = self.descendants.get_mut(pid as usize / 64) {
            *word |= 1 << (pid % 64);
        }
    }

    fn is_descendant(&self, pid: u32) -> bool {
        self.descendants.get(pid as usize / 64).is_some_and(|word| word & (1 << (pid % 64)) != 0)
    }

    /// Reads the parent of each process.
    fn read_processes(&mut self) -> usize {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(proc) = rustix::fs::open(c"/proc", flags, Mode::empty()) else { return 0 };
        let mut buffer = [std::mem::MaybeUninit::uninit(); 8192];
        let mut names = RawDir::new(&proc, &mut buffer);
        let mut n_processes = 0;
        while let Some(Ok(entry)) = names.next() {
            let Some(pid) = parse_decimal(entry.file_name().to_bytes()) else { continue };
            let Some(parent) = read_parent_pid(&proc, entry.file_name()) else { continue };
            if let Some(slot) = self.processes.get_mut(n_processes) {
                *slot = (pid, parent);
                n_processes += 1;
            }
        }
        n_processes
    }
}

fn parse_decimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |value, digit| {
        digit.is_ascii_digit().then(|| value.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')))
    })
}

/// The fourth field of `stat`, counted from the last parenthesis, because the second
/// is a name that may contain anything.
fn read_parent_pid(proc: &std::os::fd::OwnedFd, pid: &CStr) -> Option<u32> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(proc, pid, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let stat = rustix::fs::openat(folder.ok()?, c"stat", flags, Mode::empty()).ok()?;
    let mut text = [0u8; 512];
    let n_read = rustix::io::read(stat, &mut text).ok()?;
    let text = text.get(..n_read)?;
    let after = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = text.get(after + 2..)?.split(|byte| *byte == b' ');
    // Zombies too: a process whose first thread has exited looks like one while its
    // other threads live and fork.
    parse_decimal(fields.nth(1)?)
}
