//! Terminals of its own, and too many of them.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;

use super::Attack;

pub(super) fn attack(name: &str, args: &[&str]) -> Option<Attack> {
    Some(match (name, args) {
        ("own-terminal", []) => own_terminal(),
        ("hold-terminal", []) => hold_terminal(),
        ("many-terminals", [n]) => many_terminals(n.parse().unwrap()),
        _ => return None,
    })
}

/// Both ends of a terminal, the second opened by its name, as `openpty` does.
fn open_terminal() -> io::Result<(OwnedFd, OwnedFd, String)> {
    let controller = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::pty::grantpt(&controller)?;
    rustix::pty::unlockpt(&controller)?;
    let name = rustix::pty::ptsname(&controller, Vec::new())?;
    let terminal = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
    Ok((controller, terminal, name.into_string().unwrap()))
}

fn own_terminal() -> Attack {
    let (controller, terminal, name) = open_terminal()?;
    let modes = rustix::termios::tcgetattr(&terminal)?;
    rustix::termios::tcsetattr(&terminal, rustix::termios::OptionalActions::Now, &modes)?;
    rustix::io::write(&terminal, b"shown")?;
    let mut text = [0; 5];
    rustix::io::read(&controller, &mut text)?;
    assert_eq!(&text, b"shown");
    Ok(name)
}

fn hold_terminal() -> Attack {
    let (_controller, _terminal, name) = open_terminal()?;
    println!("{name}");
    io::stdout().flush()?;
    loop {
        std::thread::park();
    }
}

fn many_terminals(n: usize) -> Attack {
    let mut held = Vec::new();
    for _ in 0..n {
        held.push(open_terminal()?);
    }
    Ok(format!("{n} terminals"))
}
