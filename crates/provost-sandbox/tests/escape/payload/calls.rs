//! Connections of a server to itself, and attempts to redirect them.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use super::{Attack, call};

pub(super) fn attack(name: &str, args: &[&str]) -> Option<Attack> {
    Some(match (name, args) {
        ("call", [bind, to, rest @ ..]) => call_self(bind, to, rest.contains(&"nonblocking")),
        ("call-child", []) => call_child(),
        ("call-many", [times]) => call_many(times.parse().unwrap()),
        ("call-with-nobody", []) => with_nobody(),
        ("share-port", [port]) => share_port(port.parse().unwrap()),
        ("swap-address", [foreign]) => swap_address(foreign.parse().unwrap()),
        ("reconnect", [foreign]) => reconnect(foreign.parse().unwrap()),
        ("hand-back", []) => hand_back(),
        ("flap", [port, seconds]) => flap(port.parse().unwrap(), seconds.parse().unwrap()),
        ("hold-port", []) => hold_port(),
        ("full-queue", rest) => full_queue(rest.contains(&"wait")),
        ("lure", []) => lure(),
        _ => return None,
    })
}

/// A socket address of the C library, for these bytes.
fn raw(to: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all zero is a value of it.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let place = (&raw mut storage).cast::<u8>();
    let mut bytes = Vec::new();
    match to {
        SocketAddr::V4(four) => {
            bytes.extend(u16::try_from(libc::AF_INET).unwrap().to_ne_bytes());
            bytes.extend(four.port().to_be_bytes());
            bytes.extend(four.ip().octets());
            bytes.extend([0; 8]);
        }
        SocketAddr::V6(six) => {
            bytes.extend(u16::try_from(libc::AF_INET6).unwrap().to_ne_bytes());
            bytes.extend(six.port().to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(six.ip().octets());
            bytes.extend([0; 4]);
        }
    }
    // SAFETY: the storage is longer than any address.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
    (storage, libc::socklen_t::try_from(bytes.len()).unwrap())
}

fn socket(to: SocketAddr, flags: i32) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: plain numbers; the descriptor is owned at once.
    unsafe {
        let fd = libc::socket(family, libc::SOCK_STREAM | flags, 0);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

fn connect(socket: &OwnedFd, to: SocketAddr) -> io::Result<()> {
    let (address, length) = raw(to);
    // SAFETY: the address is valid for its length.
    let result = unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Listens at one address and connects to another with the same port.
fn call_self(bind: &str, to: &str, nonblocking: bool) -> Attack {
    let listener = TcpListener::bind(SocketAddr::new(bind.parse().unwrap(), 0))?;
    let to = SocketAddr::new(to.parse().unwrap(), listener.local_addr()?.port());
    let kind = if nonblocking { libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC } else { 0 };
    let socket = socket(to, kind)?;
    // Options that were set before are preserved.
    let one = 1i32;
    // SAFETY: the value outlives the call.
    unsafe {
        let value = (&raw const one).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, value, 4);
    }
    match connect(&socket, to) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) && nonblocking => {}
        other => other?,
    }
    // SAFETY: plain numbers.
    let (fd, status) = unsafe {
        let fd = socket.as_raw_fd();
        (libc::fcntl(fd, libc::F_GETFD), libc::fcntl(fd, libc::F_GETFL))
    };
    assert_eq!(fd & libc::FD_CLOEXEC != 0, nonblocking, "closed on exec as it was");
    assert_eq!(status & libc::O_NONBLOCK != 0, nonblocking, "waits as it did");
    let mut ours = TcpStream::from(socket);
    assert!(ours.nodelay()?, "options are preserved");
    let (mut theirs, from) = listener.accept()?;
    assert_eq!(from.port(), ours.local_addr()?.port());
    assert_eq!(ours.peer_addr()?.port(), to.port());
    ours.set_nonblocking(false)?;
    ours.write_all(b"ping")?;
    let mut heard = [0; 4];
    theirs.read_exact(&mut heard)?;
    theirs.write_all(&heard)?;
    ours.read_exact(&mut heard)?;
    // Once connected it stays so.
    let again = connect(&OwnedFd::from(ours), to).unwrap_err();
    assert_eq!(again.raw_os_error(), Some(libc::EISCONN));
    Ok(format!("reached {to}"))
}

/// One process listens, another connects, like the processes of a Procfile.
fn call_child() -> Attack {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let to = listener.local_addr()?;
    // SAFETY: the process has one thread; the copy serves and ends.
    if unsafe { libc::fork() } == 0 {
        // SAFETY: leaves session and group, as a daemon would.
        unsafe { libc::setsid() };
        let served = listener.accept().and_then(|(mut stream, _)| {
            drop(listener);
            stream.read_exact(&mut [0])?;
            stream.write_all(b"hello")
        });
        // SAFETY: ends the copy without touching what it shares.
        unsafe { libc::_exit(i32::from(served.is_err())) };
    }
    drop(listener);
    let (mut text, mut stream) = (String::new(), TcpStream::connect(to)?);
    stream.write_all(b"?")?;
    stream.read_to_string(&mut text)?;
    if text == "hello" { Ok("served".into()) } else { Err(io::Error::other(text)) }
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn call_many(times: usize) -> Attack {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let to = listener.local_addr()?;
    let before = open_files();
    let begun = std::time::Instant::now();
    for _ in 0..times {
        let stream = TcpStream::connect(to)?;
        drop((stream, listener.accept()?));
    }
    let each = begun.elapsed() / u32::try_from(times).unwrap();
    assert_eq!(open_files(), before, "descriptors are left over");
    Ok(format!("{times} connections, {each:?} each"))
}

/// A port where nobody listens refuses, as it would anywhere.
fn with_nobody() -> Attack {
    let gone = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let error = TcpStream::connect(gone).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    Ok("refused".into())
}

/// Listens at a port that somebody else shares, so that it seems to be its own.
fn share_port(port: u16) -> Attack {
    let to = SocketAddr::from(([127, 0, 0, 1], port));
    let listener = socket(to, 0)?;
    let (one, (address, length)) = (1i32, raw(to));
    // SAFETY: value and address outlive the calls.
    let listens = unsafe {
        let (fd, value) = (listener.as_raw_fd(), (&raw const one).cast());
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, value, 4) == 0
            && libc::bind(fd, (&raw const address).cast(), length) == 0
            && libc::listen(fd, 64) == 0
    };
    assert!(listens, "the port cannot be shared: {}", io::Error::last_os_error());
    for _ in 0..32 {
        TcpStream::connect(to)?;
    }
    Ok("connected".into())
}

/// Changes the address while it is read, and read again.
fn swap_address(foreign: u16) -> Attack {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let own = listener.local_addr()?;
    let (mut address, length) = raw(own);
    let at = (&raw mut address).cast::<u8>();
    // SAFETY: the port lies at its place in the address, which outlives both
    // threads; all later writes to it are atomic.
    let port = unsafe { AtomicU16::from_ptr(at.add(2).cast()) };
    let done = AtomicBool::new(false);
    let (mut n_own, mut n_denied) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                port.store(foreign.to_be(), Ordering::Relaxed);
                port.store(own.port().to_be(), Ordering::Relaxed);
            }
        });
        let mut harm = None;
        for _ in 0..1000 {
            let socket = socket(own, 0).unwrap();
            // SAFETY: the address is valid for its length.
            let result = unsafe { libc::connect(socket.as_raw_fd(), at.cast(), length) };
            if result != 0 {
                n_denied += 1;
                continue;
            }
            let mut stream = TcpStream::from(socket);
            if stream.peer_addr().is_ok_and(|peer| peer.port() == foreign) {
                drop(stream.write_all(b"secret"));
                harm = Some("reached the other port".to_owned());
            }
            n_own += 1;
            drop(listener.accept());
        }
        done.store(true, Ordering::Relaxed);
        harm
    })
    .ok_or_else(|| {
        assert!(n_own > 0 && n_denied > 0, "{n_own} and {n_denied}: no race");
        io::Error::from_raw_os_error(libc::EPERM)
    })
}

/// Tries to reconnect a socket that it was given.
fn reconnect(foreign: SocketAddr) -> Attack {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let socket = OwnedFd::from(TcpStream::connect(listener.local_addr()?)?);
    let unspecified = [0 as libc::c_long; 2];
    let fd = socket.as_raw_fd().into();
    let left = call(libc::SYS_connect, [fd, unspecified.as_ptr() as _, 16, 0, 0]);
    assert!(left.is_err(), "it could leave its connection");
    // A connection that is made by the first data must not bypass the broker.
    let (late, one) = (self::socket(foreign, 0)?, 1i32);
    // SAFETY: the value outlives the call.
    unsafe {
        let (fd, value) = (late.as_raw_fd(), (&raw const one).cast());
        libc::setsockopt(fd, libc::IPPROTO_TCP, 30, value, 4);
    }
    assert!(connect(&late, foreign).is_err(), "it could connect later");
    connect(&socket, foreign).or_else(|_| connect(&late, foreign))?;
    Ok("connected".into())
}

/// Listens, hands the port to somebody else, and connects to it.
fn hand_back() -> Attack {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let to = listener.local_addr()?;
    drop(TcpStream::connect(to)?);
    drop(listener);
    println!("{}", to.port());
    io::stdout().flush()?;
    io::stdin().read_exact(&mut [0])?;
    TcpStream::connect(to).map(|_| "connected".into())
}

/// Closes and reopens its port, and connects all the time.
fn flap(port: u16, seconds: u64) -> Attack {
    let to = SocketAddr::from(([127, 0, 0, 1], port));
    let end = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
    let done = AtomicBool::new(false);
    let mut n_own = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if let Ok(listener) = TcpListener::bind(to) {
                    listener.set_nonblocking(true).unwrap();
                    while let Ok((stream, _)) = listener.accept() {
                        drop(stream);
                    }
                    std::thread::yield_now();
                }
            }
        });
        while std::time::Instant::now() < end {
            if let Ok(mut stream) = TcpStream::connect(to) {
                n_own += 1;
                drop(stream.write_all(b"secret"));
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    println!("{n_own} connections");
    Err(io::Error::from_raw_os_error(libc::EPERM))
}

/// Listens for others, and says where.
fn hold_port() -> Attack {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    io::stdout().flush()?;
    listener.accept()?;
    Ok("somebody came".into())
}

/// A server with a full backlog, what fills it, and the error of the next connection.
fn full() -> io::Result<(TcpListener, Vec<OwnedFd>, io::Error)> {
    let full = socket("127.0.0.1:1".parse().unwrap(), 0)?;
    let (address, length) = raw("127.0.0.1:0".parse().unwrap());
    // SAFETY: the address is valid for its length.
    unsafe {
        libc::bind(full.as_raw_fd(), (&raw const address).cast(), length);
        libc::listen(full.as_raw_fd(), 0);
    }
    let full = TcpListener::from(full);
    let to = full.local_addr()?;
    let mut held = Vec::new();
    loop {
        let socket = socket(to, libc::SOCK_NONBLOCK)?;
        match connect(&socket, to) {
            Ok(()) => held.push(socket),
            Err(error) => return Ok((full, held, error)),
        }
        assert!(held.len() < 100, "its queue has no end");
    }
}

/// Connects to a server with a full backlog, which then accepts.
fn full_queue(wait: bool) -> Attack {
    let (listener, held, error) = full()?;
    assert_eq!(error.raw_os_error(), Some(libc::ETIMEDOUT), "{error}");
    if wait {
        println!("full");
        io::stdout().flush()?;
        TcpStream::connect(listener.local_addr()?)?;
    }
    let other = TcpListener::bind("127.0.0.1:0")?;
    TcpStream::connect(other.local_addr()?)?;
    Ok(format!("after {} connections", held.len()))
}

/// Connects to a server of its own with a full backlog, and leaves the port to somebody
/// else, to whom the connection then goes.
fn lure() -> Attack {
    let (listener, held, _) = full()?;
    let to = listener.local_addr()?;
    let calling = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(to)?;
        stream.write_all(b"secret")
    });
    // The call is out by then, and is repeated after a second.
    std::thread::sleep(std::time::Duration::from_millis(300));
    drop((listener, held));
    println!("{}", to.port());
    io::stdout().flush()?;
    calling.join().unwrap()?;
    Ok("connected".into())
}
