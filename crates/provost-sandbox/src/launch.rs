//! Starts our own programs, unconfined: the daemon, the kernel of a project, the browser.
//!
//! No action of an agent goes through here; those use the confined spawn. What is
//! started here must outlive its starter, so it gets its own session and is not our
//! child when it runs.
#![expect(unsafe_code, reason = "the code between fork and exec needs raw system calls")]

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::pipe::{PipeFlags, pipe_with};

/// Starts a program that outlives us, and returns its process id.
///
/// It gets its own session, `/` as working directory, no standard input, both outputs
/// appended to `log`, our environment with `additions`, and no other open file of ours.
/// It is reparented away from us before it runs, so it cannot become a zombie that we
/// would have to reap.
pub fn spawn_detached<A: AsRef<OsStr>>(
    program: &Path,
    args: &[A],
    log: &Path,
    additions: &[(OsString, OsString)],
) -> io::Result<u32> {
    let out = OpenOptions::new().create(true).append(true).mode(0o600).open(log)?;
    let mut command = Command::new(program);
    command.args(args).envs(additions.iter().map(|(name, value)| (name, value)));
    spawn_daemonized(command, out)
}

/// Keeps other processes of the same user from reading our memory and environment, which
/// hold tokens and keys. The daemon and the kernels call it early.
pub fn protect_own_memory() -> io::Result<()> {
    let behavior = rustix::process::DumpableBehavior::NotDumpable;
    Ok(rustix::process::set_dumpable_behavior(behavior)?)
}

/// Ends the process, without what libraries do at its end: an allocator gives memory back
/// piece by piece, which Linux does at once. What was printed must have been flushed.
pub fn exit_at_once(code: u8) -> ! {
    // SAFETY: the call ends the process and accesses no memory.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Opens a URL in the user's browser; `browser` is `$BROWSER`, if it is set.
///
/// `$BROWSER` may list several programs separated by colons, each with `%s` for the URL;
/// the first that starts is used, then `xdg-open`. Success only means that a program
/// started, not that a window opened.
pub fn open_in_browser(url: &str, browser: Option<&str>) -> io::Result<()> {
    let listed = browser.unwrap_or_default().split(':').filter(|entry| !entry.trim().is_empty());
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no program to open a URL with");
    for entry in listed.chain(["xdg-open"]) {
        match spawn_daemonized(
            browser_command(entry, url),
            File::options().write(true).open("/dev/null")?,
        ) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Runs a program to its end, without standard input, and returns its output.
pub fn run_and_capture<A: AsRef<OsStr>>(program: &Path, args: &[A]) -> io::Result<Output> {
    Command::new(program).args(args).stdin(Stdio::null()).output()
}

fn browser_command(entry: &str, url: &str) -> Command {
    let mut words = entry.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("xdg-open"));
    let mut placed = false;
    for word in words {
        placed |= word.contains("%s");
        command.arg(word.replace("%s", url));
    }
    if !placed {
        command.arg(url);
    }
    command
}

fn spawn_daemonized(mut command: Command, out: File) -> io::Result<u32> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    command.current_dir("/").stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
    let fd = write.as_raw_fd();
    // SAFETY: the closure makes only async-signal-safe system calls and
    // allocates nothing; `fd` stays open in the parent until spawn has returned.
    unsafe {
        command.pre_exec(move || daemonize(BorrowedFd::borrow_raw(fd)));
    }
    let spawned = command.spawn();
    drop(write);
    // This waits for the intermediate process, which exits at once.
    spawned?.wait()?;
    let mut pid = [0; 4];
    File::from(read).read_exact(&mut pid)?;
    Ok(u32::from_ne_bytes(pid))
}

/// In the child: creates a session, forks again so that no terminal can be acquired and
/// the starter is no longer the parent, and reports the pid.
fn daemonize(report: BorrowedFd<'_>) -> io::Result<()> {
    rustix::process::setsid()?;
    // SAFETY: no arguments; the process has one thread, being a fresh fork.
    match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {}
        // SAFETY: `_exit` runs no destructors, which belong to the parent.
        _ => unsafe { libc::_exit(0) },
    }
    // SAFETY: plain system calls on numbers. The descriptors are marked instead of closed,
    // because the standard library reports a failed exec through one.
    let marked = unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    if marked != 0 {
        return Err(io::Error::last_os_error());
    }
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    rustix::io::write(report, &pid.to_ne_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::{Duration, Instant};

    fn until(mut done: impl FnMut() -> bool) {
        let start = Instant::now();
        while !done() {
            assert!(start.elapsed() < Duration::from_secs(20), "waited too long");
            std::thread::yield_now();
        }
    }

    /// As in `/proc`: 0 if the session leader is outside our pid namespace, which the typed
    /// `getsid` of rustix does not expect.
    fn own_session() -> String {
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let (_, after_name) = stat.rsplit_once(')').unwrap();
        after_name.split_whitespace().nth(3).unwrap().to_owned()
    }

    #[test]
    fn a_detached_program_has_its_own_session_and_nothing_of_ours() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        // Open across exec on purpose: the launch must not pass it on.
        let leak = File::open("/dev/null").unwrap();
        rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
        let script = format!(
            "echo $$; cut -d' ' -f4,6 /proc/$$/stat; pwd; echo $GREETING; \
             [ -e /proc/$$/fd/{} ] && echo leaked; echo done >&2",
            leak.as_raw_fd()
        );
        let additions = [("GREETING".into(), "hello".into())];
        let pid = spawn_detached(Path::new("/bin/sh"), &["-c", &script], &log, &additions).unwrap();
        until(|| fs::read_to_string(&log).is_ok_and(|text| text.ends_with("done\n")));
        let text = fs::read_to_string(&log).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], pid.to_string());
        let (parent, session) = lines[1].split_once(' ').unwrap();
        assert_ne!(parent, std::process::id().to_string(), "it is still our child");
        assert_ne!(session, own_session(), "it is still in our session");
        assert_eq!(lines[2..], ["/", "hello", "done"]);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_here() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let missing = dir.path().join("missing");
        let error = spawn_detached::<&str>(&missing, &[], &log, &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_url_goes_where_the_browser_says() {
        let args = |entry: &str| {
            let command = browser_command(entry, "http://x/");
            let mut all = vec![command.get_program().to_owned()];
            all.extend(command.get_args().map(OsStr::to_owned));
            all
        };
        assert_eq!(args("firefox"), ["firefox", "http://x/"]);
        assert_eq!(args("w3m -o a=b %s"), ["w3m", "-o", "a=b", "http://x/"]);
    }
}
