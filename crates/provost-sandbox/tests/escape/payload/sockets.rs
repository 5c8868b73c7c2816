//! Connections of a run to its own Unix sockets, and attempts to redirect them.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::Attack;

pub(super) fn attack(name: &str, args: &[&str]) -> Option<Attack> {
    Some(match (name, args) {
        ("own-socket", [bind, to, kind]) => own_socket(bind, to, *kind == "nonblocking"),
        ("full-queue", []) => full_queue(),
        ("own-abstract", []) => own_abstract(),
        ("hold-socket", [path]) => hold_socket(path),
        ("swap-link", [foreign]) => swap_link(foreign),
        ("swap-path", []) => swap_path(),
        ("datagram", [path]) => UnixDatagram::pair()
            .and_then(|(one, _other)| one.send_to(b"secret", path))
            .map(|_| "sent".into()),
        ("datagram-connect", [path]) => UnixDatagram::pair()
            .and_then(|(one, _other)| one.connect(path).and_then(|()| one.send(b"secret")))
            .map(|_| "sent".into()),
        _ => return None,
    })
}

/// Expands what only the run knows: where it may put temporary files.
fn expand(path: &str) -> String {
    path.replace("$TMPDIR", std::env::temp_dir().to_str().unwrap())
}

fn own_socket(bind: &str, to: &str, nonblocking: bool) -> Attack {
    let listener = UnixListener::bind(expand(bind))?;
    let kind =
        libc::SOCK_STREAM | if nonblocking { libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC } else { 0 };
    // SAFETY: plain numbers; the descriptor is owned at once.
    let socket = unsafe { OwnedFd::from_raw_fd(libc::socket(libc::AF_UNIX, kind, 0)) };
    connect(&socket, expand(to).as_bytes())?;
    // SAFETY: plain numbers.
    let (fd, status) = unsafe {
        let fd = socket.as_raw_fd();
        (libc::fcntl(fd, libc::F_GETFD), libc::fcntl(fd, libc::F_GETFL))
    };
    assert_eq!(fd & libc::FD_CLOEXEC != 0, nonblocking, "closed on exec as it was");
    assert_eq!(status & libc::O_NONBLOCK != 0, nonblocking, "waits as it did");
    let mut ours = UnixStream::from(socket);
    let (mut theirs, _) = listener.accept()?;
    ours.write_all(b"over there")?;
    drop(ours);
    let mut heard = String::new();
    theirs.read_to_string(&mut heard)?;
    if heard == "over there" { Ok("talked".into()) } else { Err(io::Error::other(heard)) }
}

/// More connections than the backlog holds: blocking ones succeed, others fail.
fn full_queue() -> Attack {
    let listener = UnixListener::bind("src/full.sock")?;
    // SAFETY: plain numbers. One fits in beside none.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    let _first = UnixStream::connect("src/full.sock")?;
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK;
    // SAFETY: plain numbers; the descriptor is owned at once.
    let hasty = unsafe { OwnedFd::from_raw_fd(libc::socket(libc::AF_UNIX, kind, 0)) };
    let error = connect(&hasty, b"src/full.sock").unwrap_err().raw_os_error();
    assert_eq!(error, Some(libc::EAGAIN));
    let begun = std::sync::Barrier::new(CALLERS + 1);
    let came = std::thread::scope(|scope| {
        let call = || {
            begun.wait();
            UnixStream::connect("src/full.sock").map(drop)
        };
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(call)).collect();
        begun.wait();
        for _ in 0..=CALLERS {
            listener.accept()?;
        }
        callers.into_iter().try_for_each(|caller| caller.join().unwrap())
    });
    came.map(|()| "all came".into())
}

const CALLERS: usize = 8;

/// A socket's address as the kernel reads it.
fn raw(path: &[u8]) -> (libc::sockaddr_un, libc::socklen_t) {
    // SAFETY: all zero is a value of it.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = 1;
    for (place, byte) in address.sun_path.iter_mut().zip(path) {
        *place = byte.cast_signed();
    }
    (address, libc::socklen_t::try_from(size_of::<libc::sockaddr_un>()).unwrap())
}

fn connect(socket: &OwnedFd, path: &[u8]) -> io::Result<()> {
    let (address, length) = raw(path);
    // SAFETY: the address is valid for its length.
    let result = unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// An abstract name does not belong to the run, although it created it.
fn own_abstract() -> Attack {
    let address = SocketAddr::from_abstract_name(format!("provost-own-{}", std::process::id()))?;
    let _listener = UnixListener::bind_addr(&address)?;
    UnixStream::connect_addr(&address).map(|_| "connected".into())
}

fn hold_socket(path: &str) -> Attack {
    let listener = UnixListener::bind(path)?;
    println!("listening");
    io::stdout().flush()?;
    let mut heard = String::new();
    listener.accept()?.0.read_to_string(&mut heard)?;
    Ok(heard)
}

/// Answers every connection, so that a peer can tell where it leads.
fn answer(listener: &UnixListener, done: &AtomicBool) {
    listener.set_nonblocking(true).unwrap();
    while !done.load(Ordering::Relaxed) {
        while let Ok((mut stream, _)) = listener.accept() {
            drop(stream.write_all(b"own"));
        }
        std::thread::yield_now();
    }
}

/// Counts: connections to ourselves, refusals, and connections to somebody else.
fn try_often(path: impl Fn() -> io::Result<UnixStream>) -> Attack {
    let (mut n_own, mut n_denied) = (0, 0);
    for _ in 0..1000 {
        let Ok(mut stream) = path() else {
            n_denied += 1;
            continue;
        };
        let mut heard = String::new();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(5)))?;
        drop(stream.read_to_string(&mut heard));
        if heard != "own" {
            drop(stream.write_all(b"secret"));
            return Ok("connected to somebody else".into());
        }
        n_own += 1;
    }
    println!("{n_own} connections, {n_denied} refusals");
    Err(io::Error::from_raw_os_error(libc::EPERM))
}

/// Repeatedly replaces its own socket by a link to a foreign one.
fn swap_link(foreign: &str) -> Attack {
    let listener = UnixListener::bind("src/own.sock")?;
    symlink(foreign, "src/link.sock")?;
    fs::hard_link("src/own.sock", "src/place.sock")?;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| answer(&listener, &done));
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for name in ["src/link.sock", "src/own.sock"] {
                    drop(fs::remove_file("src/next.sock"));
                    drop(fs::hard_link(name, "src/next.sock"));
                    drop(fs::rename("src/next.sock", "src/place.sock"));
                }
            }
        });
        let outcome = try_often(|| UnixStream::connect("src/place.sock"));
        done.store(true, Ordering::Relaxed);
        outcome
    })
}

/// Writes the name of a foreign socket, `b.sock`, over that of its own, `a.sock`,
/// during the call.
fn swap_path() -> Attack {
    let listener = UnixListener::bind("src/a.sock")?;
    let (mut address, length) = raw(b"src/a.sock");
    let at = (&raw mut address).cast::<u8>();
    // SAFETY: the first letter of the name lies at this place of the address, which
    // outlives both threads; all later writes to it are atomic.
    let letter = unsafe { AtomicU8::from_ptr(at.add(6)) };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| answer(&listener, &done));
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                letter.store(b'b', Ordering::Relaxed);
                letter.store(b'a', Ordering::Relaxed);
            }
        });
        let outcome = try_often(|| {
            // SAFETY: plain numbers; the descriptor is owned at once.
            let socket =
                unsafe { OwnedFd::from_raw_fd(libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0)) };
            // SAFETY: the address is valid for its length.
            let result = unsafe { libc::connect(socket.as_raw_fd(), at.cast(), length) };
            if result == 0 { Ok(socket.into()) } else { Err(io::Error::last_os_error()) }
        });
        done.store(true, Ordering::Relaxed);
        outcome
    })
}
