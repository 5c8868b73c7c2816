//! Memory for the warden to stand on when it shares ours.

use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, PoisonError};

/// Enough for the warden and the command's child together.
const SIZE: usize = 256 * 1024;
/// Below the stack, so that one that grows too far ends the warden instead of
/// writing into our memory.
const GUARD: usize = 64 * 1024;

/// A stack. It must live as long as the process that stands on it.
#[derive(Debug)]
pub(super) struct Stack(NonNull<libc::c_void>);

// SAFETY: the memory belongs to the value alone and is not looked at through it.
unsafe impl Send for Stack {}
// SAFETY: as above; a shared reference gives access to nothing.
unsafe impl Sync for Stack {}

impl Stack {
    fn new() -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: fresh memory of our own, of which a part is then made accessible.
        unsafe {
            let memory = libc::mmap(null_mut(), SIZE, libc::PROT_NONE, flags, -1, 0);
            if memory == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let stack = Self(NonNull::new(memory).ok_or(io::ErrorKind::OutOfMemory)?);
            let usable = memory.cast::<u8>().add(GUARD).cast();
            if libc::mprotect(usable, SIZE - GUARD, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(stack)
        }
    }

    /// Where the stack begins; it grows down from here.
    pub(super) fn top(&self) -> *mut libc::c_void {
        // SAFETY: the end of our own memory.
        unsafe { self.0.as_ptr().cast::<u8>().add(SIZE).cast() }
    }
}

/// Stacks that nobody stands on, kept for the next run.
static FREE: Mutex<Vec<Stack>> = Mutex::new(Vec::new());
/// How many are kept.
const KEPT: usize = 8;

impl Stack {
    /// One that is free, or a new one.
    pub(super) fn take() -> io::Result<Self> {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.map_or_else(Self::new, Ok)
    }

    /// Keeps it for the next run. Whoever stood on it must be gone.
    pub(super) fn give_back(self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < KEPT {
            free.push(self);
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the memory is ours, and whoever stood on it is gone (see `CommandInvocation`).
        unsafe { libc::munmap(self.0.as_ptr(), SIZE) };
    }
}
