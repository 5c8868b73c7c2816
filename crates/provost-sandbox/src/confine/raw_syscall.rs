//! System calls without the C library.
//!
//! The supervisor may share its memory with the parent, including the C library's
//! thread-local errno. So nothing in the children may write errno: these calls
//! return the error instead. (`rustix` does the same and is used where it has the
//! call.)

use std::arch::asm;

use super::error::SetupStep;
use super::plan::spawn_plan::SetupFailure;

/// Makes a system call. Missing arguments are zero.
///
/// # Safety
///
/// As for the call itself: pointers among the arguments must be valid for it.
pub(super) unsafe fn syscall<const N: usize>(
    number: i64,
    arguments: [usize; N],
) -> Result<usize, i32> {
    let mut all = [0; 6];
    all[..N].copy_from_slice(&arguments);
    // SAFETY: as the caller promises.
    let result = unsafe { enter(number, all) };
    // Linux returns errors as the last page of numbers.
    match i32::try_from(result) {
        Ok(error) if (-4095..0).contains(&error) => Err(-error),
        _ => Ok(usize::try_from(result.cast_unsigned()).unwrap_or(usize::MAX)),
    }
}

#[cfg(target_arch = "x86_64")]
unsafe fn enter(number: i64, args: [usize; 6]) -> i64 {
    let result: i64;
    // SAFETY: the calling convention of Linux; it changes these registers only.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

#[cfg(target_arch = "aarch64")]
unsafe fn enter(number: i64, args: [usize; 6]) -> i64 {
    let result: i64;
    // SAFETY: the calling convention of Linux; it changes these registers only.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") args[0] => result,
            in("x1") args[1], in("x2") args[2], in("x3") args[3],
            in("x4") args[4], in("x5") args[5],
            options(nostack)
        );
    }
    result
}

/// A number as Linux wants it in a register.
#[expect(clippy::cast_sign_loss, reason = "only the bits count")]
pub(super) const fn int_arg(value: i32) -> usize {
    value as isize as usize
}

/// A pointer as an argument. Exposed, so that the compiler knows that Linux may read
/// and write there.
pub(super) fn ptr_arg<T>(of: *const T) -> usize {
    of.expose_provenance()
}

/// Adds the setup step to the error of a call.
pub(super) fn at_step<T>(result: Result<T, i32>, step: SetupStep) -> Result<T, SetupFailure> {
    result.map_err(|errno| (step, errno))
}

/// Exits this process at once.
pub(super) fn exit(code: i32) -> ! {
    loop {
        // SAFETY: takes a number and does not return.
        let _ = unsafe { syscall(libc::SYS_exit_group, [int_arg(code)]) };
    }
}
