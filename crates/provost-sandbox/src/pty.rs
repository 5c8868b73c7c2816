//! A terminal: one end for a program, the other for whoever looks on.
//!
//! Nobody else opens one, and only the kernel process of a project asks for it:
//! `cargo xtask tidy` checks both. The program's end is given to
//! [`IdempotencyKey`](crate::confine::Command) as its three streams and becomes its
//! controlling terminal; ours neither blocks nor is handed on to any program.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

use crate::confine::{SandboxCommand, SandboxStdio};

/// How large a terminal is, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtySize {
    /// The width.
    pub cols: u16,
    /// The height.
    pub rows: u16,
}

impl From<PtySize> for Winsize {
    fn from(size: PtySize) -> Self {
        Self { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 }
    }
}

/// Our end of a terminal. It can be waited for like any descriptor.
#[derive(Debug)]
pub struct PtyController(OwnedFd);

/// The program's end of a terminal, until a program has it.
#[derive(Debug)]
pub struct PtyPeer(OwnedFd);

/// Opens a terminal of this size.
pub fn open_pty(size: PtySize) -> io::Result<(PtyController, PtyPeer)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = rustix::pty::openpt(flags)?;
    rustix::pty::grantpt(&controller)?;
    rustix::pty::unlockpt(&controller)?;
    // Through the handle and not by its name, which another `/dev/pts` may give to another.
    let terminal = rustix::pty::ioctl_tiocgptpeer(&controller, flags)?;
    let own = rustix::fs::fcntl_getfl(&controller)?;
    rustix::fs::fcntl_setfl(&controller, own | rustix::fs::OFlags::NONBLOCK)?;
    let mut modes = rustix::termios::tcgetattr(&terminal)?;
    // So that erasing a character erases all of its bytes.
    modes.input_modes |= rustix::termios::InputModes::IUTF8;
    rustix::termios::tcsetattr(&terminal, rustix::termios::OptionalActions::Now, &modes)?;
    let controller = PtyController(controller);
    controller.resize(size)?;
    Ok((controller, PtyPeer(terminal)))
}

impl PtyPeer {
    /// Makes this the terminal of a command: its streams, and what controls it.
    pub fn attach_to_command(self, command: &mut SandboxCommand) -> io::Result<()> {
        let copy = || self.0.try_clone().map(SandboxStdio::Fd);
        command.stdio = [copy()?, copy()?, copy()?];
        command.controlling_terminal = true;
        Ok(())
    }
}

impl PtyController {
    /// Reads what was printed. `WouldBlock` if nothing was; 0 when no program
    /// has the other end any more.
    pub fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::read(&self.0, &mut *into) {
                Err(Errno::INTR) => {}
                // How Linux says that the other end is closed.
                Err(Errno::IO) => return Ok(0),
                read => return Ok(read?),
            }
        }
    }

    /// Types; returns how many bytes were taken, `WouldBlock` if none.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::write(&self.0, bytes))?)
    }

    /// Changes the size; the program in the foreground is told.
    pub fn resize(&self, size: PtySize) -> io::Result<()> {
        Ok(rustix::termios::tcsetwinsize(&self.0, size.into())?)
    }

    /// The process group in the foreground: right after the start, the program's own.
    pub fn foreground_process_group(&self) -> Option<u32> {
        let group = rustix::termios::tcgetpgrp(&self.0).ok()?;
        u32::try_from(group.as_raw_nonzero().get()).ok()
    }
}

impl AsFd for PtyController {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for PtyController {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_end_writes_the_other_reads_and_the_size_is_the_same_at_both() {
        let (controller, terminal) = open_pty(PtySize { cols: 90, rows: 30 }).unwrap();
        let size = || rustix::termios::tcgetwinsize(&terminal.0).unwrap();
        assert_eq!((size().ws_col, size().ws_row), (90, 30));
        controller.resize(PtySize { cols: 7, rows: 5 }).unwrap();
        assert_eq!((size().ws_col, size().ws_row), (7, 5));
        let mut bytes = [0; 64];
        let nothing = controller.read(&mut bytes).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        rustix::io::write(&terminal.0, b"hi\n").unwrap();
        let n_read = controller.read(&mut bytes).unwrap();
        assert_eq!(&bytes[..n_read], b"hi\r\n");
        assert_eq!(controller.write(b"typed\n").unwrap(), 6);
        let n_read = rustix::io::read(&terminal.0, &mut bytes).unwrap();
        assert_eq!(&bytes[..n_read], b"typed\n");
        drop(terminal);
        // What was echoed comes first.
        while controller.read(&mut bytes).unwrap() > 0 {}
    }
}
