//! The attacker. Exit code 0: harm was done. 1: it was denied. Anything else: it broke.

mod calls;
mod files;
mod neighbors;
mod network;
mod ports;
mod sockets;
mod terminals;

use std::ffi::{CString, c_long};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::process::ExitCode;

type Attack = io::Result<String>;

pub(crate) fn main(name: &str, args: &[&str]) -> ExitCode {
    let attack = files::attack(name, args).or_else(|| network::attack(name, args));
    let attack = attack.or_else(|| calls::attack(name, args));
    let attack = attack.or_else(|| sockets::attack(name, args));
    let attack = attack.or_else(|| ports::attack(name, args));
    let attack = attack.or_else(|| terminals::attack(name, args));
    let attack = attack.or_else(|| neighbors::attack(name, args));
    let Some(result) = attack.or_else(|| attack_processes(name, args)) else {
        return ExitCode::from(9);
    };
    match result {
        Ok(text) => {
            println!("harm: {text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("denied: {error}");
            ExitCode::from(1)
        }
    }
}

/// Attacks on processes, the kernel and the machine.
fn attack_processes(name: &str, args: &[&str]) -> Option<Attack> {
    Some(match (name, args) {
        ("environ", [pid, canary]) => find_in(&format!("/proc/{pid}/environ"), canary),
        ("environment", [canary]) => environment(canary),
        ("mem", [pid, address]) => read_mem(pid, address),
        ("vm", [pid, address]) => process_vm(pid, address),
        ("ptrace", [pid]) => call(libc::SYS_ptrace, [16, number(pid), 0, 0, 0]),
        ("kill", [pid]) => call(libc::SYS_kill, [number(pid), 0, 0, 0, 0]),
        ("call", [name]) => surface(name),
        ("bind-mount", [from, to]) => bind_mount(from, to),
        ("tiocsti", []) => tiocsti(),
        ("memfd", rest) => memfd(rest),
        ("privileges", []) => privileges(),
        ("open-files", []) => open_files(),
        ("allocate", [gigabytes]) => allocate(gigabytes),
        ("allocate-file", []) => allocate_file(),
        ("watchers", [n]) => watchers(n),
        ("fork", [n]) => fork_many(n),
        ("fork-bomb", []) => fork_bomb(),
        ("daemon", [marker]) => daemon(marker),
        ("stubborn", []) => stubborn(),
        ("silent", []) => silent(),
        ("flood", []) => flood(),
        ("ask", []) => ask(),
        ("parent", rest) => super::stop::parent(rest),
        _ => return None,
    })
}

fn number(text: &str) -> c_long {
    text.parse().unwrap()
}

fn call(number: c_long, args: [c_long; 5]) -> Attack {
    // SAFETY: what is attacked are the kernel's own checks; addresses are given by the caller.
    let result = unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4]) };
    if result >= 0 { Ok(format!("answer {result}")) } else { Err(io::Error::last_os_error()) }
}

fn find_in(path: &str, canary: &str) -> Attack {
    let content = fs::read(path)?;
    let found = content.windows(canary.len()).any(|part| part == canary.as_bytes());
    if found { Ok("found".into()) } else { Err(io::Error::other("readable, but not in it")) }
}

fn environment(canary: &str) -> Attack {
    let found = std::env::vars().any(|(_, value)| value.contains(canary));
    if found { Ok("found".into()) } else { Err(io::Error::other("not in it")) }
}

fn read_mem(pid: &str, address: &str) -> Attack {
    let file = File::open(format!("/proc/{pid}/mem"))?;
    let mut buffer = [0; 11];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut buffer, address.parse().unwrap())?;
    Ok(String::from_utf8_lossy(&buffer).into_owned())
}

fn process_vm(pid: &str, address: &str) -> Attack {
    let mut buffer = [0u8; 11];
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let place = std::ptr::with_exposed_provenance_mut(address.parse().unwrap());
    let remote = libc::iovec { iov_base: place, iov_len: buffer.len() };
    let pid = i32::try_from(number(pid)).unwrap();
    // SAFETY: both vectors are valid; the remote one is judged by the kernel.
    let result =
        unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    if result > 0 { Ok("read".into()) } else { Err(io::Error::last_os_error()) }
}

fn surface(name: &str) -> Attack {
    let area = [0u8; 256];
    let at = area.as_ptr() as c_long;
    match name {
        "keyctl" => call(libc::SYS_keyctl, [0, -3, 1, 0, 0]),
        "add_key" => {
            let (kind, name) = (c"user".as_ptr() as c_long, c"provost".as_ptr() as c_long);
            call(libc::SYS_add_key, [kind, name, at, 4, -2])
        }
        "io_uring" => call(libc::SYS_io_uring_setup, [1, at, 0, 0, 0]),
        "bpf" => call(libc::SYS_bpf, [0, at, 0, 0, 0]),
        "perf" => call(libc::SYS_perf_event_open, [at, 0, -1, -1, 0]),
        "userfaultfd" => call(libc::SYS_userfaultfd, [1, 0, 0, 0, 0]),
        "unshare-user" => call(libc::SYS_unshare, [0x1000_0000, 0, 0, 0, 0]),
        "unshare-mount" => call(libc::SYS_unshare, [0x0002_0000, 0, 0, 0, 0]),
        "chroot" => call(libc::SYS_chroot, [c".".as_ptr() as c_long, 0, 0, 0, 0]),
        "mount" => {
            let (tmpfs, here) = (c"tmpfs".as_ptr() as c_long, c"src".as_ptr() as c_long);
            call(libc::SYS_mount, [tmpfs, here, tmpfs, 0, 0])
        }
        "clone-user" => {
            let flags = c_long::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
            // SAFETY: a fork; the copy ends at once.
            let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
            match pid {
                -1 => Err(io::Error::last_os_error()),
                // SAFETY: ends the copy without touching what it shares.
                0 => unsafe { libc::_exit(0) },
                _ => Ok("made".into()),
            }
        }
        "setns" => {
            let file = File::open("/proc/self/ns/uts")?;
            call(libc::SYS_setns, [c_long::from(file.as_raw_fd()), 0, 0, 0, 0])
        }
        "personality" => call(libc::SYS_personality, [0x0040_0000, 0, 0, 0, 0]),
        other => panic!("no such call: {other}"),
    }
}

fn bind_mount(from: &str, to: &str) -> Attack {
    let (from, to) = (CString::new(from).unwrap(), CString::new(to).unwrap());
    let bind = c_long::try_from(libc::MS_BIND).unwrap();
    call(libc::SYS_mount, [from.as_ptr() as c_long, to.as_ptr() as c_long, 0, bind, 0])
}

/// Types a letter into the terminal on standard input.
fn tiocsti() -> Attack {
    // SAFETY: the letter outlives the call.
    let result = unsafe { libc::ioctl(0, libc::TIOCSTI, c"x".as_ptr()) };
    if result == 0 { Ok("typed".into()) } else { Err(io::Error::last_os_error()) }
}

/// Runs itself from memory, to do something else from there.
fn memfd(rest: &[&str]) -> Attack {
    // SAFETY: the name ends with a NUL; the descriptor is owned at once.
    let fd = unsafe { libc::memfd_create(c"x".as_ptr(), 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(&fs::read("/proc/self/exe")?)?;
    let path = format!("/proc/self/fd/{fd}");
    let status = std::process::Command::new(path).arg("--payload").args(rest).status()?;
    if status.success() { Ok("it did".into()) } else { Err(io::Error::other("it was denied")) }
}

/// Harm is to have anything that could be used.
fn privileges() -> Attack {
    let status = fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().to_owned()
    };
    let none = ["CapInh", "CapPrm", "CapEff", "CapAmb"].iter().all(|name| is_zero(&field(name)));
    let bounded = is_zero(&field("CapBnd")) || !rustix::process::geteuid().is_root();
    let sealed = field("NoNewPrivs") == "1" && field("Seccomp") == "2";
    if none && bounded && sealed { Err(io::Error::other("none")) } else { Ok(status) }
}

fn is_zero(hex: &str) -> bool {
    hex.bytes().all(|digit| digit == b'0')
}

fn open_files() -> Attack {
    let mut held = Vec::new();
    for _ in 0..100_000 {
        held.push(File::open("/dev/null")?);
    }
    Ok("a hundred thousand".into())
}

fn allocate(gigabytes: &str) -> Attack {
    let mut held: Vec<Vec<u8>> = Vec::new();
    for _ in 0..gigabytes.parse::<usize>().unwrap() * 16 {
        let mut part = Vec::new();
        part.try_reserve_exact(64 << 20).map_err(|_| io::ErrorKind::OutOfMemory)?;
        part.resize(64 << 20, 1);
        held.push(part);
    }
    Ok("allocated".into())
}

/// Memory that belongs to a file and not to a process.
fn allocate_file() -> Attack {
    // SAFETY: the name ends with a NUL.
    let fd = unsafe { libc::memfd_create(c"x".as_ptr(), 0) };
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok("made".into()) }
}

/// Watchers of files, of which a user has few.
fn watchers(n: &str) -> Attack {
    for _ in 0..n.parse::<usize>().unwrap() {
        // SAFETY: a plain number. The descriptors are closed when the process ends.
        if unsafe { libc::inotify_init1(libc::IN_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok("made".into())
}

/// Starts so many processes, which wait.
fn fork_many(n: &str) -> Attack {
    for _ in 0..n.parse::<usize>().unwrap() {
        // SAFETY: the process has one thread; the copies make one system call.
        match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => loop {
                // SAFETY: waits for a signal.
                unsafe { libc::pause() };
            },
            _ => {}
        }
    }
    Ok(format!("{n} processes"))
}

fn fork_bomb() -> Attack {
    println!("started");
    io::stdout().flush()?;
    loop {
        // SAFETY: the copies do the same as we do: make copies.
        if unsafe { libc::fork() } < 0 {
            std::thread::yield_now();
        }
    }
}

/// Leaves parents, session and terminal behind, twice, and lives on.
fn daemon(marker: &str) -> Attack {
    // SAFETY: the process has one thread; forks of it are plain.
    unsafe {
        for _ in 0..2 {
            if libc::fork() != 0 {
                libc::_exit(0);
            }
            libc::setsid();
        }
        libc::signal(libc::SIGTERM, libc::SIG_IGN);
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
    }
    println!("{marker}");
    io::stdout().flush()?;
    loop {
        std::thread::park();
    }
}

fn stubborn() -> Attack {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: ignores a signal.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    println!("ready");
    io::stdout().flush()?;
    loop {
        std::thread::park();
    }
}

fn silent() -> Attack {
    for fd in 0..3 {
        // SAFETY: nobody uses them after this.
        unsafe { libc::close(fd) };
    }
    loop {
        std::thread::park();
    }
}

fn flood() -> Attack {
    let block = vec![b'x'; 1 << 20];
    for _ in 0..1024 {
        io::stdout().write_all(&block)?;
    }
    Ok(String::new())
}

fn ask() -> Attack {
    let mut answer = [0];
    io::stdin().read_exact(&mut answer)?;
    Ok("somebody answered".into())
}
