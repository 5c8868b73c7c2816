//! A pseudoterminal: one end for a program, the other for us.
//!
//! No other crate opens one, and only the kernel process of a project uses it:
//! `cargo xtask tidy` checks both. The program's end is passed to a
//! [`SandboxCommand`] as its three streams and becomes its controlling terminal; our
//! end never blocks and is not inherited by any program.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

use crate::confine::{SandboxCommand, SandboxStdio};

/// The size of a terminal, in characters.
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

/// Our end of a PTY. It can be polled like any descriptor.
#[derive(Debug)]
pub struct PtyController(OwnedFd);

/// The program's end of a PTY, until a program has it.
#[derive(Debug)]
pub struct PtyPeer(OwnedFd);

/// Opens a PTY of this size.
pub fn open_pty(size: PtySize) -> io::Result<(PtyController, PtyPeer)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = rustix::pty::openpt(flags)?;
    rustix::pty::grantpt(&controller)?;
    rustix::pty::unlockpt(&controller)?;
    // By descriptor and not by name, which may be another PTY in another `/dev/pts`.
    let terminal = rustix::pty::ioctl_tiocgptpeer(&controller, flags)?;
    let own = rustix::fs::fcntl_getfl(&controller)?;
    rustix::fs::fcntl_setfl(&controller, own | rustix::fs::OFlags::NONBLOCK)?;
    let mut modes = rustix::termios::tcgetattr(&terminal)?;
    // UTF-8 mode: erasing a character erases all of its bytes.
    modes.input_modes |= rustix::termios::InputModes::IUTF8;
    rustix::termios::tcsetattr(&terminal, rustix::termios::OptionalActions::Now, &modes)?;
    let controller = PtyController(controller);
    controller.resize(size)?;
    Ok((controller, PtyPeer(terminal)))
}

impl PtyPeer {
    /// Makes this the terminal of a command: its streams, and its controlling terminal.
    pub fn attach_to_command(self, command: &mut SandboxCommand) -> io::Result<()> {
        let copy = || self.0.try_clone().map(SandboxStdio::Fd);
        command.stdio = [copy()?, copy()?, copy()?];
        command.controlling_terminal = true;
        Ok(())
    }
}

impl PtyController {
    /// Reads output. `WouldBlock` if there is none; 0 when no program has the other end
    /// open any more.
    pub fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::read(&self.0, &mut *into) {
                Err(Errno::INTR) => {}
                // Linux reports a closed other end as EIO.
                Err(Errno::IO) => return Ok(0),
                read => return Ok(read?),
            }
        }
    }

    /// Writes input; returns how many bytes were written, `WouldBlock` if none.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::write(&self.0, bytes))?)
    }

    /// Changes the size; Linux signals the foreground program.
    pub fn resize(&self, size: PtySize) -> io::Result<()> {
        Ok(rustix::termios::tcsetwinsize(&self.0, size.into())?)
    }

    /// The foreground process group: right after the start, that of the program.
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
        // The echo comes first.
        while controller.read(&mut bytes).unwrap() > 0 {}
    }
}
