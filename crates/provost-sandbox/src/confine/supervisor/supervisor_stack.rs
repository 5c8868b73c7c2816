//! The stack of a supervisor that shares our memory.

use parking_lot::Mutex;
use std::io;
use std::ptr::{NonNull, null_mut};

/// Size of the stack in bytes: enough for the supervisor and the command's child.
const STACK_SIZE: usize = 256 * 1024;
/// Size of the guard below the stack, so that an overflow kills the supervisor instead
/// of writing into our memory.
const GUARD_SIZE: usize = 64 * 1024;

/// A stack. It must live as long as the process that uses it.
#[derive(Debug)]
pub(in crate::confine) struct SupervisorStack(NonNull<libc::c_void>);

// SAFETY: the value owns the memory and never accesses it.
unsafe impl Send for SupervisorStack {}
// SAFETY: as above; a shared reference gives access to nothing.
unsafe impl Sync for SupervisorStack {}

impl SupervisorStack {
    fn new() -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: fresh memory of our own, of which a part is then made accessible.
        unsafe {
            let memory = libc::mmap(null_mut(), STACK_SIZE, libc::PROT_NONE, flags, -1, 0);
            if memory == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let stack = Self(NonNull::new(memory).ok_or(io::ErrorKind::OutOfMemory)?);
            let usable = memory.cast::<u8>().add(GUARD_SIZE).cast();
            if libc::mprotect(usable, STACK_SIZE - GUARD_SIZE, libc::PROT_READ | libc::PROT_WRITE)
                != 0
            {
                return Err(io::Error::last_os_error());
            }
            Ok(stack)
        }
    }

    /// The start of the stack; it grows down from here.
    pub(in crate::confine) fn top(&self) -> *mut libc::c_void {
        // SAFETY: the end of our own memory.
        unsafe { self.0.as_ptr().cast::<u8>().add(STACK_SIZE).cast() }
    }
}

/// Unused stacks, kept for the next run.
static FREE_STACKS: Mutex<Vec<SupervisorStack>> = Mutex::new(Vec::new());
/// How many are kept.
const MAX_FREE_STACKS: usize = 8;

impl SupervisorStack {
    /// An unused stack, or a new one.
    pub(in crate::confine) fn acquire() -> io::Result<Self> {
        let free = FREE_STACKS.lock().pop();
        free.map_or_else(Self::new, Ok)
    }

    /// Keeps it for the next run. The process that used it must have ended.
    pub(in crate::confine) fn release(self) {
        let mut free = FREE_STACKS.lock();
        if free.len() < MAX_FREE_STACKS {
            free.push(self);
        }
    }
}

impl Drop for SupervisorStack {
    fn drop(&mut self) {
        // SAFETY: the memory is ours, and the process that used it has ended.
        unsafe { libc::munmap(self.0.as_ptr(), STACK_SIZE) };
    }
}
